"""What the paper's evaluation fits: cases of a task go in, rows of costs come out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from benchmarks.measure import once
from benchmarks.methods import METHODS
from benchmarks.paper.cost_rows import LabelCosts, LeafCosts, Row
from benchmarks.paper.plan import (
    ALPHA,
    JOINS,
    MIN_RD,
    MIN_Y,
    MINDIST,
    TIMED_SIZE,
    Case,
    coarse_sizes,
    sizes,
)
from benchmarks.problems import PROBLEMS, Reference, kmeans, reference

# Seconds: what is briefer is timed five times; a k-means that takes longer is not run again.
BRIEF, LONG = 1.0, 60.0

Result: TypeAlias = dict[str, Any]
Results: TypeAlias = Iterator[Result]


def run(cases: list[dict[str, Any]]) -> Result:
    """Fit the cases of a task, which have data set, method and setting in common."""
    asked = [Case(**case) for case in cases]
    return {"cases": list(FITS.get(asked[0].method, fit_each)(asked))}


def fit_each(cases: list[Case]) -> Results:
    """A fit for each number of leaves.

    A row has the ``leaves`` that were allowed; the tree has those that it ``built``.
    """
    method, X = METHODS[cases[0].method], PROBLEMS[cases[0].data].load()
    for case in cases:
        known = reference(case.data, case.seed)
        fit = once(lambda case=case, known=known: method.fit(X, known, case.leaves, case.seed))
        costs = LabelCosts(X, known)
        row = costs.row(method.labels(fit.result, X, case.leaves), case.leaves)
        built = int(getattr(fit.result, "n_leaves_", case.leaves))
        yield {"rows": [{**row, "built": built}], "seconds": fit.seconds}


def fit_path(cases: list[Case]) -> Results:
    """One fit for all numbers of leaves: the path of the model has them."""
    method, X = METHODS[cases[0].method], _load(cases[0])
    for case in cases:
        known = reference(case.data, case.seed)
        fit = once(lambda case=case, known=known: method.fit(X, known, case.leaves, case.seed))
        yield {"rows": path_rows(fit.result, known), "seconds": fit.seconds}


def fit_whole(cases: list[Case]) -> Results:
    """As many leaves as the tree wants: the last row alone."""
    X, method = _load(cases[0]), METHODS["exkmc_imm"]
    for case in cases:
        known = reference(case.data, case.seed)
        fit = once(lambda case=case, known=known: method.fit(X, known, case.leaves, case.seed))
        yield {"rows": path_rows(fit.result, known)[-1:], "seconds": fit.seconds}


def fit_cart(cases: list[Case]) -> Results:
    """One fit for all: scikit-learn cuts the best leaf first, so it holds the smaller trees."""
    X, method = _load(cases[0]), METHODS["cart"]
    for case in cases:
        known = reference(case.data, case.seed)
        fit = once(lambda case=case, known=known: method.fit(X, known, case.leaves, case.seed))
        first, leaf = np.unique(fit.result.apply(X), return_inverse=True)
        costs = LeafCosts(X, known, leaf)
        rows = [
            costs.row(method.leaf_labels(fit.result, first, leaves), leaves)
            for leaves in sizes(len(known.centers), case.leaves)
            if leaves <= fit.result.get_n_leaves()
        ]
        yield {"rows": rows, "seconds": fit.seconds}


def fit_cltree(cases: list[Case]) -> Results:
    """One growth for all percentages and all references: cuts do not look at the reference."""
    from treemeans.baselines.cltree_growth import overgrow

    X = PROBLEMS[cases[0].data].load()
    start, min_split = time.perf_counter(), cases[0].option("min_split")
    grown = overgrow(X, np.ones(len(X)), min_split=min_split, min_y=min(MIN_Y))
    trees: dict[bytes, Any] = {}
    for min_y, min_rd in product(MIN_Y, MIN_RD):
        tree = grown.prune(min_y, min_rd).tree
        trees.setdefault(_signature(tree), tree)
    seconds = time.perf_counter() - start
    for case in cases:
        costs = LabelCosts(X, reference(case.data, case.seed))
        k = costs.distances.shape[1]
        rows = [
            costs.row(_cheapest_labels(costs, tree.apply(X)), tree.n_leaves)
            for tree in trees.values()
            if k <= tree.n_leaves <= case.leaves
        ]
        yield {"rows": cheapest(rows), "seconds": seconds, "trees": len(trees)}


def fit_cubt(cases: list[Case]) -> Results:
    """One growth; then all prunings and joinings, which do not look at the reference either.

    A row has the ``leaves`` that were allowed, as in the paper: the tree may have fewer.
    """
    from treemeans.baselines.cubt_growth import overgrow
    from treemeans.baselines.cubt_pruning import Pruner, join

    case, X = cases[0], PROBLEMS[cases[0].data].load()
    k, joining = PROBLEMS[case.data].k, case.method.partition("_")[2]
    budgets = coarse_sizes(k) if joining else sizes(k, case.leaves)
    start, grid = time.perf_counter(), {name: case.option(name) for name in ("minsize", "mindev")}
    growth = overgrow(X, np.ones(len(X)), **grid, minsplit=4, max_depth=7)
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
                found[key] = pruned.tree.n_leaves, _group_of_row(pruned.leaves, groups, len(X))
    seconds = time.perf_counter() - start
    for case in cases:
        costs = LabelCosts(X, reference(case.data, case.seed))
        priced = {
            key: {**costs.row(_matched_labels(costs, group), built), "built": built}
            for key, (built, group) in found.items()
        }
        rows = [
            {**priced[key], "leaves": budget} for budget in trees for key in sorted(trees[budget])
        ]
        yield {"rows": cheapest(rows), "seconds": seconds, "trees": len(found)}


def table_size(cases: list[Case]) -> Results:
    """The numbers of the paper's table, as they are in the data."""
    from benchmarks.problems import data_folder
    from treemeans import datasets

    for case in cases:
        loaded = datasets.load(case.data, None, folder=data_folder())
        n, d = loaded.X.shape
        yield {"k": len(np.unique(loaded.y)), "n": int(n), "d": int(d)}


