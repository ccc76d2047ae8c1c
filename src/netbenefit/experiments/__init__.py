"""The experiments of the method's paper, and their results beside the printed ones."""
