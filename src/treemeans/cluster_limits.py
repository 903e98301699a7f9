"""Limits on clusters: how many rows each may have, and what share of them a group may be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

_LARGEST_DENOMINATOR = 10**6
_HAIR = 1e-12  # so that rounding does not refuse a cluster of exactly the limit


class Weighed(Protocol):
    """Rows whose weight is known."""

    @property
    def total_weight(self) -> int:
        """Weight of all rows: their number, or in units of the weights."""

    @property
    def weight_unit(self) -> float:
        """What a unit of the weights stands for."""


class WeighedRows(Weighed, Protocol):
    """Rows whose weight is known, and that of any part of them."""

    def weight_of(self, members: NDArray[np.bool_], /) -> int:
        """Weight of some of the rows, in the units of ``total_weight``."""


@dataclass(frozen=True)
class ShareBound:
    """Bounds on the share of a group of rows in the weight of every cluster.

    Attributes
    ----------
    column, value : the group is the rows whose column has the value
    low, high : the least and the largest share
    members : (n_rows,), which rows are in the group
    """

    column: str
    value: str
    low: float
    high: float
    members: NDArray[np.bool_]

    @property
    def fractions(self) -> tuple[Fraction, Fraction]:
        """The bounds as the fractions that were meant: 0.3 is 3/10, and 0.333333333333 is 1/3."""
        low, high = (
            Fraction(str(each)).limit_denominator(_LARGEST_DENOMINATOR)
            for each in (self.low, self.high)
        )
        return low, high

    def __str__(self) -> str:
        return f"{self.column} = {self.value}"


@dataclass(frozen=True)
class ClusterLimits:
    """Limits that every cluster of a tree must meet.

    Attributes
    ----------
    min_size, max_size : weight of the rows of a cluster, a row counting 1 unless it has a weight;
        below 1, a share of the weight of all rows; None for any
    shares : bounds on the shares of groups
    """

    min_size: float | None = None
    max_size: float | None = None
    shares: tuple[ShareBound, ...] = ()

    @property
    def words(self) -> str:
        """The limits as they are given to an estimator."""
        words = []
        if self.min_size is not None:
            words.append(f"min_cluster_size={self.min_size:.12g}")
        if self.max_size is not None:
            words.append(f"max_cluster_size={self.max_size:.12g}")
        words += [f"a share of {each} from {each.low:g} to {each.high:g}" for each in self.shares]
        return ", ".join(words)

    def size_bounds(self, rows: Weighed) -> tuple[int | None, int | None]:
        """Least and largest weight of a cluster, in the units of ``rows``."""
        low = None if self.min_size is None else _units(self.min_size, rows) * (1.0 - _HAIR)
        high = None if self.max_size is None else _units(self.max_size, rows) * (1.0 + _HAIR)
        return (
            None if low is None else math.ceil(low),
            None if high is None else math.floor(high),
        )

    def refuse_impossible(self, rows: WeighedRows, k: int) -> None:
        """Refuse limits that no clustering can meet, and name the nearest possible ones."""
        low, high = self.size_bounds(rows)
        total, unit = rows.total_weight, rows.weight_unit
        if low is not None and low * k > total:
            raise ValueError(
                f"min_cluster_size={self.min_size:g} is impossible: {k} clusters of that size need "
                f"{_size(low * k, unit)} rows, and there are {_size(total, unit)}. The largest "
                f"possible is {_size(total // k, unit)}."
            )
        if high is not None and high * k < total:
            raise ValueError(
                f"max_cluster_size={self.max_size:g} is impossible: {k} clusters of that size hold "
                f"{_size(high * k, unit)} rows, and there are {_size(total, unit)}. The least "
                f"possible is {_size(-(-total // k), unit)}."
            )
        for bound in self.shares:
            members = rows.weight_of(bound.members)
            least, most = bound.fractions
            if not least * total <= members <= most * total:
                share = members / total
                nearest = f"lower bound can be at most {math.floor(share * 1e4) / 1e4:g}"
                if members > most * total:
                    nearest = f"upper bound can be at least {math.ceil(share * 1e4) / 1e4:g}"
                raise ValueError(
                    f"balance: a share of {bound.low:g} to {bound.high:g} of {bound} in every "
                    f"cluster is impossible, because its share of all rows is {share:.4g}. The "
                    f"{nearest}."
                )


def _units(size: float, rows: Weighed) -> float:
    return size * rows.total_weight if size < 1 else size / rows.weight_unit


def _size(units: int, unit: float) -> str:
    return f"{units * unit:.12g}"
