"""Refit: the same segmentation on new rows, with the numbers, names and colours of its clusters."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from treemeans.columns import Column, Columns
from treemeans.columns.encode_frame import UnseenValues, encode_frame, is_encoded
from treemeans.columns.encoded_table import EncodedFrame
from treemeans.columns.frame_values import open_frame
from treemeans.columns.table_schema import TableSchema
from treemeans.costs import OWN_COSTS, centered_prices
from treemeans.explain.cluster_names import distinct_names
from treemeans.fit_result import FitResult
from treemeans.model_file.saved_parameters import NotSaved
from treemeans.monitor.cluster_changes import (
    ClusterChanges,
    crosstab,
    match_on_centers,
    match_on_rows,
)
from treemeans.monitor.moved_thresholds import move_thresholds
from treemeans.monitor.warm_start import move_centers
from treemeans.partitioned.readers.open_partitioned import as_partitioned
from treemeans.preparation import TablePreparation
from treemeans.reference import Reference
from treemeans.threads import n_threads
from treemeans.validation import check_enough_rows, check_weights, is_integer

Floats = NDArray[np.float64]
Pairs = tuple[tuple[int, int], ...]


def refit_model(
    model: Any,
    X: Any,
    sample_weight: Any,
    *,
    n_clusters: int | None,
    keep_structure: bool,
    shared: Any,
    reference: Any,
) -> Any:
    """A model of the same parameters on new rows; parameters are those of ``model.refit``."""
    if not isinstance(X, EncodedFrame) and as_partitioned(X, None) is not None:
        raise ValueError("refit needs rows in memory; pass an array or frame, or a sample of them.")
    _check(model, n_clusters, keep_structure)
    record: FitResult = model._fit_result
    old = _reference(record.reference, reference)
    table = encode_new(model, X)
    if isinstance(table, EncodedFrame):
        rows, raw = table.X, table.raw
    else:
        rows, raw = model._validate(X, reset=False), X
    weights = check_weights(rows, sample_weight)
    k = old.n_clusters if n_clusters is None else int(n_clusters)
    check_enough_rows(rows.shape[0], k)
    space = _space(old, rows, raw)
    centers = move_centers(space, weights, old.centers, k, old.cost)
    pairs = match_on_centers(old.centers, centers)
    if shared is not None and not np.array_equal(centers, old.centers):
        pairs = _match_on_shared(model, old, centers, shared)
    order, pairs = _in_places(pairs, old.n_clusters, k)
    new = replace(old, centers=centers[order])
    fitted = _fit(model, table, sample_weight, new, k, keep_structure, (rows, space, weights))
    return _finished(model, fitted, rows, pairs)


def _check(model: Any, n_clusters: Any, keep_structure: bool) -> None:
    """Refuse, in one sentence, a refit that is not possible."""
    if n_clusters is not None and (not is_integer(n_clusters) or n_clusters < 1):
        raise ValueError(f"n_clusters must be an integer of at least 1; got {n_clusters!r}.")
    record = model._fit_result
    if record.cost in OWN_COSTS:
        raise ValueError(
            f"refit moves the centers of clusters, and this model explains {record.called} by "
            f"costs of another kind ({record.cost}); fit a new one."
        )
    k = record.reference.n_clusters
    if keep_structure and n_clusters not in (None, k):
        raise ValueError(f"keep_structure=True keeps the {k} clusters; leave n_clusters out.")
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, NotSaved) and name not in ("reference", "random_state"):
            raise ValueError(
                f"refit needs the parameter {name}, an object that a file does not hold; set it "
                f"with model.set_params({name}=...) first."
            )


def _reference(old: Reference, given: Any) -> Reference:
    """The old reference, with a space that rows can be taken to."""
    if given is not None:
        if not isinstance(given, Pipeline) or len(given) < 2:
            raise ValueError("reference must be the pipeline of the model, fitted.")
        return replace(old, pipeline=given[:-1], untouched=True)
    if isinstance(old.pipeline, NotSaved):
        raise ValueError(
            "A model file does not hold the reference's pipeline, in whose space the centers are; "
            "pass it fitted: model.refit(X, reference=pipeline)."
        )
    return old


def encode_new(model: Any, X: Any) -> Any:
    """The table as the fit takes it: frames read as in training, with new categories added."""
    if isinstance(X, EncodedFrame):
        return X
    frame = open_frame(X)
    record = model._fit_result
    prepared = isinstance(record.reference.pipeline, TablePreparation)
    if frame is None or not (prepared or is_encoded(record.columns)):
        return X
    columns = model._fit_columns()
    unseen = UnseenValues()
    encode_frame(frame, columns, unseen)
    columns = with_categories(columns, unseen)
    schema = getattr(model, "schema_", TableSchema((), len(frame)))
    return EncodedFrame(encode_frame(frame, columns), schema, columns, X)


def with_categories(columns: Columns, unseen: UnseenValues) -> Columns:
    """The columns with categories that occur for the first time, after those that are known."""
    found = []
    for column in columns:
        new = sorted(set(unseen.values.get(column.name, {}).values()) - set(column.categories))
        more = column.kind == "codes" and column.categories and new
        found.append(replace(column, categories=(*column.categories, *new)) if more else column)
    return tuple(found)


def _space(old: Reference, rows: Any, raw: Any) -> Any:
    if old.pipeline is None and isinstance(rows, np.ndarray) and np.isnan(rows).any():
        raise ValueError(
            "X has missing values, but the training rows had none, so k-means has no "
            "distance for them; fill them in, or fit a new model."
        )
    return rows if old.pipeline is None else old.space(rows, raw)


def _match_on_shared(model: Any, old: Reference, centers: Floats, shared: Any) -> Pairs:
    """Clusters that hold the same of the shared rows: the nearest old center, and the new one."""
    tables = shared if isinstance(shared, tuple) and len(shared) == 2 else (shared, shared)
    before, after = (
        _nearest(model, old, each, table)
        for each, table in zip((old.centers, centers), tables, strict=True)
    )
    if len(before) != len(after):
        raise ValueError(
            f"The two tables of shared rows have {len(before)} and {len(after)} rows; row i of "
            "both must be the same one."
        )
    return match_on_rows(crosstab(before, after, old.n_clusters, len(centers)))


def _nearest(model: Any, old: Reference, centers: Floats, table: Any) -> NDArray[np.int32]:
    X = model._validate(table, reset=False)
    rows = X if old.pipeline is None else old.space(X, table)
    threads = n_threads(model.n_jobs)
    return centered_prices(old.cost, rows, np.ascontiguousarray(centers), threads)[1]


def _in_places(pairs: Pairs, n_old: int, n_new: int) -> tuple[list[int], Pairs]:
    """Which new center takes each number; and the pairs with these numbers.

    A cluster that is kept has its old number, if there are so many; the others take what is left.
    """
    place: dict[int, int] = {new: old for old, new in pairs if old < n_new}
    free = [number for number in range(n_new) if number not in place.values()]
    others = [new for _, new in sorted(pairs) if new not in place]
    others += [new for new in range(n_new) if new not in place and new not in others]
    place |= dict(zip(others, free, strict=True))
    order = sorted(place, key=lambda new: place[new])
    return order, tuple(sorted((old, place[new]) for old, new in pairs))


def _fit(
    model: Any,
    table: Any,
    sample_weight: Any,
    reference: Reference,
    k: int,
    keep_structure: bool,
    rows: tuple[Any, Any, Floats | None],
) -> Any:
    """The tree on the new rows, as large as the old one, for the moved centers."""
    record: FitResult = model._fit_result
    fitted = type(model)(**model.get_params(deep=False))
    changed: dict[str, Any] = {"reference": reference}
    if isinstance(fitted.random_state, NotSaved):
        changed["random_state"] = None
    known = fitted.get_params(deep=False)
    if known.get("n_clusters", 0) is not None:
        changed["n_clusters"] = k
    if "max_leaf_nodes" in known:
        changed["max_leaf_nodes"] = max(record.tree.n_leaves, k)
    if keep_structure:
        changed |= _structure(model, reference, rows)
    fitted.set_params(**{name: value for name, value in changed.items() if name in known})
    if isinstance(table, EncodedFrame) and hasattr(model, "feature_names_in_"):
        # Parameters may name columns, which a table of numbers, once encoded, does not.
        fitted.feature_names_in_ = model.feature_names_in_.copy()
    fitted.fit(table, sample_weight=sample_weight)
    if keep_structure:
        fitted._fit_result = _with_old_sizes(fitted._fit_result, record)
    kept = {name: known[name] for name in ("reference", "base_tree", "refine") if name in known}
    fitted.set_params(**kept)
    sizes = fitted._fit_result.path["n_leaves"]
    n_leaves = int(np.clip(max(model.n_leaves_, k), sizes[0], sizes[-1]))
    if "max_leaf_nodes" in known:
        fitted.max_leaf_nodes = known["max_leaf_nodes"]
    return fitted._set_fitted_attributes(n_leaves)


def _structure(
    model: Any, reference: Reference, rows: tuple[Any, Any, Floats | None]
) -> dict[str, Any]:
    """Parameters with which a fit makes the cuts of the model, at thresholds moved a little."""
    if not hasattr(model, "base_tree"):
        name = type(model).__name__
        raise ValueError(f"keep_structure=True needs a model of ExKMC; this is a {name}.")
    X, space, weights = rows
    threads = n_threads(model.n_jobs)
    regrets = centered_prices(reference.cost, space, reference.centers, threads)[2]
    if weights is not None:
        regrets = regrets * weights[:, None]
    tree = move_thresholds(model._fit_result.tree, X, regrets)
    most = max(tree.n_leaves, reference.n_clusters)
    return {"base_tree": tree, "max_leaf_nodes": most, "refine": "none"}


def _with_old_sizes(found: FitResult, old: FitResult) -> FitResult:
    """The sizes of the old model, if all its cuts are there; else those of optimal pruning."""
    same = np.array_equal(found.tree.feature, old.tree.feature)
    smallest = int(old.path["n_leaves"][0])
    grown = all(np.array_equal(s.inner, old.tree.cut_by(n)) for n, s in old.sizes.items())
    if same and grown:
        base_labels = old.sizes[smallest].label[: 2 * smallest - 1]
        return replace(found.of_grown(base_labels), columns=found.columns)
    return replace(found.of_refined(), columns=found.columns)


def _finished(model: Any, fitted: Any, rows: Any, pairs: Pairs) -> Any:
    """The fitted model with the columns and names of the old one, and what has changed."""
    for name in ("feature_names_in_", "schema_"):
        if hasattr(model, name) and not hasattr(fitted, name):
            setattr(fitted, name, copy.copy(getattr(model, name)))
    old_columns, columns = model._fit_result.columns, fitted._fit_result.columns
    fitted = fitted.with_columns(
        columns=[_column(o, n) for o, n in zip(old_columns, columns, strict=True)]
    )
    names = distinct_names(
        {new: model.cluster_names_[old] for old, new in pairs}, fitted.cluster_names_
    )
    # Automatic names stay as they are too: a name that changes every month names nothing.
    fitted = fitted.with_names(names)
    before = model.with_missing_sides().tree_.predict(rows)
    after = fitted.with_missing_sides().tree_.predict(rows)
    table = crosstab(before, after, model.tree_.n_clusters, fitted.tree_.n_clusters)
    fitted.changes_ = ClusterChanges(table, pairs, model.cluster_names_, fitted.cluster_names_)
    return fitted


def _column(old: Column, new: Column) -> Column:
    """How a column reads: as it was described, with what the new rows tell of its values."""
    if old.kind == new.kind:
        return replace(new, name=old.name, unit=old.unit, source=old.source, value=old.value)
    if old.kind in ("number", "integer", "flag"):
        return replace(new, name=old.name, unit=old.unit) if not new.source else new
    return old
