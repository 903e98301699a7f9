"""Kinds of files, by their names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KINDS = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
READABLE = "CSV, TSV, Parquet or Arrow"


@dataclass(frozen=True)
class Format:
    """What the name of a file says.

    Attributes
    ----------
    kind : "text" (delimited), "parquet", "arrow"; empty where the name does not tell
    delimiter : of text; empty where the name does not tell
    compression : of text, as pyarrow calls it
    """

    kind: str = ""
    delimiter: str = ""
    compression: str | None = None


def format_of(path: Path) -> Format:
    r"""The format a name stands for.

    Examples
    --------
    >>> format_of(Path("customers.tsv.gz"))
    Format(kind='text', delimiter='\t', compression='gzip')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    last = suffixes[-2:-1] if compression else suffixes[-1:]
    kind = KINDS.get(last[0], "") if last else ""
    if kind != "text":
        return Format() if compression else Format(kind)
    return Format("text", {".csv": ",", ".tsv": "\t"}.get(last[0], ""), compression)
