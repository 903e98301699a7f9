"""Annealing chains in the core: rounds in C++, how they are made and exchanged decided here.

The core searches over bins: at most 256 for each feature, which are its distinct values if they
are few enough. `ChainBins.of` draws the others so that the cuts of the starts, and rows far from
the rest, which cost most, are told apart. The tree that comes out is optimized over all thresholds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.costs import KMeansCost
from treemeans.refine.centered_tree import CenteredTree, growth_by_gain
from treemeans.refine.coreset import small_data
from treemeans.refine.exact_subtrees import solve_subtrees
from treemeans.refine.search_budget import Budget
from treemeans.split import split_arrays
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree

Floats = NDArray[np.float64]

_MOST_BINS = 255
_MOST_SUMS = 2**25
"""Sums that the nodes of a tree keep; larger trees of more bins are searched without them."""
_BITS = 14
"""Bits of the mean cost of a row in fixed point. Costs up to 2**17 times as large fit 32 bits."""
_LEAST_SHARE = 2.0**-10
"""Part of the cost of a tree to start from that the reference's cost counts as, at least."""


class _Phase(NamedTuple):
    """Chains that run side by side.

    Attributes
    ----------
    n_chains, n_trees : chains, and the trees that they start from
    until : share of the budget at which they end
    coreset_rows : of the coreset that they work on; a table of up to twice as many rows is taken
        as it is
    hot, cold : first and last temperature, as shares of the excess cost per leaf of the best start
    new_centers : share of the rounds that grow a subtree again with centers of its own. They lead
        furthest from a start, and take the most time: late chains change little, and need others
    grafts : share of the rounds that take a subtree from the best tree of another chain. Trees that
        were found apart are good in different places
    n_bins : bins of a feature besides the cuts of the starts. The fewer, the faster the rounds
    """

    n_chains: int
    n_trees: int
    until: float
    coreset_rows: float
    hot: float
    cold: float
    new_centers: float
    grafts: float
    n_bins: int


_PHASES = (
    _Phase(4, 4, 0.4, 2048, 2.4, 0.2, 0.3, 0.1, 31),
    _Phase(4, 4, 0.8, math.inf, 1.6, 0.1, 0.15, 0.2, 63),
    _Phase(4, 4, 1.0, math.inf, 0.4, 0.04, 0.08, 0.2, 255),
)
"""The chains stay apart to the end, each from a tree of its own, so that grafts have something to
bring together. Fixed, so that the tree does not depend on the number of threads.

Tables differ by orders of magnitude in their cost, but what a change can gain is some part of what
a leaf costs beyond the reference: so temperatures are shares of it."""
_MOST_LEAF_SHARE = 0.05
"""Share of the excess cost that a leaf of a small tree is taken to have, at most."""
_SAME = 1e-12
"""Trees whose costs differ by a smaller share are the same tree."""
_TOLERANCE, _MAX_ROUNDS = 1e-4, 4
"""Parameters of `CenteredTree.optimize` for a tree over all thresholds."""
_MOST_STEPS, _MOST_ROUNDS = 100_000_000, 1_000
"""Steps and rounds of a chain between two checks for Ctrl-C."""
_EPOCHS = 20
"""Times that the chains stop, so that the bar moves and Ctrl-C is seen."""

_CHANCES = {
    "change a feature": 0.28,
    "regrow anywhere": 0.25,
    "regrow here": 0.3,
    "exchange with a child": 0.06,
    "move a leaf": 0.06,
    "relabel a leaf": 0.03,
    "dissolve a cluster": 0.02,
}
"""Of the rounds that neither grow a subtree with new centers nor take one."""
_HIDDEN_FEATURES = 0.75
"""Share of the features that a leaf does not see when it grows again. If it saw all of them it
would get the cuts that it had before."""
_UNIFORM = 0.2
"""Part of a node's chance to be changed that is the same for all nodes, as a share of the largest:
costly subtrees are changed more often, but every node is changed sometimes."""
_MOST_TEMPERATURES, _MOST_AFTER = 20.0, 10.0
"""A change that raises the cost by more temperatures is not followed up: at once, and after its
subtree is optimized."""
_MOST_DRIFT = 1.0
"""Temperatures that moving the centers to the means may save before they are moved: it takes a look
at every row and every cut."""
_USUAL_LEAVES = 6.0
"""A subtree with more leaves is changed less often, by the square of its size."""
_SAMPLED_ROWS = 400
"""Rows that a leaf is cut by when it grows again; its cuts are chosen again from all rows."""
_LOOKS = 4
"""Cuts that are chosen again, at most, in a subtree that changed."""


