"""Trees for other costs than k-means: labels beside CART, and k-medians (COSTS.md)."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.tree import DecisionTreeClassifier

from benchmarks.pages import machine
from treemeans import ExKMC
from treemeans.datasets import NAMES, load
from treemeans.reference import KMedians

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results" / "costs.json", HERE / "COSTS.md"
LABELLED = tuple(name for name in NAMES if not name.startswith("synthetic"))
SIZES = (1, 2, 4)  # numbers of leaves, in k
SEEDS = (0, 1, 2, 3, 4)
ROUNDS = 100  # of the search
SOME_ROWS = {"covtype": 100_000, "cifar10": 2_000}  # evenly spaced rows of these; others whole

ABOVE_LABELS = """# Other costs

Written by `python -m benchmarks costs`, set by set in several runs. Covtype and CIFAR-10 are evenly
spaced rows; the tables say how many. The other sets are whole.

## Labels: `cost="labels"` beside CART

Share of rows with their own label on the training rows, with k, 2 k and 4 k leaves, k the number of
labels. CART is scikit-learn's `DecisionTreeClassifier(max_leaf_nodes=...)`; grown and refined are
`ExKMC` with `refine="none"` and `refine="search"` (100 rounds).

"""
ABOVE_KMEDIANS = """## k-medians

k-medians cost of the tree over that of its reference (`KMedians`): mean of five seeds, and worst
of them at k leaves. IMM is the tree with k leaves; its bound is 2 H + 1 times the reference, H its
depth, for the surrogate cost.

| set | rows | k | k leaves | 2 k | 4 k | worst at k | IMM, share of its bound |
|---|--:|--:|--:|--:|--:|--:|--:|"""

ABOVE_REFERENCES = """## The reference of k-medians

k-medians cost over the least that any of them found, mean of five seeds, and seconds of processor
time (median). kmedoids is FasterPAM of the package kmedoids, whose centers are rows; KMeans has ten
starts. Of packages with k-medians we know only pyclustering, whose last release is of 2020.

| set | rows | k | KMedians | kmedoids | KMeans | s | s | s |
|---|--:|--:|--:|--:|--:|--:|--:|--:|"""
SMALL = ("iris", "wine", "breast_cancer", "digits", "mice_protein")


def some_rows(name: str) -> tuple[Any, Any, int, int]:
    """The rows and labels that are used, the paper's k, and how many rows the set has."""
    data = load(name)
    n = data.X.shape[0]
    rows = np.linspace(0, n - 1, SOME_ROWS.get(name, n)).astype(int)
    return data.X[rows], None if data.y is None else np.asarray(data.y)[rows], data.k, n


def labels_row(name: str) -> dict[str, Any]:
    """Share of rows with their own label, of CART and of refined trees with as many leaves."""
    X, y, _, n = some_rows(name)
    k = len(np.unique(y))
    found: dict[str, Any] = {"set": name, "rows": X.shape[0], "of": n, "k": k}
    for size in SIZES:
        cart = DecisionTreeClassifier(max_leaf_nodes=size * k, random_state=0).fit(X, y)
        found[f"cart {size}"] = float((cart.predict(X) == y).mean())
        for refine in ("none", "search"):
            tree = ExKMC(
                None, reference=y, cost="labels", max_leaf_nodes=size * k, refine=refine,
                search_rounds=ROUNDS if refine == "search" else None, random_state=0, n_jobs=1,
            ).fit(X)  # fmt: skip
            found[f"{refine} {size}"] = float(tree.path_["accuracy"][-1])
    return found


def kmedians_row(name: str) -> dict[str, Any]:
    """Cost of trees over that of the reference, by seed; and IMM's part of its bound."""
    X, _, k, n = some_rows(name)
    ratios: dict[int, list[float]] = {size: [] for size in SIZES}
    bounds = []
    for seed in SEEDS:
        model = ExKMC(k, cost="kmedians", max_leaf_nodes=4 * k, random_state=seed, n_jobs=1).fit(X)
        path = model.path_
        for size in SIZES:
            row = min(int(np.searchsorted(path["n_leaves"], size * k)), len(path) - 1)
            ratios[size].append(float(path["ratio"][row]))
        imm = model.with_leaves(int(path["n_leaves"][0]))
        bound = (2 * _depth(imm.tree_) + 1) * model.reference_inertia_
        bounds.append(float(imm.surrogate_inertia_ / bound))
    return {
        "set": name, "rows": X.shape[0], "of": n, "k": k,
        "ratios": {str(size): ratios[size] for size in SIZES}, "of bound": max(bounds),
    }  # fmt: skip


