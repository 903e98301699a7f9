"""DaskPartitions: the partitions of a dask array or data frame, on the user's scheduler."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.dates import date_columns
from treemeans.columns.detect_columns import boolean_columns
from treemeans.columns.frame_values import is_all_numbers, open_frame
from treemeans.optional_imports import need
from treemeans.partitioned.column_inference import infer_from_frames
from treemeans.partitioned.map_reduce import MapReduceStep, PartitionedRows, Result
from treemeans.partitioned.partition import LabelColumn, PartitionSchema
from treemeans.partitioned.readers.dask_pass import DaskScheduler, PassTimeout
from treemeans.partitioned.readers.pass_task import FAN_IN, PassReply, PassTask, size_of
from treemeans.partitioned.readers.task_fusion import fused
from treemeans.reference.given_labels import is_noise, number_labels, plain_values

_LABELS = "labels of the reference"  # the column that holds them next to those of X
GATHER = "treemeans.gather"


@dataclass
class TransferTotals:
    """How much has been sent so far, in bytes of pickled objects.

    Attributes
    ----------
    passes : over all partitions
    asked : bytes of the steps, each counted once however many workers it was sent to
    answered : bytes of the results of all partitions
    returned : bytes of the merged results, which came back from the workers
    """

    passes: int = 0
    asked: int = 0
    answered: int = 0
    returned: int = 0


@dataclass(frozen=True)
class PassGraph:
    """The tasks of a pass; those of the next pass differ in what is sent alone.

    Attributes
    ----------
    rows : the collection whose partitions are asked
    tasks : by their keys
    sent : key of the `PassTask`
    name : key of the merged reply
    """

    rows: Any
    tasks: dict[Any, Any]
    sent: Any
    name: str


class DaskPartitions(PartitionedRows):
    """Partitions of a dask array or data frame.

    Every pass is a graph of its own: a task for each partition, which reads its rows and drops
    them, and a tree of merges. Rows stay in memory between passes only if the user has persisted
    them.

    Parameters
    ----------
    X : dask array or dask data frame
    sample_weight : dask array or series with the same partitions, or an array, optional
    """

    def __init__(self, X: Any, sample_weight: Any = None) -> None:
        self.scheduler = DaskScheduler.current()
        self.traffic = TransferTotals()
        self._warned = False
        self._made: PassGraph | None = None
        self.first_rows = None
        self.fit_token = uuid.uuid4().hex
        self.is_frame = is_frame(X)
        self._rows = X if self.is_frame else with_whole_rows(X)
        self.n_partitions = int(
            self._rows.npartitions if self.is_frame else self._rows.numblocks[0]
        )
        self.n_features = int(X.shape[1])
        self.names = _names(X) if self.is_frame else None
        self.dates = date_columns(X._meta) if self.is_frame else {}
        self.booleans = boolean_columns(X._meta) if self.is_frame else []
        self.can_infer = self.is_frame
        self.needs_schema = self.is_frame and not is_numbers_or_dates(X._meta)
        self._weights = None if sample_weight is None else self._partitioned(sample_weight)
        self._labels: LabelColumn | None = None
        if not self.is_frame and not np.isnan(X.shape[0]):
            self.n_rows = int(X.shape[0])
            self.value_bytes = X.dtype.itemsize
        self.gather_bytes = most_gathered()

    def infer_columns(self) -> None:
        """Find out in a pass what the columns of a data frame are, as for one in memory."""
        if self.is_frame and self.columns is None:
            infer_from_frames(self)

    def take_labels(self, labels: Any, noise: str) -> tuple[str, ...]:
        """Use a dask series of the same partitions as labels of the rows; names of the clusters.

        One pass finds the different labels.
        """
        if not self.is_frame or is_frame(labels) or is_array(labels):
            raise ValueError(
                "Labels of dask's rows must be a dask series with the partitions of X, a dask data "
                "frame."
            )
        frame = labels.to_frame(name=_LABELS)
        if frame.npartitions != self.n_partitions:
            raise ValueError(
                f"reference has {frame.npartitions} partitions, but X has {self.n_partitions}."
            )
        found = set()
        for values in need("dask", "dask").compute(*labels.unique().to_delayed()):
            found.update(plain_values(values))
        distinct, names = number_labels(found, noise)
        without = noise == "ignore" and any(map(is_noise, found))
        self._rows = self._rows.assign(**{_LABELS: labels})
        self._labels = LabelColumn(_LABELS, distinct, noise, without)
        return names

    @classmethod
    def of(cls, X: Any, sample_weight: Any = None) -> DaskPartitions:
        """The rows of a dask collection; refuses one without rows and columns."""
        check_table(X)
        return cls(X, sample_weight)

    def map_reduce(self, step: MapReduceStep[Result]) -> Result:
        """Map all partitions, and reduce the results in the order of partitions."""
        limit = PassTimeout.configured()
        task = PassTask(
            step,
            PartitionSchema.of(self, self._labels),
            self.first_rows,
            self.scheduler.stop(limit),
            self.fit_token,
            self.scheduler.processes,
        )
        reply = self.scheduler.run(self._graph(task), task.stop, limit)
        self.traffic.passes += 1
        self.traffic.asked += size_of(task)
        self.traffic.answered += reply.sent
        self.traffic.returned += size_of(reply)
        answer: Result = reply.result(
            f"All {self.n_partitions} partitions are empty; there are no rows."
        )
        if reply.empty and not self._warned:
            self._warned = True
            warnings.warn(_left_out(reply.empty, self.n_partitions), UserWarning, stacklevel=2)
        return answer

    def release(self) -> None:
        """Drop what the workers keep of the rows."""
        self.scheduler.forget(self.fit_token)
        self.fit_token = uuid.uuid4().hex
        self._made = None

    def _graph(self, task: PassTask) -> Any:
        """The graph of a pass, whose result is one reply."""
        delayed, graphs = need("dask.delayed", "dask"), need("dask.highlevelgraph", "dask")
        made = self._made
        # Keys of a cluster must be new in every pass, or it may give the results of the last.
        if made is None or made.rows is not self._rows or self.scheduler.client is not None:
            self._made = made = self._make_graph(task)
        tasks = made.tasks | {made.sent: task}
        graph = graphs.HighLevelGraph.from_collections(made.name, tasks, dependencies=())
        return delayed.Delayed(made.name, graph)

    def _make_graph(self, task: PassTask) -> PassGraph:
        """The tasks of a pass: to ask the partitions, and to merge their replies."""
        token = uuid.uuid4().hex
        delayed = need("dask", "dask").delayed
        sent = delayed(task, name=f"treemeans-task-{token}", traverse=False)
        replies = self._ask_frame(sent) if self.is_frame else self._ask_array(sent)
        asks = [reply.key for reply in replies]
        tasks = fused(dict(replies[0].__dask_graph__()), asks)
        key, name = key_of(sent, tasks), f"treemeans-merge-{token}"
        return PassGraph(self._rows, tasks | reduce_tree(name, key, asks), key, name)

    def _ask_array(self, sent: Any) -> Any:
        """Replies of the chunks of an array; dask makes one task of reading and mapping."""
        replies = need("dask.array", "dask").map_blocks(
            map_array_chunk,
            self._rows,
            None if self._weights is None else self._weights[:, None],
            sent,
            name=f"{map_array_chunk.__name__}-{sent.key}",
            dtype=object,
            meta=np.empty((0, 0), dtype=object),
        )
        return replies.to_delayed().ravel()

    def _ask_frame(self, sent: Any) -> Any:
        """Replies of the partitions of a data frame."""
        replies = self._rows.map_partitions(
            map_frame_partition,
            self._weights,
            sent,
            meta=need("pandas", "dask").Series(dtype=object),
            enforce_metadata=False,
            align_dataframes=False,
        )
        return replies.to_delayed()

    def _partitioned(self, sample_weight: Any) -> Any:
        """Weights in the same partitions as the rows."""
        if not is_dask(sample_weight):
            weights = self._divided(np.asarray(sample_weight, dtype=np.float64))
        elif is_array(sample_weight):
            weights = sample_weight
        elif is_frame(sample_weight):
            raise ValueError("sample_weight is a dask data frame; pass one of its columns.")
        else:
            weights = sample_weight.to_dask_array()
        if weights.ndim != 1:
            raise ValueError(
                f"sample_weight must have one dimension; it has the shape {weights.shape}."
            )
        if not self.is_frame and weights.chunks[0] != self._rows.chunks[0]:
            weights = self._rechunked(weights)
        if weights.numblocks[0] != self.n_partitions:
            raise ValueError(
                f"sample_weight has {weights.numblocks[0]} partitions, but X has "
                f"{self.n_partitions}."
            )
        if not self.is_frame:
            return weights
        return need("dask.dataframe", "dask").from_dask_array(weights)

    def _rechunked(self, weights: Any) -> Any:
        """Weights in the chunks of the rows, where it is known how many rows they have."""
        ours, theirs = self._rows.shape[0], weights.shape[0]
        if np.isnan(ours) or np.isnan(theirs):
            return weights
        if ours != theirs:
            raise ValueError(f"sample_weight has {theirs} entries, but X has {ours} rows.")
        return weights.rechunk((self._rows.chunks[0],))

    def _divided(self, weights: NDArray[np.float64]) -> Any:
        """Weights in this process, which are sent to the workers once."""
        if self.is_frame or np.isnan(self._rows.shape[0]):
            raise ValueError(
                "It is not known how many rows each partition of X has, so sample_weight must be a "
                "dask array or series with the same partitions."
            )
        if weights.ndim != 1 or len(weights) != self._rows.shape[0]:
            raise ValueError(
                f"sample_weight has the shape {weights.shape}, but X has {self._rows.shape[0]} "
                "rows."
            )
        divided = need("dask.array", "dask").from_array(weights, chunks=(self._rows.chunks[0],))
        return divided if self.scheduler.client is None else divided.persist()


def most_gathered() -> int:
    """The size up to which rows are gathered, as the user has set it in dask's configuration."""
    given = need("dask", "dask").config.get(GATHER, None)
    if given is None:
        return PartitionedRows.gather_bytes
    return int(need("dask.utils", "dask").parse_bytes(given))


