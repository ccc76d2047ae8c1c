"""scikit-learn's door: estimators that learn cards from rows."""