def reference_row(name: str) -> dict[str, Any]:
    """k-medians cost of several references over that of `KMedians`, and seconds of processor."""
    import kmedoids

    X, _, k, n = some_rows(name)
    X = np.asarray(X, dtype=np.float64)
    costs: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    for seed in SEEDS:
        for title, clusterer in (
            ("KMedians", KMedians(k, random_state=seed)),
            ("kmedoids", kmedoids.KMedoids(k, method="fasterpam", random_state=seed)),
            ("KMeans", KMeans(k, n_init=10, random_state=seed)),
        ):
            begin = time.process_time()
            if title == "kmedoids":
                found = clusterer.fit(manhattan_distances(X))
                centers = X[found.medoid_indices_]
            else:
                centers = clusterer.fit(X).cluster_centers_
            seconds.setdefault(title, []).append(time.process_time() - begin)
            own = manhattan_distances(X, centers).min(axis=1).sum()
            costs.setdefault(title, []).append(float(own))
    least = min(min(each) for each in costs.values())
    return {
        "set": name, "rows": X.shape[0], "of": n, "k": k,
        "excess": {title: float(np.mean(costs[title]) / least) for title in costs},
        "seconds": {title: float(np.median(seconds[title])) for title in costs},
    }  # fmt: skip


def _depth(tree: Any) -> int:
    depth = np.zeros(tree.n_nodes, dtype=int)
    for node in range(tree.n_nodes):  # children come after their parents
        if tree.left[node] >= 0:
            depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    return int(depth.max())


def page(results: dict[str, Any]) -> str:
    """The page of the results."""
    heads = [f"{m}, {s} k" for s in SIZES for m in ("CART", "grown", "refined")]
    head = f"| set | rows | k | {' | '.join(heads)} |"
    lines = [ABOVE_LABELS + head, "|---|--:|--:|" + "--:|" * len(heads)]
    worse = grown_worse = 0
    for row in results["labels"]:
        cells = []
        for size in SIZES:
            values = [row[f"{m} {size}"] for m in ("cart", "none", "search")]
            worse += values[2] < values[0] - 1e-12
            grown_worse += values[1] < values[0] - 1e-12
            cells += [f"{value:.2%}" for value in values]
        lines.append(f"| {row['set']} | {_rows(row)} | {row['k']} | " + " | ".join(cells) + " |")
    n_cases = len(SIZES) * len(results["labels"])
    lines += [
        "",
        f"Refined trees are worse than CART in {worse} of {n_cases} cases: a search for labels",
        "also starts from CART's tree, so this shows that the start is kept, and the differences",
        f"what is gained above it. Unrefined trees are worse in {grown_worse} of {n_cases}.",
        "",
    ]
    lines += [ABOVE_KMEDIANS]
    for row in results["kmedians"]:
        means = [f"{np.mean(row['ratios'][str(size)]):.3f}" for size in SIZES]
        worst = f"{max(row['ratios']['1']):.3f}"
        cells = [row["set"], _rows(row), str(row["k"]), *means, worst, f"{row['of bound']:.1%}"]
        lines.append("| " + " | ".join(cells) + " |")
    if results.get("reference"):
        lines += ["", ABOVE_REFERENCES]
    for row in results.get("reference", ()):
        excess = [f"{value:.4f}" for value in row["excess"].values()]
        seconds = [f"{value:.2f}" for value in row["seconds"].values()]
        cells = [row["set"], _rows(row), str(row["k"]), *excess, *seconds]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", f"Measured on {results['machine']}", ""]
    return "\n".join(lines)


def _rows(row: dict[str, Any]) -> str:
    whole = row["rows"] == row["of"]
    return f"{row['rows']:,}" if whole else f"{row['rows']:,} of {row['of']:,}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is asked for, keep the results, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks costs", description=__doc__)
    parser.add_argument("--only", help="sets, separated by commas")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    asked = parser.parse_args(arguments)
    only = asked.only.split(",") if asked.only else NAMES
    kept: dict[str, Any] = {"labels": [], "kmedians": []}
    if RESULTS.exists() and not asked.fresh:
        kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    jobs = [
        ("reference", reference_row, SMALL),
        ("kmedians", kmedians_row, NAMES),
        ("labels", labels_row, LABELLED),
    ]
    for part, measure, names in jobs:
        for name in names:
            if name not in only or any(row["set"] == name for row in kept.setdefault(part, [])):
                continue
            kept[part].append(measure(name))
            kept[part].sort(key=lambda row: NAMES.index(row["set"]))
            kept["machine"] = machine()
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            PAGE.write_text(page(kept), encoding="utf-8")
            print(part, name, flush=True)


if __name__ == "__main__":
    main()
