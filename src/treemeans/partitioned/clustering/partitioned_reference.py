"""The reference clustering of partitioned rows, from the same arguments as in memory."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from treemeans.columns import plain_columns
from treemeans.partitioned.clustering.center_statistics import AssignToCenters
from treemeans.partitioned.clustering.fixed_point_columns import FixedPointColumns
from treemeans.partitioned.clustering.partitioned_kmeans import kmeans, sample_size
from treemeans.partitioned.clustering.partitioned_scaler import name_columns
from treemeans.partitioned.clustering.row_sampling import RowSampler, SampleRows
from treemeans.partitioned.map_reduce import MapReduceStep, PartitionedRows
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.row_summary import RowSummary
from treemeans.preparation import TablePreparation, widest
from treemeans.reference import (
    FastKMeans,
    Reference,
    centered_reference,
    check_clusterer,
    fit_reference,
    is_fitted,
    last_step,
)
from treemeans.reference.fitted_reference import LABELS
from treemeans.reference.given_labels import is_labels
from treemeans.reference.lloyd import one_thread
from treemeans.reference.resolve_reference import refuse_other_space
from treemeans.validation import DEFAULT_CLUSTERS, check_enough_rows, is_named_reference

Floats = NDArray[np.float64]

_COLLECTED = 2**23  # numbers that the driver collects to prepare and cluster them in memory
_PREPARED_ROWS = 2**17  # rows of the sample from which a preparation is made
_PREPARING = 2**20  # number of the draw, which is that of no draw of k-means
_LEAST_TOL = 1e-4  # MiniBatchKMeans stops by other rules; its tolerance may be 0


def fit_reference_on(
    partitions: PartitionedRows,
    summary: RowSummary,
    reference: Any,
    n_clusters: int | None,
    random_state: Any,
    cost: str = "kmeans",
    label_names: tuple[str, ...] = (),
    scale: str = "auto",
) -> Reference:
    """Centers of ``reference``, which may be anything it may be in memory if passes can fit it.

    Parameters
    ----------
    partitions, summary : the rows, and what the first pass found
    reference, n_clusters, random_state : as the user gave them
    """
    shape = summary.n_rows, partitions.n_features
    if n_clusters is None and not label_names and is_named_reference(reference):
        n_clusters = DEFAULT_CLUSTERS
    if n_clusters is not None:
        check_enough_rows(shape[0], n_clusters)
    if summary.weight == 0:
        raise ValueError("sample_weight is zero for every row, so there is nothing to cluster.")
    if isinstance(reference, FrozenEstimator):
        reference = reference.estimator
    if label_names:
        return _labelled(partitions, summary, n_clusters, label_names)
    if is_labels(reference):
        raise ValueError(
            "Labels of partitioned rows must be a dask series with the partitions of X, which is a "
            "dask data frame; or pass an array of a sample of the rows."
        )
    is_pipeline = _has_steps(reference)
    if is_pipeline:
        _check_pipeline(reference, partitions, scale)
    if partitions.columns is not None and not is_pipeline:
        refuse_other_space(reference, partitions.columns, scale)
    if cost not in ("auto", "kmeans"):
        if reference is None or (hasattr(reference, "fit") and not is_fitted(reference)):
            raise ValueError(
                f'A reference for cost="{cost}" cannot be fitted on partitioned rows; fit one on a '
                "sample, such as KMedians, and pass it fitted, or its centers."
            )
        return centered_reference(reference, n_clusters, shape, cost)
    prepared = partitions.columns is not None or scale not in ("auto", "none")
    if is_named_reference(reference):  # passes fit all k-means alike
        assert n_clusters is not None
        if prepared:
            return _fit_prepared(partitions, summary, reference, n_clusters, random_state, scale)
        return _fit(partitions, summary, reference, n_clusters, random_state)
    if hasattr(reference, "fit"):
        check_clusterer(last_step(reference))
        if not is_fitted(reference):
            _check_possible(reference, n_clusters)
            k = last_step(reference).n_clusters
            check_enough_rows(shape[0], k)
            if prepared and not is_pipeline:
                return _fit_prepared(partitions, summary, reference, k, random_state, scale)
            return _fit(partitions, summary, reference, k, random_state)
    return centered_reference(reference, n_clusters, shape, "kmeans")


def _labelled(
    partitions: PartitionedRows,
    summary: RowSummary,
    n_clusters: int | None,
    names: tuple[str, ...],
) -> Reference:
    """Labels that partitions bring with their rows; a pass finds the means of the clusters."""
    if n_clusters is not None and n_clusters != len(names):
        raise ValueError(
            f"n_clusters={n_clusters}, but the labels have {len(names)} clusters; leave "
            "n_clusters out to take their number."
        )
    place = np.empty((len(names), 0))
    reference = Reference(place, None, True, cost="labels", names=names, called=LABELS)
    means = _means_in_columns(partitions, reference, summary)
    middle = np.asarray(summary.low + (summary.high - summary.low) / 2)
    return replace(reference, centers=np.where(np.isnan(means), middle, means))


def centers_in_columns(
    partitions: PartitionedRows, reference: Reference, summary: RowSummary
) -> Floats:
    """The centers in the columns of X; with a pipeline, the means of the rows nearest to each.

    That takes a pass. A center that is nearest to no row gets NaN.
    """
    if reference.pipeline is None and reference.cost != "cosine":
        return reference.centers
    return _means_in_columns(partitions, reference, summary)


def _means_in_columns(
    partitions: PartitionedRows, reference: Reference, summary: RowSummary
) -> Floats:
    columns = FixedPointColumns.of(
        summary.low, summary.high, summary.weight, summary.integer_weights
    )
    step = AssignToCenters(reference, columns, in_columns=True)
    return columns.means(partitions.map_reduce(step).sums)


def _check_possible(reference: Any, n_clusters: int | None) -> None:
    """Refuse a reference that sums over partitions cannot fit."""
    clusterer = last_step(reference)
    steps = [] if reference is clusterer else [step for _, step in reference.steps[:-1]]
    if not (
        isinstance(clusterer, FastKMeans | KMeans | MiniBatchKMeans)
        and not callable(getattr(clusterer, "init", None))
        and len(steps) <= 1
        and all(isinstance(step, StandardScaler) for step in steps)
    ):
        names = ", ".join(type(step).__name__ for step in [*steps, clusterer])
        raise ValueError(
            f"A reference of {names} cannot be fitted on partitioned rows; fit it on a sample and "
            "pass it fitted. KMeans can, after a StandardScaler or without."
        )
    if n_clusters is not None and clusterer.n_clusters != n_clusters:
        raise ValueError(
            f"n_clusters={n_clusters}, but {type(reference).__name__} has "
            f"{clusterer.n_clusters} clusters."
        )


def _fit(
    partitions: PartitionedRows,
    summary: RowSummary,
    reference: Any,
    n_clusters: int,
    random_state: Any,
) -> Reference:
    """Fit in passes; or in memory, if there are no more rows than a pass would draw."""
    if summary.n_rows > sample_size(partitions.n_features, n_clusters):
        model = _clusterer(reference, n_clusters)
        init = getattr(model, "init", None)
        return kmeans(
            partitions,
            summary,
            n_clusters,
            _seed(model, random_state),
            before=reference[:-1] if _has_steps(reference) else None,
            init=None if isinstance(init, str) else init,
            **_stopping(model),
        )
    X, weights = partitions.map_reduce(CollectRows())
    with one_thread():
        fitted = fit_reference(reference, n_clusters, X, X, weights, random_state)
    if fitted.pipeline is not None:
        name_columns(fitted.pipeline, partitions.names)
    return fitted


def _check_pipeline(reference: Any, partitions: PartitionedRows, scale: str) -> None:
    """Refuse a pipeline that is not fitted to rows that are not all numbers, or a scale beside."""
    columns = partitions.columns
    if scale != "auto":
        raise ValueError(
            f"scale={scale!r} is for a reference that is no pipeline; scale in the pipeline."
        )
    if columns is not None and not is_fitted(reference):
        raise ValueError(
            "A pipeline cannot be fitted on partitioned rows with categories, dates or missing "
            "values; fit it on a sample and pass it fitted, or pass no reference."
        )
    if not partitions.has_raw_rows:
        raise ValueError(
            "A pipeline takes rows as they are written, but files and queries with categories or "
            "missing values are kept as numbers; read them with dask.dataframe.read_parquet, or "
            "pass no reference."
        )


def _fit_prepared(
    partitions: PartitionedRows,
    summary: RowSummary,
    reference: Any,
    n_clusters: int,
    random_state: Any,
    scale: str,
) -> Reference:
    """Fit k-means on what `TablePreparation` makes of the rows.

    If that takes no more than ``_COLLECTED`` numbers, in memory, so that the reference is the one
    that these rows have in memory. Otherwise the preparation is that of a sample, which the number
    of each row decides on, and k-means is fitted in passes.
    """
    columns = partitions.columns
    known = plain_columns(partitions.n_features) if columns is None else columns
    if summary.n_rows * widest(known) <= _COLLECTED:
        X, weights = partitions.map_reduce(CollectRows())
        with one_thread():
            return fit_reference(
                reference, n_clusters, X, X, weights, random_state, columns=columns, scale=scale
            )
    model = _clusterer(reference, n_clusters)
    seed = _seed(model, random_state)
    sampler = RowSampler.of(seed, _PREPARING, _PREPARED_ROWS, summary.weight, summary.n_rows)
    rows, weights = partitions.map_reduce(SampleRows(sampler)).weighted_rows()
    before = TablePreparation.of(known, rows, weights, scale)
    return kmeans(partitions, summary, n_clusters, seed, before=before, **_stopping(model))


def _has_steps(reference: Any) -> bool:
    return isinstance(reference, Pipeline) and len(reference) > 1


def _clusterer(reference: Any, n_clusters: int) -> Any:
    return KMeans(n_clusters) if is_named_reference(reference) else last_step(reference)


def _stopping(model: Any) -> dict[str, Any]:
    """When Lloyd's rounds end."""
    tol = max(model.tol, _LEAST_TOL) if isinstance(model, MiniBatchKMeans) else model.tol
    return {"max_iter": model.max_iter, "tol": tol}


def _seed(model: Any, random_state: Any) -> int:
    if model.random_state is not None:
        random_state = model.random_state
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


Collected = tuple[NDArray[Any], Floats | None]


@dataclass(frozen=True)
class CollectRows(MapReduceStep[Collected]):
    """Bring all rows and their weights to the driver; only for few rows."""

    def map(self, partition: Partition) -> Collected:
        """Return the rows of one partition."""
        return partition.X, partition.weights

    def reduce(self, one: Collected, other: Collected) -> Collected:
        """Append the rows that come later."""
        weights = None
        if one[1] is not None and other[1] is not None:
            weights = np.concatenate([one[1], other[1]])
        return np.concatenate([one[0], other[0]]), weights
