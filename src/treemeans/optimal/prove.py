"""Proofs of how good a refined tree is, and a better tree where there is one."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from treemeans.costs import KMeansCost
from treemeans.growth.expansion import labels_of
from treemeans.growth.given_tree import follow
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.optimal.certificate import Certificate
from treemeans.optimal.exact_solver import Answer, ExactSolver
from treemeans.progress import Progress
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree
from treemeans.warning_level import depth_in_package

DEFAULT_WORK = 1e11
"""Values read and added in a proof of default effort: about a minute on one core.

Counted, not timed, so that the same input gives the same tree and bound on every machine."""
_QUICK_WORK, _QUICK_SHARE = 2e9, 0.2
"""Work of the first try with ``max_time``, and its share of a fixed effort. What it cannot prove is
proven in steps, so that there is a bound at any time; these take several times the work."""
_STEPS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.92)
"""Bounds that are proven one after the other, as shares of the way to the best known cost."""
_MEANS_SHARE = 0.4
"""Share of the budget for the proof of the k-means cost, if one to fixed centers may follow."""
_MOST_MEANS_WORK = 5e9
"""Work for one look at all pairs of features, up to which the k-means cost itself is proven."""
_MOST_BYTES = 4e9
"""Memory that the ranks of the columns may take."""
_MOST_ROUNDS = 10
_ROUNDING = 1e-9


class ProofBudget:
    """Work and seconds that a proof may take, and what ended it."""

    def __init__(
        self, deadline: float | None, progress: Progress, most: float | None = None
    ) -> None:
        self._deadline = deadline
        self._most = (DEFAULT_WORK if deadline is None else np.inf) if most is None else most
        self._progress = progress
        self._spent = 0.0  # by solvers that are no longer used
        self.gap = 1.0
        self.status = "optimal"

    def call(
        self, solver: ExactSolver, n_leaves: int, depth: int | None, target: float, most: float
    ) -> Answer | None:
        """Call a solver; None if the budget, or ``most`` of it, was spent before the result."""
        if self.status != "optimal":
            return None
        begin = solver.work
        limit = min(begin + most, self._most - self._spent)

        def pause(work: float) -> bool:
            if self._deadline is not None and time.monotonic() >= self._deadline:
                self.status = "time"
            elif work >= self._most - self._spent:
                self.status = "work"
            share = work / self._most if self._deadline is None else 0.0
            self._progress.update(round(1000 * share), f"gap {100 * self.gap:.1f} %")
            return self.status == "optimal" and work < limit

        try:
            if not pause(begin):
                return None
            return solver.solve(n_leaves, depth, target, pause, limit)
        except KeyboardInterrupt:
            self.interrupt()
            return None

    @property
    def quick_work(self) -> float:
        """Work of the first try."""
        return _QUICK_WORK if self._deadline is not None else _QUICK_SHARE * self._most

    def part(self, share: float) -> ProofBudget:
        """A budget of its own, of a share of what is left."""
        deadline = self._deadline
        if deadline is not None:
            deadline -= (1.0 - share) * max(deadline - time.monotonic(), 0.0)
        return ProofBudget(deadline, self._progress, share * (self._most - self._spent))

    def add(self, part: ProofBudget) -> None:
        """Count what was spent of a part."""
        self._spent += part._spent
        if part.status == "interrupted":
            self.status = part.status

    def close(self, solver: ExactSolver) -> None:
        """Count the work of a solver that is not used again."""
        self._spent += solver.work

    def interrupt(self) -> None:
        """End the proof: the user pressed Ctrl-C."""
        self.status = "interrupted"
        warnings.warn(
            "The proof was interrupted; the best tree so far is kept, with what is proven of it.",
            UserWarning,
            stacklevel=depth_in_package(),
        )


class ProvenTree(NamedTuple):
    """A tree on all rows, the centers its costs are measured to, and what is proven of it."""

    tree: InMemoryTree
    centers: NDArray[np.float64]
    certificate: Certificate


def prove(
    data: TrainingData,
    refined: InMemoryTree,
    centers: NDArray[np.float64],
    n_leaves: int,
    budget: ProofBudget,
) -> ProvenTree:
    """Prove how good a tree is, and return a better one if there is.

    With as many leaves as clusters, each leaf is a cluster, and its k-means cost is proven. With
    more leaves, or where that takes too long, the cost to the centers of the tree's clusters is.

    Parameters
    ----------
    refined : the tree, on all rows
    centers : those its costs are measured to
    n_leaves : leaves that a tree may have
    """
    if data.table.n_rows * len(data.table.bins.feature) * 4.0 > _MOST_BYTES:
        raise ValueError(
            f'refine="optimal" needs more than {_MOST_BYTES / 1e9:.0f} GB for a table of this '
            'size; use refine="search", or allow fewer features (allowed_features).'
        )
    means: ProvenTree | None = None
    if n_leaves == len(centers) and (points := _affordable_points(data)) is not None:
        part = budget.part(_MEANS_SHARE)
        means = _prove_means(data, points, refined, centers, n_leaves, part)
        budget.add(part)
        if means is not None:
            if means.certificate.is_optimal or budget.status != "optimal":
                return means
            refined, centers, _ = means
    fixed = _prove_own_centers(data, refined.as_expanded(), centers, n_leaves, budget)
    return fixed if means is None or fixed.certificate.is_optimal else means


def _prove_own_centers(
    data: TrainingData,
    start: ThresholdTree,
    centers: NDArray[np.float64],
    n_leaves: int,
    budget: ProofBudget,
) -> ProvenTree:
    """Prove the cost to the centers of a tree's own clusters.

    A better tree has other clusters, so it is proven again with theirs, until nothing is better.
    """
    found: ProvenTree | None = None
    tree, better = start, True
    for _ in range(_MOST_ROUNDS):
        labels = labels_of(tree, tree.label, data)
        before, centers = centers, data.cost.clusters(labels, 0.0, centers).centers
        if found is not None and np.array_equal(before, centers):
            break
        proven, better = _prove_to_centers(data, tree, centers, n_leaves, budget)
        # Fixed point finds no difference between centers that are near each other beside far ones.
        # The cost that a user sees, in full, must not be higher than that of the start.
        grown = proven.tree.freeze()
        if _kmeans_cost(data, grown, grown.label) > _kmeans_cost(data, tree, tree.label):
            proven = proven._replace(
                tree=_with_own_labels(replace(data, costs=proven.tree.costs), tree)
            )
            better = False
        # What is not proven to the end says less than the proof of the round before.
        if found is not None and not proven.certificate.is_optimal:
            break
        found, tree = proven, proven.tree.freeze()
        if not better or not proven.certificate.is_optimal:
            break
    assert found is not None  # there is a first round
    return found


def _prove_to_centers(
    data: TrainingData,
    start: ThresholdTree,
    centers: NDArray[np.float64],
    n_leaves: int,
    budget: ProofBudget,
) -> tuple[ProvenTree, bool]:
    """Prove the cost to fixed centers; return also whether a better tree was found."""
    costs = data.cost.price(centers)
    here = replace(data, costs=costs)
    tree = _replayed(here, start)
    upper = _regret(tree, here)
    solver = ExactSolver.to_centers(here, costs)
    lower, better = _raise_bound(solver, upper, n_leaves, data.limits.max_depth, budget, whole=True)
    budget.close(solver)
    if better is not None:
        other = _replayed(here, better, recenter=True)
        tree, upper = other, _regret(other, here)
    certificate = _certificate(
        "fixed_centers", data, n_leaves, solver, upper, lower, lower >= upper, budget
    )
    return ProvenTree(tree, centers, certificate), better is not None


def _prove_means(
    data: TrainingData,
    points: NDArray[np.float64],
    refined: InMemoryTree,
    centers: NDArray[np.float64],
    n_leaves: int,
    budget: ProofBudget,
) -> ProvenTree | None:
    """Prove the k-means cost of a tree in which every leaf is a cluster.

    None where costs may be above the largest float.
    """
    solver = ExactSolver.to_means(data, points)
    if solver is None:
        return None
    start = refined.as_expanded()
    tree, upper = refined, _kmeans_cost(data, start, start.label) / solver.unit
    lower, better = _raise_bound(
        solver, upper, n_leaves, data.limits.max_depth, budget, whole=False
    )
    budget.close(solver)
    if better is not None:
        found, means = _leaves_as_clusters(data, better)
        grown = found.freeze()
        cost = _kmeans_cost(data, grown, grown.label) / solver.unit
        if cost < upper:  # measured in full: in the solver, rounding may decide
            tree, centers, upper = found, means, cost
    optimal = lower >= upper * (1.0 - _ROUNDING)
    certificate = _certificate("kmeans_cost", data, n_leaves, solver, upper, lower, optimal, budget)
    return ProvenTree(tree, centers, certificate)


def _raise_bound(
    solver: ExactSolver,
    upper: float,
    n_leaves: int,
    depth: int | None,
    budget: ProofBudget,
    *,
    whole: bool,
) -> tuple[float, ThresholdTree | None]:
    """Prove bounds up to ``upper``, in the solver's units.

    Returns the bound, and a tree that costs less than ``upper`` if there is one, which is the best.
    ``whole``: whether costs are integers.
    """
    lower = 0.0
    tries = [(1.0, budget.quick_work), *((share, np.inf) for share in _STEPS), (1.0, np.inf)]
    for share, most in tries:
        if lower >= upper:
            break
        target = upper if share == 1.0 else upper * share
        if target <= lower:
            continue
        answer = budget.call(solver, n_leaves, depth, int(target) if whole else target, most)
        if answer is None:
            continue  # of the first try; otherwise the budget is spent, and the others end at once
        lower = max(lower, answer.bound)
        if answer.tree is not None:
            return lower, answer.tree if answer.bound < upper else None
        total = solver.offset + upper * solver.unit
        budget.gap = (upper - min(lower, upper)) * solver.unit / total if total > 0.0 else 0.0
    return lower, None


def _certificate(
    kind: str,
    data: TrainingData,
    n_leaves: int,
    solver: ExactSolver,
    upper: float,
    lower: float,
    optimal: bool,
    budget: ProofBudget,
) -> Certificate:
    cost = solver.offset + upper * solver.unit
    bound = cost if optimal else min(solver.offset + lower * solver.unit, cost)
    limits = data.limits
    limited = (
        limits.max_depth is not None
        or limits.min_samples_leaf != 1
        or not bool(data.table.allowed.all())
        or limits.feature_costs is not None
    )
    status = "optimal" if optimal else budget.status
    return Certificate(kind, n_leaves, cost, bound, status, limited)


def _replayed(data: TrainingData, tree: ThresholdTree, *, recenter: bool = False) -> InMemoryTree:
    growing = InMemoryTree(data)
    follow(growing, tree, recenter=recenter, priced=False)
    return growing


def _with_own_labels(data: TrainingData, tree: ThresholdTree) -> InMemoryTree:
    growing = InMemoryTree(data)
    for node, here in follow(growing, tree, priced=False).items():
        growing.label[here] = int(tree.label[node])
    return growing


def _regret(tree: InMemoryTree, data: TrainingData) -> int:
    """Cost of a tree beyond the cheapest of every row, with the prices of its cuts."""
    prices = data.slot_prices(data.costs)
    regret = sum(int(tree.regret(leaf)) for leaf in tree.leaves)
    if prices is None:
        return regret
    price: dict[int, int] = dict(zip(data.table.bins.feature, prices.tolist(), strict=True))
    return regret + sum(price[feature] for feature in tree.feature if feature >= 0)


def _kmeans_cost(data: TrainingData, tree: ThresholdTree, label: NDArray[np.int32]) -> float:
    cost = data.cost.measured(labels_of(tree, label, data), data.centers)
    return cost + data.limits.price_of_cuts(tree.feature) * data.reference_cost


def _leaves_as_clusters(
    data: TrainingData, tree: ThresholdTree
) -> tuple[InMemoryTree, NDArray[np.float64]]:
    """A tree on all rows whose leaves are the clusters, numbered like the reference's.

    As many rows as possible keep their reference label. A cluster without a leaf keeps its center.
    """
    k = len(data.centers)
    number = np.zeros(tree.n_nodes, dtype=np.int32)
    number[tree.leaves] = np.arange(tree.n_leaves)
    leaf = labels_of(tree, number, data)
    cell = leaf.astype(np.int64) * k + data.costs.nearest
    common = np.bincount(cell, data.weights, minlength=k * k).reshape(k, k)
    _, label = linear_sum_assignment(common, maximize=True)
    labels = label[leaf].astype(np.int32)
    centers = data.cost.clusters(labels, 0.0, data.centers).centers
    growing = _replayed(replace(data, costs=data.cost.price(centers)), tree, recenter=True)
    return growing, centers


def _affordable_points(data: TrainingData) -> NDArray[np.float64] | None:
    """The rows where the k-means cost is measured; None if proving it would take too long."""
    if not isinstance(data.cost, KMeansCost):
        return None
    rows, n_pairs = data.cost.rows, len(data.table.bins.feature) ** 2 / 2
    if float(rows.shape[0]) * (rows.shape[1] + 4) * max(n_pairs, 10.0) > _MOST_MEANS_WORK:
        return None
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
