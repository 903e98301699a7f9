"""Avila, UCI 459: De Stefano, Maniaci, Fontanella, Scotto di Freca 2018.

Ten measures of 20,867 groups of rows of a medieval Bible; the classes are its copyists. The table
is as published, which is already scaled.
"""

from typing import BinaryIO

import numpy as np

from treemeans.datasets.prepared_data import Prepared, by_class
from treemeans.datasets.sources.archive import csv_rows, numbers, zip_member
from treemeans.datasets.sources.download_source import Raw, Source

_FILES = ("avila-tr.txt", "avila-ts.txt")
_LIMIT = 10_000_000
_NAMES = (
    "intercolumnar distance",
    "upper margin",
    "lower margin",
    "exploitation",
    "row number",
    "modular ratio",
    "interlinear spacing",
    "weight",
    "peak number",
    "modular ratio / interlinear spacing",
)


def parse(file: BinaryIO) -> Prepared:
    """Read the training half, then the test half; neither has a header."""
    d = len(_NAMES)
    halves = [csv_rows(zip_member(file, name, _LIMIT).decode("ascii"), d + 1) for name in _FILES]
    X = np.concatenate([numbers(rows, range(d)) for rows in halves])
    y, target_names = by_class([row[d] for rows in halves for row in rows])
    return Prepared(X, y, _NAMES, target_names)


SOURCE = Source(
    raw=Raw(
        name="avila.zip",
        addresses=(
            "https://archive.ics.uci.edu/static/public/459/avila.zip",
            "https://archive.ics.uci.edu/ml/machine-learning-databases/00459/avila.zip",
        ),
        size=1_000_000,
    ),
    parse=parse,
    digest="4864b53da0a29906d95e7d061a95b943578c4712f99b29ff0e20083811d1ddf4",
)
