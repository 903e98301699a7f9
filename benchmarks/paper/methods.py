"""One adapter per method: it takes the cells of a job, and yields the result of each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import groupby, product
from typing import Any, TypeAlias

import numpy as np
from methods import sklearn_kmeans
from numpy.typing import NDArray
from reference import Reference
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_mutual_info_score
from threadpoolctl import threadpool_limits
from trees import METHODS as TREES

from treemeans import ExKMC, ThresholdTree
from treemeans.baselines import IMM, KDTree
from treemeans.baselines.deviance import overgrow as overgrow_deviance
from treemeans.baselines.siblings import Pruner, join
from treemeans.baselines.virtual import overgrow as overgrow_virtual
from treemeans.grow.base import Task
from treemeans.grow.kdtree import kdtree as grow_kdtree
from treemeans.grow.sapling import Sapling

from . import data
from .added import ADDED, Make
from .cells import (
    ALPHA,
    JOINS,
    MIN_RD,
    MIN_Y,
    MINDIST,
    TIMED_SIZE,
    Cell,
    coarse_sizes,
    sizes,
)
from .judge import Judge, LeafJudge, Row

# Seconds: what is briefer is timed five times; a k-means that takes longer is not run again.
BRIEF, LONG = 1.0, 60.0

Result: TypeAlias = dict[str, Any]
Yields: TypeAlias = Iterator[tuple[Cell, Result]]


def imm(cells: list[Cell]) -> Yields:
    """The base tree alone."""
    X = data.load(cells[0].data).X
    for cell in cells:
        known = data.known(cell.data, cell.seed)
        model, seconds = _timed(IMM(None, reference=known.centers).fit, X)
        yield cell, {"rows": _path(model, known), "seconds": seconds}


def exkmc(cells: list[Cell]) -> Yields:
    """One fit for all numbers of leaves: the path has them."""
    X = data.load(cells[0].data).X
    base = "imm" if cells[0].method == "exkmc_imm" else "none"
    for cell in cells:
        known = data.known(cell.data, cell.seed)
        model, seconds = _timed(_grown, X, known, cell.leaves, base)
        yield cell, {"rows": _path(model, known), "seconds": seconds}


def whole(cells: list[Cell]) -> Yields:
    """As many leaves as the tree wants: the last row alone."""
    for cell, result in exkmc(cells):
        yield cell, {**result, "rows": result["rows"][-1:]}


def cart(cells: list[Cell]) -> Yields:
    """One fit for all: scikit-learn cuts the best leaf first, so it holds the smaller trees."""
    X, method = data.load(cells[0].data).X, TREES["cart_labels"]
    for cell in cells:
        known = data.known(cell.data, cell.seed)
        model, seconds = _timed(method.fit, X, known, cell.leaves, cell.seed)
        first, leaf = np.unique(model.apply(X), return_inverse=True)
        judge = LeafJudge(X, known, leaf)
        rows = [
            judge.row(method.labels_of(model, first, leaves), leaves)
            for leaves in sizes(len(known.centers), cell.leaves)
            if leaves <= model.get_n_leaves()
        ]
        yield cell, {"rows": rows, "seconds": seconds}


def kdtree(cells: list[Cell]) -> Yields:
    """One growth for all numbers of leaves of a reference: they cut the same nodes alike.

    A row has the ``leaves`` that were allowed; the tree has those that it ``built``. The seconds
    of the growth stand in the first cell of each reference.
    """
    X = data.load(cells[0].data).X
    for seed, some in groupby(cells, key=lambda cell: cell.seed):
        group, known = list(some), data.known(cells[0].data, seed)
        budgets = [cell.leaves for cell in group]
        model, seconds = _timed(Halves(budgets, reference=known.centers).fit, X)
        judge = LeafJudge(X, known, model.leaf_)
        for cell in group:
            labels, built = model.trees_[cell.leaves]
            row = {**judge.row(labels, cell.leaves), "built": built}
            yield cell, {"rows": [row], "seconds": seconds}
            seconds = 0.0


class Halves(KDTree):
    """The KD-trees of several sizes, from one growth.

    Attributes
    ----------
    leaf_ : for each row, its leaf among those that any of the trees parts
    trees_ : for each size, the labels of those leaves, and the number of leaves of its tree
    """

    def __init__(self, budgets: list[int], *, reference: Any = None) -> None:
        super().__init__(None, max_leaf_nodes=max(budgets), reference=reference)
        self.budgets = budgets

    def _sapling(self, task: Task) -> Sapling:
        sapling = task.sapling()
        trees = {budget: grow_kdtree(sapling, budget) for budget in self.budgets}
        ends, self.leaf_ = np.unique(sapling.leaf_of_row(), return_inverse=True)
        self.trees_ = {}
        for budget, leaves in trees.items():
            label = np.full(sapling.n_nodes, -1)
            label[leaves] = np.array(sapling.label)[leaves]
            for node in np.flatnonzero(np.array(sapling.feature) >= 0):  # parents come first
                if label[node] >= 0:
                    label[[sapling.left[node], sapling.right[node]]] = label[node]
            self.trees_[budget] = label[ends], len(leaves)
        return sapling


def cltree(cells: list[Cell]) -> Yields:
    """One growth for all percentages and all references: cuts do not look at the reference."""
    X = data.load(cells[0].data).X.astype(np.float64)
    start = time.perf_counter()
    grown = overgrow_virtual(
        X, np.ones(len(X)), min_split=cells[0].option("min_split"), min_y=min(MIN_Y)
    )
    trees: dict[bytes, ThresholdTree] = {}
    for min_y in MIN_Y:
        for min_rd in MIN_RD:
            tree = grown.prune(min_y, min_rd).tree
            trees.setdefault(_signature(tree), tree)
    seconds = time.perf_counter() - start
    for cell in cells:
        judge = Judge(X, data.known(cell.data, cell.seed))
        k = judge.distances.shape[1]
        rows = [
            judge.row(_cheapest(judge, tree.apply(X)), tree.n_leaves)
            for tree in trees.values()
            if k <= tree.n_leaves <= cell.leaves
        ]
        yield cell, {"rows": best(rows), "seconds": seconds, "trees": len(trees)}


def cubt(cells: list[Cell]) -> Yields:
    """One growth; then all prunings and joinings, which do not look at the reference either.

    A row has the ``leaves`` that were allowed, as in the paper: the tree may have fewer.
    """
    loaded, first = data.load(cells[0].data), cells[0]
    X, k = loaded.X.astype(np.float64), loaded.k
    joining = first.method.partition("_")[2]
    budgets = coarse_sizes(k) if joining else sizes(k, first.leaves)
    start = time.perf_counter()
    growth = overgrow_deviance(
        X,
        np.ones(len(X)),
        minsize=first.option("minsize"),
        mindev=first.option("mindev"),
        minsplit=4,
        max_depth=7,
    )
    pruner, found = Pruner(growth), dict[tuple[bytes, float], tuple[int, NDArray[np.intp]]]()
    trees: dict[int, set[tuple[bytes, float]]] = {budget: set() for budget in budgets}
    for mindist, alpha, budget in product(MINDIST, ALPHA, budgets):
        pruned = pruner.prune(mindist, alpha, budget)
        # What a joining by dissimilarity does depends on alpha too.
        key = _signature(pruned.tree), alpha if joining == "dissimilarity" else 0.0
        if pruned.tree.n_leaves >= k:
            trees[budget].add(key)
            if key not in found:
                groups = join(growth, pruned.leaves, k, joining or "deviance", alpha)
                found[key] = pruned.tree.n_leaves, _spread(pruned.leaves, groups, len(X))
    seconds = time.perf_counter() - start
    for cell in cells:
        judge = Judge(X, data.known(cell.data, cell.seed))
        priced = {
            key: {**judge.row(_named(judge, group), built), "built": built}
            for key, (built, group) in found.items()
        }
        rows = [
            {**priced[key], "leaves": budget} for budget in trees for key in sorted(trees[budget])
        ]
        yield cell, {"rows": best(rows), "seconds": seconds, "trees": len(found)}


def size(cells: list[Cell]) -> Yields:
    """The numbers of the paper's table, as they are in the data."""
    for cell in cells:
        loaded = data.load(cell.data)
        n, d = loaded.X.shape
        yield cell, {"k": len(np.unique(loaded.y)), "n": int(n), "d": int(d)}


