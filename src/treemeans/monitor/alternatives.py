"""Other trees as good as a model's, with other features.

The search goes over sets of columns that may not be cut. The first is empty; each tree that is
good enough gives one more set for every column that it cuts: its own, and that column. Sets are
tried from the smallest on, so trees that are far from the model's come last. (It is how hitting
sets are enumerated: Reiter 1987.)
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.detect_columns import find_split_values
from treemeans.fit_result import FitResult, measure
from treemeans.growth import grow
from treemeans.limits import Limits
from treemeans.monitor.alternatives_result import Alternative, Alternatives
from treemeans.monitor.training_setup import TrainingSetup
from treemeans.progress import Progress
from treemeans.refine import Budget, refine
from treemeans.tree import ThresholdTree
from treemeans.validation import is_integer, is_number

_FORBIDDEN = 1e6  # price of a cut of a column that may not be cut, in costs of the reference
MOST_FITS = 60


def find_alternatives(
    model: Any,
    X: Any,
    n: int,
    within: float,
    *,
    sample_weight: Any = None,
    max_fits: int = MOST_FITS,
    n_threads: int = 1,
    tell: Callable[[int], Any] = lambda done: None,
) -> Alternatives:
    """Trees of the model's size and cost that cut other columns; see ``ExKMC.alternatives``."""
    if not is_integer(n) or n < 1:
        raise ValueError(f"n must be an integer of at least 1; got {n!r}.")
    if not is_number(within) or not 0 <= within < np.inf:
        raise ValueError(f"within must be a share of the cost, 0.01 is 1 %; got {within!r}.")
    setup = TrainingSetup.of(model, X, sample_weight, n_threads, "alternatives")
    search = _Search(model, setup, within)
    try:
        search.run(max_fits, tell)
    except KeyboardInterrupt:
        if not search.found:
            raise
    chosen = _most_different(search.own, search.found, n)
    own = Alternative(model, search.names(search.own.groups), 1.0, 1.0)
    return Alternatives(
        own,
        tuple(
            Alternative(one.model, search.names(one.groups), search.ratio(one.cost), one.agreement)
            for one in chosen
        ),
        within,
        search.n_fits,
    )


@dataclass(frozen=True)
class _Candidate:
    """A model that cuts some groups of columns; ``agreement`` is the share of rows as before."""

    model: Any
    groups: frozenset[int]
    cost: float
    agreement: float


class _Search:
    """Grows trees without some columns, and keeps those that cost about as much as the model's.

    One-hot columns of a source are one group: they are forbidden together.
    """

    def __init__(self, model: Any, setup: TrainingSetup, within: float) -> None:
        self._model, self._setup = model, setup
        self._columns = model._fit_result.columns
        sources: dict[str, int] = {}
        self._group = np.array(
            [
                sources.setdefault(column.source, i) if column.kind == "category" else i
                for i, column in enumerate(self._columns)
            ]
        )
        labels = self._labels(model.tree_)
        self._own_labels = labels
        cost = setup.data.cost.measured(labels, setup.data.centers)
        self.own = _Candidate(model, self._groups(model.tree_), cost, 1.0)
        # Labels cost the rows that are wrong, perhaps none: a share of all rows is the unit there.
        self._unit = setup.data.total_weight if setup.reference.cost == "labels" else cost
        self._most = cost + (within + 1e-12) * self._unit
        self.found: list[_Candidate] = []
        self.n_fits = 0

    def run(self, max_fits: int, tell: Callable[[int], Any]) -> None:
        """Try sets of forbidden groups, the smallest first."""
        waiting = deque(frozenset({group}) for group in sorted(self.own.groups))
        seen = set(waiting)
        while waiting and self.n_fits < max_fits:
            forbidden = waiting.popleft()
            candidate = self._grown(forbidden)
            self.n_fits += 1
            tell(self.n_fits)
            if candidate is None:
                continue
            if all(candidate.groups != one.groups for one in (self.own, *self.found)):
                self.found.append(candidate)
            for group in sorted(candidate.groups - forbidden):
                if (more := forbidden | {group}) not in seen:
                    seen.add(more)
                    waiting.append(more)

    def ratio(self, cost: float) -> float:
        """A cost over the model's; for labels, 1 plus the additional share of wrong rows."""
        return 1.0 + (cost - self.own.cost) / self._unit if self._unit > 0 else 1.0

    def names(self, groups: frozenset[int]) -> tuple[str, ...]:
        """Names of columns, or of the sources of one-hot columns."""
        chosen = [self._columns[group] for group in sorted(groups)]
        return tuple(c.source if c.kind == "category" else c.name for c in chosen)

    def _grown(self, forbidden: frozenset[int]) -> _Candidate | None:
        """The model without some groups of columns; None if it costs too much."""
        setup = self._setup
        banned = np.isin(self._group, sorted(forbidden))
        prices = setup.data.limits.feature_costs
        costs = np.zeros(len(banned)) if prices is None else prices.copy()
        costs[banned] += _FORBIDDEN
        limits: Limits = replace(setup.data.limits, feature_costs=costs)
        data = replace(setup.data, limits=limits)
        kind = "search" if setup.refine == "search" else "local"
        with Progress("", 1, enabled=False) as silent:
            base = setup.base if isinstance(setup.base, str) else "none"
            grown = grow(data, base, setup.n_leaves, silent)
            budget = Budget(setup.search_rounds, None, data.costs.cheapest, silent)
            tree, centers = refine(kind, data, grown.as_expanded(), setup.n_leaves, budget)
        frozen = tree.freeze()
        labels = self._labels(frozen)
        cost = setup.data.cost.measured(labels, setup.data.centers)
        if cost > self._most or banned[frozen.feature[~frozen.is_leaf]].any():
            return None
        result = measure(tree, centers, data, setup.reference).of_refined()
        weights = setup.data.weights
        same = labels == self._own_labels
        agreement = float(np.average(same, weights=weights))
        return _Candidate(self._as_model(result), self._groups(frozen), cost, agreement)

    def _as_model(self, result: FitResult) -> Any:
        """The model with another tree."""
        record, data = self._model._fit_result, self._setup.data
        seen = find_split_values(result.tree, data.table.points, data.n_threads)
        result = replace(
            result,
            tree=result.tree.with_gap(seen.gap),
            short=record.short,
            given_names=record.given_names,
        )
        model = copy.copy(self._model)
        model._fit_result = result.read_as(record.columns)
        model.max_leaf_nodes = result.tree.n_leaves
        return model._set_fitted_attributes(result.tree.n_leaves)

    def _groups(self, tree: ThresholdTree) -> frozenset[int]:
        return frozenset(self._group[tree.feature[~tree.is_leaf]].tolist())

    def _labels(self, tree: ThresholdTree) -> NDArray[np.int32]:
        return self._setup.outcome(tree, tree.label)


def _most_different(own: _Candidate, found: list[_Candidate], n: int) -> list[_Candidate]:
    """Candidates that differ most from the model and each other, one after the other.

    Each is the one whose least difference from those before is largest; of equals the cheapest.
    """
    chosen, left = [own], list(found)
    while left and len(chosen) <= n:
        best = max(
            left, key=lambda one: (min(_difference(one, other) for other in chosen), -one.cost)
        )
        chosen.append(best)
        left.remove(best)
    return chosen[1:]


def _difference(one: _Candidate, other: _Candidate) -> float:
    """Jaccard distance of the columns that two trees cut."""
    return 1.0 - len(one.groups & other.groups) / max(1, len(one.groups | other.groups))
