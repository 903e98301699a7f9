"""TreeEstimator: how a tree comes to be, whatever way it is grown."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.dates import date_columns
from treemeans.columns.detect_columns import (
    ArrayRows,
    boolean_columns,
    detect_columns,
    find_split_values,
)
from treemeans.fit_result import FitResult
from treemeans.growth.base_tree import Task
from treemeans.limits import Limits
from treemeans.partitioned.map_reduce import PartitionedRows
from treemeans.partitioned.readers.open_partitioned import as_partitioned
from treemeans.reference import Reference, fit_reference
from treemeans.rows import Table, as_points
from treemeans.threads import n_threads
from treemeans.training_data import TrainingData
from treemeans.tree_model import TreeModel
from treemeans.validation import (
    check_not_tiny,
    check_weights,
    refuse_not_finite,
    warn_if_empty,
)


class TreeEstimator(TreeModel):
    """Fitting in four steps: reference clustering, cost table, a tree, how its columns read.

    A subclass has at least the parameters ``n_clusters``, ``reference``, ``n_jobs`` and
    ``random_state``, and grows its tree in ``_grow``.
    """

    n_clusters: int | None
    reference: Any
    random_state: Any
    round_thresholds: bool = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster X and build the tree that explains the clusters.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            `ExKMC` takes rows that are not in one memory, too: a dask array or data frame. Then
            there is no ``labels_``: ``predict`` gives the labels.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts as two rows; one of weight 0 as none.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from treemeans import ExKMC
        >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [8.0, 5.0], [9.0, 5.0]])
        >>> model = ExKMC(2, random_state=0).fit(X, sample_weight=[1, 1, 2, 0])
        >>> float(model.tree_.threshold[0])
        5.0
        """
        model = copy.copy(self)
        model._fit(X, sample_weight)
        self.__dict__ = model.__dict__  # all at once: a fit that fails leaves no trace
        return self

    @abstractmethod
    def _check(self) -> None:
        """Refuse parameters that cannot be."""

    @abstractmethod
    def _grow(self, task: Task, reference: Reference, plan: Any) -> FitResult:
        """The tree, and what its rows come to."""

    def _plan(self, n_features: int) -> Any:
        """What the subclass wants to know before the reference is fitted."""

    def _limits(self, n_features: int, names: NDArray[Any] | None) -> Limits:
        """The user's limits."""
        return Limits()

    def _allowed(self, n_features: int, names: NDArray[Any] | None) -> NDArray[np.bool_] | None:
        """The features that may be cut; None for all."""
        return None

    def _task(self, ground: TrainingData, reference: Reference) -> Task:
        """What the tree is to explain."""
        costs = ground.price(reference.centers)
        ground = replace(ground, reference_cost=costs.cheapest)
        columns = reference.centers_in_columns(ground.table, costs, ground.weights)
        return Task(ground, reference.centers, columns, costs)

    def _fit(self, X: Any, sample_weight: Any) -> None:
        self._check()
        parts = as_partitioned(X, sample_weight)
        if parts is not None:
            self._fit_partitioned(parts)
            return
        raw, X = X, self._validate(X, reset=True)
        weights = check_weights(X, sample_weight)
        plan = self._plan(X.shape[1])
        names = getattr(self, "feature_names_in_", None)
        table = Table.of(X, n_threads(self.n_jobs), self._allowed(X.shape[1], names))
        if table is None:
            refuse_not_finite(X)
        limits = self._limits(X.shape[1], names)

        reference = fit_reference(
            self.reference, self.n_clusters, X, raw, weights, self.random_state
        )
        rows = X if reference.pipeline is None else reference.space(X, raw)
        check_not_tiny(rows)
        space = table.points if reference.pipeline is None else as_points(rows)
        ground = TrainingData(X, table, rows, space, weights, limits, n_threads(self.n_jobs))
        task = self._task(ground, reference)
        if reference.given:
            warn_if_empty(task.costs.nearest, reference.n_clusters)
        self.n_iter_ = 1
        record = self._grow(task, reference, plan)
        self._fit_result = self._readable(record, task.ground, raw)
        self._set_fitted_attributes(self._fit_result.tree.n_leaves)

    def _fit_partitioned(self, parts: PartitionedRows) -> None:
        """The same for rows that are not in one memory."""
        raise ValueError(
            f"{type(self).__name__} needs all rows in one memory; pass an array, for example of a "
            "sample of the rows."
        )

    def _readable(self, record: FitResult, ground: TrainingData, raw: Any) -> FitResult:
        """The record with its columns told apart and, if asked for, short thresholds."""
        tree = record.tree
        seen = find_split_values(tree, ground.table.points, ground.n_threads)
        names = getattr(self, "feature_names_in_", None)
        dates, booleans = date_columns(raw), boolean_columns(raw)
        columns = detect_columns(ArrayRows(ground.X), names, dates, booleans, tree, seen)
        short = bool(self.round_thresholds)
        return replace(record, tree=replace(tree, gap=seen.gap), short=short).read_as(columns)
