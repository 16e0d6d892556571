"""The parts of the portfolio: members, worker processes, the improving engine, candidates."""
