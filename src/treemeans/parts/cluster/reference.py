"""The reference clustering of rows in parts: the same argument as in memory."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from treemeans.checks import check_enough_rows
from treemeans.parts.block import Block
from treemeans.parts.cluster.kmeans import kmeans, one_thread, sample_size
from treemeans.parts.cluster.passes import Passes, Told
from treemeans.parts.cluster.scaler import name_columns
from treemeans.parts.cluster.sums import Columns
from treemeans.parts.cluster.tally import TakeTally
from treemeans.parts.question import Parts, Question
from treemeans.parts.sketch import Sketch
from treemeans.reference import (
    Reference,
    check_clusterer,
    fit_reference,
    is_fitted,
    last_step,
    ready_reference,
)

Floats = NDArray[np.float64]

_LEAST_TOL = 1e-4  # MiniBatchKMeans has other ways to stop, hence its tolerance of 0


def fit_reference_on(
    parts: Parts,
    sketch: Sketch,
    reference: Any,
    n_clusters: int | None,
    random_state: Any,
    told: Told | None = None,
) -> Reference:
    """Centers of ``reference``: whatever it may be in memory, if it can be fitted in passes.

    Parameters
    ----------
    parts, sketch : the rows, and what is known of them
    reference, n_clusters, random_state : as the user gave them
    told : hears of every pass
    """
    shape = sketch.n_rows, parts.n_features
    if n_clusters is not None:
        check_enough_rows(shape[0], n_clusters)
    if sketch.weight == 0:
        raise ValueError("sample_weight is zero for every row, so there is nothing to cluster.")
    if isinstance(reference, FrozenEstimator):
        reference = reference.estimator
    if reference is None:
        assert n_clusters is not None
        return _fit(parts, sketch, None, n_clusters, random_state, told)
    if hasattr(reference, "fit"):
        check_clusterer(last_step(reference))
        if not is_fitted(reference):
            _check_possible(reference, n_clusters)
            k = last_step(reference).n_clusters
            check_enough_rows(shape[0], k)
            return _fit(parts, sketch, reference, k, random_state, told)
    return ready_reference(reference, n_clusters, shape, given=True)


def centers_in_columns(parts: Parts, reference: Reference, sketch: Sketch) -> Floats:
    """The centers in the columns of X: with a pipeline, the means of the rows nearest to each.

    That takes a pass. A center nearest to no row then has no place there: NaN.
    """
    if reference.pipeline is None:
        return reference.centers
    columns = Columns.of(sketch.low, sketch.high, sketch.weight, sketch.whole)
    return columns.means(parts.ask(TakeTally(reference, columns, in_columns=True)).sums)


def _check_possible(reference: Any, n_clusters: int | None) -> None:
    """Refuse what takes more than passes that add something up."""
    clusterer = last_step(reference)
    steps = [] if reference is clusterer else [step for _, step in reference.steps[:-1]]
    if not (
        isinstance(clusterer, KMeans | MiniBatchKMeans)
        and not callable(clusterer.init)
        and len(steps) <= 1
        and all(isinstance(step, StandardScaler) for step in steps)
    ):
        names = ", ".join(type(step).__name__ for step in [*steps, clusterer])
        raise ValueError(
            f"A reference of {names} cannot be fitted on rows in parts; fit it on a sample and "
            "pass it fitted. KMeans can, after a StandardScaler or without."
        )
    if n_clusters is not None and clusterer.n_clusters != n_clusters:
        raise ValueError(
            f"n_clusters={n_clusters}, but {type(reference).__name__} has "
            f"{clusterer.n_clusters} clusters."
        )


def _fit(
    parts: Parts,
    sketch: Sketch,
    reference: Any,
    n_clusters: int,
    random_state: Any,
    told: Told | None,
) -> Reference:
    """In memory, where the rows are no more than would be drawn of them; or else in passes."""
    if sketch.n_rows > sample_size(parts.n_features, n_clusters):
        model = KMeans(n_clusters) if reference is None else last_step(reference)
        return kmeans(
            parts,
            sketch,
            n_clusters,
            _seed(random_state if model.random_state is None else model.random_state),
            before=reference[:-1] if _has_steps(reference) else None,
            max_iter=model.max_iter,
            tol=max(model.tol, _LEAST_TOL) if isinstance(model, MiniBatchKMeans) else model.tol,
            init=None if isinstance(model.init, str) else model.init,
            told=told,
        )
    X, weights = Passes(parts, told).ask(TakeRows(), "reading rows")
    with one_thread():
        fitted = fit_reference(reference, n_clusters, X, X, weights, random_state)
    if fitted.pipeline is not None:
        name_columns(fitted.pipeline, parts.names)
    return fitted


def _has_steps(reference: Any) -> bool:
    return isinstance(reference, Pipeline) and len(reference) > 1


def _seed(random_state: Any) -> int:
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


@dataclass(frozen=True)
class TakeRows(Question[tuple[NDArray[Any], Floats | None]]):
    """All rows and their weights, of which there must be few."""

    def ask(self, block: Block) -> tuple[NDArray[Any], Floats | None]:
        """Those of one block."""
        return block.X, block.weights

    def merge(
        self, one: tuple[NDArray[Any], Floats | None], other: tuple[NDArray[Any], Floats | None]
    ) -> tuple[NDArray[Any], Floats | None]:
        """Those of both."""
        weights = None
        if one[1] is not None and other[1] is not None:
            weights = np.concatenate([one[1], other[1]])
        return np.concatenate([one[0], other[0]]), weights
