"""What clusters say about groups of rows: limited shares, and columns that are protected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.number_text import finite_or_none, percent

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ProtectedColumn:
    """A column that no split may use, and how much of it the clusters reveal all the same.

    Attributes
    ----------
    column : str
    revealed : float
        Of numbers, the share of the variance that lies between the clusters (R^2). Of categories,
        Goodman and Kruskal's tau: the share of wrong guesses that is avoided when a row's value is
        guessed from its cluster and not from all rows, in both cases by drawing at random. 0 is
        nothing, 1 is everything.
    """

    column: str
    revealed: float

    def __str__(self) -> str:
        return (
            f"{self.column} is protected: no rule uses it, the clusters reveal {self.words} of it"
        )

    @property
    def words(self) -> str:
        """How much is revealed, in percent."""
        return percent(self.revealed)

    def to_dict(self) -> dict[str, Any]:
        """The column and how much of it is revealed, as plain values."""
        return {"column": self.column, "revealed": self.revealed}


@dataclass(frozen=True)
class GroupShare:
    """The share of a group of rows in every cluster, and its limits.

    Attributes
    ----------
    column, value : str
        The group is the rows whose column has the value.
    low, high : float
        The limits.
    shares : tuple of float
        Of the weight of each cluster; NaN for a cluster without rows.
    """

    column: str
    value: str
    low: float
    high: float
    shares: tuple[float, ...]

    def __str__(self) -> str:
        there = [share for share in self.shares if share == share]
        least, most = min(there, default=0.0), max(there, default=0.0)
        return (
            f"{self.column} = {self.value}: {_tenths(least)} to {_tenths(most)} of every cluster "
            f"(limits {_tenths(self.low)} to {_tenths(self.high)})"
        )

    def to_dict(self) -> dict[str, Any]:
        """The group, its limits and shares as plain values; None for a cluster without rows."""
        shares = [finite_or_none(share) for share in self.shares]
        return {
            "column": self.column,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "shares": shares,
        }


def _tenths(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


@dataclass(frozen=True)
class GroupFigures:
    """Protected columns and limited shares in the trees of all sizes of a fit.

    Attributes
    ----------
    protected : for each protected column, its name and how much each size reveals
    balanced : for each limited group, column, value and limits, and (n_sizes, n_clusters) shares
    """

    protected: tuple[tuple[str, Floats], ...] = ()
    balanced: tuple[tuple[str, str, float, float, Floats], ...] = ()

    def protected_at(self, size: int) -> tuple[ProtectedColumn, ...]:
        """The protected columns in the tree at this place of the path."""
        return tuple(ProtectedColumn(name, float(of[size])) for name, of in self.protected)

    def balanced_at(self, size: int) -> tuple[GroupShare, ...]:
        """The limited shares in the tree at this place of the path."""
        return tuple(
            GroupShare(column, value, low, high, tuple(shares[size].tolist()))
            for column, value, low, high, shares in self.balanced
        )
