"""The same steps as queries of Polars, DuckDB, Dask, Spark and Ibis."""
