"""Four databases behind one face: make a table, ask a question."""

import contextlib
import sqlite3
from datetime import date
from decimal import Decimal

import duckdb
import pyarrow as pa

from tests.helpers import mariadb, postgres


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Database:
    """``types`` says what the database calls a double, a single, ..."""

    types: dict[str, str]

    def quoted(self, name):
        """A name in quotes."""
        return quoted(name)

    def create(self, table, kinds, rows):
        """A table with a column for each name in ``kinds``, after ``id``, the row's number."""
        columns = [f"{self.quoted(name)} {self.types[kind]}" for name, kind in kinds.items()]
        self.run(f"DROP TABLE IF EXISTS {self.quoted(table)}")
        self.run(f"CREATE TABLE {self.quoted(table)} (id INTEGER, {', '.join(columns)})")
        self.insert(table, kinds, [(i, *row) for i, row in enumerate(rows)])

    def answers(self, sql):
        """The last column by ``id``, the first."""
        return {row[0]: row[-1] for row in self.run(sql)}


def _as_sqlite_keeps(value):
    """It has no dates, and no decimals."""
    if isinstance(value, date):
        return str(value)
    return float(value) if isinstance(value, Decimal) else value


class SQLite(Database):
    types = {  # noqa: RUF012
        "double": "REAL",
        "single": "REAL",
        "bigint": "INTEGER",
        "decimal": "NUMERIC",
        "text": "TEXT",
        "boolean": "BOOLEAN",
        "timestamp": "TEXT",
        "moment": "TEXT",
        "date": "TEXT",
    }

    def __init__(self):
        self._connection = sqlite3.connect(":memory:")

    def run(self, sql):
        return self._connection.execute(sql).fetchall()

    def insert(self, table, kinds, rows):
        marks = ", ".join("?" * (len(kinds) + 1))
        kept = [[_as_sqlite_keeps(value) for value in row] for row in rows]
        self._connection.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", kept)

    def close(self):
        self._connection.close()


class DuckDB(Database):
    types = {  # noqa: RUF012
        "double": "DOUBLE",
        "single": "FLOAT",
        "bigint": "BIGINT",
        "decimal": "DECIMAL(38, 20)",
        "text": "VARCHAR",
        "boolean": "BOOLEAN",
        "timestamp": "TIMESTAMP",
        "moment": "TIMESTAMPTZ",
        "date": "DATE",
    }

    def __init__(self):
        self._connection = duckdb.connect()

    def run(self, sql):
        return self._connection.execute(sql).fetchall()

    def insert(self, table, kinds, rows):
        columns = [pa.array(list(column)) for column in zip(*rows, strict=True)]
        given = pa.table(columns, names=[f"c{i}" for i in range(len(columns))])
        self._connection.register("given", given)
        self.run(f"INSERT INTO {quoted(table)} SELECT * FROM given")
        self._connection.unregister("given")

    def answers(self, sql):
        """By way of Arrow: other moments with a time zone would need pytz."""
        table = self._connection.sql(sql).to_arrow_table()
        first, last = (table.column(i).to_pylist() for i in (0, table.num_columns - 1))
        return dict(zip(first, last, strict=True))

    def close(self):
        self._connection.close()


class PostgreSQL(Database):
    types = {  # noqa: RUF012
        "double": "DOUBLE PRECISION",
        "single": "REAL",
        "bigint": "BIGINT",
        "decimal": "NUMERIC",
        "text": "TEXT",
        "boolean": "BOOLEAN",
        "timestamp": "TIMESTAMP",
        "moment": "TIMESTAMPTZ",
        "date": "DATE",
    }

    def __init__(self):
        try:
            import psycopg
        except ImportError:
            postgres.missing("psycopg")
        with contextlib.ExitStack() as stack:
            settings = stack.enter_context(postgres.server())
            self._connection = psycopg.connect(**settings, autocommit=True)
            stack.callback(self._connection.close)
            self._opened = stack.pop_all()

    def run(self, sql):
        cursor = self._connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []

    def insert(self, table, kinds, rows):
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {quoted(table)} FROM STDIN".encode()) as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def close(self):
        self._opened.close()


class MariaDB(Database):
    types = {  # noqa: RUF012
        "double": "DOUBLE",
        "single": "FLOAT",
        "bigint": "BIGINT",
        "decimal": "DECIMAL(60, 20)",
        "text": "VARCHAR(200)",
        "boolean": "BOOLEAN",
        "timestamp": "DATETIME(6)",
        "moment": "DATETIME(6)",
        "date": "DATE",
    }

    def __init__(self):
        try:
            import pymysql
        except ImportError:
            postgres.missing("pymysql")
        with contextlib.ExitStack() as stack:
            settings = stack.enter_context(mariadb.server())
            self._connection = pymysql.connect(**settings, charset="utf8mb4", autocommit=True)
            stack.callback(self._connection.close)
            self._opened = stack.pop_all()
        self.run("CREATE DATABASE tests CHARACTER SET utf8mb4")
        self.run("USE tests")

    def quoted(self, name):
        return "`" + name.replace("`", "``") + "`"

    def run(self, sql):
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def insert(self, table, kinds, rows):
        marks = ", ".join(["%s"] * (len(kinds) + 1))
        with self._connection.cursor() as cursor:
            name = self.quoted(table).replace("%", "%%")
            cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)

    def close(self):
        self._opened.close()


DATABASES = {"sqlite": SQLite, "duckdb": DuckDB, "postgresql": PostgreSQL, "mariadb": MariaDB}