def policy(new_centers: float, grafts: float) -> Floats:
    """How the core makes rounds; ``new_centers`` and ``grafts`` as in `_Phase`."""
    return np.array(
        [
            *(chance * (1.0 - new_centers - grafts) for chance in _CHANCES.values()),
            grafts,
            new_centers,
            _HIDDEN_FEATURES,
            _UNIFORM,
            _MOST_TEMPERATURES,
            _MOST_AFTER,
            _MOST_DRIFT,
            _USUAL_LEAVES,
            _SAMPLED_ROWS,
            _LOOKS,
        ]
    )


@dataclass(frozen=True)
class ChainBins:
    """The features that may be cut, in bins.

    Attributes
    ----------
    features : of each slot
    values : of each slot, its distinct values
    edges : of each slot, the largest value of each bin but the last or a threshold above it
    codes : bin of each row in each slot; that of missing values comes last
    has_missing : of each slot
    """

    features: NDArray[np.intp]
    values: list[Floats]
    edges: list[Floats]
    codes: NDArray[np.uint8]
    has_missing: NDArray[np.uint8]

    @classmethod
    def of(cls, data: TrainingData, trees: Sequence[ThresholdTree], n_drawn: int) -> Self:
        """The bins of the rows with a weight; the cuts of ``trees`` lie between bins.

        A feature of more than ``n_drawn`` distinct values has so many bins besides these cuts.
        """
        rows = data.costs.rows
        weights = np.ones(len(rows)) if data.weights is None else data.weights[rows]
        features, values, edges, columns, missing = [], [], [], [], []
        for feature in np.flatnonzero(data.table.allowed):
            column = np.asarray(data.X[:, feature], dtype=np.float64)
            known = ~np.isnan(column)
            distinct = np.unique(column[rows][known[rows]])
            if len(distinct) < 2:
                continue
            cuts = np.concatenate([t.threshold[t.feature == feature] for t in trees])
            own = _edges(column[rows][known[rows]], weights[known[rows]], distinct, cuts, n_drawn)
            code = np.searchsorted(own, column, side="left")
            code[~known] = len(own) + 1
            features.append(feature)
            values.append(distinct)
            edges.append(own)
            columns.append(code.astype(np.uint8))
            missing.append(not known.all())
        codes = np.column_stack(columns) if columns else np.zeros((len(data.X), 0), np.uint8)
        return cls(
            np.array(features, dtype=np.intp),
            values,
            edges,
            np.ascontiguousarray(codes),
            np.array(missing, dtype=np.uint8),
        )

    @property
    def n_values(self) -> NDArray[np.int32]:
        """Number of bins of values of each slot."""
        return np.array([len(edges) + 1 for edges in self.edges], dtype=np.int32)

    def bin_below(self, slot: int, threshold: float) -> int:
        """The last bin with a value up to ``threshold``."""
        at = int(np.searchsorted(self.values[slot], threshold, side="right"))
        value = self.values[slot][max(at - 1, 0)]
        return int(np.searchsorted(self.edges[slot], value, side="left"))


