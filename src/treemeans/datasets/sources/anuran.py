"""Anuran Calls (MFCCs), UCI 406: Colonna, Nakamura, Cristo, Gordo.

22 numbers that describe each of 7,195 syllables of frogs' calls; the classes are the species.
"""

from typing import BinaryIO

from treemeans.datasets.prepared_data import Prepared, by_class
from treemeans.datasets.sources.archive import csv_rows, numbers, places, zip_member
from treemeans.datasets.sources.download_source import Raw, Source

_FILE = "Frogs_MFCCs.csv"
_LIMIT = 30_000_000
_COLUMNS = [f"MFCCs_{i:2}" for i in range(1, 23)]
_OTHERS = 4  # Family, Genus, Species, RecordID


def parse(file: BinaryIO) -> Prepared:
    """Read the table of the zip archive."""
    text = zip_member(file, _FILE, _LIMIT).decode("utf-8-sig")
    header, *rows = csv_rows(text, len(_COLUMNS) + _OTHERS)
    species = places(header, ["Species"])[0]
    X = numbers(rows, places(header, _COLUMNS))
    y, target_names = by_class([row[species] for row in rows])
    return Prepared(X, y, tuple(f"MFCC_{i:02}" for i in range(1, 23)), target_names)


SOURCE = Source(
    raw=Raw(
        name="anuran+calls+mfccs.zip",
        addresses=(
            "https://archive.ics.uci.edu/static/public/406/anuran+calls+mfccs.zip",
            "https://archive.ics.uci.edu/ml/machine-learning-databases/00406/"
            "Anuran%20Calls%20(MFCCs).zip",
        ),
        size=1_500_000,
    ),
    parse=parse,
    digest="e37cb6969e0736e018b572ff913e1682fc7f05bff1c6c95523bb6a7ae81398f0",
)
