"""Labels of leaves by sets of leaves: exact, and quick where few sets make up a cluster.

Where clusters may be of a few leaves only, all sets of leaves that meet the requirements can be
listed. Labels then give each cluster one of the sets, so that they hold every leaf once. The linear
program of that (set partitioning) mostly has a solution in whole numbers, where that of labels leaf
by leaf is far from one: a branch and bound on leaves takes longest just where limits are tight.

Where clusters need a least size and nothing else, most sets of leaves will do. Every cluster then
has one of the smallest sets that do, which could not spare a leaf, and other leaves besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

Floats = NDArray[np.float64]
MOST_SETS = 6_000
_MOST_STEPS = 200_000
"""Steps of the listing of sets."""
_FEW_COLUMNS, _MOST_COLUMNS = 300, 20_000
"""Pairs of a set and a cluster among which a solution in whole numbers is looked for."""
_MOST_NODES = 2_000
"""Nodes of the branch and bound on them."""


class Sums(Protocol):
    """A requirement: what a sum over the leaves of a cluster must be."""

    @property
    def values(self) -> tuple[int, ...]:
        """What each leaf adds."""

    @property
    def low(self) -> int | None:
        """Least sum."""

    @property
    def high(self) -> int | None:
        """Largest sum."""


def leaf_sets(requirements: Sequence[Sums]) -> list[tuple[int, ...]] | None:
    """All sets of leaves that meet the requirements as a cluster; None if they are too many.

    The empty set is among them if it meets them. Of a least size alone, only the smallest sets:
    those that do not meet it without one of their leaves. Values must then not rise.

    Examples
    --------
    >>> from treemeans.growth.labelling import Requirement
    >>> leaf_sets([Requirement((30, 20, 10), low=25, high=40)])
    [(0, 2), (0,), (1, 2)]
    >>> leaf_sets([Requirement((30, 20, 10), low=25)])
    [(0,), (1, 2)]
    """
    listing = _Listing(requirements)
    return listing.found if listing.add(0, (), [0] * len(requirements)) else None


def asks_for_size_alone(requirements: Sequence[Sums]) -> bool:
    """Whether more leaves never hurt a cluster: all it needs is a least sum of positive values."""
    first = requirements[0]
    return len(requirements) == 1 and first.high is None and min(first.values) > 0


class _Listing:
    """Lists sets leaf by leaf; backtracks where no further leaf can bring a sum into bounds."""

    def __init__(self, requirements: Sequence[Sums]) -> None:
        self._values = [each.values for each in requirements]
        self._low = [each.low for each in requirements]
        self._high = [each.high for each in requirements]
        # What the leaves from each place on can add at most, and take away at most.
        self._rise = [_from_the_end([max(0, value) for value in v]) for v in self._values]
        self._fall = [_from_the_end([min(0, value) for value in v]) for v in self._values]
        self._n = len(self._values[0])
        self._steps_left = _MOST_STEPS
        self._smallest = asks_for_size_alone(requirements)
        self.found: list[tuple[int, ...]] = []

    def add(self, place: int, chosen: tuple[int, ...], sums: list[int]) -> bool:
        """List the sets that begin with ``chosen``; False once there are too many."""
        self._steps_left -= 1
        if self._steps_left < 0 or len(self.found) > MOST_SETS:
            return False
        for i, total in enumerate(sums):
            low, high = self._low[i], self._high[i]
            if low is not None and total + self._rise[i][place] < low:
                return True
            if high is not None and total + self._fall[i][place] > high:
                return True
        # Values do not rise, so that a set which has just enough could not spare any leaf.
        enough = self._smallest and self._low[0] is not None and sums[0] >= self._low[0]
        if enough or place == self._n:
            self.found.append(chosen)
            return True
        more = [total + values[place] for total, values in zip(sums, self._values, strict=True)]
        return self.add(place + 1, (*chosen, place), more) and self.add(place + 1, chosen, sums)


def _from_the_end(values: list[int]) -> list[int]:
    """Sums of the values from each place on; the last is 0."""
    sums = [0]
    for value in reversed(values):
        sums.append(sums[-1] + value)
    return sums[::-1]


@dataclass(frozen=True)
class SetLabels:
    """What the linear program of sets says about the cheapest labels.

    Attributes
    ----------
    labels : (n_leaves,), of the cheapest; None if there are none
    """

    labels: NDArray[np.int32] | None


def labels_by_sets(costs: Floats, requirements: Sequence[Sums]) -> SetLabels | None:
    """The cheapest labels that meet the requirements; None where this way does not decide.

    Parameters
    ----------
    costs : (n_leaves, n_clusters), whole numbers
    requirements : on the sums of every cluster

    Examples
    --------
    >>> from treemeans.growth.labelling import Requirement
    >>> costs = np.array([[0.0, 5.0], [0.0, 4.0], [0.0, 9.0]])
    >>> labels_by_sets(costs, [Requirement((10, 10, 10), high=20)]).labels.tolist()
    [0, 1, 0]
    """
    n_leaves = len(costs)
    # Large values first: sums that cannot come into their bounds show early.
    order = sorted(
        range(n_leaves), key=lambda leaf: [-abs(each.values[leaf]) for each in requirements]
    )
    ordered = [_Ordered(tuple(r.values[i] for i in order), r.low, r.high) for r in requirements]
    sets = leaf_sets(ordered)
    if sets is None:
        return None
    holds = np.zeros((len(sets), n_leaves))
    for place, each in enumerate(sets):
        holds[place, [order[leaf] for leaf in each]] = 1.0
    n_sets = len(sets)
    if asks_for_size_alone(requirements):
        holds = np.vstack(
            [holds, np.eye(n_leaves)]
        )  # other leaves, of which a cluster may have any
    if not n_sets or not holds.any(axis=0).all():
        return SetLabels(None)  # some leaf is in no set
    return _Partitioning(holds, n_sets, costs).labels()


class _Partitioning:
    """Gives every cluster one of the sets, so that they hold every leaf once.

    Parameters
    ----------
    holds : (n_columns, n_leaves), 1 where a set holds a leaf
    n_sets : of these, of which every cluster has one; those that follow are as it may be
    costs : (n_leaves, n_clusters), whole numbers
    """

    def __init__(self, holds: Floats, n_sets: int, costs: Floats) -> None:
        self._holds, self._n_sets = holds, n_sets
        self._n_leaves, self._k = costs.shape
        self._costs = holds @ costs

    def labels(self) -> SetLabels | None:
        """The cheapest labels; None if they were not found."""
        k = self._k
        if not self._is_possible():
            return SetLabels(None)
        places, clusters = np.divmod(np.arange(self._costs.size), k)
        found = linprog(
            self._costs.ravel(),
            A_eq=self._equations(places, clusters),
            b_eq=np.ones(self._n_leaves + k),
            method="highs-ds",
        )
        if found.status == 2:
            return SetLabels(None)
        if found.x is None:
            return None
        # What the prices of leaves and clusters prove: a solution costs their sum, and what its
        # columns cost beyond them. So tolerances decide nothing.
        prices = np.asarray(found.eqlin.marginals)
        beyond = self._costs - (self._holds @ prices[: self._n_leaves])[:, None]
        beyond[: self._n_sets] -= prices[self._n_leaves :]
        least = prices.sum() + beyond[: self._n_sets].min(axis=0).sum()
        # Columns that are not a cluster's one set may be taken several times, one for each leaf.
        least += self._n_leaves * min(0.0, beyond[self._n_sets :].min(initial=0.0))
        taken = np.rint(found.x)
        if self._is_solution(taken, places, clusters) and taken @ self._costs.ravel() - least < 1:
            return SetLabels(self._labels(taken, places, clusters))
        return self._in_whole_numbers(beyond, float(least))

    def _is_possible(self) -> bool:
        """Whether sets hold every leaf once, in fractions; for that no set needs a cluster."""
        n_columns = len(self._holds)
        one_of_all = (np.arange(n_columns) < self._n_sets).astype(np.float64)
        found = linprog(
            np.zeros(n_columns),
            A_eq=sparse.vstack([sparse.csr_matrix(self._holds.T), one_of_all]).tocsr(),
            b_eq=np.append(np.ones(self._n_leaves), self._k),
            method="highs-ds",
        )
        return bool(found.status != 2)

    def _in_whole_numbers(self, beyond: Floats, least: float) -> SetLabels | None:
        """The cheapest labels among columns that cost little beyond the prices; then among all.

        A column that costs more beyond the prices than a known solution costs beyond the bound is
        in no better solution.
        """
        few = _FEW_COLUMNS
        reach = _at_place(beyond, few)
        while True:
            places, clusters = np.nonzero(beyond <= reach)
            if len(places) > _MOST_COLUMNS:
                return None
            columns = self._costs[places, clusters]
            found = milp(
                columns,
                integrality=np.ones(len(places)),
                bounds=Bounds(0.0, 1.0),
                constraints=LinearConstraint(self._equations(places, clusters), 1.0, 1.0),
                options={"mip_rel_gap": 0.0, "node_limit": _MOST_NODES},
            )
            if found.status == 2:
                if len(places) == beyond.size:
                    return SetLabels(None)
                few *= 4
                reach = max(reach, _at_place(beyond, few))
                continue
            if found.status != 0:
                return None
            taken = np.rint(found.x)
            if not self._is_solution(taken, places, clusters):
                return None
            needed = float(taken @ columns) - least + 1.0
            if needed <= reach or len(places) == beyond.size:
                return SetLabels(self._labels(taken, places, clusters))
            reach = needed

    def _equations(self, places: NDArray[np.intp], clusters: NDArray[np.intp]) -> Any:
        """Every leaf is in one set; every cluster has one. Columns are pairs of both."""
        leaves = sparse.csr_matrix(self._holds.T)[:, places]
        counted = (places < self._n_sets).astype(np.float64)
        at = (clusters, np.arange(len(clusters)))
        each = sparse.csr_matrix((counted, at), shape=(self._k, len(clusters)))
        return sparse.vstack([leaves, each]).tocsr()

    def _is_solution(
        self, taken: Floats, places: NDArray[np.intp], clusters: NDArray[np.intp]
    ) -> bool:
        return bool(np.all(self._equations(places, clusters) @ taken == 1.0))

    def _labels(
        self, taken: Floats, places: NDArray[np.intp], clusters: NDArray[np.intp]
    ) -> NDArray[np.int32]:
        labels = np.zeros(self._n_leaves, dtype=np.int32)
        for column in np.flatnonzero(taken):
            labels[self._holds[places[column]] > 0] = clusters[column]
        return labels


def _at_place(values: Floats, place: int) -> float:
    """The value at a place, if all were in order; the largest if they are fewer."""
    place = min(values.size, place) - 1
    return float(np.partition(values.ravel(), place)[place])


@dataclass(frozen=True)
class _Ordered:
    """A requirement with its leaves in another order."""

    values: tuple[int, ...]
    low: int | None
    high: int | None
