"""What the clusterers around centers share: parameters, checks, labels of other rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from treemeans.validation import check_enough_rows, check_weights, is_integer

Floats = NDArray[np.float64]


class CenterClusterer(ClusterMixin, BaseEstimator):
    """A clusterer that gives every row to its cheapest center.

    A subclass finds the centers (`_find`) and prices rows at them (`_price`).
    """

    cluster_centers_: NDArray[Any]
    labels_: NDArray[np.int32]
    inertia_: float
    n_iter_: int

    _sparse_formats: ClassVar[tuple[str, ...]] = ("csr", "csc")

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        max_iter: int = 300,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centers.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : ignored
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self._check_parameters()
        X = self._validated(X, reset=True)
        check_enough_rows(X.shape[0], self.n_clusters)
        self._find(X, check_weights(X, sample_weight))
        return self

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Number of the cheapest center of each row."""
        check_is_fitted(self)
        return self._price(self._validated(X, reset=False))[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _find(self, X: Any, weights: Floats | None) -> None:
        """Set ``cluster_centers_``, ``labels_``, ``inertia_`` and ``n_iter_``."""

    @abstractmethod
    def _price(self, X: Any) -> tuple[Floats, NDArray[np.int32]]:
        """What each row costs at its cheapest center, and the number of that center."""

    def _check_parameters(self) -> None:
        for name in ("n_clusters", "n_init", "max_iter"):
            value = getattr(self, name)
            if not is_integer(value) or value < 1:
                raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")

    def _validated(self, X: Any, *, reset: bool) -> Any:
        X = validate_data(
            self,
            _with_short_indices(X),
            accept_sparse=self._sparse_formats,
            dtype=[np.float64, np.float32],
            accept_large_sparse=False,
            reset=reset,
        )
        # scikit-learn's norms of rows are wrong where an entry is stored in parts.
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X


def _with_short_indices(X: Any) -> Any:
    """A sparse matrix with indices of 32 bits, which scikit-learn's k-means needs, if they fit."""
    if not (sparse.issparse(X) and X.format in ("csr", "csc")) or X.indices.dtype == np.int32:
        return X
    if max(*X.shape, X.nnz) > np.iinfo(np.int32).max:
        return X
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)(parts, shape=X.shape)
