"""The interface between a fit and the place where its rows are: one map/reduce step per pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Columns
from treemeans.columns.table_schema import TableSchema
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.pass_plan import Passes

Result = TypeVar("Result")

GATHER_BYTES = 2**31
"""Rows whose fit takes at most as many bytes in one memory are gathered there."""

_DESCRIPTION = (
    *("n_partitions", "n_features", "names", "dates", "booleans", "schema", "columns"),
    *("can_infer", "needs_schema", "has_raw_rows", "value_bytes"),
)


class MapReduceStep(ABC, Generic[Result]):
    """What one pass computes: a small, picklable dataclass that is sent to every partition.

    A step changes nothing, and the same partition gives the same result every time: a partition
    whose worker is lost is mapped again.
    """

    @property
    def kind(self) -> str:
        """What tells passes that take about the same time from others (`pass_plan`)."""
        return type(self).__name__

    @abstractmethod
    def map(self, partition: Partition) -> Result:
        """Compute the result of one partition. Runs where its rows are."""

    def reduce(self, one: Result, other: Result) -> Result:
        """Combine the results of two runs of partitions, of which ``one`` comes first: add them.

        Integer sums, minima and maxima do not depend on where partitions begin or how results are
        paired; a step that returns anything else must not rely on either.
        """
        return one + other  # type: ignore[operator, no-any-return]


@dataclass(frozen=True)
class CombinedSteps(MapReduceStep[tuple[Any, ...]]):
    """Several steps in a single pass; the result is a tuple of theirs."""

    steps: tuple[MapReduceStep[Any], ...]

    @property
    def kind(self) -> str:
        """The kind of the first step."""
        return self.steps[0].kind

    def map(self, partition: Partition) -> tuple[Any, ...]:
        """Map the partition by every step."""
        return tuple(step.map(partition) for step in self.steps)

    def reduce(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
        """Reduce the results step by step."""
        return tuple(step.reduce(a, b) for step, a, b in zip(self.steps, one, other, strict=True))


class PartitionedRows(ABC):
    """Rows in partitions, over which every call of `map_reduce` makes one pass.

    Attributes
    ----------
    n_partitions : number of partitions, empty ones included
    n_features : number of columns
    names : names of the columns if they are all strings; otherwise None
    dates : the columns that hold dates, which are read as days since 1970, and whether each has a
        time zone
    booleans : names of the columns that hold true and false, which become 1 and 0
    can_infer : whether `infer_columns` does something
    needs_schema : whether columns must be inferred before a fit, because some are not numbers
    has_raw_rows : whether partitions bring the rows as the user wrote them, which the transformers
        of a pipeline need; otherwise categories are codes there
    schema : what each column of a table that is not all numbers was read as; None for numbers
    columns : how the columns of X read, if that is known beforehand: the rows may then hold codes
        of categories, and NaN for missing values; None for numbers
    first_rows : index of each partition's first row among all rows; None until they are counted
    n_jobs : number of reading threads, as joblib counts them; ignored where a scheduler decides
    n_rows : number of rows, where that is known without a pass; otherwise None
    value_bytes : bytes of a value, about, where ``n_rows`` is known
    gather_bytes : rows that take no more than this in a fit in memory are gathered and fitted there
        (`gather_rows`), if that is at most a quarter of the available memory; 0 for never
    """

    n_partitions: int
    n_features: int
    names: NDArray[np.object_] | None
    dates: Mapping[str, bool]
    booleans: list[str]
    can_infer: bool = False
    needs_schema: bool = False
    has_raw_rows: bool = True
    schema: TableSchema | None = None
    columns: Columns | None = None
    first_rows: NDArray[np.int64] | None
    n_jobs: int | None = None
    n_rows: int | None = None
    value_bytes: int = 8
    gather_bytes: int = GATHER_BYTES

    @abstractmethod
    def map_reduce(self, step: MapReduceStep[Result]) -> Result:
        """Map every partition that has rows, and reduce the results in the order of partitions."""

    def infer_columns(self) -> None:  # noqa: B027
        """Find out what the columns are, in a pass, if rows come in data frames."""

    def describe_as(self, rows: PartitionedRows) -> None:
        """Take over what is known of the columns and partitions of other rows."""
        for name in _DESCRIPTION:
            setattr(self, name, getattr(rows, name))

    def release(self) -> None:  # noqa: B027
        """Drop what was kept of the rows between passes: the fit is over."""

    def expect_passes(self, passes: Passes) -> None:  # noqa: B027
        """Announce about how many passes of some kinds are to come, to estimate the time left."""


def reduce_in_order(step: MapReduceStep[Result], results: Iterable[Result]) -> Result:
    """Reduce results that come in the order of the partitions."""
    return reduce(step.reduce, results)
