"""Upper bounds of the objective, one module per bound."""
