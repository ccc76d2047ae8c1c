"""What can be proven: upper bounds of the objective, one file a bound."""
