"""Where a data set comes from."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from treemeans.datasets.prepared_data import Prepared


@dataclass(frozen=True)
class Raw:
    """A file as published: its name, its addresses (the first that answers is used), its size.

    The size is what a progress bar goes by where the server does not say, and may be rough.
    ``sha256`` is None where no sum is published; the prepared table's own sum must do then.
    """

    name: str
    addresses: tuple[str, ...]
    size: int
    sha256: str | None = None


@dataclass(frozen=True)
class Source:
    """A raw file, how to read it, and the SHA-256 of the table that must come out."""

    raw: Raw
    parse: Callable[[BinaryIO], Prepared]
    digest: str
    from_folder: Callable[[Path], Prepared | None] | None = None
    """Reads the set from a folder that keeps it in another form than one ``.npz`` file."""
