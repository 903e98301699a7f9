"""What a tree of a fitted model can be grown again from: its table, space and parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treemeans.columns.encode_frame import categorical_mask
from treemeans.costs import Cost, centered_cost
from treemeans.growth import InMemoryTree, grow
from treemeans.limits import Limits
from treemeans.model_file.saved_parameters import NotSaved
from treemeans.partitioned.readers.open_partitioned import as_partitioned
from treemeans.progress import Progress
from treemeans.reference import Reference
from treemeans.refine import Budget, refine
from treemeans.rows import Table
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree
from treemeans.validation import check_enough_rows, check_weights, refuse_not_finite, tree_seed

Floats = NDArray[np.float64]

_SEARCH_ROUNDS = 200  # of a refined tree that is grown again, if the model does not say


@dataclass(frozen=True)
class TrainingSetup:
    """The table of a fit, and how its tree was grown.

    Attributes
    ----------
    data : rows, costs to the reference's centers, limits
    reference : the clustering that is explained
    base : the base tree
    n_leaves : of the tree
    refine : "none", "local" or "search"
    search_rounds : of a search
    """

    data: TrainingData
    reference: Reference
    base: str | ThresholdTree
    n_leaves: int
    refine: str
    search_rounds: int

    @classmethod
    def of(cls, model: Any, X: Any, sample_weight: Any, n_threads: int, what: str) -> TrainingSetup:
        """The setup of a model, with the rows of X; ``what`` is the method that needs it."""
        check_is_fitted(model)
        _refuse_unknown(model, X, what)
        reference: Reference = model._fit_result.reference
        raw, X = X, model._validate(X, reset=False)
        check_enough_rows(X.shape[0], reference.n_clusters)
        weights = check_weights(X, sample_weight)
        if reference.has_own_costs:
            reference, weights = _with_costs(model, reference, raw, X.shape[0], weights, what)
        base, limits, allowed = model._plan(X.shape[1])
        categorical = categorical_mask(model._fit_result.columns)
        has_missing = isinstance(X, np.ndarray) and X.dtype.kind == "f" and bool(np.isnan(X).any())
        needed = bool(categorical.any()) or has_missing
        table = Table.of(X, n_threads, allowed, categorical if needed else None)
        if table is None:
            refuse_not_finite(X)
        cost = _cost(reference, X, raw, table, weights, n_threads)
        data = _priced(X, table, cost, limits, reference, reference.centers)
        data = replace(data, n_init=model.n_random_trees, seed=tree_seed(model.random_state))
        kind = "search" if model.refine == "optimal" else model.refine
        rounds = model.search_rounds or _SEARCH_ROUNDS
        return cls(data, reference, base, model.n_leaves_, kind, rounds)

    def outcome(self, tree: ThresholdTree, of_node: NDArray[np.int32]) -> NDArray[np.int32]:
        """What ``of_node`` says of the leaf that each row of the table comes to."""
        found = tree.outcome(self.data.table.points, of_node, self.data.n_threads)
        if found is None:
            raise ValueError(
                "X has missing values where the tree has no side for them; call "
                "model.with_missing_sides() first."
            )
        return found

    def resampled(self, weights: Floats, centers: Floats) -> TrainingData:
        """The same rows with other weights and reference centers, for one thread."""
        data = self.data
        cost = replace(data.cost, weights=weights, n_threads=1)  # type: ignore[type-var]
        found = _priced(data.X, data.table, cost, data.limits, self.reference, centers)
        return replace(found, n_init=data.n_init, seed=data.seed)

    def grow(self, data: TrainingData) -> ThresholdTree:
        """The tree that the model's parameters give for these data."""
        return self.growing(data).as_expanded()

    def growing(self, data: TrainingData) -> InMemoryTree:
        """The grown tree, with its rows."""
        with Progress("", 1, enabled=False) as silent:
            grown = grow(data, self.base, self.n_leaves, silent)
            if self.refine == "none":
                return grown
            budget = Budget(self.search_rounds, None, data.costs.cheapest, silent)
            return refine(self.refine, data, grown.as_expanded(), self.n_leaves, budget)[0]


def _with_costs(
    model: Any, reference: Reference, raw: Any, n_rows: int, weights: Floats | None, what: str
) -> tuple[Reference, Floats | None]:
    """The reference with its labels, or costs of the rows; and weights without its noise."""
    record = model._fit_result
    if reference.price_rows is not None:
        return replace(reference, costs=reference.price_rows(raw)), weights
    labels = record.reference_labels
    if reference.cost != "labels" or labels is None:
        raise ValueError(
            f"{what} needs the labels or costs of the rows, which this model does not hold; call "
            "it on the model that was fitted, to labels, a mixture or a function of X."
        )
    if len(labels) != n_rows:
        raise ValueError(
            f"{what} needs the table of the fit: its {len(labels):,} rows have labels, and X has "
            f"{n_rows:,} rows."
        )
    reference = replace(reference, labels=labels)
    return reference, reference.weights(weights)


def _cost(
    reference: Reference, X: Any, raw: Any, table: Table, weights: Floats | None, n_threads: int
) -> Cost:
    """The cost of the rows, by the kind that the model has."""
    if reference.has_own_costs:
        return reference.own_cost(weights, n_threads)
    rows = X if reference.pipeline is None else reference.space(X, raw)
    points = table.points if reference.pipeline is None else None
    return centered_cost(reference.cost, rows, weights, n_threads, points)


def _priced(
    X: Any, table: Table, cost: Any, limits: Limits, reference: Reference, centers: Floats
) -> TrainingData:
    """The costs of the rows at some centers, and where these are in the columns of X."""
    costs = cost.price(centers)
    columns = replace(reference, centers=centers).centers_in_columns(table, costs, cost.weights)
    data = TrainingData.of(X, table, cost, limits, centers, columns, costs=costs)
    if reference.cost == "labels":  # as in a fit: the reference itself costs nothing
        data = replace(data, reference_cost=data.total_weight)
    return data


def _refuse_unknown(model: Any, X: Any, what: str) -> None:
    """Say in one sentence what a model lacks for its tree to be grown again."""
    if not hasattr(model, "base_tree"):
        name = type(model).__name__
        raise ValueError(f"{what} grows the tree again, which only ExKMC can do; this is a {name}.")
    if as_partitioned(X, None) is not None:
        raise ValueError(f"{what} needs rows in memory; pass an array or frame of a sample.")
    if isinstance(model._fit_result.reference.pipeline, NotSaved):
        raise ValueError(
            f"{what} needs the space of the reference, and a file does not hold its pipeline; "
            "call it on the model that was fitted."
        )
    for name in ("base_tree", "allowed_features", "feature_costs"):
        if isinstance(getattr(model, name), NotSaved):
            raise ValueError(
                f"{what} needs the parameter {name}, an object that the file does not hold; call "
                "it on the model that was fitted."
            )