def map_array_chunk(rows: Any, weights: Any, task: PassTask, block_id: Any = None) -> PassReply:
    """The reply of a chunk."""
    return task.run(block_id[0], rows, None if weights is None else weights[:, 0])


def map_frame_partition(
    rows: Any, weights: Any, task: PassTask, partition_info: Any = None
) -> PassReply:
    """The reply of a partition of a data frame."""
    return task.run(partition_info["number"], rows, weights)


def reduce_replies(task: PassTask, replies: list[PassReply]) -> PassReply:
    """One reply of several."""
    return task.merge(replies)


def key_of(sent: Any, tasks: dict[Any, Any]) -> Any:
    """The key of what was sent among the tasks; a data frame keeps it under a key of its own."""
    for key in (sent.key, (sent.key, 0)):
        if key in tasks:
            return key
    tasks.update(sent.__dask_graph__())
    return sent.key


def reduce_tree(name: str, task: Any, replies: list[Any]) -> dict[Any, Any]:
    """Tasks that merge a few replies at a time, in order; the last has the name."""
    tasks: dict[Any, Any] = {}
    level = 0
    while len(replies) > FAN_IN:
        level += 1
        few = [replies[i : i + FAN_IN] for i in range(0, len(replies), FAN_IN)]
        replies = [(name, level, i) for i in range(len(few))]
        tasks |= {key: (reduce_replies, task, keys) for key, keys in zip(replies, few, strict=True)}
    return tasks | {name: (reduce_replies, task, replies)}


