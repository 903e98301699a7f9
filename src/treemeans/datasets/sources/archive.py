"""Files inside archives, and rows inside files. Nothing is ever unpacked to disk."""

import csv
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray


def zip_member(file: BinaryIO, name: str, limit: int) -> bytes:
    """The one member of a zip archive with that name, in whichever folder of it."""
    with zipfile.ZipFile(file) as archive:
        found = [m for m in archive.infolist() if m.filename.rsplit("/", 1)[-1] == name]
        if len(found) != 1:
            raise ValueError(f"the archive has {len(found)} files named {name!r}, not one")
        _check_length(name, found[0].file_size, limit)
        return archive.read(found[0])


def tar_members(file: BinaryIO, limit: int) -> Iterator[tuple[str, bytes]]:
    """Name and contents of each plain file of a gzipped tar archive."""
    with tarfile.open(fileobj=file, mode="r:gz") as archive:
        for member in archive:
            if not member.isreg():
                continue
            _check_length(member.name, member.size, limit)
            contents = archive.extractfile(member)
            assert contents is not None  # it is a plain file
            yield member.name, contents.read()


def _check_length(name: str, length: int, limit: int) -> None:
    # A few bytes can unpack to more than there is memory for.
    if length > limit:
        raise ValueError(f"{name!r} is {length} bytes long, more than {limit}")


def csv_rows(text: str, width: int, quote: str = '"') -> list[list[str]]:
    """The rows of a comma-separated table, all of the same width; empty lines do not count."""
    rows = [row for row in csv.reader(text.splitlines(), quotechar=quote, strict=True) if row]
    if not rows:
        raise ValueError("the table is empty")
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise ValueError(f"row {number} has {len(row)} cells, not {width}")
    return rows


def places(header: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where the wanted columns are."""
    missing = [name for name in wanted if name not in header]
    if missing:
        raise ValueError(f"column {missing[0]!r} is missing")
    return [header.index(name) for name in wanted]


def numbers(rows: Sequence[Sequence[str]], columns: Sequence[int]) -> NDArray[np.float64]:
    """Some columns of the rows, as numbers."""
    return np.array([[float(row[i]) for i in columns] for row in rows], dtype=np.float64)
