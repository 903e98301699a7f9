"""Whatever the user gives as reference, turned into a `Reference`."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from treemeans.columns import Columns, plain_columns
from treemeans.columns.dates import dates_as_days
from treemeans.preparation import TablePreparation
from treemeans.reference.clusterer import (
    METRICS,
    centers_of,
    check_clusterer,
    check_metric,
    fitted_clone,
    foreign_labels,
    is_fitted,
    is_foreign,
    is_mixture,
    labels_of,
    last_step,
)
from treemeans.reference.cost_reference import costs_reference, mixture_reference
from treemeans.reference.fast_kmeans import FastKMeans
from treemeans.reference.fitted_reference import (
    KMEANS,
    KMEDIANS,
    LABELS,
    Reference,
    check_dimension,
    checked_centers,
)
from treemeans.reference.given_labels import check_index, is_labels, read_labels
from treemeans.reference.kmedians import KMedians
from treemeans.reference.spherical_kmeans import SphericalKMeans
from treemeans.validation import (
    DEFAULT_CLUSTERS,
    check_enough_rows,
    check_not_tiny,
    is_named_reference,
    with_room_for_squares,
)

_OWN_NAMES = {"KMedians": KMEDIANS, "SphericalKMeans": "spherical k-means"}
_OF_CENTERS = {"kmeans": KMEANS, "kmedians": KMEDIANS, "cosine": "spherical k-means"}
"""What given centers are called, by the cost that rows have there."""
_OWN_COSTS = {KMedians: "kmedians", SphericalKMeans: "cosine"}
"""What ``cost="auto"`` is for references that lower another cost than k-means."""


def fit_reference(
    reference: Any,
    n_clusters: int | None,
    X: Any,
    raw: Any,
    sample_weight: NDArray[np.float64] | None,
    random_state: Any,
    n_jobs: int | None = None,
    verbose: bool = False,
    columns: Columns | None = None,
    scale: str = "auto",
    cost: Any = "auto",
    noise: str = "ignore",
) -> Reference:
    """Clusters of ``reference``: a name, centers, labels, or a clusterer or pipeline.

    What is not fitted is cloned and fitted.

    Parameters
    ----------
    columns : of X, if the table is not all numbers
    cost : a name, or a table of costs, which is a reference by itself
    noise : what becomes of rows that are in no cluster
    """
    if isinstance(reference, Reference):  # of a refit
        return reference
    if not isinstance(cost, str):
        check_index(cost, raw, "cost")
        return costs_reference(cost, reference, n_clusters, X, raw)
    if n_clusters is None and is_named_reference(reference):
        n_clusters = DEFAULT_CLUSTERS
    if n_clusters is not None:
        check_enough_rows(X.shape[0], n_clusters)
    if isinstance(reference, FrozenEstimator):
        reference = reference.estimator
    called = LABELS
    if is_foreign(reference):
        called, reference = type(reference).__name__, foreign_labels(reference, raw, X.shape[0])
    if called != LABELS or is_labels(reference):
        check_index(reference, raw, "reference")
        found = _labelled(reference, n_clusters, X.shape[0], cost, noise, called)
        needed = not found.has_own_costs
        return replace(
            found,
            pipeline=_preparation(None, X, sample_weight, columns, scale) if needed else None,
        )
    if is_named := is_named_reference(reference):
        assert n_clusters is not None
        reference = _named_reference(
            reference or "fast", n_clusters, cost, random_state, n_jobs, verbose
        )
    prepared = _preparation(reference, X, sample_weight, columns, scale)
    if prepared is not None:
        rows = prepared.transform(X)
        check_clusterer(last_step(reference))
        fitted = fitted_clone(last_step(reference), rows, sample_weight, random_state)
        ready = ready_reference(fitted, n_clusters, rows, rows, False, cost, noise)
        if ready.has_own_costs:  # of prepared rows: other rows are not priced
            return replace(ready, price_rows=None)
        return replace(ready, pipeline=prepared)
    if is_named:
        check_not_tiny(X)
        with config_context(assume_finite=True):  # the caller has looked
            reference.fit(with_room_for_squares(X), sample_weight=sample_weight)
        return ready_reference(reference, n_clusters, X, raw, False, cost, noise)
    if not hasattr(reference, "fit"):
        _refuse_costs(reference, X)
        return ready_reference(reference, n_clusters, X, raw, True, cost, noise)
    check_clusterer(last_step(reference))
    given, untouched = is_fitted(reference), False
    if not given:
        reference, untouched = _fit_on_table(reference, raw, sample_weight, random_state)
    ready = ready_reference(reference, n_clusters, X, raw, given, cost, noise)
    return replace(ready, untouched=untouched)


def _refuse_costs(reference: Any, X: Any) -> None:
    """Refuse what looks like costs, or labels in a column, where centers are expected."""
    if callable(reference) and not isinstance(reference, type):
        raise ValueError("A function of X that makes a table of costs is passed as cost=.")
    shape: tuple[int, ...] = getattr(reference, "shape", ())
    if len(shape) == 2 and shape[0] == X.shape[0] and shape[1] != X.shape[1]:
        if shape[1] == 1:
            raise ValueError("Labels of the rows must have one dimension; pass a single column.")
        raise ValueError(
            f"reference has a row for each row of X and {shape[1]} columns; a table of costs is "
            "passed as cost=, and centers have the columns of X."
        )


def _labelled(
    labels: Any,
    n_clusters: int | None,
    n_rows: int,
    cost: str,
    noise: str,
    called: str = LABELS,
) -> Reference:
    """Labels of the rows, given or of a clusterer without centers."""
    own = called == LABELS
    codes, names = read_labels(labels, n_rows, noise, "reference" if own else called)
    if n_clusters is not None and len(names) != n_clusters:
        what = "the labels have" if own else f"{called} found"
        raise ValueError(
            f"n_clusters={n_clusters}, but {what} {len(names)} clusters; leave n_clusters out to "
            "take their number."
        )
    # Numbers of a clusterer are no names; those of noise are.
    texts = names if own or "noise" in names else ()
    kind = "kmeans" if cost == "auto" else cost
    return Reference(
        np.empty((len(names), 0)), None, True, cost=kind, labels=codes, names=texts, called=called
    )


def _preparation(
    reference: Any,
    X: Any,
    weights: NDArray[np.float64] | None,
    columns: Columns | None,
    scale: str,
) -> TablePreparation | None:
    """What makes coordinates for k-means of X; None if X is clustered as it is, or by a pipeline.

    A table that is not all numbers is always prepared, one that is only if it is to be scaled.
    """
    is_pipeline = isinstance(reference, Pipeline) and len(reference) > 1
    if is_pipeline or (columns is None and scale in ("auto", "none")):
        if is_pipeline and scale != "auto":
            raise ValueError(
                f"scale={scale!r} is for a reference that is no pipeline; scale in the pipeline."
            )
        return None
    fitted = reference is not None and (not hasattr(reference, "fit") or is_fitted(reference))
    if fitted and centers_of(reference) is None and not is_mixture(reference):
        return None  # its labels are enough
    refuse_other_space(reference, columns, scale)
    if sparse.issparse(X):
        raise ValueError(
            f"scale={scale!r} needs a dense table; pass a pipeline as reference to scale a sparse "
            "one, for example with MaxAbsScaler."
        )
    described = plain_columns(X.shape[1]) if columns is None else columns
    return TablePreparation.of(described, X, weights, scale)


def refuse_other_space(reference: Any, columns: Columns | None, scale: str) -> None:
    """Refuse centers, or a fitted clusterer, for a table that is clustered in another space."""
    fitted = reference is not None and (not hasattr(reference, "fit") or is_fitted(reference))
    if fitted and not isinstance(reference, str):
        what = "has categories, dates or missing values" if columns else "is to be scaled"
        raise ValueError(
            f"The table {what}, so centers of another space are no reference for it; pass a "
            "clusterer that is not fitted, or a pipeline that takes the table."
        )


def _fit_on_table(
    reference: Any, raw: Any, weights: NDArray[np.float64] | None, random_state: Any
) -> tuple[Any, bool]:
    """A pipeline fitted to the table as the user gave it, or to dates as days if that fails.

    Scalers do not take dates, other transformers want them: numpy raises a TypeError if dates
    meet numbers in one array.
    """
    try:
        return fitted_clone(reference, raw, weights, random_state), True
    except TypeError:
        days = dates_as_days(raw)
        if days is raw:
            raise
        return fitted_clone(reference, days, weights, random_state), False


def ready_reference(
    reference: Any,
    n_clusters: int | None,
    X: Any,
    raw: Any,
    given: bool,
    cost: str = "auto",
    noise: str = "ignore",
) -> Reference:
    """Centers, labels or costs of an array of centers, or of a fitted clusterer or pipeline."""
    kind = kind_of(reference) if cost == "auto" else cost
    if not hasattr(reference, "fit"):
        return _around_centers(
            reference, n_clusters, X.shape, given, None, kind, _OF_CENTERS.get(kind, KMEANS)
        )
    clusterer = last_step(reference)
    name = type(clusterer).__name__
    pipeline = None
    if isinstance(reference, Pipeline) and len(reference) > 1:
        pipeline = reference[:-1]
    centers = centers_of(clusterer)
    if is_mixture(clusterer):
        if cost == "auto":
            return mixture_reference(clusterer, pipeline, n_clusters, raw if pipeline else X, given)
        centers = clusterer.means_
    if centers is None:
        medoids = getattr(clusterer, "medoid_indices_", None)
        if medoids is not None and pipeline is None and kind in METRICS and not sparse.issparse(X):
            centers = np.asarray(X)[np.asarray(medoids)]
    if centers is None or kind == "labels":
        labels = labels_of(clusterer, reference, X.shape[0], raw if pipeline else X)
        found = _labelled(labels, n_clusters, X.shape[0], kind, noise, name)
        agreement = getattr(clusterer, "start_agreement_", None)
        used = None if kind == "labels" else pipeline
        return replace(found, pipeline=used, given=given, start_agreement=agreement)
    check_metric(clusterer, kind)
    called = _called(name, kind)
    whole = type(reference).__name__
    found = _around_centers(centers, n_clusters, X.shape, given, pipeline, kind, called, whole)
    return replace(found, start_agreement=getattr(clusterer, "start_agreement_", None))


def _around_centers(
    centers: Any,
    n_clusters: int | None,
    shape: tuple[int, int],
    given: bool,
    pipeline: Any,
    cost: str,
    called: str,
    name: str = "reference",
) -> Reference:
    centers = checked_centers(centers, n_clusters, name)
    check_enough_rows(shape[0], len(centers))
    if pipeline is None:
        check_dimension(shape[1], centers)
    return Reference(centers, pipeline, given, cost=cost, called=called)


def kind_of(reference: Any) -> str:
    """The cost that a reference lowers, as far as its class says."""
    return _OWN_COSTS.get(type(last_step(reference)), "kmeans")


def centered_reference(
    reference: Any, n_clusters: int | None, shape: tuple[int, int], cost: str
) -> Reference:
    """Centers that are given, or of a fitted clusterer or pipeline, for rows of this shape."""
    kind = kind_of(reference) if cost == "auto" else cost
    if not hasattr(reference, "fit"):
        return _around_centers(
            reference, n_clusters, shape, True, None, kind, _OF_CENTERS.get(kind, KMEANS)
        )
    clusterer = last_step(reference)
    name, centers = type(clusterer).__name__, centers_of(clusterer)
    if centers is None:
        raise ValueError(
            f"{name} has no cluster_centers_, by which partitioned rows could be priced; use a "
            "reference with centers, or pass an array of a sample of the rows."
        )
    check_metric(clusterer, kind)
    pipeline = None
    if isinstance(reference, Pipeline) and len(reference) > 1:
        pipeline = reference[:-1]
    whole, called = type(reference).__name__, _called(name, kind)
    return _around_centers(centers, n_clusters, shape, True, pipeline, kind, called, whole)


def _called(name: str, cost: str) -> str:
    """What a clusterer around centers is called."""
    if name in _OWN_NAMES:
        return _OWN_NAMES[name]
    return KMEANS if cost == "kmeans" and name.lower().endswith("means") else name


def _named_reference(
    name: str, n_clusters: int, cost: str, random_state: Any, n_jobs: int | None, verbose: bool
) -> Any:
    """An unfitted clusterer: the one of the cost, or the paper's k-means."""
    if name == "fast" and cost == "kmedians":
        return KMedians(n_clusters, random_state=random_state, n_jobs=n_jobs)
    if name == "fast" and cost == "cosine":
        return SphericalKMeans(n_clusters, random_state=random_state, n_jobs=n_jobs)
    if name == "fast":
        return FastKMeans(n_clusters, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    return KMeans(n_clusters, n_init=10, max_iter=300, random_state=random_state)
