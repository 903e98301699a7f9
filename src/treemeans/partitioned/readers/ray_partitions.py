"""RayPartitions: the blocks of a Ray Dataset, on the user's cluster.

A pass is one Ray task for each block, and tasks that merge a few replies at a time; one reply comes
back. Blocks are data frames of pandas where they are read, so categories, dates and missing values
are what they are in a data frame in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treemeans.columns.dates import date_columns
from treemeans.columns.detect_columns import boolean_columns
from treemeans.optional_imports import need
from treemeans.partitioned.column_inference import infer_from_frames
from treemeans.partitioned.map_reduce import MapReduceStep, PartitionedRows, Result
from treemeans.partitioned.partition import PartitionSchema
from treemeans.partitioned.readers.dask_partitions import is_numbers_or_dates
from treemeans.partitioned.readers.pass_task import FAN_IN, PassReply, PassTask
from treemeans.partitioned.readers.weights_column import known_weights, weights_column

_NO_ROWS = "The dataset has no rows; pass one that has some."


class RayPartitions(PartitionedRows):
    """Blocks of a Ray Dataset.

    The dataset is materialized, in Ray's object store, for the time of a fit: passes must see the
    same rows in the same blocks.

    Parameters
    ----------
    X : Ray Dataset
    weights : name of the column with the weights of the rows; empty without weights
    """

    can_infer = True

    def __init__(self, X: Any, weights: str = "") -> None:
        ray = need("ray", "ray")
        known = X.columns() or []
        self._weights = known_weights(weights, known)
        self._blocks = X.materialize().to_pandas_refs()
        self.n_partitions = len(self._blocks)
        if not known or not self._blocks:
            raise ValueError(_NO_ROWS)
        meta = ray.get(_run(_frame_without_rows, self._blocks[0])).drop(columns=weights or [])
        self.n_features = meta.shape[1]
        self.names = np.array(list(meta.columns), dtype=object)
        self.dates, self.booleans = date_columns(meta), boolean_columns(meta)
        self.needs_schema = not is_numbers_or_dates(meta)
        self.first_rows = None

    @classmethod
    def of(cls, X: Any, sample_weight: Any = None) -> RayPartitions | None:
        """Rows of a Dataset; None of anything else in ray."""
        if not hasattr(type(X), "to_pandas_refs"):
            return None
        return cls(X, weights_column(sample_weight, "Ray"))

    def infer_columns(self) -> None:
        """Find out in a pass what the columns are, as for a data frame in memory."""
        if self.columns is None:
            infer_from_frames(self)

    def map_reduce(self, step: MapReduceStep[Result]) -> Result:
        """Map all blocks, and reduce the results in the order of blocks."""
        ray = need("ray", "ray")
        task = ray.put(PassTask(step, PartitionSchema.of(self), self.first_rows))
        replies = [
            _run(map_ray_block, task, number, self._weights, block)
            for number, block in enumerate(self._blocks)
        ]
        try:
            while len(replies) > 1:
                few = [replies[i : i + FAN_IN] for i in range(0, len(replies), FAN_IN)]
                replies = [_run(merge_ray_replies, task, *some) for some in few]
            reply: PassReply = ray.get(replies[0])
        except KeyboardInterrupt:
            for waiting in replies:
                ray.cancel(waiting)
            raise
        answer: Result = reply.result(_NO_ROWS)
        return answer

    def release(self) -> None:
        """Release the materialized blocks: the fit is over."""
        self._blocks = []


def _run(function: Any, *arguments: Any) -> Any:
    """Run a function on the cluster; a reference to what it returns."""
    return need("ray", "ray").remote(function).remote(*arguments)


def map_ray_block(task: PassTask, number: int, weights: str, block: Any) -> PassReply:
    """The reply of one block."""
    if not weights:
        return task.run(number, block)
    return task.run(number, block.drop(columns=weights), block[weights].to_numpy())


def merge_ray_replies(task: PassTask, *replies: PassReply) -> PassReply:
    """One reply of several blocks that follow each other."""
    return task.merge(replies)


def _frame_without_rows(block: Any) -> Any:
    return block.iloc[:0]
