"""What is maximised and what is allowed: objective, constraints, cut-offs, levels, result."""
