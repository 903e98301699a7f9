"""The reference clustering: whatever the user brings, turned into centers and costs."""

from dataclasses import dataclass, replace
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
from treemeans.costs import CostTable
from treemeans.preparation import TablePreparation
from treemeans.reference.fast_kmeans import FastKMeans
from treemeans.rows import Table
from treemeans.validation import check_enough_rows, check_not_tiny, is_named_reference

_EUCLIDEAN = ("euclidean", "sqeuclidean", "l2", "minkowski")


@dataclass(frozen=True)
class Reference:
    """Centers, and the space they live in.

    Attributes
    ----------
    centers : (n_clusters, dimension of the space)
    pipeline : what takes the columns of X to that space; None where X is the space itself
    given : whether it came ready, fitted on who knows what
    untouched : whether the pipeline takes X as the user gave it; else dates as days
    start_agreement : of `FastKMeans`, adjusted Rand index of each start and the clustering chosen;
        None where the clusterer does not tell
    """

    centers: NDArray[np.float64]
    pipeline: Pipeline | TablePreparation | None
    given: bool
    start_agreement: NDArray[np.float64] | None = None
    untouched: bool = False

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
        _check_dimension(X.shape[1], self.centers)
        return X

    def centers_in_columns(
        self, table: Table, costs: CostTable, weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """The centers in the columns of X: with a pipeline, the means of the rows nearest to each.

        A center nearest to no row then has no place there: NaN.
        """
        if self.pipeline is None:
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
) -> Reference:
    """Centers of ``reference``: a name, an array, or a clusterer or pipeline, fitted if need be.

    ``columns`` describe X if the table is not all numbers.
    """
    if n_clusters is not None:
        check_enough_rows(X.shape[0], n_clusters)
    if isinstance(reference, FrozenEstimator):
        reference = reference.estimator
    if is_named := is_named_reference(reference):
        assert n_clusters is not None
        reference = _named_reference(reference or "fast", n_clusters, random_state, n_jobs, verbose)
    prepared = _preparation(reference, X, sample_weight, columns, scale)
    if prepared is not None:
        rows = prepared.transform(X)
        check_clusterer(last_step(reference))
        fitted = _fitted_clone(last_step(reference), rows, sample_weight, random_state)
        return replace(ready_reference(fitted, n_clusters, rows.shape, False), pipeline=prepared)
    if is_named:
        check_not_tiny(X)
        with config_context(assume_finite=True):  # the caller has looked
            reference.fit(X, sample_weight=sample_weight)
        return ready_reference(reference, n_clusters, X.shape, given=False)
    if not hasattr(reference, "fit"):
        return ready_reference(reference, n_clusters, X.shape, given=True)
    check_clusterer(last_step(reference))
    given, untouched = is_fitted(reference), False
    if not given:
        reference, untouched = _fit_on_table(reference, raw, sample_weight, random_state)
    return replace(ready_reference(reference, n_clusters, X.shape, given), untouched=untouched)


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
    reference: Any, n_clusters: int | None, shape: tuple[int, int], given: bool
) -> Reference:
    """Centers of an array, or of a fitted clusterer or pipeline, for rows of this shape."""
    name = type(reference).__name__ if hasattr(reference, "fit") else "reference"
    centers, pipeline, agreement = reference, None, None
    if hasattr(reference, "fit"):
        centers = _centers_of(last_step(reference))
        agreement = getattr(last_step(reference), "start_agreement_", None)
        if isinstance(reference, Pipeline) and len(reference) > 1:
            pipeline = reference[:-1]
    centers = _checked(centers, n_clusters, name)
    check_enough_rows(shape[0], len(centers))
    if pipeline is None:
        _check_dimension(shape[1], centers)
    return Reference(centers, pipeline, given, agreement)


def _named_reference(
    name: str, n_clusters: int, random_state: Any, n_jobs: int | None, verbose: bool
) -> Any:
    """An unfitted clusterer: `FastKMeans`, or the paper's k-means."""
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
    """Refuse, before it is fitted, what does not cluster or does so by another distance."""
    name = type(clusterer).__name__
    if not hasattr(clusterer, "fit_predict") and not hasattr(clusterer, "cluster_centers_"):
        raise ValueError(f"The reference must be a clusterer or end in one; {name} is none.")
    for parameter in ("metric", "affinity"):
        metric = getattr(clusterer, parameter, "euclidean")
        if callable(metric) or (isinstance(metric, str) and metric not in _EUCLIDEAN):
            raise ValueError(
                f"{name} clusters with {parameter}={metric!r}; the reference must cluster by "
                "Euclidean distance to centers, since costs are squared distances to them."
            )


def _centers_of(clusterer: Any) -> Any:
    centers = getattr(clusterer, "cluster_centers_", None)
    if centers is None:
        raise ValueError(
            f"{type(clusterer).__name__} has no cluster_centers_, so a cluster has no price; use "
            "a reference that clusters around centers, such as KMeans, or an array of centers."
        )
    return centers


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
