"""Random cases. Every kind of column, weights, centers and parameter is an entry of a registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.case import Case
from fuzz.frames import draw_columns, names_of

Floats = NDArray[np.float64]
Rng = np.random.Generator
ULP = float(np.spacing(1.0))


def pick(rng: Rng, shares: dict[Any, float]) -> Any:
    """One of the keys, by their shares."""
    keys, p = list(shares), np.array(list(shares.values()), dtype=float)
    return keys[int(rng.choice(len(keys), p=p / p.sum()))]


# ---- columns -------------------------------------------------------------------------------------

COLUMNS: dict[str, tuple[float, Callable[[Rng, int], Floats]]] = {
    "binary": (2, lambda rng, n: rng.integers(0, 2, n)),
    "few": (4, lambda rng, n: rng.integers(-2, 3, n)),
    "halves": (3, lambda rng, n: rng.integers(-20, 21, n) / 2),
    "normal": (6, lambda rng, n: rng.normal(size=n)),
    "rounded": (2, lambda rng, n: np.round(rng.normal(size=n), 1)),
    "constant": (1, lambda rng, n: np.full(n, rng.choice([0.0, -7.0, 0.3, 1e9]))),
    "mostly constant": (1, lambda rng, n: np.where(rng.random(n) < 0.1, rng.normal(size=n), 0.3)),
    "mostly zero": (3, lambda rng, n: np.where(rng.random(n) < 0.3, rng.integers(-3, 9, n), 0.0)),
    "wide integers": (1, lambda rng, n: rng.integers(-(10**9), 10**9, n)),
    "heavy tails": (1, lambda rng, n: rng.standard_cauchy(n) ** 3),
    "offset": (2, lambda rng, n: 10.0 ** rng.integers(3, 13) + rng.integers(-4, 5, n) / 4),
    "noisy offset": (1, lambda rng, n: -(10.0 ** rng.integers(3, 13)) + rng.normal(size=n)),
    "neighbours": (1, lambda rng, n: 1.0 + rng.integers(-3, 4, n) * ULP),
    "tiny": (1, lambda rng, n: rng.integers(-5, 6, n) * 1e-9),
    "denormal": (1, lambda rng, n: rng.integers(-9, 10, n) * 5e-324),
    "small": (0.5, lambda rng, n: rng.normal(size=n) * 10.0 ** rng.uniform(-300, -20)),
    "large": (0.5, lambda rng, n: rng.normal(size=n) * 10.0 ** rng.uniform(20, 150)),
    "signed zeros": (1, lambda rng, n: rng.choice([0.0, -0.0, 1.0], n)),
    "geometric": (1, lambda rng, n: 2.0 ** rng.integers(-30, 31, n)),
}


def _size(rng: Rng) -> int:
    low, high = pick(rng, {(1, 6): 3, (5, 16): 5, (12, 60): 3, (60, 300): 0.3, (2000, 7000): 0.004})
    return int(rng.integers(low, high + 1))


def draw_table(rng: Rng, n: int) -> Floats:
    """Columns of one kind each, or all of one kind; at times rows that occur again and again."""
    d = pick(rng, {1: 2, 2: 4, 3: 3, 4: 2, 6: 1, 12: 0.3})
    shares = {kind: share for kind, (share, _) in COLUMNS.items()}
    kinds = [pick(rng, shares) for _ in range(d)]
    if rng.random() < 0.3:
        kinds = kinds[:1] * d
    X = np.column_stack([np.asarray(COLUMNS[kind][1](rng, n), dtype=np.float64) for kind in kinds])
    if rng.random() < 0.25:
        X = X[rng.integers(0, max(1, n // pick(rng, {2: 1, 4: 1, n: 0.3})), size=n)]
    with np.errstate(over="ignore", under="ignore"):
        scaled = X * pick(rng, {1.0: 9, 10.0 ** rng.uniform(-300, 150): 1})
    return scaled if np.isfinite(scaled).all() else X


# ---- weights -------------------------------------------------------------------------------------

WEIGHTS: dict[str, tuple[float, Callable[[Rng, int], Floats | None]]] = {
    "none": (6, lambda rng, n: None),
    "copies": (2, lambda rng, n: rng.integers(0, 4, n) * 1.0),
    "eighths": (1, lambda rng, n: rng.integers(0, 17, n) / 8),
    "any": (2, lambda rng, n: rng.random(n) * (rng.random(n) < 0.8)),
    "range": (1, lambda rng, n: 10.0 ** rng.uniform(-12, 12, n) * (rng.random(n) < 0.9)),
    "two sizes": (0.5, lambda rng, n: 10.0 ** rng.choice([0, rng.integers(1, 24)], n)),
    "small": (0.3, lambda rng, n: rng.random(n) * 10.0 ** rng.uniform(-200, -10)),
    "large": (0.3, lambda rng, n: rng.random(n) * 10.0 ** rng.uniform(10, 200)),
    "mostly zero": (0.5, lambda rng, n: (rng.random(n) < 0.2) * 1.0),
}


def draw_weights(rng: Rng, n: int) -> Floats | None:
    kind = pick(rng, {kind: share for kind, (share, _) in WEIGHTS.items()})
    weights = WEIGHTS[kind][1](rng, n)
    if weights is not None and not weights.any():
        weights[rng.integers(n)] = 1.0
    return weights


# ---- reference -----------------------------------------------------------------------------------


def _from_rows(rng: Rng, X: Floats, k: int) -> Floats:
    return X[rng.choice(len(X), k, replace=bool(rng.random() < 0.1))]


def _between_rows(rng: Rng, X: Floats, k: int) -> Floats:
    return X[rng.integers(len(X), size=k)] / 2 + X[rng.integers(len(X), size=k)] / 2


def _moved(rng: Rng, X: Floats, k: int) -> Floats:
    return _from_rows(rng, X, k) + rng.choice([0.25, -1.0, 3.0, 1e3, 1e8], (k, 1))


def _means(rng: Rng, X: Floats, k: int) -> Floats:
    """One step of k-means from random rows: what most users have, nearly."""
    start = _from_rows(rng, X, k)
    if len(X) * k * X.shape[1] > 10**6:
        return start
    with np.errstate(all="ignore"):
        nearest = ((X[:, None] - start[None]) ** 2).sum(axis=2).argmin(axis=1)
        return np.array([X[nearest == c].mean(axis=0) if c in nearest else start[c]
                         for c in range(k)])  # fmt: skip


CENTERS: dict[str, tuple[float, Callable[[Rng, Floats, int], Floats]]] = {
    "rows": (3, _from_rows),
    "between rows": (2, _between_rows),
    "moved": (1, _moved),
    "means": (6, _means),
}


REFERENCE_SHARES = {
    "centers": 60, "fast": 1.5, "kmeans": 0.05, "clusterer": 0.4, "scaled": 0.3, "pca": 0.3,
}  # fmt: skip


def draw_reference(rng: Rng, X: Floats, storage: str) -> dict[str, Any]:
    """``n_clusters`` and ``reference``."""
    n = len(X)
    k = n if rng.random() < 0.04 and n <= 40 else int(rng.integers(1, min(n, 9) + 1))
    how = pick(rng, REFERENCE_SHARES)
    if how == "centers":
        kind = pick(rng, {kind: share for kind, (share, _) in CENTERS.items()})
        centers = CENTERS[kind][1](rng, X, k)
        if np.isfinite(centers).all():
            return {"n_clusters": None, "reference": centers.tolist()}
        return {"n_clusters": None, "reference": X[:k].tolist()}
    return {"n_clusters": k, "reference": how}


# ---- parameters ----------------------------------------------------------------------------------

BASE_TREES = {
    "imm": 6, "exgreedy": 3, "emn": 3, "kauri": 3, "cart": 2, "kdtree": 2, "random": 1.5,
    "none": 2, "best": 1, "given": 1,
}  # fmt: skip
REFINEMENTS: dict[str, float] = {"none": 14, "local": 1.5, "search": 0.5, "optimal": 0.1}

# Drawn one after the other; each may look at what the ones before have set.
PARAMETERS: dict[str, Callable[[Rng, Floats, dict[str, Any]], Any]] = {
    "base_tree": lambda rng, X, so_far: pick(rng, BASE_TREES),
    "max_leaf_nodes": lambda rng, X, so_far: pick(
        rng, {None: 1, _k(so_far): 3, _k(so_far) + int(rng.integers(0, 9)): 5, 4 * _k(so_far): 1}
    ),
    "refine": lambda rng, X, so_far: pick(rng, REFINEMENTS),
    "search_rounds": lambda rng, X, so_far: (
        int(rng.integers(1, 4)) if so_far["refine"] in ("search", "optimal") else None
    ),
    "min_samples_leaf": lambda rng, X, so_far: pick(
        rng, {1: 12, 2: 1, 2.5: 0.5, 5: 0.5, 0.05: 1, 0.3: 0.5}
    ),
    "max_depth": lambda rng, X, so_far: pick(rng, {None: 12, 1: 0.5, 2: 1, 3: 1, 6: 0.5}),
    "allowed_features": lambda rng, X, so_far: _allowed(rng, X.shape[1]),
    "feature_costs": lambda rng, X, so_far: (
        rng.choice([0.0, 0.001, 0.02, 0.3, 5.0, 1e30], X.shape[1]).tolist()
        if rng.random() < 0.1
        else None
    ),
    "round_thresholds": lambda rng, X, so_far: bool(rng.random() < 0.15),
    "n_random_trees": lambda rng, X, so_far: int(rng.integers(1, 4)),
    "random_state": lambda rng, X, so_far: int(rng.integers(0, 100)),
    # Draws of their own, so that cases drawn by seed stay what they were.
    "min_cluster_size": lambda rng, X, so_far: _cluster_size(_own(X, so_far, 1), so_far, 0.8),
    "max_cluster_size": lambda rng, X, so_far: _cluster_size(_own(X, so_far, 2), so_far, 1.3),
    "protected": lambda rng, X, so_far: _protected(_own(X, so_far, 3), X.shape[1]),
}


def _k(so_far: dict[str, Any]) -> int:
    return so_far["n_clusters"] or len(so_far["reference"])


def _own(X: Floats, so_far: dict[str, Any], number: int) -> Rng:
    """Randomness for one parameter, from what is drawn already."""
    return np.random.default_rng([number, so_far["random_state"], *X.shape, _k(so_far)])


def _cluster_size(rng: Rng, so_far: dict[str, Any], share: float) -> float | None:
    """A share of all rows that clusters of about equal size meet."""
    chance = 0.02 if so_far["n_clusters"] else 0.002  # such fits take a hundred times longer
    if rng.random() > chance or so_far["refine"] == "optimal":
        return None
    return min(float(share / _k(so_far) * rng.uniform(0.8, 1.2)), 0.999)


def _protected(rng: Rng, d: int) -> list[int] | None:
    return [int(rng.integers(d))] if d > 1 and rng.random() < 0.03 else None


def _allowed(rng: Rng, d: int) -> list[bool] | None:
    if rng.random() < 0.88:
        return None
    allowed = rng.random(d) < 0.6
    allowed[rng.integers(d)] = True
    return allowed.tolist()


# ---- cases ---------------------------------------------------------------------------------------

STORAGE_SHARES = {
    "dense": 10, "fortran": 1, "float32": 1.5, "int64": 1, "list": 0.5, "frame": 1, "csr": 2,
    "csc": 1, "explicit zeros": 1, "unsorted": 0.5,
}  # fmt: skip


def as_stored(X: Floats, storage: str) -> tuple[Floats, str]:
    """The table rounded to what the storage can hold; another storage where it cannot."""
    if storage == "float32":
        with np.errstate(over="ignore", under="ignore"):
            X32 = X.astype(np.float32).astype(np.float64)
        return (X32, storage) if np.isfinite(X32).all() else (X, "dense")
    if storage == "int64":
        return (np.round(X) + 0.0, storage) if np.abs(X).max() < 2**52 else (X, "dense")
    return X, storage


def draw_case(seed: int, number: int) -> Case:
    """The case of this number; the same for the same seed.

    Every sixteenth is a data frame of mixed columns, every eighth has other costs. Small tables,
    given centers and plain growth, whose fits take two milliseconds, are most of all.
    """
    rng = np.random.default_rng([seed, number])
    if number % 16 == 3:
        return draw_frame_case(rng)
    case = draw_number_case(rng)
    return with_other_cost(rng, case) if number % 8 == 5 else case


def draw_number_case(rng: Rng) -> Case:
    """A table of numbers with squared distances as costs."""
    n = _size(rng)
    X, storage = as_stored(draw_table(rng, n), pick(rng, STORAGE_SHARES))
    weights = draw_weights(rng, n)
    parameters = draw_reference(rng, X, storage)
    for name, draw in PARAMETERS.items():
        parameters[name] = draw(rng, X, parameters)
    if n <= 12 and parameters["refine"] == "none" and _own(X, parameters, 4).random() < 0.005:
        parameters |= {"refine": "optimal", "search_rounds": 2}  # tiny tables, whose bounds are met
    large = n > 1000 and parameters["refine"] == "search"
    limited = any(parameters[name] is not None for name in ("min_cluster_size", "max_cluster_size"))
    proved = n <= 16 and not parameters["n_clusters"] and not limited
    if large or (parameters["refine"] == "optimal" and not proved):
        parameters["refine"] = "local"  # the others take long
        parameters["search_rounds"] = None
    return Case(X, storage, weights, parameters, int(rng.integers(2**31)))


# ---- data frames and other costs -----------------------------------------------------------------


def draw_frame_case(rng: Rng) -> Case:
    """A data frame of mixed columns, clustered by k-means or with labels given."""
    n = min(_size(rng), 80)
    X, kinds = draw_columns(rng, n)
    weights = draw_weights(rng, n)
    k = int(rng.integers(1, min(n, 6) + 1))
    parameters: dict[str, Any] = {"n_clusters": k, "reference": "fast"}
    for name, draw in PARAMETERS.items():
        parameters[name] = draw(rng, X, parameters)
    names = names_of(kinds)
    different = [len(set(X[~np.isnan(X[:, i]), i].tolist())) > 1 for i in range(len(kinds))]
    numbers = [i for i, kind in enumerate(kinds) if kind != "category" and different[i]]
    parameters |= {
        "base_tree": pick(rng, {b: s for b, s in BASE_TREES.items() if b != "given"}),
        "refine": "local" if parameters["refine"] == "optimal" else parameters["refine"],
        "allowed_features": [names[i] for i in numbers] if numbers and rng.random() < 0.1 else None,
        "feature_costs": None,
        "protected": None,
        "max_categories": pick(rng, {None: 5, 1: 1, 2: 1}),
        "scale": pick(rng, {"auto": 5, "none": 1, "standard": 1, "robust": 1, "log": 1, "rank": 1}),
    }
    if parameters["refine"] in ("none", "local"):
        parameters["search_rounds"] = None
    groups = [i for i in numbers if kinds[i] in ("flag", "boolean") and not np.isnan(X[:, i]).any()]
    if groups and k < 4 and rng.random() < 0.1:
        parameters["balance"] = {names[groups[0]]: [0.05, 0.95]}
    storage = pick(rng, {"pandas": 3, "polars": 1, "arrow": 1})
    seed = int(rng.integers(2**31))
    if rng.random() < 0.2 and n > 1:
        labels = rng.integers(0, 3, n)
        labels[:2] = [0, 1]
        labels = np.unique(labels, return_inverse=True)[1]
        kind = pick(rng, {"kmeans": 1, "labels": 2})
        parameters |= {"n_clusters": None, "reference": labels.tolist(), "cost": kind}
        if parameters["max_leaf_nodes"] is not None:
            parameters["max_leaf_nodes"] = max(parameters["max_leaf_nodes"], 3)
    return Case(X, storage, weights, parameters, seed, kinds=kinds)


def with_other_cost(rng: Rng, case: Case) -> Case:
    """The same table, with another cost."""
    parameters, n = dict(case.parameters), case.n_rows
    cost = pick(rng, {"kmedians": 3, "cosine": 2, "labels": 2, "table": 2})
    if n < 2 and cost in ("labels", "table"):
        cost = "kmedians"
    if parameters["refine"] == "optimal":
        parameters |= {"refine": "local", "search_rounds": None}
    if cost in ("kmedians", "cosine"):
        if case.centers is None:
            parameters["reference"] = None
        return replace(case, parameters=parameters | {"cost": cost})
    k = int(rng.integers(2, min(n, 5) + 1))
    if parameters["max_leaf_nodes"] is not None:
        parameters["max_leaf_nodes"] = max(parameters["max_leaf_nodes"], k)
    if parameters["base_tree"] == "given":
        parameters["base_tree"] = "none"
    if cost == "labels":
        labels = rng.permutation(np.arange(n) % k)
        parameters |= {"n_clusters": None, "reference": labels.tolist(), "cost": "labels"}
        return replace(case, parameters=parameters)
    table = rng.normal(size=(n, k)).round(2) + pick(rng, {0.0: 1, 5.0: 2})
    if rng.random() < 0.3:
        forbidden = rng.random((n, k)) < 0.1
        forbidden[:, 0] = False
        table[forbidden] = np.inf
    parameters |= {"n_clusters": None, "reference": None, "cost": table.tolist()}
    return replace(case, parameters=parameters)
