"""Make a failing case smaller, as long as it breaks the same law."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from fuzz.case import Case

DEFAULTS = {
    "base_tree": "imm", "max_leaf_nodes": None, "refine": "none", "search_rounds": None,
    "min_samples_leaf": 1, "max_depth": None, "allowed_features": None, "feature_costs": None,
    "round_thresholds": False, "n_random_trees": 1, "random_state": 0, "balance": None,
    "max_categories": None, "scale": "auto", "min_cluster_size": None, "max_cluster_size": None,
    "protected": None,
}  # fmt: skip


def shrink(case: Case, fails: Callable[[Case], bool], seconds: float = 20.0) -> Case:
    """The smallest case found in the time given that still fails."""
    end = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for candidate in smaller(case):
            if time.monotonic() > end:
                return case
            if fails(candidate):
                case, progress = candidate, True
                break
    return case


def smaller(case: Case) -> Iterator[Case]:
    """Simpler cases, the boldest changes first."""
    yield from _fewer_rows(case)
    simplest = "dense" if case.kinds is None else "pandas"
    if case.storage != simplest:
        yield replace(case, storage=simplest)
    if case.weights is not None:
        yield replace(case, weights=None)
    k = len(case.centers) if case.centers is not None else case.parameters["n_clusters"] or 1
    most = case.parameters["max_leaf_nodes"] or 2 * k
    for name, default in DEFAULTS.items():
        if name == "max_leaf_nodes" and most < 2 * k:  # the default would be more leaves again
            continue
        if name in case.parameters and case.parameters[name] != default:
            yield replace(case, parameters=case.parameters | {name: default})
    if most > k:
        yield replace(case, parameters=case.parameters | {"max_leaf_nodes": most - 1})
    yield from _fewer_centers(case)
    yield from _fewer_columns(case)
    yield from _rounder(case)


def _fewer_rows(case: Case) -> Iterator[Case]:
    size = case.n_rows // 2
    while size >= 1:
        for start in range(0, case.n_rows, size):
            kept = np.delete(np.arange(case.n_rows), np.s_[start : start + size])
            if len(kept):
                yield case.keep_rows(kept)
        size //= 2


def _fewer_centers(case: Case) -> Iterator[Case]:
    if case.centers is None:
        if (case.parameters["n_clusters"] or 1) > 1:
            n = case.parameters["n_clusters"] - 1
            yield replace(case, parameters=case.parameters | {"n_clusters": n})
        return
    for i in range(len(case.centers) if len(case.centers) > 1 else 0):
        fewer = np.delete(case.centers, i, axis=0).tolist()
        yield replace(case, parameters=case.parameters | {"reference": fewer})


def _fewer_columns(case: Case) -> Iterator[Case]:
    for i in range(case.X.shape[1] if case.X.shape[1] > 1 else 0):
        parameters = dict(case.parameters)
        if case.centers is not None:
            parameters["reference"] = np.delete(case.centers, i, axis=1).tolist()
        for name in ("allowed_features", "feature_costs"):
            if parameters[name] is not None and case.kinds is None:
                parameters[name] = [v for j, v in enumerate(parameters[name]) if j != i]
        kinds = None if case.kinds is None else [*case.kinds[:i], *case.kinds[i + 1 :]]
        X = np.delete(case.X, i, axis=1)
        yield replace(case, X=X, parameters=parameters, kinds=kinds)


def _rounder(case: Case) -> Iterator[Case]:
    """Fewer digits in the values, the centers and the weights."""
    for digits in (0, 1, 3):
        X = np.round(case.X, digits)
        if not np.array_equal(X, case.X):
            yield replace(case, X=X)
        if case.centers is not None:
            centers = np.round(case.centers, digits)
            if not np.array_equal(centers, case.centers):
                parameters = case.parameters | {"reference": centers.tolist()}
                yield replace(case, parameters=parameters)
        if case.weights is not None:
            weights = np.round(case.weights, digits)
            if weights.any() and not np.array_equal(weights, case.weights):
                yield replace(case, weights=weights)