def timed(cells: list[Cell]) -> Yields:
    """Seconds of k-means, of IMM and of ExKMC with 2 k leaves; the trees without the k-means.

    The best of several where they are brief. On one thread, a k-means that takes minutes is not
    run again: the seconds are those of the reference's own, and ``again`` says so.
    """
    for cell in cells:
        threads = int(cell.option("threads"))
        known, loaded = data.known(cell.data, cell.seed), data.load(cell.data)
        X, k = loaded.X, loaded.k
        again, load = threads > 1 or known.seconds <= LONG, _load()
        with threadpool_limits(limits=threads):
            kmeans = _kmeans_seconds(X, k, threads, cell.seed) if again else known.seconds
            base = _least_seconds(IMM(None, reference=known.centers, n_jobs=threads).fit, X)
            tree = _least_seconds(_grown, X, known, TIMED_SIZE * k, "imm", threads)
        seconds = {"kmeans": kmeans, "imm": base, "exkmc": tree}
        yield cell, {"threads": threads, "again": again, "load": load, **seconds}


def regions(cells: list[Cell]) -> Yields:
    """The trees of Figure 1: k leaves, 2 k, and as many as it takes."""
    X = data.plane()
    model = plane_model(X)
    named = ("leaves", "n_leaves"), ("ratio", "ratio"), ("accuracy", "accuracy")
    rows = [{key: float(row[name]) for key, name in named} for row in model.path_]
    chosen = [row for row in rows if row["leaves"] in (3, 6, model.n_leaves_)]
    for cell in cells:
        yield cell, {"trees": chosen}