def _edges(column: Floats, weights: Floats, distinct: Floats, cuts: Floats, n_drawn: int) -> Floats:
    """Thresholds between bins.

    Where values are many, half of the bins is drawn by weight and half by the squared distance from
    the mean: as in a coreset, rows that cost much are told apart.
    """
    middles = distinct[:-1] + (distinct[1:] - distinct[:-1]) / 2
    # Between neighbouring floats there may be none half way.
    middles = np.where(middles < distinct[1:], middles, distinct[:-1])
    if len(distinct) <= n_drawn:
        return middles
    at = np.searchsorted(distinct, cuts, side="right") - 1
    given = np.unique(at[(at >= 0) & (at < len(middles))])[: _MOST_BINS // 2]
    own = np.searchsorted(distinct, column)
    weight = np.bincount(own, weights, minlength=len(distinct))
    away = (distinct - np.average(column, weights=weights)) ** 2 * weight
    share = weight / weight.sum()
    if away.sum() > 0.0:
        share = (share + away / away.sum()) / 2
    wanted = min(n_drawn, _MOST_BINS - len(given)) - 1
    drawn = np.searchsorted(np.cumsum(share), np.arange(1, wanted + 1) / (wanted + 1))
    chosen = np.union1d(given, np.clip(drawn, 0, len(middles) - 1))
    return np.asarray(middles[chosen])


def can_search(data: TrainingData, n_leaves: int) -> bool:
    """Whether chains can search this table: numbers in full columns, squared distances."""
    return (
        type(data.cost) is KMeansCost
        and not sparse.issparse(data.X)
        and not sparse.issparse(data.cost.rows)
        and not data.table.bins.categorical
        and n_leaves * _MOST_BINS * int(data.table.allowed.sum()) <= _MOST_SUMS
        and bool(data.table.allowed.any())
    )


def search_chains(
    starts: Sequence[CenteredTree],
    data: TrainingData,
    n_leaves: int,
    excess: float,
    budget: Budget,
    rng: np.random.Generator,
) -> CenteredTree:
    """Return the best tree of chains from the cheapest of some optimized trees.

    Between phases the trees are optimized over all thresholds, which are edges of bins then.

    Parameters
    ----------
    excess : what the best of the starts costs above the reference, the scale of the temperature
    """
    trees = _distinct(starts)
    for phase in _PHASES:
        if budget.spent or trees[0].tree.cost == 0:
            break
        some = [trees[i % min(phase.n_trees, len(trees))] for i in range(phase.n_chains)]
        rows = small_data(data, phase.coreset_rows, rng)
        chains = _Chains(some, rows, n_leaves, phase.n_bins, rng)
        try:
            chains.run(budget, phase, excess)
        except KeyboardInterrupt:
            budget.interrupt()
        found = [chains.best(chain, data) for chain in range(phase.n_chains)]
        for tree in found:
            tree.recenter()
            tree.optimize(n_leaves, _TOLERANCE, _MAX_ROUNDS)
        trees = _distinct([*found, *trees])
    return trees[0] if data.table.bins.mixed else _with_solved_subtrees(trees[0], n_leaves, budget)


def _with_solved_subtrees(tree: CenteredTree, n_leaves: int, budget: Budget) -> CenteredTree:
    """A tree with its small subtrees replaced by the best ones, if that is cheaper."""
    solved = tree.copy()
    try:
        solve_subtrees(solved, n_leaves, _TOLERANCE, _MAX_ROUNDS)
    except KeyboardInterrupt:
        budget.interrupt()
        return tree
    return solved if solved.cost < tree.cost else tree


def _distinct(trees: Sequence[CenteredTree]) -> list[CenteredTree]:
    """Trees, the cheapest first, without duplicates."""
    found: list[CenteredTree] = []
    for tree in sorted(trees, key=lambda tree: tree.cost):
        if not found or tree.cost > found[-1].cost * (1.0 + _SAME):
            found.append(tree)
    return found


class _Chains:
    """Annealing chains from a number of trees."""

    def __init__(
        self,
        starts: Sequence[CenteredTree],
        data: TrainingData,
        n_leaves: int,
        n_bins: int,
        rng: np.random.Generator,
    ) -> None:
        self._data = data
        self._n = len(starts)
        self._n_leaves = n_leaves
        self._n_clusters = len(starts[0].centers)
        trees = [start.freeze() for start in starts]
        self._bins = ChainBins.of(data, trees, n_bins)
        rows = np.asarray(data.cost.rows, dtype=np.float64)  # type: ignore[attr-defined]
        self._mean = np.average(rows, axis=0, weights=data.weights)
        space = np.ascontiguousarray(rows - self._mean)
        squares = (space * space).sum(axis=1)
        weights = np.ones(len(space)) if data.weights is None else data.weights
        total = float(weights @ squares)
        # Where the reference costs next to nothing (a center for every row), all costs would be
        # beyond 32 bits of its unit: the unit is then that of the tree to start from.
        whole = max(data.costs.cheapest, _LEAST_SHARE * min(start.cost for start in starts))
        mean_cost = max(whole / data.costs.n_rows, sys.float_info.min * 2.0**_BITS)
        unit = math.ldexp(1.0, math.frexp(mean_cost)[1] - _BITS)
        costs = data.costs
        self._chains = _core.AnnealingChains(
            self._bins.codes,
            self._bins.n_values,
            self._bins.has_missing,
            space,
            data.weights,
            unit,
            total,
            costs.rows,
            data.limits.for_rows(costs).for_kernel(
                None if costs.weights is None else costs.weights.values,
                data.limits.slot_prices(self._bins.features.tolist(), data.reference_cost / unit),
            ),
            n_leaves,
        )
        for start, tree in zip(starts, trees, strict=True):
            self._add(tree, start.centers, int(rng.integers(2**63)))

    def _add(self, tree: ThresholdTree, centers: Floats, seed: int) -> None:
        slot_of = {int(feature): slot for slot, feature in enumerate(self._bins.features)}
        slot = np.array([slot_of.get(int(f), -1) for f in tree.feature], dtype=np.int32)
        bins = [
            self._bins.bin_below(int(s), t) if s >= 0 else 0
            for s, t in zip(slot, tree.threshold, strict=True)
        ]
        sides = [
            None if leaf else tree.split(n).missing_left for n, leaf in enumerate(tree.is_leaf)
        ]
        self._chains.add(
            slot,
            np.array(bins, dtype=np.int32),
            np.array([-1 if side is None else int(side) for side in sides], dtype=np.int8),
            tree.left.astype(np.int32),
            tree.right.astype(np.int32),
            np.ascontiguousarray(centers - self._mean),
            seed,
        )

    def run(self, budget: Budget, phase: _Phase, excess: float) -> None:
        """Anneal until a phase ends."""
        begin, end = budget.share, phase.until
        per_leaf = excess * min(1.0 / self._n_leaves, _MOST_LEAF_SHARE)
        # A cluster of several leaves is seldom in one subtree, so that its center could move alone.
        k = self._n_clusters
        rules = policy(phase.new_centers * min(1.0, k / self._n_leaves) ** 2, phase.grafts)
        budget.begin_chains()

        def temperature(done: float) -> float:
            share = phase.hot ** (1.0 - done) * phase.cold**done
            return float(max(per_leaf * share, sys.float_info.min))

        while not budget.spent and budget.share < end:
            done = (budget.share - begin) / (end - begin)
            n_chains, rounds, steps = budget.next_part(1.0 / _EPOCHS, self._n)
            # A part that is cut short, so that Ctrl-C is seen, has one temperature.
            short = steps > _MOST_STEPS and rounds > _MOST_ROUNDS
            until = done if short else min(1.0, done + 1.0 / (_EPOCHS * (end - begin)))
            before = self._spent
            self._chains.exchange()
            self._run_part(
                rules,
                n_chains,
                rounds,
                min(steps, _MOST_STEPS),
                temperature(done),
                temperature(until),
            )
            made, spent = self._spent[0] - before[0], self._spent[1] - before[1]
            if made == 0:  # every chain is at a tree that cannot be better
                return
            budget.spend_rounds(made, spent, self.best_cost)

    def _run_part(
        self, rules: Floats, n_chains: int, rounds: int, steps: int, first: float, last: float
    ) -> None:
        n_threads = self._data.n_threads
        self._chains.run(range(n_chains), rules, rounds, steps, first, last, n_threads)

    @property
    def _spent(self) -> tuple[int, int]:
        """Rounds and steps of all chains."""
        chains = range(self._n)
        return sum(map(self._chains.rounds, chains)), sum(map(self._chains.steps, chains))

    @property
    def best_cost(self) -> float:
        """k-means cost of the best tree."""
        return min(self._chains.best_cost(chain) for chain in range(self._n))

    def best(self, chain: int, data: TrainingData) -> CenteredTree:
        """The best tree of a chain, on the rows of ``data``."""
        slot, bins, sides, left, right, label, centers, _ = self._chains.best(chain)
        tree = ThresholdTree(
            # A leaf has the slot -1; there may be no column that can be cut.
            feature=np.append(self._bins.features, -1)[slot],
            threshold=np.array(
                [
                    self._threshold(int(s), int(b)) if s >= 0 else 0.0
                    for s, b in zip(slot, bins, strict=True)
                ]
            ),
            left=left,
            right=right,
            label=label,
            n_features=self._data.table.n_features,
            growth=growth_by_gain(left.tolist(), right.tolist(), [0] * len(left)),
            **split_arrays([None if side < 0 else bool(side) for side in sides], [()] * len(slot)),
        )
        centers = centers.reshape(-1, len(self._mean)) + self._mean
        return CenteredTree.replay(data, tree, centers)

    def _threshold(self, slot: int, last: int) -> float:
        edges = self._bins.edges[slot]
        return float(edges[last]) if last < len(edges) else math.inf
