"""Why an executor is where it is, and what would be if: pure functions over a placement problem."""
