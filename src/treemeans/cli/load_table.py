"""The table of a command: a file read into memory as numbers."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from treemeans.cli.console import Console
from treemeans.columns.encoded_table import EncodedFrame
from treemeans.files.file_errors import InputError
from treemeans.files.file_schema import FileSchema, ReadOptions, infer_schema, refuse_problems
from treemeans.files.read_table import decimal_mark, read_table
from treemeans.preparation import TablePreparation


@dataclass(frozen=True)
class LoadedTable:
    """A table in memory, as numbers.

    Attributes
    ----------
    schema : what was found of the file
    encoded : the rows
    """

    schema: FileSchema
    encoded: EncodedFrame

    @property
    def X(self) -> NDArray[np.float64]:  # noqa: N802
        """The rows as numbers."""
        return self.encoded.X


@dataclass(frozen=True)
class TableInput:
    """A file and how to read it."""

    path: str
    options: ReadOptions = field(default_factory=ReadOptions)

    @property
    def title(self) -> str:
        """Name of the file, for the report."""
        return "Standard input" if self.path == "-" else Path(self.path).name

    def load(
        self,
        console: Console,
        scale: str | None = "auto",
        clusters: int = 1,
        *,
        as_numbers: bool = False,
        protected: Collection[str] = (),
    ) -> LoadedTable:
        """Read and encode the table, and print how its columns are used.

        ``scale``: how numbers are scaled for k-means; None if nothing is clustered.

        ``as_numbers``: with a column of 0 and 1 for each category, and nothing missing, for
        methods that take nothing else.

        ``protected``: the columns that no rule may use.
        """
        check_clusters(clusters)
        options = self.options
        if as_numbers and options.missing == "keep":
            options = replace(options, missing="median")
        table = read_table(self.path, text=[*options.text, *options.category])
        schema = infer_schema(
            lambda names: iter([table.select(names)]),
            table.schema,
            options,
            decimal_mark(table),
        )
        refuse_problems(schema)
        check_clusters(clusters, schema.n_rows)
        if as_numbers:
            console.note(f"{schema.table}\n")
            schema = schema.as_one_hot()
            return LoadedTable(schema, schema.encoded(table))
        encoded = schema.encoded(table)
        print_schema(schema, encoded.X, scale, console, protected)
        return LoadedTable(schema, encoded)


def print_schema(
    schema: FileSchema,
    sample: NDArray[np.float64],
    scale: str | None,
    console: Console,
    protected: Collection[str] = (),
) -> None:
    """Print what each column is read as, what the tree does with it, and what k-means sees."""
    uncut = (
        replace(plan, becomes="not cut: it is protected")
        if plan.name in protected and plan.column is not None
        else plan
        for plan in schema.table.plans
    )
    table = replace(schema.table, plans=tuple(uncut))
    is_plain = schema.is_all_numbers and scale in ("auto", "none", "standard")
    if scale is not None and not is_plain:
        views = TablePreparation.of(schema.columns, sample, None, scale).views
        seen = {view.column.source or view.column.name: view.words for view in views}
        plans = tuple(
            replace(plan, becomes=f"{plan.becomes}; k-means sees {seen[plan.name]}")
            if plan.name in seen
            else plan
            for plan in table.plans
        )
        table = replace(table, plans=plans)
    console.note(f"{table}\n")
    if schema.n_dropped:
        console.note(f"Note: {schema.n_dropped:,} rows lack a value and are dropped.")


def check_clusters(clusters: int, n_rows: float = math.inf) -> None:
    """Refuse a number of clusters that is impossible for the table."""
    if clusters < 1:
        raise InputError(f"-k must be at least 1; got {clusters}.")
    if n_rows < clusters:
        raise InputError(f"The table has {n_rows} rows, too few for {clusters} clusters.")
