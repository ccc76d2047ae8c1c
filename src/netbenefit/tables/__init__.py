"""The same steps as queries of Polars, DuckDB, Dask, Spark and Ibis."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
