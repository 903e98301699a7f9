"""SphericalKMeans: clusters of directions, the default reference for the cosine cost."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from treemeans.costs import CosineCost
from treemeans.reference.fast_kmeans import FastKMeans
from treemeans.reference.kmedians import descend
from treemeans.threads import n_threads

_TYPES = [np.float64, np.float32]


class SphericalKMeans(ClusterMixin, BaseEstimator):
    """Clusters that lower the sum of one minus the cosine of rows and mean directions.

    `FastKMeans` on the rows divided by their lengths, then Lloyd's algorithm with the cosine.

    Parameters
    ----------
    n_clusters : int, default=8
    max_iter : int, default=300
    n_jobs : int, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        Of length 1.
    labels_ : array of shape (n_samples,)
    inertia_ : float
        Sum of one minus the cosine of the rows and their centers.
    n_iter_ : int

    Examples
    --------
    >>> from treemeans.reference import SphericalKMeans
    >>> X = [[1.0, 0.0], [9.0, 0.0], [0.0, 2.0], [0.0, 5.0]]
    >>> SphericalKMeans(2, random_state=0).fit(X).inertia_
    0.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_iter: int = 300,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : ignored
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        X = validate_data(self, X, accept_sparse=("csr", "csc"), dtype=_TYPES)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        cost = CosineCost.of(X, weights, n_threads(self.n_jobs))
        kmeans = FastKMeans(self.n_clusters, random_state=self.random_state, n_jobs=self.n_jobs)
        start = cost.clusters(
            kmeans.fit(cost.rows, sample_weight=weights).labels_.astype(np.int32),
            0.0,
            np.asarray(kmeans.cluster_centers_, dtype=np.float64),
        ).centers
        self.cluster_centers_, self.labels_, self.inertia_, self.n_iter_ = descend(
            cost, start, self.max_iter
        )
        return self

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Cluster of the nearest direction, for each row."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse=("csr", "csc"), dtype=_TYPES)
        return CosineCost.of(X, None, n_threads(self.n_jobs)).price(self.cluster_centers_).nearest
