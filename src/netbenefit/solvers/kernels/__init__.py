"""The objective of a point vector and of its neighbours, twice: slow truth and compiled.

``reference`` says what is computed; ``compiled`` computes the same fast, with numba, on the arrays
that ``layout`` prepares.
"""
