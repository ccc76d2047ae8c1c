"""The paper's experiments, run again: plan, run, tables and figures beside the published ones.

1. :mod:`~reproduction.plan` lists what has to be fitted: data sets, methods, settings and
   folds, and how long each budget lets a solver work.
2. :mod:`~reproduction.run` fits it, some at a time; rows that are in the
   :mod:`~reproduction.run` already are not made again.
3. Tables and figures are made of the rows alone.
"""
