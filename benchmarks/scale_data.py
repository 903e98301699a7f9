"""Tables of any size for scale.py: a row depends on its number alone, however they are cut up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Read = Callable[[int, int], Rows]

BLOCK = 100_000  # rows that are drawn from one seed
GROUP = 500_000  # rows of a row group
FILE = 5_000_000  # rows of a Parquet file
APART = 1.5  # standard deviation of the centers; that of the rows about them is 1
NUMBER = 4  # bytes of a value


@dataclass(frozen=True)
class Table:
    """Rows of k overlapping clusters.

    Of five columns, three are Gaussian about the center of a row's cluster, one has heavy tails
    (the cube of a Gaussian), and one holds whole numbers.
    """

    n_rows: int
    n_features: int
    k: int
    seed: int = 0

    @property
    def n_bytes(self) -> int:
        """Bytes of all values."""
        return self.n_rows * self.n_features * NUMBER

    def centers(self) -> NDArray[np.float64]:
        """(k, n_features), the means of the clusters."""
        rng = np.random.default_rng([self.seed, self.n_features, self.k])
        return APART * rng.standard_normal((self.k, self.n_features))

    def block(self, number: int) -> Rows:
        """The rows from ``number * BLOCK`` on, as if there were no last one."""
        rng = np.random.default_rng([self.seed, self.n_features, self.k, number])
        labels = rng.integers(0, self.k, BLOCK)
        X = rng.standard_normal((BLOCK, self.n_features), dtype=np.float32)
        X[:, 3::5] **= 3
        X[:, 3::5] /= np.float32(np.sqrt(15.0))  # so that their variance is 1 as well
        X += self.centers().astype(np.float32)[labels]
        np.rint(X[:, 4::5], out=X[:, 4::5])
        return X

    def rows(self, first: int, last: int) -> Rows:
        """The rows from ``first`` to before ``last``."""
        found = np.empty((last - first, self.n_features), dtype=np.float32)
        for number in range(first // BLOCK, -(-last // BLOCK)):
            begin, end = max(first, number * BLOCK), min(last, (number + 1) * BLOCK)
            found[begin - first : end - first] = self.block(number)[
                begin - number * BLOCK : end - number * BLOCK
            ]
        return found

    def slices(self, size: int) -> Iterator[Rows]:
        """All rows, ``size`` at a time."""
        for first in range(0, self.n_rows, size):
            yield self.rows(first, min(first + size, self.n_rows))


@dataclass(frozen=True)
class Stored:
    """A table in a file of bare numbers, row after row; smaller tables are its beginning."""

    path: Path
    n_features: int

    def rows(self, first: int, last: int) -> Rows:
        """Read some rows."""
        width = self.n_features
        read = np.fromfile(
            self.path, np.float32, (last - first) * width, offset=first * width * NUMBER
        )
        return read.reshape(-1, width)


def store(table: Table, folder: Path) -> Stored:
    """The table in a file, which is made, or made longer, if need be."""
    path = folder / f"{table.n_features}x{table.k}-seed{table.seed}.f32"
    folder.mkdir(parents=True, exist_ok=True)
    per_block = BLOCK * table.n_features * NUMBER
    with path.open("ab") as file:
        done = file.tell() // per_block  # whole blocks; what a stopped run began is written again
        file.truncate(done * per_block)
        for number in range(done, -(-table.n_rows // BLOCK)):
            table.block(number).tofile(file)
    return Stored(path, table.n_features)


def write_parquet(table: Table, folder: Path, file: int = FILE, group: int = GROUP) -> Path:
    """The table in a folder of Parquet files, written row group by row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"{table.n_rows}x{table.n_features}x{table.k}-seed{table.seed}.parquet"
    if path.is_dir():
        return path
    draft = path.with_suffix(f".{os.getpid()}.draft")
    draft.mkdir(parents=True)
    names = [f"x{column}" for column in range(table.n_features)]
    schema = pa.schema([(name, pa.float32()) for name in names])
    for number, first in enumerate(range(0, table.n_rows, file)):
        n_rows = min(file, table.n_rows - first)
        target = draft / f"{number:04}.parquet"
        with pq.ParquetWriter(target, schema, compression="none", use_dictionary=False) as out:
            for at in range(first, first + n_rows, group):
                X = table.rows(at, min(at + group, first + n_rows))
                arrays = [pa.array(np.ascontiguousarray(column)) for column in X.T]
                out.write_table(pa.Table.from_arrays(arrays, schema=schema))
    draft.rename(path)
    return path


def as_dask(table: Table, n_parts: int, read: Read | None = None) -> Any:
    """A dask array whose chunks are made when they are asked for; or read, by ``read``."""
    import dask.array as da

    rows = [last - first for first, last in map(partial(_part, table, n_parts), range(n_parts))]
    return da.map_blocks(
        partial(_chunk, replace(table), n_parts, read or table.rows),
        chunks=(tuple(rows), (table.n_features,)),
        dtype=np.float32,
        meta=np.empty((0, 0), dtype=np.float32),
    )


def _chunk(table: Table, n_parts: int, read: Read, block_id: tuple[int, int] | None = None) -> Rows:
    assert block_id is not None
    return read(*_part(table, n_parts, block_id[0]))


def _part(table: Table, n_parts: int, number: int) -> tuple[int, int]:
    """First row of a part, and that of the next."""
    return table.n_rows * number // n_parts, table.n_rows * (number + 1) // n_parts
