"""The reference clustering: whatever the user brings, turned into centers, labels and costs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array, check_is_fitted, has_fit_parameter

from treemeans import _core
from treemeans.columns import Columns, plain_columns
from treemeans.columns.dates import dates_as_days
from treemeans.costs import OWN_COSTS, CostTable
from treemeans.preparation import TablePreparation
from treemeans.reference.fast_kmeans import FastKMeans
from treemeans.reference.given_costs import GivenCosts, mixture_costs, read_costs
from treemeans.reference.given_labels import is_labels, read_labels
from treemeans.reference.kmedians import KMedians
from treemeans.reference.spherical_kmeans import SphericalKMeans
from treemeans.rows import Table
from treemeans.validation import check_enough_rows, check_not_tiny, is_named_reference

_METRICS = {
    "kmeans": ("euclidean", "sqeuclidean", "l2", "minkowski"),
    "kmedians": ("manhattan", "cityblock", "l1"),
    "cosine": ("cosine",),
}
"""The metrics of a clusterer around centers that go with each cost."""
_COST_OF_METRIC = {metric: cost for cost, metrics in _METRICS.items() for metric in metrics}

KMEANS, KMEDIANS, LABELS, COSTS = "k-means", "k-medians", "the given labels", "the given costs"
"""What a reference is called in rules, reports and plots, if it is no other clusterer."""
_OWN_NAMES = {"KMedians": KMEDIANS, "SphericalKMeans": "spherical k-means"}


@dataclass(frozen=True)
class Reference:
    """A clustering to explain: centers and the space they live in, or labels, or costs.

    Attributes
    ----------
    centers : (n_clusters, dimension of the space); of dimension 0 until the rows are priced, where
        the reference itself has none
    pipeline : what takes the columns of X to that space; None where X is the space itself
    given : whether it came ready, fitted on who knows what
    untouched : whether the pipeline takes X as the user gave it; else dates as days
    start_agreement : of `FastKMeans`, adjusted Rand index of each start and the clustering chosen;
        None where the clusterer does not tell
    cost : how rows are priced: ``"kmeans"``, ``"kmedians"``, ``"cosine"``, ``"labels"``,
        ``"mixture"`` or ``"table"``
    labels : (n_rows,), cluster of each row, -1 for one that is left out as noise; None if it is
        the cheapest
    costs : of the rows, where they are given; None where they follow from centers or labels
    price_rows : makes costs of other rows, as the user gives them; None if nothing does
    names : of the clusters; empty if the reference has none
    called : what the reference is called in words
    """

    centers: NDArray[np.float64]
    pipeline: Pipeline | TablePreparation | None
    given: bool
    start_agreement: NDArray[np.float64] | None = None
    untouched: bool = False
    cost: str = "kmeans"
    labels: NDArray[np.int32] | None = None
    costs: GivenCosts | None = None
    price_rows: Callable[[Any], GivenCosts] | None = None
    names: tuple[str, ...] = ()
    called: str = KMEANS

    @property
    def has_own_costs(self) -> bool:
        """Whether costs do not depend on centers."""
        return self.cost in OWN_COSTS

    def weights(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """Weights of the rows: 0 for those that are left out as noise."""
        if self.labels is None or (self.labels >= 0).all():
            return weights
        kept = (self.labels >= 0).astype(np.float64)
        return kept if weights is None else weights * kept

    @property
    def codes(self) -> NDArray[np.int32] | None:
        """The labels, with any cluster for a row that is left out."""
        return None if self.labels is None else np.maximum(self.labels, 0)

    def without_rows(self) -> "Reference":
        """The same without what it says of each row, for a model to keep."""
        return replace(self, labels=None, costs=None)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.centers)

    def space(self, X: Any, raw: Any) -> Any:
        """X in the space of the centers. ``raw``: X as the user gave it, names and all."""
        if isinstance(self.pipeline, TablePreparation):
            X = self.pipeline.transform(X)
        elif self.pipeline is not None:
            as_given = self.given or self.untouched
            X = check_array(
                self.pipeline.transform(raw if as_given else dates_as_days(raw)),
                accept_sparse=("csr", "csc"),
                dtype=[np.float64, np.float32],
                input_name="What the reference pipeline makes of X",
            )
        if self.centers.shape[1]:
            _check_dimension(X.shape[1], self.centers)
        return X

    def centers_in_columns(
        self, table: Table, costs: CostTable, weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """The centers in the columns of X: with a pipeline, the means of the rows nearest to each.

        A center nearest to no row then has no place there: NaN.
        """
        if self.pipeline is None and self.cost in ("kmeans", "kmedians"):
            return self.centers
        sums = _core.group_sums(
            table.points, costs.nearest, self.n_clusters, weights, None, None, 1
        )
        weight = np.bincount(costs.nearest, weights, minlength=self.n_clusters)[:, None]
        return np.divide(sums, weight, out=np.full_like(sums, np.nan), where=weight > 0)


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
        return _given_costs(cost, reference, n_clusters, X, raw)
    if n_clusters is not None:
        check_enough_rows(X.shape[0], n_clusters)
    if isinstance(reference, FrozenEstimator):
        reference = reference.estimator
    if is_labels(reference):
        found = _labelled(reference, n_clusters, X.shape[0], cost, noise)
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
        fitted = _fitted_clone(last_step(reference), rows, sample_weight, random_state)
        ready = ready_reference(fitted, n_clusters, rows, rows, False, cost, noise)
        if ready.has_own_costs:  # of prepared rows: other rows are not priced
            return replace(ready, price_rows=None)
        return replace(ready, pipeline=prepared)
    if is_named:
        check_not_tiny(X)
        with config_context(assume_finite=True):  # the caller has looked
            reference.fit(X, sample_weight=sample_weight)
        return ready_reference(reference, n_clusters, X, raw, False, cost, noise)
    if not hasattr(reference, "fit"):
        return ready_reference(reference, n_clusters, X, raw, True, cost, noise)
    check_clusterer(last_step(reference))
    given, untouched = is_fitted(reference), False
    if not given:
        reference, untouched = _fit_on_table(reference, raw, sample_weight, random_state)
    ready = ready_reference(reference, n_clusters, X, raw, given, cost, noise)
    return replace(ready, untouched=untouched)


def _given_costs(cost: Any, reference: Any, n_clusters: int | None, X: Any, raw: Any) -> Reference:
    """A table of costs, or a function that makes one: its clusters are the columns."""
    if reference is not None:
        raise ValueError(
            "A table of costs says which cluster is best for each row, so it is a reference by "
            "itself; leave reference out."
        )
    if sparse.issparse(cost):
        raise ValueError("The table of costs must be dense; pass cost.toarray().")
    costs = read_costs(cost, raw, X.shape[0], n_clusters)
    return Reference(
        np.empty((costs.regret.shape[1], 0)),
        None,
        True,
        cost="table",
        costs=costs,
        price_rows=partial(_costs_of, cost) if callable(cost) else None,
        names=costs.names,
        called=COSTS,
    )


def _costs_of(cost: Callable[[Any], Any], rows: Any) -> GivenCosts:
    """What a function of costs makes of other rows than those of the fit."""
    return read_costs(cost, rows, np.shape(rows)[0], None)


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
            f"n_clusters={n_clusters}, but {what} {len(names)} clusters; pass n_clusters=None to "
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
    if fitted and _centers_of(reference) is None and not is_mixture(reference):
        return None  # its labels are enough
    if fitted:
        what = "has categories, dates or missing values" if columns else "is to be scaled"
        raise ValueError(
            f"The table {what}, so centers of another space are no reference for it; pass a "
            "clusterer that is not fitted, or a pipeline that takes the table."
        )
    if sparse.issparse(X):
        raise ValueError(
            f"scale={scale!r} needs a dense table; pass a pipeline as reference to scale a sparse "
            "one, for example with MaxAbsScaler."
        )
    described = plain_columns(X.shape[1]) if columns is None else columns
    return TablePreparation.of(described, X, weights, scale)


def _fit_on_table(
    reference: Any, raw: Any, weights: NDArray[np.float64] | None, random_state: Any
) -> tuple[Any, bool]:
    """A pipeline fitted to the table as the user gave it, or to dates as days if that fails.

    Scalers do not take dates, other transformers want them: numpy raises a TypeError if dates
    meet numbers in one array.
    """
    try:
        return _fitted_clone(reference, raw, weights, random_state), True
    except TypeError:
        days = dates_as_days(raw)
        if days is raw:
            raise
        return _fitted_clone(reference, days, weights, random_state), False


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
    kind = "kmeans" if cost == "auto" else cost
    if not hasattr(reference, "fit"):
        return _around_centers(reference, n_clusters, X.shape, given, None, kind, KMEANS)
    clusterer = last_step(reference)
    name = type(clusterer).__name__
    pipeline = None
    if isinstance(reference, Pipeline) and len(reference) > 1:
        pipeline = reference[:-1]
    centers = _centers_of(clusterer)
    if is_mixture(clusterer):
        if cost == "auto":
            return _mixture(clusterer, pipeline, n_clusters, raw if pipeline else X, given)
        centers = clusterer.means_
    if centers is None:
        medoids = getattr(clusterer, "medoid_indices_", None)
        if medoids is not None and pipeline is None and kind in _METRICS and not sparse.issparse(X):
            centers = np.asarray(X)[np.asarray(medoids)]
    if centers is None or kind == "labels":
        labels = _labels_of(clusterer, reference, X.shape[0], raw if pipeline else X)
        found = _labelled(labels, n_clusters, X.shape[0], kind, noise, name)
        agreement = getattr(clusterer, "start_agreement_", None)
        used = None if kind == "labels" else pipeline
        return replace(found, pipeline=used, given=given, start_agreement=agreement)
    _check_metric(clusterer, kind)
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
    centers = _checked(centers, n_clusters, name)
    check_enough_rows(shape[0], len(centers))
    if pipeline is None:
        _check_dimension(shape[1], centers)
    return Reference(centers, pipeline, given, cost=cost, called=called)


def centered_reference(
    reference: Any, n_clusters: int | None, shape: tuple[int, int], cost: str
) -> Reference:
    """Centers that are given, or of a fitted clusterer or pipeline, for rows of this shape."""
    kind = "kmeans" if cost == "auto" else cost
    if not hasattr(reference, "fit"):
        return _around_centers(reference, n_clusters, shape, True, None, kind, KMEANS)
    clusterer = last_step(reference)
    name, centers = type(clusterer).__name__, _centers_of(clusterer)
    if centers is None:
        raise ValueError(
            f"{name} has no cluster_centers_, by which partitioned rows could be priced; use a "
            "reference with centers, or pass an array of a sample of the rows."
        )
    _check_metric(clusterer, kind)
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


def is_mixture(estimator: Any) -> bool:
    """Whether it is a mixture: components with means, and responsibilities of rows."""
    clusterer = last_step(estimator)
    return hasattr(clusterer, "predict_proba") and hasattr(clusterer, "weights_")


def _mixture(
    mixture: Any, pipeline: Any, n_clusters: int | None, rows: Any, given: bool
) -> Reference:
    """A mixture prices rows by its responsibilities."""
    price_rows = partial(_mixture_costs_of, mixture, pipeline)
    costs = price_rows(rows)
    k = costs.regret.shape[1]
    if n_clusters is not None and k != n_clusters:
        raise ValueError(
            f"n_clusters={n_clusters}, but {type(mixture).__name__} has {k} components."
        )
    return Reference(
        np.empty((k, 0)),
        None,
        given,
        cost="mixture",
        costs=costs,
        price_rows=price_rows,
        called=type(mixture).__name__,
    )


def _mixture_costs_of(mixture: Any, pipeline: Any, rows: Any) -> GivenCosts:
    return mixture_costs(mixture, rows if pipeline is None else pipeline.transform(rows))


def _labels_of(clusterer: Any, reference: Any, n_rows: int, rows: Any) -> Any:
    """Labels that a fitted clusterer gave these rows, or gives them now."""
    labels = getattr(clusterer, "labels_", None)
    if labels is not None and len(labels) == n_rows:
        return labels
    metrics = [getattr(clusterer, name, None) for name in ("metric", "affinity")]
    if hasattr(clusterer, "predict") and "precomputed" not in metrics:
        return reference.predict(rows)
    name = type(clusterer).__name__
    if labels is None:
        raise ValueError(
            f"{name} has neither cluster_centers_ nor labels_ nor predict; pass its labels as "
            "reference."
        )
    raise ValueError(
        f"{name} was fitted to {len(labels)} rows and cannot label others, but X has {n_rows}; "
        "fit it to X, or pass it unfitted."
    )


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


def last_step(estimator: Any) -> Any:
    """The clusterer itself, where it is the end of a pipeline."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def is_fitted(estimator: Any) -> bool:
    """Whether it knows its centers."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _fitted_clone(estimator: Any, X: Any, sample_weight: Any, random_state: Any) -> Any:
    """A clone, seeded by ``random_state`` where it has no seed of its own, and fitted."""
    estimator = clone(estimator)
    if random_state is not None:
        seeds = {
            name: random_state
            for name, value in estimator.get_params().items()
            if name.split("__")[-1] == "random_state" and value is None
        }
        estimator.set_params(**seeds)
    if sample_weight is None:
        return estimator.fit(X)
    last = estimator.steps[-1] if isinstance(estimator, Pipeline) else ("", estimator)
    if not has_fit_parameter(last[1], "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but {type(last[1]).__name__}.fit takes none. "
            "Fit the reference yourself and pass it fitted."
        )
    prefix = f"{last[0]}__" if last[0] else ""
    return estimator.fit(X, **{f"{prefix}sample_weight": sample_weight})


def check_clusterer(clusterer: Any) -> None:
    """Refuse, before it is fitted, what does not cluster."""
    name = type(clusterer).__name__
    if not hasattr(clusterer, "fit_predict") and not hasattr(clusterer, "cluster_centers_"):
        raise ValueError(f"The reference must be a clusterer or end in one; {name} is none.")


def _check_metric(clusterer: Any, cost: str) -> None:
    """Refuse centers of a clusterer by another distance than the one that rows are priced by."""
    for parameter in ("metric", "affinity"):
        metric = getattr(clusterer, parameter, None)
        if metric is None or metric in _METRICS[cost]:
            continue
        other = _COST_OF_METRIC.get(metric, "labels") if isinstance(metric, str) else "labels"
        raise ValueError(
            f"{type(clusterer).__name__} clusters with {parameter}={metric!r}, so its centers are "
            f'no reference for cost="{cost}"; use cost="{other}".'
        )


def _centers_of(estimator: Any) -> Any:
    """Centers of a clusterer, or of the one that a pipeline ends in; None if it has none."""
    return getattr(last_step(estimator), "cluster_centers_", None)


def _check_dimension(n_columns: int, centers: NDArray[np.float64]) -> None:
    if centers.shape[1] != n_columns:
        raise ValueError(
            f"The reference centers have {centers.shape[1]} coordinates, "
            f"but the points they are for have {n_columns}."
        )


def _checked(centers: Any, n_clusters: int | None, name: str) -> NDArray[np.float64]:
    try:
        array = np.array(centers, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be a clusterer, a Pipeline that ends in one, or an array of centers; "
            f"got {type(centers).__name__}."
        ) from error
    if array.ndim != 2 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(
            f"The centers of {name} must be a finite 2-d array, one row a cluster; "
            f"they have shape {array.shape}."
        )
    if n_clusters is not None and len(array) != n_clusters:
        raise ValueError(f"n_clusters={n_clusters}, but {name} has {len(array)} clusters.")
    return array
