"""TreeEstimator: what all estimators share when they are fitted, however they grow their tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.dates import date_columns
from treemeans.columns.detect_columns import (
    ArrayRows,
    boolean_columns,
    detect_columns,
    find_split_values,
)
from treemeans.costs import KMeansCost
from treemeans.fit_result import FitResult
from treemeans.limits import Limits
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
    """A model that is fitted: the steps before a tree grows, and those after.

    A subclass has at least the parameters ``n_clusters``, ``reference``, ``n_jobs`` and
    ``random_state``. Its ``fit`` calls `_prepare`, grows a tree on the result, and ends in
    `_finish`.
    """

    n_clusters: int | None
    reference: Any
    random_state: Any
    round_thresholds: bool = False

    def _prepare(
        self,
        raw: Any,
        X: Any,
        sample_weight: Any,
        limits: Limits,
        allowed: NDArray[np.bool_] | None = None,
    ) -> tuple[TrainingData, Reference]:
        """Fit the reference, and price the rows by it.

        Parameters
        ----------
        raw, X : the rows as the user gave them, and as an array or sparse matrix
        allowed : the features that may be cut; None for all
        """
        threads, weights = n_threads(self.n_jobs), check_weights(X, sample_weight)
        table = Table.of(X, threads, allowed)
        if table is None:
            refuse_not_finite(X)
        reference = fit_reference(
            self.reference,
            self.n_clusters,
            X,
            raw,
            weights,
            self.random_state,
            self.n_jobs,
            bool(getattr(self, "verbose", False)),
        )
        rows = X if reference.pipeline is None else reference.space(X, raw)
        check_not_tiny(rows)
        points = table.points if reference.pipeline is None else as_points(rows)
        cost = KMeansCost(rows, points, weights, threads)
        costs = cost.price(reference.centers)
        columns = reference.centers_in_columns(table, costs, weights)
        data = TrainingData.of(X, table, cost, limits, reference.centers, columns, costs=costs)
        if reference.given:
            warn_if_empty(costs.nearest, reference.n_clusters)
        return data, reference

    def _finish(self, result: FitResult, data: TrainingData, raw: Any) -> None:
        """Find out how the columns read, round thresholds if asked for, set the attributes."""
        tree = result.tree
        seen = find_split_values(tree, data.table.points, data.n_threads)
        names = getattr(self, "feature_names_in_", None)
        dates, booleans = date_columns(raw), boolean_columns(raw)
        columns = detect_columns(ArrayRows(data.X), names, dates, booleans, tree, seen)
        short = bool(self.round_thresholds)
        result = replace(result, tree=tree.with_gap(seen.gap), short=short)
        self._fit_result = result.read_as(columns)
        self._set_fitted_attributes(tree.n_leaves)
