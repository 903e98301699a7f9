"""TreeEstimator: what all estimators share when they are fitted, however they grow their tree."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from treemeans import _core
from treemeans.category_counts import CategoryCounts, count_categories
from treemeans.columns import Columns
from treemeans.columns.dates import date_columns
from treemeans.columns.detect_columns import (
    ArrayRows,
    boolean_columns,
    detect_columns,
    detect_more,
    find_split_values,
    learnt_split_values,
)
from treemeans.columns.encode_frame import UnseenValues
from treemeans.columns.encoded_table import (
    EncodedFrame,
    encode_array,
    encode_numbers,
    encode_table,
)
from treemeans.costs import Cost, CostTable, KMeansCost, centered_cost
from treemeans.explain.warning_record import BadSegmentWarning
from treemeans.fit_result import FitResult, group_means
from treemeans.growth import InMemoryTree
from treemeans.limits import Limits
from treemeans.monitor.segment_checks import look_in_passing
from treemeans.reference import Reference, fit_reference
from treemeans.rows import Table
from treemeans.threads import n_threads
from treemeans.training_data import TrainingData
from treemeans.training_histograms import columns_to_count, sample_rows
from treemeans.tree_model import TreeModel
from treemeans.validation import (
    check_not_tiny,
    check_some_weight,
    check_weights,
    refuse_no_table,
    refuse_training_rows,
    warn_if_empty,
)
from treemeans.warning_level import depth_in_package


def price_reference(
    reference: Reference,
    X: Any,
    raw: Any,
    table: Table,
    weights: NDArray[np.float64] | None,
    threads: int,
) -> tuple[Cost, Reference]:
    """The cost of the rows, and the reference with the centers of its clusters."""
    codes = reference.codes
    if reference.has_own_costs:
        own = reference.own_cost(weights, threads)
        nearest = own.regret.argmin(axis=1).astype(np.int32) if codes is None else codes
        means = group_means(X, nearest, reference.n_clusters, weights)
        return own, replace(reference, centers=means)
    rows = X if reference.pipeline is None else reference.space(X, raw)
    check_not_tiny(rows)
    points = table.points if reference.pipeline is None else None
    cost = centered_cost(reference.cost, rows, weights, threads, points)
    if not reference.centers.shape[1]:
        assert codes is not None  # there are labels where there are no centers
        centers = cost.representatives(codes, reference.n_clusters)
        reference = replace(reference, centers=centers)
    return cost, reference


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
    scale: str = "auto"
    cost: Any = "auto"
    noise: str = "ignore"
    _encoded_table: EncodedFrame | None  # while a fit is under way, if it is not all numbers

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
        threads, weights = self._fit_threads(X), check_weights(X, sample_weight)
        encoded = self._encoded_table
        table = Table.of(X, threads, allowed, **({} if encoded is None else encoded.sides))
        if table is None and encoded is None:
            names = getattr(self, "feature_names_in_", ())
            encoded = self._encode_missing(raw, X)
            if encoded.X.shape[1] < X.shape[1]:  # a column without values is left out
                kept = np.isin(names, [column.name for column in encoded.columns])
                allowed = None if allowed is None else allowed[kept]
                if limits.feature_costs is not None:
                    limits = replace(limits, feature_costs=limits.feature_costs[kept])
            X = encoded.X
            table = Table.of(X, threads, allowed, **encoded.sides)
        if table is None:
            refuse_training_rows(X)
        if encoded is not None:
            encoded.warn_without_weight(weights)
            raw = encoded.raw
        reference = fit_reference(
            self.reference,
            self.n_clusters,
            X,
            raw,
            weights,
            self.random_state,
            self.n_jobs,
            bool(getattr(self, "verbose", False)),
            None if encoded is None else encoded.columns,
            self.scale,
            self.cost,
            self.noise,
        )
        weights = reference.weights(weights)
        check_some_weight(weights)
        cost, reference = price_reference(reference, X, raw, table, weights, threads)
        costs = self._price(cost, table, reference)
        if reference.codes is not None:
            costs = replace(costs, nearest=reference.codes, is_labelled=True)
        columns = reference.centers_in_columns(table, costs, weights)
        data = TrainingData.of(X, table, cost, limits, reference.centers, columns, costs=costs)
        if reference.cost == "labels":  # the reference itself costs nothing: rows are the unit
            data = replace(data, reference_cost=data.total_weight)
        if reference.given and reference.labels is None:
            warn_if_empty(costs.nearest, reference.n_clusters)
        return data, reference

    def _fit_threads(self, X: Any) -> int:
        """Threads of a fit.

        The kernels of a plain fit take less than a millisecond each on a small table. Where other
        processes keep the cores busy, waiting for a second thread at the end of each takes several
        times as long as the fit on one.
        """
        asked = n_threads(self.n_jobs)
        clusters = 0 if self.n_clusters is None else self.n_clusters
        values = (X.nnz if sparse.issparse(X) else X.size) + X.shape[0] * clusters
        is_small = values < _core.SMALL_TABLE and getattr(self, "refine", "none") == "none"
        return 1 if is_small else asked

    def _price(self, cost: Cost, table: Table, reference: Reference) -> CostTable:
        """Price the rows; in little memory where only growth asks for their regrets."""
        is_refined = getattr(self, "refine", "none") != "none"
        is_mixed = bool(table.bins.mixed) and reference.codes is None
        if isinstance(cost, KMeansCost) and is_mixed and not is_refined:
            return cost.price_packed(reference.centers)
        return cost.price(reference.centers)

    def _validate(self, X: Any, *, reset: bool, unseen: UnseenValues | None = None) -> Any:
        """X as the kernels read it; a fit keeps a table that is not all numbers aside."""
        if not reset:
            return super()._validate(X, reset=False, unseen=unseen)
        self.__dict__.pop("schema_", None)
        self.__dict__.pop("_loaded_reads_by_name", None)
        refuse_no_table(X)
        self._encoded_table = encode_table(X)
        if self._encoded_table is None:
            return super()._validate(X, reset=True)
        return self._take_in(self._encoded_table)

    def _take_in(self, encoded: EncodedFrame) -> NDArray[np.float64]:
        """X of an encoded table; sets what scikit-learn sets when it validates a table."""
        if encoded.schema.plans:
            self.feature_names_in_ = encoded.names
            self.schema_ = encoded.schema
        self.n_features_in_ = encoded.X.shape[1]
        self._encoded_table = encoded
        return encoded.X

    def _encode_missing(self, raw: Any, X: Any) -> EncodedFrame:
        """A table of numbers of which some are missing.

        What is missing from an array may be a mistake; it is refused unless a pipeline takes it.
        """
        encoded = encode_numbers(raw)
        if encoded is None:
            if sparse.issparse(X) or np.isinf(X).any() or not isinstance(self.reference, Pipeline):
                refuse_training_rows(X)
            encoded = encode_array(X, raw)
        self._take_in(encoded)
        return encoded

    def _finish(
        self,
        result: FitResult,
        growing: InMemoryTree | None,
        data: TrainingData,
        raw: Any,
        known_types: tuple[Mapping[str, bool], list[str]] | None = None,
    ) -> None:
        """Find out how the columns read, round thresholds if asked for, set the attributes.

        ``growing`` knows the values beside its cuts; None where the tree of the result is another.
        ``known_types``: names of the columns of dates and of booleans, where ``raw`` does not tell.
        """
        tree, table = result.tree, data.table
        if growing is None or data.costs.n_rows < table.n_rows:
            # Rows without weight have values too.
            seen = find_split_values(tree, table.points, data.n_threads)
        else:
            seen = learnt_split_values(growing.margins)
        rows = ArrayRows(data.X, table.bins)
        encoded = self.__dict__.pop("_encoded_table")
        if encoded is None:
            names = getattr(self, "feature_names_in_", None)
            dates, booleans = known_types or (date_columns(raw), boolean_columns(raw))
            columns = detect_columns(rows, names, dates, booleans, tree, seen)
        else:
            columns = detect_more(rows, encoded.columns, tree, seen)
            if any(np.isnan(column).any() for column in data.X.T):
                tree = replace(tree, has_seen_missing=True)
        short = bool(self.round_thresholds)
        cut = np.unique(tree.feature[~tree.is_leaf]).tolist()
        counted = columns_to_count(data.table.n_features, cut, result.spread)
        sample = sample_rows(data.X, data.weights, counted)
        found: dict[str, Any] = {"histograms": sample}
        if encoded is not None:
            found["categories"] = _categories(result, columns, data)
        if isinstance(data.cost, KMeansCost):
            reference = result.reference
            found["warnings"] = look_in_passing(
                data.cost.rows, data.weights, reference.centers, given=reference.given
            )
        result = result.changed(tree=tree.with_gap(seen.gap), short=short, **found)
        self._fit_result = result.read_as(columns)
        self._set_fitted_attributes(tree.n_leaves)
        self._show_warnings()

    def _show_warnings(self) -> None:
        """Show what is wrong with the clusters as one Python warning."""
        found = " ".join(map(str, self._fit_result.segment_warnings()))
        if found:
            warnings.warn(found, BadSegmentWarning, stacklevel=depth_in_package())


def _categories(
    result: FitResult, columns: Columns, data: TrainingData
) -> tuple[CategoryCounts, ...]:
    """How often the leaves have the categories of each column."""
    assert result.leaf_of_row is not None  # the rows are in memory
    place = np.zeros(result.tree.n_nodes, dtype=np.int32)
    place[result.tree.leaves] = np.arange(result.tree.n_leaves)
    n_codes = [(i, len(column.categories)) for i, column in enumerate(columns)]
    groups = place[result.leaf_of_row]
    return count_categories(data.X, n_codes, groups, result.tree.n_leaves, data.weights)