def plane_model(X: Any) -> ExKMC:
    """Return the model that Figure 1 shows."""
    return ExKMC(3, max_leaf_nodes=len(X), random_state=0).fit(X)


def words(cells: list[Cell]) -> Yields:
    """The words of the example trees, and how well their clusters agree with the groups."""
    X, y, names = data.load_words()
    for cell in cells:
        model = words_model(X, cell)
        trees = {}
        for leaves in (4, 8):
            small = model.with_leaves(leaves) if leaves < model.n_leaves_ else model
            cut = small.tree_.feature[~small.tree_.is_leaf]
            trees[str(leaves)] = {
                "words": sorted({names[feature] for feature in cut}),
                "ratio": float(small.inertia_ / model.reference_inertia_),
                "agreement": float(adjusted_mutual_info_score(y, small.labels_)),
            }
        yield cell, {"trees": trees, "grown": _leaves_that_grew(model)}


def words_model(X: Any, cell: Cell) -> ExKMC:
    """Return the model that the example trees are read from."""
    return ExKMC(4, max_leaf_nodes=cell.leaves, random_state=cell.seed).fit(X)


def fitted(make: Make) -> Callable[[list[Cell]], Yields]:
    """Return an adapter that fits an estimator anew for each number of leaves."""

    def adapter(cells: list[Cell]) -> Yields:
        X = data.load(cells[0].data).X
        for seed, group in groupby(cells, key=lambda cell: cell.seed):
            judge = Judge(X, data.known(cells[0].data, seed))
            for cell in group:
                model, seconds = _timed(make(judge.known.centers, cell.leaves, seed).fit, X)
                row = judge.row(np.asarray(model.labels_), cell.leaves)
                built = int(getattr(model, "n_leaves_", cell.leaves))
                yield cell, {"rows": [{**row, "built": built}], "seconds": seconds}

    return adapter


