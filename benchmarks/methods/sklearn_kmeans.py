"""scikit-learn's KMeans as the paper runs it: the reference, and a rival in time."""

from __future__ import annotations

from problems import Table
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits


def fit(X: Table, k: int, threads: int) -> KMeans:
    """Cluster X from ten starts."""
    with threadpool_limits(limits=threads):
        return KMeans(n_clusters=k, n_init=10, max_iter=300, random_state=0).fit(X)
