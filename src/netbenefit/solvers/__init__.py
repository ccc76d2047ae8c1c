"""Who finds the best points, and who proves it; each takes a Problem and returns a SolverResult."""
