"""scikit-learn's KMeans as the paper runs it: the reference, and a rival in time."""

from __future__ import annotations

from problems import Table
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits


def fit(X: Table, k: int, threads: int, seed: int = 0, n_init: int = 10) -> KMeans:
    """Cluster X from ``n_init`` starts."""
    with threadpool_limits(limits=threads):
        return KMeans(n_clusters=k, n_init=n_init, max_iter=300, random_state=seed).fit(X)
