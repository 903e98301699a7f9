"""SphericalKMeans: clusters of directions, the default reference for the cosine cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.costs import CosineCost
from treemeans.reference.center_clusterer import CenterClusterer, Floats
from treemeans.reference.fast_kmeans import FastKMeans
from treemeans.reference.kmedians import descend
from treemeans.threads import n_threads


class SphericalKMeans(CenterClusterer):
    """Clusters that lower the sum of one minus the cosine of rows and mean directions.

    `FastKMeans` on the rows divided by their lengths, then Lloyd's algorithm with the cosine.

    Parameters
    ----------
    n_clusters : int, default=8
    n_init : int, default=10
        Starts of `FastKMeans`.
    max_iter : int, default=300
    n_jobs : int, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        Mean directions, of length 1.
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

    def _find(self, X: Any, weights: Floats | None) -> None:
        cost = CosineCost.of(X, weights, n_threads(self.n_jobs))
        kmeans = FastKMeans(
            self.n_clusters,
            n_init=self.n_init,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        start = cost.clusters(
            kmeans.fit(cost.rows, sample_weight=weights).labels_.astype(np.int32),
            0.0,
            np.asarray(kmeans.cluster_centers_, dtype=np.float64),
        ).centers
        self.cluster_centers_, self.labels_, self.inertia_, self.n_iter_ = descend(
            cost, start, self.max_iter
        )

    def _price(self, X: Any) -> tuple[Floats, NDArray[np.int32]]:
        prices = CosineCost.of(X, None, n_threads(self.n_jobs)).price(self.cluster_centers_)
        return prices.base.to_float(prices.base.values), prices.nearest
