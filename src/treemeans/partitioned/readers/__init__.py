"""Readers of partitioned rows (Dask, Parquet, Arrow datasets, DuckDB, Spark), and their passes."""
