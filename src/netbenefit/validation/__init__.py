"""What cards are worth on new rows: folds, bootstrap, comparison, sizes, sensitivity."""
