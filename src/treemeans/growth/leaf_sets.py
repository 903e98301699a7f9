"""Labels of leaves by sets of leaves: exact, and quick where few sets make up a cluster.

Where clusters may be of a few leaves only, all sets of leaves that meet the requirements can be
listed. Labels then give each cluster one of the sets, so that they hold every leaf once. The linear
program of that (set partitioning) mostly has a solution in whole numbers, where that of labels leaf
by leaf is far from one: a branch and bound on leaves takes longest just where limits are tight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

Floats = NDArray[np.float64]
MOST_SETS = 6_000
_MOST_STEPS = 200_000
"""Steps of the listing of sets."""


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

    The empty set is among them if it meets them.

    Examples
    --------
    >>> from treemeans.growth.labelling import Requirement
    >>> leaf_sets([Requirement((10, 20, 30), low=25, high=40)])
    [(0, 1), (0, 2), (2,)]
    """
    listing = _Listing(requirements)
    return listing.found if listing.add(0, (), [0] * len(requirements)) else None


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
        if place == self._n:
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
    n_leaves, k = costs.shape
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
    if not holds.any(axis=0).all():
        return SetLabels(None)  # some leaf is in no set
    of_set = holds @ costs
    # Variables are set by set, then cluster. Every leaf is in one set; every cluster has one.
    leaves = sparse.kron(sparse.csr_matrix(holds.T), np.ones((1, k)))
    clusters = sparse.kron(np.ones((1, len(sets))), sparse.identity(k))
    found = linprog(
        of_set.ravel(),
        A_eq=sparse.vstack([leaves, clusters]).tocsr(),
        b_eq=np.ones(n_leaves + k),
        method="highs-ds",
    )
    if found.status == 2:
        return SetLabels(None)
    if found.x is None:
        return None
    taken = np.rint(found.x.reshape(len(sets), k))
    if not np.array_equal(holds.T @ taken @ np.ones(k), np.ones(n_leaves)):
        return None  # a solution in fractions
    # What the prices of leaves prove: no labels cost less than this. So tolerances decide nothing.
    prices = np.asarray(found.eqlin.marginals)[:n_leaves]
    least = float(prices.sum() + (of_set - (holds @ prices)[:, None]).min(axis=0).sum())
    if not np.array_equal(taken.sum(axis=0), np.ones(k)) or (taken * of_set).sum() - least >= 1.0:
        return None
    return SetLabels((holds.T @ taken).argmax(axis=1).astype(np.int32))


@dataclass(frozen=True)
class _Ordered:
    """A requirement with its leaves in another order."""

    values: tuple[int, ...]
    low: int | None
    high: int | None
