"""The compiled parts of local search: state, moves, annealing and repair."""
