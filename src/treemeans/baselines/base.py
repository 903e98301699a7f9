"""Baseline: what all trees that ExKMC is compared with have in common."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from treemeans.baselines.parameters import check_integer
from treemeans.checks import check_weights, refuse_not_finite, warn_if_empty
from treemeans.columns.dates import date_columns
from treemeans.columns.detect import arrivals, detect
from treemeans.ground import Ground
from treemeans.grow.base import Task
from treemeans.grow.given import follow
from treemeans.grow.sapling import Sapling
from treemeans.limits import Rules
from treemeans.model import TreeModel
from treemeans.record import FitRecord, record_grown
from treemeans.reference import Reference, fit_reference
from treemeans.tables import Table, as_points
from treemeans.threads import n_threads
from treemeans.tree import ThresholdTree


class Baseline(TreeModel):
    """A tree that is grown in its own way, and priced by the reference as ExKMC's is.

    A subclass has at least the parameters ``n_clusters``, ``reference``, ``n_jobs`` and
    ``random_state``, and grows its tree in `_grow`.
    """

    n_clusters: int | None
    reference: Any
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
        labels = np.array(sapling.label, dtype=np.int32)
        record = record_grown(sapling, labels, task.ground, reference, task.costs)
        self._record = self._readable(record, task.ground, date_columns(raw))
        self.n_iter_ = 1
        self._settle(sapling.n_leaves)
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

    def _readable(self, record: FitRecord, ground: Ground, dates: list[str]) -> FitRecord:
        """The record with its columns told apart."""
        tree = record.tree
        seen = arrivals(tree, ground.table.points, ground.n_threads)
        columns = detect(ground.X, getattr(self, "feature_names_in_", None), dates, tree, seen)
        return replace(record, tree=replace(tree, gap=seen.gap)).read_as(columns)

    def _validate(self, X: Any, *, reset: bool) -> Any:
        if sparse.issparse(X) and not self._reads_sparse:
            raise TypeError(
                f"{type(self).__name__} does not read sparse matrices; pass X.toarray(), "
                "if that fits in memory."
            )
        return super()._validate(X, reset=reset)

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
