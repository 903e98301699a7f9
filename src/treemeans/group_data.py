"""GroupData: the columns that limits on shares and protection are about, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.cluster_limits import ClusterLimits, ShareBound
from treemeans.columns import Columns
from treemeans.columns.frame_values import open_frame
from treemeans.columns.group_column import GroupColumn, find_group_column
from treemeans.explain.group_figures import GroupFigures
from treemeans.fit_result import FitResult

_MOST_VALUES = 20
"""Values of a column that may be balanced all at once."""


@dataclass(frozen=True)
class GroupData:
    """What a fit needs to know about groups of rows.

    Attributes
    ----------
    shares : bounds on shares of groups in every cluster
    protected : columns that no split may use
    """

    shares: tuple[ShareBound, ...] = ()
    protected: tuple[GroupColumn, ...] = ()

    @classmethod
    def of(
        cls,
        balance: list[tuple[Any, Any, float, float]],
        protected: list[Any],
        groups: Any,
        table: Any,
        X: Any,
        names: NDArray[Any] | None,
        columns: Columns | None,
    ) -> GroupData:
        """Look up the columns.

        Parameters
        ----------
        balance, protected : as `check_balance` and `check_protected` return them
        groups : columns apart from X: a data frame or a dict of values by name; None for none
        table, X : the rows as the user gave them, and as an array or sparse matrix
        names : of the columns of X
        columns : what these are, where X is encoded
        """
        if groups is not None and not isinstance(groups, Mapping) and open_frame(groups) is None:
            raise ValueError(
                "groups must be a data frame or a dict of columns, like "
                f'{{"gender": values}}; got {type(groups).__name__}.'
            )

        def find(key: Any, where: str) -> GroupColumn:
            return find_group_column(key, where, groups, table, X, names, columns)

        bounds: list[ShareBound] = []
        for key, value, low, high in balance:
            bounds += _bounds(find(key, "balance"), value, low, high)
        return cls(tuple(bounds), tuple(find(key, "protected") for key in protected))

    def limits(self, min_size: float | None, max_size: float | None) -> ClusterLimits | None:
        """The limits on clusters; None where there are none."""
        if min_size is None and max_size is None and not self.shares:
            return None
        return ClusterLimits(min_size, max_size, self.shares)

    def figures(self, result: FitResult, weights: NDArray[np.float64] | None) -> FitResult:
        """The result with what its clusters say about the groups, at every size."""
        if not self.shares and not self.protected:
            return result
        assert result.leaf_of_row is not None  # the rows are in memory
        k, weight = result.tree.n_clusters, weights
        weight = np.ones(len(result.leaf_of_row)) if weight is None else weight
        revealed: list[list[float]] = [[] for _ in self.protected]
        shares: list[list[NDArray[np.float64]]] = [[] for _ in self.shares]
        for n_leaves in result.path["n_leaves"].tolist():
            labels = result.at(n_leaves)[1][result.leaf_of_row]
            size = np.bincount(labels, weight, minlength=k)
            for found, column in zip(revealed, self.protected, strict=True):
                found.append(column.revealed(labels, weights))
            for of_size, bound in zip(shares, self.shares, strict=True):
                members = np.bincount(labels, weight * bound.members, minlength=k)
                there = size > 0
                of_size.append(np.divide(members, size, out=np.full(k, np.nan), where=there))
        figures = GroupFigures(
            tuple(
                (column.name, np.array(found))
                for column, found in zip(self.protected, revealed, strict=True)
            ),
            tuple(
                (bound.column, bound.value, bound.low, bound.high, np.array(of_size))
                for bound, of_size in zip(self.shares, shares, strict=True)
            ),
        )
        return result.with_groups(figures)


def _bounds(column: GroupColumn, value: Any, low: float, high: float) -> list[ShareBound]:
    """One bound, or one for every value of a column.

    The share of a column of true and false, or 1 and 0, is that of true or 1.
    """
    if value is None and column.is_flag:
        value = True
        if column.members(value) is None:  # no row has it, so its share is 0 everywhere
            return [ShareBound(column.name, "1", low, high, np.zeros(len(column.codes), bool))]
    if value is not None:
        members = column.members(value)
        if members is None:
            known = ", ".join(map(repr, column.texts[:8]))
            raise ValueError(
                f"balance names the value {value!r} of {column.name!r}, which no row has; its "
                f"values are {known}{', ...' if len(column.texts) > 8 else ''}."
            )
        text = column.texts[int(column.codes[members][0])]
        return [ShareBound(column.name, text, low, high, members)]
    if len(column.texts) > _MOST_VALUES:
        raise ValueError(
            f"balance of {column.name!r} has {len(column.texts)} values, too many to limit the "
            f"share of each; name those that count, like {{{column.name!r}: "
            f"{{{column.texts[0]!r}: ({low:g}, {high:g})}}}}."
        )
    if not low * len(column.texts) <= 1 <= high * len(column.texts):
        raise ValueError(
            f"balance of {column.name!r}: shares of {low:g} to {high:g} of each of its "
            f"{len(column.texts)} values cannot add up to 1; name the value that is meant, like "
            f"{{{column.name!r}: {{{column.texts[0]!r}: ({low:g}, {high:g})}}}}."
        )
    if len(column.texts) == 2:  # the share of one value is 1 less that of the other
        low, high = max(low, round(1.0 - high, 12)), min(high, round(1.0 - low, 12))
        return [ShareBound(column.name, column.texts[0], low, high, column.codes == 0)]
    return [
        ShareBound(column.name, text, low, high, column.codes == code)
        for code, text in enumerate(column.texts)
    ]
