"""The published integer program, and the programs that solve it."""
