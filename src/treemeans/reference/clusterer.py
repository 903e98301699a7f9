"""Questions to a clusterer of the user: is it fitted, what are its centers, labels and metric?"""

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

METRICS = {
    "kmeans": ("euclidean", "sqeuclidean", "l2", "minkowski"),
    "kmedians": ("manhattan", "cityblock", "l1"),
    "cosine": ("cosine",),
}
"""The metrics of a clusterer around centers that go with each cost."""
_COST_OF_METRIC = {metric: cost for cost, metrics in METRICS.items() for metric in metrics}


def last_step(estimator: Any) -> Any:
    """The clusterer itself, where it is the end of a pipeline."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def is_foreign(reference: Any) -> bool:
    """Whether it is a clusterer of a package that does not follow scikit-learn's conventions."""
    clusters = hasattr(reference, "fit_predict") or hasattr(reference, "labels_")
    return clusters and not isinstance(reference, type) and not hasattr(reference, "get_params")


def foreign_labels(clusterer: Any, X: Any, n_rows: int) -> Any:
    """The labels that it has for the rows, or gives them, which leaves it as it is."""
    labels = getattr(clusterer, "labels_", None)
    if labels is not None and (len(labels) == n_rows or not hasattr(clusterer, "fit_predict")):
        return labels
    return deepcopy(clusterer).fit_predict(X)


def is_fitted(estimator: Any) -> bool:
    """Whether it knows its centers; a pipeline of which only some steps are fitted is refused."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    _refuse_unfitted_steps(estimator)
    return True


def _refuse_unfitted_steps(estimator: Any) -> None:
    """Refuse a fitted clusterer after steps that are not: it may have seen other columns."""
    for name, step in estimator.steps[:-1] if isinstance(estimator, Pipeline) else ():
        if not hasattr(step, "fit"):  # None or "passthrough"
            continue
        try:
            check_is_fitted(step)
        except NotFittedError:
            raise ValueError(
                f"The reference ends in a fitted {type(last_step(estimator)).__name__}, but its "
                f"step {name!r} is not fitted; fit the whole pipeline, or pass it unfitted."
            ) from None


def is_mixture(estimator: Any) -> bool:
    """Whether it is a mixture: components with means, and responsibilities of rows."""
    clusterer = last_step(estimator)
    return hasattr(clusterer, "predict_proba") and hasattr(clusterer, "weights_")


def fitted_clone(estimator: Any, X: Any, sample_weight: Any, random_state: Any) -> Any:
    """A clone, seeded by ``random_state`` where it has no seed of its own, and fitted."""
    _refuse_distances(estimator, X)
    estimator = clone(estimator)
    if random_state is not None:
        seeds = {
            name: random_state
            for name, value in estimator.get_params().items()
            if name.split("__")[-1] == "random_state" and value is None
        }
        estimator.set_params(**seeds)
    if sample_weight is None:
        return _fitted(estimator, X)
    last = estimator.steps[-1] if isinstance(estimator, Pipeline) else ("", estimator)
    if not has_fit_parameter(last[1], "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but {type(last[1]).__name__}.fit takes none. "
            "Fit the reference yourself and pass it fitted."
        )
    prefix = f"{last[0]}__" if last[0] else ""
    return _fitted(estimator, X, **{f"{prefix}sample_weight": sample_weight})


def _refuse_distances(estimator: Any, X: Any) -> None:
    """Refuse a clusterer that takes a table of distances, which X is not."""
    metrics = [getattr(estimator, name, None) for name in ("metric", "affinity")]
    if "precomputed" in metrics and len(set(np.shape(X))) > 1:
        raise ValueError(
            f"{type(estimator).__name__} takes a table of distances of all rows (precomputed) in "
            "place of X; choose a metric, or fit it and pass it fitted."
        )


def _fitted(estimator: Any, X: Any, **weights: Any) -> Any:
    """Fit a clusterer to a data frame; to its values if the clusterer takes arrays only."""
    with np.errstate(over="ignore", invalid="ignore"):  # costs that overflow are refused later
        try:
            return estimator.fit(X, **weights)
        except ValueError:  # about the data
            raise
        except Exception:
            # Packages beside scikit-learn index rows as X[rows], which in a frame are columns.
            if isinstance(estimator, Pipeline) or not hasattr(X, "columns"):
                raise
            values = np.asarray(X)
            if values.dtype.kind not in "biuf":
                raise
            return clone(estimator).fit(values, **weights)


def check_clusterer(clusterer: Any) -> None:
    """Refuse, before it is fitted, what does not cluster."""
    name = type(clusterer).__name__
    if not hasattr(clusterer, "fit_predict") and not hasattr(clusterer, "cluster_centers_"):
        raise ValueError(f"The reference must be a clusterer or end in one; {name} is not one.")


def check_metric(clusterer: Any, cost: str) -> None:
    """Refuse centers of a clusterer by another distance than the one that rows are priced by."""
    for parameter in ("metric", "affinity"):
        metric = getattr(clusterer, parameter, None)
        if metric is None or metric in METRICS[cost]:
            continue
        other = _COST_OF_METRIC.get(metric, "labels") if isinstance(metric, str) else "labels"
        raise ValueError(
            f"{type(clusterer).__name__} clusters with {parameter}={metric!r}, so its centers are "
            f'no reference for cost="{cost}"; use cost="{other}".'
        )


def centers_of(estimator: Any) -> Any:
    """Centers of a clusterer, or of the one that a pipeline ends in; None if it has none."""
    return getattr(last_step(estimator), "cluster_centers_", None)


def labels_of(clusterer: Any, reference: Any, n_rows: int, rows: Any) -> Any:
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
