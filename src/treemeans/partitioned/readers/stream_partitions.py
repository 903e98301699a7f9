"""Rows that can only be read from the first to the last: a query, a filtered dataset."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treemeans.partitioned.partition import Partition
from treemeans.partitioned.readers.arrow_columns import BatchConverter, blocks_of
from treemeans.partitioned.readers.reread_partitions import RereadPartitions

Batches = Generator[pa.RecordBatch, None, None]


class StreamPartitions(RereadPartitions):
    """Rows that are read from the first to the last in every pass.

    Their order may differ from pass to pass, because sums do not depend on it; the rows may not,
    and that is checked.

    Parameters
    ----------
    batches : gives some columns of all rows anew; called, read and closed in the calling thread
    converter : makes numbers of them
    n_rows : how many there are
    what : their name in messages
    infer : finds a converter for rows that are not all numbers
    """

    def __init__(
        self,
        batches: Callable[[Sequence[str]], Batches],
        converter: BatchConverter,
        n_rows: int,
        what: str,
        infer: Callable[[], BatchConverter] | None = None,
    ) -> None:
        super().__init__(converter, -(-n_rows // converter.rows_per_partition()), n_rows, infer)
        self._batches = batches
        self._what = what
        self._seen: tuple[int, int] | None = None  # rows, and a sum of all bits, of the first pass

    def infer_columns(self) -> None:
        """Find out in a pass what the columns are; the rows as numbers are others then."""
        self._seen = None
        super().infer_columns()

    def pieces(self) -> Generator[Iterable[Partition], None, None]:
        """Each block by itself."""
        rows = bits = 0
        with closing(self._blocks()) as blocks:
            for partition in blocks:
                rows += partition.n_rows
                bits = (bits + _bits(partition.X)) % 2**64
                yield [partition]
                del partition
        if rows != self.n_rows:
            raise self._changed(f"{self.n_rows:,} rows at first, and {rows:,} now")
        if self._seen is None:
            self._seen = (rows, bits)
        elif self._seen != (rows, bits):
            raise self._changed("other rows than at first")

    def _blocks(self) -> Generator[Partition, None, None]:
        with closing(self._batches(self.converter.reads)) as batches:
            firsts = self._safe_firsts()
            for partition in blocks_of(
                batches, self.converter, 0, 0, firsts, self.rows_per_partition
            ):
                if partition.number >= self.n_partitions:
                    raise self._changed(f"{self.n_rows:,} rows at first, and more now")
                yield partition

    def _safe_firsts(self) -> NDArray[np.int64] | None:
        """First rows, with an entry for one partition too many, which is refused."""
        return None if self.first_rows is None else np.append(self.first_rows, -1)

    def _changed(self, how: str) -> ValueError:
        return ValueError(
            f"{self._what} gave {how}; it is read several times and must give the same rows each "
            "time, so write them to a Parquet file first."
        )


def _bits(X: NDArray[Any]) -> int:
    """A checksum that does not depend on the order of the rows."""
    whole = X.view(f"u{X.dtype.itemsize}")
    return int(whole.sum(dtype=np.uint64))
