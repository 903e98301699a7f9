"""Where rows in parts come from: Dask, Parquet, DuckDB, text; and how passes over them run."""
