"""What k-means costs on columns without clusters, to compare a number of clusters with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.monitor.segment_checks import sampled_rows
from treemeans.reference import FastKMeans

_ROWS = 1000  # of the table, at most
_DRAWS = 2


def uniform_cost_share(model: Any, X: Any, seed: int) -> float:
    """Cost of k-means on uniform columns, as a share of the cost of a single cluster.

    The columns are uniform, with the variances of the table's principal components in the space
    that k-means of a fitted model sees (the reference distribution (b) of the gap statistic,
    Tibshirani, Walther and Hastie 2001, but with variances for ranges, since a single outlier makes
    a range). The geometric mean of two draws.

    Examples
    --------
    >>> from treemeans import ExKMC
    >>> X = np.arange(40.0)[:, None] % 20
    >>> round(uniform_cost_share(ExKMC(2, random_state=0).fit(X), X, 0), 2)
    0.25
    """
    reference = model._fit_result.reference
    k = reference.n_clusters
    if k < 2:
        return 1.0
    rng = np.random.default_rng(seed)
    rows, _ = sampled_rows(model, X, None, _ROWS, rng)
    # Uniform from -a to a has the variance a * a / 3.
    half = np.sqrt(3.0 / len(rows)) * _singular_values(rows)
    if len(rows) <= k or not half.any():
        return 1.0
    found = []
    for draw in range(_DRAWS):
        uniform = rng.uniform(-half, half, (len(rows), len(half)))
        whole = float(((uniform - uniform.mean(axis=0)) ** 2).sum())
        cost = float(FastKMeans(k, random_state=draw).fit(uniform).inertia_)
        found.append(max(cost / whole, 1e-300))
    return float(np.exp(np.mean(np.log(found))))


def _singular_values(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Norms of the principal components."""
    centered = rows - rows.mean(axis=0)
    return np.asarray(np.linalg.svd(centered, compute_uv=False), dtype=np.float64)
