"""The paper's experiments, repeated: plan, run, tables and figures next to the published ones.

1. :mod:`~reproduction.plan` lists what has to be fitted: data sets, methods, settings and
   folds, and how long each budget lets a solver work.
2. :mod:`~reproduction.run` fits it in parallel and stores one row per fit; stored rows are not
   computed again.
3. Tables and figures are made from the rows alone.
"""
