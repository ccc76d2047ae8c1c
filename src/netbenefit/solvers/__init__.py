"""One file an algorithm; each takes a Problem and returns a SolverResult."""
