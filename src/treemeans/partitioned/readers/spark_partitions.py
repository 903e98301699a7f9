"""SparkPartitions: the partitions of a Spark DataFrame, on the user's session.

A pass is one Spark job: `mapInArrow` maps each partition where it is and then merges a few replies
at a time, and one small table with pickled replies comes back.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterator
from functools import partial, reduce
from operator import or_
from typing import Any

import numpy as np
import pyarrow as pa

from treemeans.columns.encoded_table import check_schema
from treemeans.columns.frame_values import open_frame
from treemeans.columns.table_schema import (
    ColumnSummary,
    merge_summaries,
    plan_columns,
    summarize,
)
from treemeans.files.file_errors import quoted
from treemeans.optional_imports import need
from treemeans.partitioned.map_reduce import MapReduceStep, Result
from treemeans.partitioned.partition import Partition, PartitionSchema, check_weights
from treemeans.partitioned.readers.arrow_columns import (
    BatchConverter,
    ConvertedPartitions,
    MissingValueError,
    number_converter,
    rows_as_frame,
)
from treemeans.partitioned.readers.frame_converter import FrameConverter, has_other_columns
from treemeans.partitioned.readers.pass_task import FAN_IN, PassReply, PassTask, size_of
from treemeans.partitioned.readers.weights_column import known_weights, weights_column

_NO_ROWS = "The DataFrame has no rows; pass one that has some."
_REPLY = "number int, reply binary"  # what travels between the stages of a pass
_ARROW = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp_ntz": pa.timestamp("us"),
    "daytimeinterval": pa.duration("us"),
    "string": pa.string(),
    "varchar": pa.string(),
    "char": pa.string(),
}


class SparkPartitions(ConvertedPartitions):
    """Partitions of a Spark DataFrame.

    The rows are persisted for the time of a fit, in memory and on disk, if the user has not done
    so: passes must see the same rows in the same partitions.

    Parameters
    ----------
    X : Spark DataFrame with columns of numbers, booleans, dates, durations or text; where there is
        text or null, a pass finds out what the columns are, as for a data frame in memory
    weights : name of the column with the weights of the rows; empty without weights
    """

    gather_bytes = 2**28  # what a driver of Spark takes from a job is bounded (1 GB by default)

    def __init__(self, X: Any, weights: str = "") -> None:
        self._weights = known_weights(weights, X.columns)
        self._columns = [name for name in X.columns if name != weights]
        schema = pa.schema([(field.name, _arrow_type(field)) for field in X.schema.fields])
        self._X = X.select(*map(_as_number, X.schema.fields))
        self._kept = bool(X.storageLevel.useMemory or X.storageLevel.useDisk)
        if not self._kept:
            self._X = self._X.persist()
        self.first_rows = None
        self.n_partitions, has_nulls = self._count()
        schemas = [("the DataFrame", schema)]
        self.can_infer = True
        if has_nulls or has_other_columns(schemas, self._columns):
            self.infer_columns()
        else:
            self.convert_with(number_converter(schemas, self._columns, weights))

    def infer_columns(self) -> None:
        """Find out in a pass what the columns are, as for a data frame in memory."""
        replies = self._X.mapInArrow(partial(summarize_spark_partition, self._columns), _REPLY)
        rows = sorted((row["number"], bytes(row["reply"])) for row in replies.collect())
        found: list[dict[str, ColumnSummary]] = [pickle.loads(each) for _, each in rows]
        if not found:
            raise ValueError(_NO_ROWS)
        merged = {
            name: reduce(merge_summaries, [each[name] for each in found]) for name in self._columns
        }
        schema = plan_columns(merged)
        check_schema(schema)
        self.convert_with(FrameConverter(schema, self._weights))
        self.can_infer = False

    @classmethod
    def of(cls, X: Any, sample_weight: Any = None) -> SparkPartitions | None:
        """Rows of a DataFrame; None of anything else in pyspark."""
        if not hasattr(type(X), "mapInArrow"):
            return None
        return cls(X, weights_column(sample_weight, "Spark"))

    def map_reduce(self, step: MapReduceStep[Result]) -> Result:
        """Map all partitions, and reduce the results in the order of partitions."""
        task = PassTask(step, PartitionSchema.of(self), self.first_rows)
        sent = pickle.dumps((task, self.converter))
        replies = self._X.mapInArrow(partial(map_spark_partition, sent), _REPLY)
        stage = 1
        while -(-self.n_partitions // FAN_IN**stage) > 1 and self.n_partitions > FAN_IN:
            n_groups = -(-self.n_partitions // FAN_IN**stage)
            group = need("pyspark.sql.functions", "spark").expr(f"number div {FAN_IN**stage}")
            merge = partial(merge_spark_replies, sent, FAN_IN**stage)
            replies = replies.repartition(n_groups, group).mapInArrow(merge, _REPLY)
            stage += 1
        found = sorted((row["number"], bytes(row["reply"])) for row in replies.collect())
        reply = task.merge([pickle.loads(each) for _, each in found])
        answer: Result = reply.result(_NO_ROWS)
        return answer

    def release(self) -> None:
        """Drop the persisted rows, if this object persisted them."""
        if not self._kept:
            self._X.unpersist()

    def _count(self) -> tuple[int, bool]:
        """Number of partitions, and whether some value is missing."""
        functions = need("pyspark.sql.functions", "spark")
        lacking = [functions.col(f"`{name}`").isNull() for name in self._columns]
        found = self._X.select(
            functions.spark_partition_id().alias("number"),
            reduce(or_, lacking, functions.lit(False)).alias("lacking"),
        )
        ((last, lacks),) = found.agg(functions.max("number"), functions.max("lacking")).collect()
        return 1 + int(-1 if last is None else last), bool(lacks)


def summarize_spark_partition(columns: list[str], batches: Iterator[Any]) -> Iterator[Any]:
    """What one partition has found of the columns."""
    number = int(need("pyspark", "spark").TaskContext.get().partitionId())
    frames = (open_frame(pa.Table.from_batches([batch])) for batch in batches if batch.num_rows)
    found = summarize(frames, columns)
    if any(summary.n_rows for summary in found.values()):
        yield _as_batch({number: found})


def map_spark_partition(sent: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """The reply of one partition, whose rows come as a few batches."""
    task, converter = pickle.loads(sent)
    number = int(need("pyspark", "spark").TaskContext.get().partitionId())
    reply = _reply_of(number, batches, task, converter)
    if reply is not None:
        yield _as_batch({number: reply})


def _reply_of(
    number: int, batches: Iterator[Any], task: PassTask, converter: BatchConverter
) -> PassReply | None:
    taken = []
    n_rows = 0
    try:
        for batch in batches:
            taken.append(converter.take(batch, n_rows))
            n_rows += batch.num_rows
        if n_rows == 0:
            return None
        X = np.concatenate([X for X, _ in taken])
        weights = None
        if converter.weights:
            weights = np.concatenate([own for _, own in taken if own is not None])
            check_weights(number, weights)
        first = -1 if task.first_rows is None else int(task.first_rows[number])
        raw = rows_as_frame(X, converter.names)
        answer = task.step.map(Partition(number, first, X, raw, weights))
    except MissingValueError as error:
        return PassReply(
            refused=f"Partition {number} has no value in row {n_rows + error.row} of column "
            f"{quoted(error.column)}; fill or drop such rows first."
        )
    except ValueError as error:
        return PassReply(refused=str(error))
    return PassReply(answer, asked=1, sent=size_of(answer))


def merge_spark_replies(sent: bytes, size: int, batches: Iterator[Any]) -> Iterator[Any]:
    """One reply for every ``size`` partitions that follow each other.

    Replies come in any order, with the number of the first partition that each speaks for.
    """
    task, _ = pickle.loads(sent)
    groups: dict[int, list[tuple[int, PassReply]]] = defaultdict(list)
    for batch in batches:
        for row in batch.to_pylist():
            groups[row["number"] // size].append((row["number"], pickle.loads(row["reply"])))
    merged = {}
    for found in groups.values():
        found.sort(key=lambda pair: pair[0])
        merged[found[0][0]] = task.merge([reply for _, reply in found])
    if merged:
        yield _as_batch(merged)


def _as_batch(replies: dict[int, Any]) -> Any:
    """Replies by the number of their first partition."""
    numbers = pa.array(list(replies), pa.int32())
    pickled = pa.array([pickle.dumps(reply) for reply in replies.values()], pa.binary())
    return pa.RecordBatch.from_arrays([numbers, pickled], names=["number", "reply"])


def _arrow_type(field: Any) -> Any:
    """How Spark hands over the values of a field."""
    found = _ARROW.get(field.dataType.typeName())
    if found is None:
        raise ValueError(
            f"Column {quoted(field.name)} holds {field.dataType.simpleString()}, which are neither "
            "numbers nor categories; leave it out with X.drop, or turn it into numbers or text."
        )
    return found


def _as_number(field: Any) -> Any:
    """The column of a field; decimals as doubles."""
    column = need("pyspark.sql.functions", "spark").col(f"`{field.name}`")
    return (
        column.cast("double").alias(field.name)
        if field.dataType.typeName() == "decimal"
        else column
    )