def is_dask(X: Any) -> bool:
    """Whether something is one of dask's collections; dask is not imported to find out."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def in_memory(columns: Any) -> Any:
    """A data frame, or columns in a dict, with those of dask's collections brought to memory."""
    if isinstance(columns, Mapping):
        return {name: in_memory(values) for name, values in columns.items()}
    return columns.compute() if is_dask(columns) else columns


def is_array(X: Any) -> bool:
    """Whether one of dask's collections is an array."""
    return hasattr(type(X), "numblocks")  # of the type: a Delayed claims to have everything


def is_frame(X: Any) -> bool:
    """Whether one of dask's collections is a data frame."""
    return hasattr(type(X), "npartitions") and hasattr(type(X), "columns") and X.ndim == 2


def check_table(X: Any) -> None:
    """Refuse what has no rows and columns."""
    if not is_array(X) and not is_frame(X):
        raise ValueError(
            f"X is a {type(X).__name__} of dask; pass a dask array of two dimensions or a dask "
            "data frame."
        )
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a dask array of {X.ndim} dimensions instead.")
    if np.isnan(X.shape[1]):
        raise ValueError("It is not known how many columns X has; call X.compute_chunk_sizes().")


def with_whole_rows(X: Any) -> Any:
    """An array whose chunks hold all columns."""
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _names(X: Any) -> NDArray[np.object_] | None:
    """Names of the columns if they are all strings."""
    if all(isinstance(name, str) for name in X.columns):
        return np.array(list(X.columns), dtype=object)
    return None


def is_numbers_or_dates(meta: Any) -> bool:
    """Whether all columns are numbers, booleans or dates by their type."""
    frame = open_frame(meta)
    if frame is None:
        return True
    dated = ("Date", "Datetime")
    return is_all_numbers(
        frame.drop([n for n in frame.columns if str(frame.schema[n]).partition("(")[0] in dated])
    )


def _left_out(empty: tuple[int, ...], n_partitions: int) -> str:
    if len(empty) == 1:
        return f"Partition {empty[0]} of {n_partitions} is empty and is left out."
    shown = ", ".join(map(str, empty[:10])) + (", ..." if len(empty) > 10 else "")
    return f"{len(empty)} of {n_partitions} partitions are empty and are left out: {shown}."