def running_time(cases: list[Case]) -> Results:
    """Seconds of k-means, of IMM and of ExKMC with 2 k leaves; the trees without the k-means.

    The best of several where they are brief. On one thread, a k-means that takes minutes is not
    run again: the seconds are those of the reference's own, and ``again`` says so.
    """
    for case in cases:
        threads, k = int(case.option("threads")), PROBLEMS[case.data].k
        known, X = reference(case.data, case.seed), PROBLEMS[case.data].load()
        again = threads > 1 or known.seconds <= LONG
        # Beyond the number of cores, times are not to be trusted.
        load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
        seconds = {
            "kmeans": _least_seconds(kmeans, X, k, case.seed) if again else known.seconds,
            "imm": _least_seconds(METHODS["imm"].fit, X, known, k, 0, threads),
            "exkmc": _least_seconds(METHODS["exkmc_imm"].fit, X, known, TIMED_SIZE * k, 0, threads),
        }
        yield {"threads": threads, "again": again, "load": load, **seconds}


def plane_regions(cases: list[Case]) -> Results:
    """The trees of Figure 1: k leaves, 2 k, and as many as it takes."""
    from benchmarks.paper.example_data import plane

    model = plane_model(plane())
    named = ("leaves", "n_leaves"), ("ratio", "ratio"), ("accuracy", "accuracy")
    rows = [{key: float(row[name]) for key, name in named} for row in model.path_]
    chosen = [row for row in rows if row["leaves"] in (3, 6, model.n_leaves_)]
    yield from ({"trees": chosen} for _ in cases)


def plane_model(X: Any) -> Any:
    """The model that Figure 1 shows."""
    from treemeans import ExKMC

    return ExKMC(3, max_leaf_nodes=len(X), reference="kmeans", random_state=0).fit(X)


