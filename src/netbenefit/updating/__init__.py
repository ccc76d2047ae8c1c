"""A stored card on new rows: evaluate, look for drift, update."""
