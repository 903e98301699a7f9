"""Parquet files on a Dask scheduler: a worker is sent the location of rows, not the rows."""

from __future__ import annotations

import uuid
from typing import Any

from treemeans.optional_imports import need
from treemeans.partitioned.readers.arrow_columns import BatchConverter
from treemeans.partitioned.readers.dask_partitions import (
    DaskPartitions,
    TransferTotals,
    most_gathered,
    reduce_replies,
)
from treemeans.partitioned.readers.dask_pass import DaskScheduler
from treemeans.partitioned.readers.parquet_partitions import ParquetPartitions, ReadTask
from treemeans.partitioned.readers.pass_task import FAN_IN, PassReply, PassTask, size_of


class DaskParquetPartitions(DaskPartitions):
    """Partitions of Parquet files, each read by the worker that maps it.

    Parameters
    ----------
    files : partitions that this process could read; the workers must see the same files
    """

    def __init__(self, files: ParquetPartitions) -> None:
        self.scheduler = DaskScheduler.current()
        self.traffic = TransferTotals()
        self.files = files
        self.first_rows = None
        self._labels = None
        self.fit_token = uuid.uuid4().hex
        self.n_partitions, self.n_features = files.n_partitions, files.n_features
        self.names, self.dates, self.booleans = files.names, files.dates, files.booleans
        self.schema, self.columns = files.schema, files.columns
        self.n_rows, self.n_bytes = files.n_rows, files.n_bytes
        self.value_bytes, self.gather_bytes = files.value_bytes, most_gathered()

    def _graph(self, task: PassTask) -> Any:
        """A task for each piece of the files, and a tree of merges."""
        delayed = need("dask", "dask").delayed
        token = uuid.uuid4().hex
        sent = delayed(task, name=f"treemeans-task-{token}", traverse=False)
        ask, merge = delayed(map_read_task, pure=False), delayed(reduce_replies, pure=False)
        converter = delayed(self.files.converter, name=f"treemeans-taker-{token}", traverse=False)
        replies = [
            ask(piece, converter, sent, dask_key_name=(f"map_read_task-{token}", piece.number))
            for piece in self.files.cut
        ]
        while len(replies) > FAN_IN:
            few = [replies[i : i + FAN_IN] for i in range(0, len(replies), FAN_IN)]
            replies = [merge(sent, each) for each in few]
        return merge(sent, replies)


def map_read_task(piece: ReadTask, converter: BatchConverter, task: PassTask) -> PassReply:
    """The reply of some partitions that are read one after the other."""
    reply = PassReply()
    try:
        for partition in piece.blocks(converter, task.first_rows):
            task.stop.check()
            answer = task.step.map(task.with_cache(partition))
            del partition  # before the next one is read
            reply = task.merge([reply, PassReply(answer, asked=1, sent=size_of(answer))])
    except ValueError as error:
        return PassReply(refused=str(error))
    return reply