def newsgroup_words(cases: list[Case]) -> Results:
    """The words of the example trees, and how well their clusters agree with the groups."""
    from sklearn.metrics import adjusted_mutual_info_score

    from benchmarks.paper.example_data import load_words

    X, y, names, _ = load_words()
    for case in cases:
        model = words_model(X, case)
        trees = {}
        for leaves in (4, 8):
            small = model.with_leaves(leaves) if leaves < model.n_leaves_ else model
            cut = small.tree_.feature[~small.tree_.is_leaf]
            trees[str(leaves)] = {
                "words": sorted({names[feature] for feature in cut}),
                "ratio": float(small.inertia_ / model.reference_inertia_),
                "agreement": float(adjusted_mutual_info_score(y, small.labels_)),
            }
        yield {"trees": trees, "grown": _leaves_that_grew(model)}


def words_model(X: Any, case: Case) -> Any:
    """The model that the example trees are read from."""
    from treemeans import ExKMC

    leaves, seed = case.leaves, case.seed
    return ExKMC(4, max_leaf_nodes=leaves, reference="kmeans", random_state=seed).fit(X)


FITS: dict[str, Callable[[list[Case]], Results]] = {
    "imm": fit_path,
    "exkmc": fit_path,
    "exkmc_imm": fit_path,
    "cart": fit_cart,
    "cltree": fit_cltree,
    "cubt": fit_cubt,
    **dict.fromkeys(JOINS, fit_cubt),
    "size": table_size,
    "time": running_time,
    "words": newsgroup_words,
    "regions": plane_regions,
    "whole": fit_whole,
}


def cheapest(rows: list[Row]) -> list[Row]:
    """The cheapest row for each number of leaves that occurs."""
    found: dict[int, Row] = {}
    for row in rows:
        kept = found.setdefault(row["leaves"], row)
        if row["ratio"] < kept["ratio"]:
            found[row["leaves"]] = row
    return [found[leaves] for leaves in sorted(found)]


def path_rows(model: Any, known: Reference) -> list[Row]:
    """The rows of a model's path, from k leaves on, or all if it never has so many."""
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


def _load(case: Case) -> Any:
    """The table in the smallest type that is exact, where a method takes any."""
    return PROBLEMS[case.data].load(None)


def _least_seconds(call: Callable[..., Any], *arguments: Any) -> float:
    """Time a call: the best of five if it is brief, of two if it is not long."""
    first = once(lambda: call(*arguments)).seconds
    more = 4 if first < BRIEF else 1 if first < LONG else 0
    return min([first, *(once(lambda: call(*arguments)).seconds for _ in range(more))])


def _signature(tree: Any) -> bytes:
    signature: bytes = tree.feature.tobytes() + tree.threshold.tobytes() + tree.left.tobytes()
    return signature


def _cheapest_labels(costs: LabelCosts, leaf: NDArray[Any]) -> NDArray[np.intp]:
    """The labels if each leaf has that of the center that is cheapest for its rows."""
    _, group = np.unique(leaf, return_inverse=True)
    labels: NDArray[np.intp] = costs.totals(group, int(group.max()) + 1).argmin(axis=1)[group]
    return labels


def _matched_labels(costs: LabelCosts, group: NDArray[np.intp]) -> NDArray[np.intp]:
    """The labels if each group has a center of its own, so that all cost least."""
    _, center = linear_sum_assignment(costs.totals(group, int(group.max()) + 1))
    return center[group]


def _group_of_row(leaves: Any, groups: list[int], n: int) -> NDArray[np.intp]:
    of_row = np.empty(n, dtype=np.intp)
    for leaf, group in zip(leaves, groups, strict=True):
        of_row[leaf.rows] = group
    return of_row


def _leaves_that_grew(model: Any) -> int:
    """How many leaves of the base tree have cuts below them in the whole tree."""
    tree = model.tree_
    inner = np.flatnonzero(~tree.is_leaf)
    base = {int(node) for node in inner if tree.growth[node] <= tree.n_clusters}
    children = {int(child) for node in base for child in (tree.left[node], tree.right[node])}
    return sum(1 for child in children - base if not tree.is_leaf[child])