ADAPTERS: dict[str, Callable[[list[Cell]], Yields]] = {
    "imm": imm,
    "exkmc": exkmc,
    "exkmc_imm": exkmc,
    "cart": cart,
    "kdtree": kdtree,
    "cltree": cltree,
    "cubt": cubt,
    **dict.fromkeys(JOINS, cubt),
    "size": size,
    "time": timed,
    "words": words,
    "regions": regions,
    "whole": whole,
    **{name: fitted(make) for name, (_, make) in ADDED.items()},
}


def best(rows: list[Row]) -> list[Row]:
    """Return the cheapest row for each number of leaves that occurs."""
    cheapest: dict[int, Row] = {}
    for row in rows:
        kept = cheapest.setdefault(row["leaves"], row)
        if row["ratio"] < kept["ratio"]:
            cheapest[row["leaves"]] = row
    return [cheapest[leaves] for leaves in sorted(cheapest)]


def _timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call(*arguments)
    return result, time.perf_counter() - start


def _load() -> float | None:
    """Return how many programs want to run: beyond the number of cores, times are not to be had."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def _least_seconds(call: Callable[..., Any], *arguments: Any) -> float:
    """Time a call: the best of five if it is brief, of two if it is not long."""
    first = _timed(call, *arguments)[1]
    more = 4 if first < BRIEF else 1 if first < LONG else 0
    return min([first, *(_timed(call, *arguments)[1] for _ in range(more))])


def _kmeans_seconds(X: Any, k: int, threads: int, seed: int) -> float:
    return _least_seconds(sklearn_kmeans.fit, X.astype(np.float64), k, threads, seed)


def _grown(X: Any, known: Reference, leaves: int, base: str, threads: int = 1) -> ExKMC:
    leaves = max(leaves, len(known.centers))
    options = {"max_leaf_nodes": leaves, "base_tree": base, "n_jobs": threads}
    return ExKMC(None, reference=known.centers, **options).fit(X)


def _path(model: Any, known: Reference) -> list[Row]:
    """Return the rows of a model's path, from k leaves on, or all if it never has so many."""
    path, k = model.path_, len(known.centers)
    path = path[path["n_leaves"] >= k] if path["n_leaves"][-1] >= k else path
    return [
        {
            "leaves": int(row["n_leaves"]),
            "ratio": float(row["kmeans_cost"] / known.inertia),
            "surrogate": float(row["surrogate_cost"] / known.inertia),
            "accuracy": float(row["accuracy"]),
        }
        for row in path
    ]


def _signature(tree: ThresholdTree) -> bytes:
    return tree.feature.tobytes() + tree.threshold.tobytes() + tree.left.tobytes()


def _cheapest(judge: Judge, leaf: NDArray[Any]) -> NDArray[np.intp]:
    """Return the labels if each leaf has that of the center that is cheapest for its rows."""
    _, group = np.unique(leaf, return_inverse=True)
    labels: NDArray[np.intp] = judge.totals(group, int(group.max()) + 1).argmin(axis=1)[group]
    return labels


def _named(judge: Judge, group: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the labels if each group has a center of its own, so that all cost least."""
    _, center = linear_sum_assignment(judge.totals(group, int(group.max()) + 1))
    return center[group]


def _spread(leaves: Any, groups: list[int], n: int) -> NDArray[np.intp]:
    """Return the group of each row."""
    of_row = np.empty(n, dtype=np.intp)
    for leaf, group in zip(leaves, groups, strict=True):
        of_row[leaf.rows] = group
    return of_row


def _leaves_that_grew(model: ExKMC) -> int:
    """Return how many leaves of the base tree have cuts below them in the whole tree."""
    tree = model.tree_
    k = tree.n_clusters
    inner = np.flatnonzero(~tree.is_leaf)
    base = {int(node) for node in inner if tree.growth[node] <= k}
    children = {int(child) for node in base for child in (tree.left[node], tree.right[node])}
    return sum(1 for child in children - base if not tree.is_leaf[child])
