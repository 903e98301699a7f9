"""Queries of every dialect, run in DuckDB."""

import duckdb
import sqlglot
from sqlglot import exp

DIALECTS = {
    "PostgreSQL": "postgres",
    "DuckDB": "duckdb",
    "BigQuery": "bigquery",
    "Snowflake": "snowflake",
    "Spark": "spark",
    "MySQL": "mysql",
    "T-SQL": "tsql",
}


def in_duckdb(sql, dialect, table):
    """What DuckDB makes of a query in another dialect: the last column by the first."""
    (query,) = sqlglot.parse(sql, dialect=DIALECTS[dialect])
    query = query.transform(_for_duckdb)
    with duckdb.connect() as connection:
        connection.register("t", table)
        return {row[0]: row[-1] for row in connection.execute(query.sql("duckdb")).fetchall()}


def _for_duckdb(node):
    """FLOAT of T-SQL is a double; DuckDB compares text exactly without a cast or collation."""
    if isinstance(node, exp.DataType) and node.is_type("FLOAT"):
        return exp.DataType.build("DOUBLE")
    if isinstance(node, exp.Collate) or (isinstance(node, exp.Cast) and node.to.is_type("BINARY")):
        return node.this
    return node
