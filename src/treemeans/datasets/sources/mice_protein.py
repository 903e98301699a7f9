"""Mice Protein Expression, UCI 342 and OpenML 40966: Higuera, Gardiner, Cios 2015.

How much of each of 77 proteins is in the brains of mice; the classes are eight kinds of mice, by
genes, treatment and training. The published table has gaps. The paper keeps 69 columns and does
not say which: without the columns that lack more than one value in a hundred, 69 are left. The
values that these still lack are filled with the mean of their column.
"""

import csv
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from treemeans.datasets.prepared_data import Prepared, by_class
from treemeans.datasets.sources.archive import csv_rows, numbers, places
from treemeans.datasets.sources.download_source import Raw, Source

_NOT_PROTEINS = ("MouseID", "Genotype", "Treatment", "Behavior", "class")
_MOST_MISSING = 0.01  # of the values of a column


def parse(file: BinaryIO) -> Prepared:
    """Read the ARFF table, drop the columns with many gaps, and fill the others."""
    header, body = _split(file.read().decode("utf-8"))
    rows = csv_rows(body, len(header), quote="'")
    mouse_class = places(header, _NOT_PROTEINS)[-1]
    proteins = [name for name in header if name not in _NOT_PROTEINS]
    cells = [["nan" if cell == "?" else cell for cell in row] for row in rows]
    X = numbers(cells, places(header, proteins))
    kept = np.isnan(X).mean(axis=0) <= _MOST_MISSING
    y, target_names = by_class([row[mouse_class] for row in rows])
    names = tuple(name for name, keep in zip(proteins, kept, strict=True) if keep)
    return Prepared(_filled(X[:, kept]), y, names, target_names)


def _split(text: str) -> tuple[list[str], str]:
    """Names of the attributes, and the rows as comma-separated text without comments."""
    names, rows, in_data = [], [], False
    for line in text.splitlines():
        keyword = line.split(maxsplit=1)[0].lower() if line.strip() else "%"
        if keyword.startswith("%"):
            continue
        if in_data:
            rows.append(line)
        elif keyword == "@attribute":
            names.append(next(csv.reader([line], delimiter=" ", quotechar="'"))[1])
        in_data = in_data or keyword == "@data"
    return names, "\n".join(rows)


def _filled(X: NDArray[np.float64]) -> NDArray[np.float64]:
    X = X.copy()
    for column in X.T:
        gaps = np.isnan(column)
        if gaps.any():
            # Added from the first row to the last: the same to the last bit on every machine.
            column[gaps] = np.cumsum(column[~gaps])[-1] / np.count_nonzero(~gaps)
    return X


SOURCE = Source(
    raw=Raw(
        name="MiceProtein.arff",
        addresses=(
            "https://www.openml.org/data/v1/download/17928620/MiceProtein.arff",
            "https://api.openml.org/data/v1/download/17928620/MiceProtein.arff",
        ),
        size=1_000_000,
    ),
    parse=parse,
    digest="7837524bb925b9c9e8c53067349f4a0c9aa228b69f10afb70852c28a326568ad",
)
