"""Formats of files, as their names say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KINDS = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
READABLE_FORMATS = "CSV, TSV, JSON lines, Parquet or Arrow"


@dataclass(frozen=True)
class FileFormat:
    """The format that the name of a file says.

    Attributes
    ----------
    kind : "text" (delimited), "parquet" or "arrow"; empty if the name does not say
    delimiter : delimiter of text; empty if the name does not say
    compression : compression of text, by the name it has in pyarrow
    """

    kind: str = ""
    delimiter: str = ""
    compression: str | None = None


def format_from_name(path: Path) -> FileFormat:
    r"""The format that the suffixes of a name stand for.

    Examples
    --------
    >>> format_from_name(Path("customers.tsv.gz"))
    FileFormat(kind='text', delimiter='\t', compression='gzip')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    last = suffixes[-2:-1] if compression else suffixes[-1:]
    kind = KINDS.get(last[0], "") if last else ""
    if kind == "json":
        return FileFormat("json", compression=compression)
    if kind != "text":
        return FileFormat() if compression else FileFormat(kind)
    return FileFormat("text", {".csv": ",", ".tsv": "\t"}.get(last[0], ""), compression)
