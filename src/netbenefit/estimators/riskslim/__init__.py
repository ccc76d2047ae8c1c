"""RISKSLIM: cards that minimise the logistic loss."""
