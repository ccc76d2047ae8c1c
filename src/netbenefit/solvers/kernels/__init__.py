"""The objective of a point vector and of its neighbours, compiled by numba."""
