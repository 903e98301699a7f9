"""Baseline: what all trees that ExKMC is compared with have in common."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from treemeans.baselines.parameters import check_integer
from treemeans.checks import check_weights, refuse_not_finite, warn_if_empty
from treemeans.ground import Ground
from treemeans.grow.base import Task
from treemeans.grow.given import follow
from treemeans.grow.sapling import Sapling
from treemeans.limits import Rules
from treemeans.record import record_grown
from treemeans.reference import Reference, fit_reference
from treemeans.tables import Table, as_points
from treemeans.tables.dense import NUMBER_TYPES
from treemeans.threads import n_threads
from treemeans.tree import ThresholdTree


class Baseline(ClusterMixin, BaseEstimator):
    """A tree that is grown in its own way, and priced by the reference as ExKMC's is.

    A subclass has at least the parameters ``n_clusters``, ``reference``, ``n_jobs`` and
    ``random_state``, and grows its tree in `_grow`.
    """

    n_clusters: int | None
    reference: Any
    n_jobs: int | None
    random_state: Any

    _reads_sparse: ClassVar[bool] = True
    _more_leaves: ClassVar[str]  # what a user can do about a tree that is too small

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster X with the tree.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts as two rows; one of weight 0 as none.

        Returns
        -------
        self
        """
        model = copy.copy(self)
        model._fit(X, sample_weight)
        self.__dict__ = model.__dict__  # all at once: a fit that fails leaves no trace
        return self

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Cluster of each row of X."""
        check_is_fitted(self)
        return self._outcome(X, self.tree_.label)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf of each row of X, as a node number of ``tree_``."""
        check_is_fitted(self)
        return self._outcome(X, np.arange(self.tree_.n_nodes, dtype=np.int32))

    @abstractmethod
    def _grow(self, task: Task) -> Sapling:
        """The finished tree, its leaves labelled."""

    def _check(self) -> None:
        """Refuse parameters that cannot be."""
        check_integer(self, "n_clusters", or_none=True)
        if self.n_clusters is None and self.reference is None:
            raise ValueError("n_clusters=None takes the number from a reference; pass either.")

    def _fit(self, X: Any, sample_weight: Any) -> None:
        self._check()
        raw, X = X, self._validate(X, reset=True)
        weights = check_weights(X, sample_weight)
        table = Table.of(X, n_threads(self.n_jobs))
        if table is None:
            refuse_not_finite(X)
        reference = fit_reference(
            self.reference, self.n_clusters, X, raw, weights, self.random_state
        )
        task = self._task(X, raw, table, weights, reference)
        if reference.given:
            warn_if_empty(task.costs.nearest, reference.n_clusters)
        sapling = self._grow(task)
        self._settle(sapling, task, reference)
        if self.n_leaves_ < reference.n_clusters:
            warnings.warn(
                f"The tree has fewer leaves ({self.n_leaves_}) than clusters are wanted "
                f"({reference.n_clusters}); {self._more_leaves} for more leaves.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _task(
        self,
        X: Any,
        raw: Any,
        table: Table,
        weights: NDArray[np.float64] | None,
        reference: Reference,
    ) -> Task:
        """The rows and what they cost."""
        rows, space = X, table.points
        if reference.pipeline is not None:
            rows = reference.space(X, raw)
            space = as_points(rows)
        ground = Ground(X, table, rows, space, weights, Rules(), n_threads(self.n_jobs))
        costs = ground.price(reference.centers)
        ground = replace(ground, reference_cost=costs.cheapest)
        columns = reference.centers_in_columns(table, costs, weights)
        return Task(ground, reference.centers, columns, costs, 1, 0)

    def _settle(self, sapling: Sapling, task: Task, reference: Reference) -> None:
        """Set the fitted attributes."""
        labels = np.array(sapling.label, dtype=np.int32)
        record = record_grown(sapling, labels, task.ground, reference, task.costs)
        now = record.at(sapling.n_leaves)
        self.tree_ = now.tree
        self.n_leaves_ = now.tree.n_leaves
        self.path_ = record.path
        self.inertia_ = float(record.path["kmeans_cost"][-1])
        self.surrogate_inertia_ = float(record.path["surrogate_cost"][-1])
        self.reference_centers_ = reference.centers
        self.reference_labels_ = record.reference_labels
        self.reference_inertia_ = record.reference_cost
        self.labels_ = now.labels
        self.cluster_centers_ = now.means
        self.cluster_profiles_ = now.profiles
        saved = now.tree.cost_saved()
        self.feature_importances_ = saved / saved.sum() if saved.any() else saved
        self.n_iter_ = 1

    def _outcome(self, X: Any, of_node: NDArray[np.int32]) -> NDArray[np.int32]:
        """``of_node`` at the leaf of each row."""
        X = self._validate(X, reset=False)
        found = self.tree_.outcome(as_points(X), of_node, n_threads(self.n_jobs))
        if found is None:
            refuse_not_finite(X)
        return found

    def _validate(self, X: Any, *, reset: bool) -> Any:
        """X of a type the kernels read; not yet checked for NaN."""
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=("csr", "csc") if self._reads_sparse else False,
            dtype=list(NUMBER_TYPES),
            ensure_all_finite=False,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._reads_sparse
        return tags


def plant(task: Task, tree: ThresholdTree) -> tuple[Sapling, dict[int, int]]:
    """A sapling cut as ``tree`` is, and its node for each node of the tree.

    Thresholds move half way between values, and leaves are labelled by the surrogate cost.
    """
    sapling = task.sapling()
    return sapling, follow(sapling, tree, recenter=True)


def rows_and_weights(task: Task) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The rows of a dense table in full precision, and their weights."""
    X, weights = np.asarray(task.ground.X, dtype=np.float64), task.ground.weights
    return X, np.ones(len(X)) if weights is None else weights
