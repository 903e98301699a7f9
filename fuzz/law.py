"""Trial: a case and its fit. Law: what must hold of it. The registry of laws."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fuzz.case import Case, Failure
from treemeans import ExKMC, tree_estimator

Floats = NDArray[np.float64]
LARGE = 10**6
"""Entries of an array of extended precision that is made at once."""


class QuietExKMC(ExKMC):
    """ExKMC without the sentences about bad segments, which take longer than a small fit; the law
    `warnings` makes them."""

    def _show_warnings(self) -> None:
        pass


@contextmanager
def no_look_in_passing() -> Iterator[None]:
    """Fits without the comparison with shuffled columns, a tenth of the time: the later fits of a
    case are compared with the first by their trees, labels and costs."""
    made = tree_estimator.look_in_passing
    tree_estimator.look_in_passing = lambda *_, **__: ()
    try:
        yield
    finally:
        tree_estimator.look_in_passing = made


class Trial:
    """A case, its fitted model, and how many fits it has taken.

    Attributes
    ----------
    model : None where the fit was refused
    error : what it was refused with
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.n_fits = 0
        self.model: Any = None
        self.error: Exception | None = None
        try:
            self.model = self.fit()
        except Exception as error:
            self.error = error

    def fit(self, case: Case | None = None, X: Any = None, **changes: Any) -> ExKMC:
        """Fit a case (this one), on another form of its table, or with other parameters."""
        case = self.case if case is None else case
        self.n_fits += 1
        table = case.table() if X is None else X
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing but the warnings below may reach a user
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", module="sklearn")
            warnings.filterwarnings("ignore", "Columns left out|Column .* only in rows of weight 0")
            warnings.filterwarnings("ignore", ".* of infinite cost")
            estimator = case.estimator(QuietExKMC, **changes)
            plain = case.weights is None or (not hasattr(table, "__len__") and X is not None)
            with nullcontext() if self.n_fits == 1 else no_look_in_passing():
                estimator.fit(table, **({} if plain else {"sample_weight": case.weights}))
        estimator.__class__ = ExKMC
        return estimator

    @cached_property
    def space(self) -> Floats:
        """The rows where costs are measured."""
        reference = self.model._fit_result.reference
        if self.case.kinds is not None:
            X = self.model._validate(self.case.table(), reset=False)
            return X if reference.pipeline is None else reference.space(X, self.case.table())
        if reference.pipeline is None:
            return self.case.X
        rows = reference.space(self.case.table(), self.case.table())
        return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)

    @cached_property
    def sizes(self) -> list[Any]:
        """The models of the smallest, a middle and the largest number of leaves."""
        n = self.model.path_["n_leaves"]
        return [self.model.with_leaves(int(i)) for i in sorted({n[0], n[len(n) // 2], n[-1]})]

    @cached_property
    def smallest(self) -> float:
        """What a cost of rows about their means may be off by: a part of that about zero."""
        squares = (self.space.astype(np.longdouble) ** 2).sum(axis=1)
        return 1e-28 * float(self.case.row_weights @ squares) + 1e-300

    @cached_property
    def rounding(self) -> float:
        """What fixed point may add to or take off a surrogate cost: the largest, by 2**60."""
        w, n = self.case.row_weights, self.case.n_rows
        centers = np.vstack([self.model.reference_centers_, self.model._fit_result.centers])
        largest = float((w.astype(np.longdouble) @ squared_distances(self.space, centers)).max())
        # Weights that are whole numbers multiply what is rounded already.
        whole = w.sum() if np.array_equal(w, np.floor(w)) else w.sum() / w.max()
        return largest * max(1.0, n, float(whole)) * 2.0**-58

    @cached_property
    def _spread(self) -> float:
        """Root of the cost of all rows about their mean."""
        X, w = self.space.astype(np.longdouble), self.case.row_weights
        away = X - (w @ X) / w.sum()
        return float(np.sqrt(w @ (away**2).sum(axis=1)))

    @cached_property
    def rounded_means(self) -> float:
        """What rows at their mean may cost, because it is rounded as part of the whole table."""
        centers = self.model._fit_result.centers
        places = np.vstack([self.space, centers[np.isfinite(centers).all(axis=1)]])
        extent = 4 * np.finfo(float).eps * np.ptp(places, axis=0)
        return float(self.case.row_weights.sum() * (extent**2).sum())

    def lost_beside_outliers(self, cost: float) -> float:
        """What a cost may be off by because means are rounded: clusters may be far apart."""
        return float(8 * np.finfo(float).eps * self._spread * np.sqrt(cost))


@dataclass(frozen=True)
class Law:
    """What must hold of a trial.

    Attributes
    ----------
    check : raises where the law is broken
    applies : whether the law speaks of a case
    share : of the cases it applies to, those it is checked on; less where it is slow
    """

    name: str
    check: Callable[[Trial], None]
    applies: Callable[[Case], bool]
    share: float


LAWS: dict[str, Law] = {}


def law(
    name: str, *, share: float = 1.0, applies: Callable[[Case], bool] = lambda case: True
) -> Callable[[Callable[[Trial], None]], Callable[[Trial], None]]:
    """Register a function as a law."""

    def register(check: Callable[[Trial], None]) -> Callable[[Trial], None]:
        assert name not in LAWS
        LAWS[name] = Law(name, check, applies, share)
        return check

    return register


LAWS_WITHIN_LIMITS = {
    "refusal", "labels", "costs", "reference", "path", "limits", "limits on clusters",
    "protected", "thresholds", "score", "again", "pickled",
    "saved", "python", "rules", "explained", "threads", "rounded thresholds",
    "frame rows", "frame packages", "missing at predict", "frame exports", "frame rules",
    "frame explained", "other costs", "cost table", "groups", "warnings",
}  # fmt: skip
"""Laws that speak of trees with limits on clusters too: other labels than the cheapest, and cuts
by costs plus prices, are none that the oracles find."""


LAWS_OF_FRAMES = {
    "refusal", "costs", "reference", "path", "limits", "limits on clusters", "again", "pickled",
    "saved", "threads", "rounded thresholds", "refined", "sizes", "score",
    "frame rows", "frame packages", "missing at predict", "frame exports", "frame rules",
    "frame explained", "frame monitored", "other costs", "path of other costs", "warnings",
}  # fmt: skip
"""Laws that speak of data frames with mixed columns."""

LAWS_OF_OTHER_COSTS = {
    "refusal", "labels", "limits", "limits on clusters", "protected", "thresholds", "again",
    "pickled", "saved", "python", "sqlite", "duckdb", "onnx", "rules", "explained", "threads",
    "rounded thresholds", "other costs", "cost table", "path of other costs",
    "frame rows", "frame packages", "missing at predict", "frame exports", "frame rules",
    "frame explained", "warnings",
}  # fmt: skip
"""Laws that speak of other costs than squared distances."""


def speaks_of(name: str, case: Case) -> bool:
    """Whether a law speaks of cases of this kind at all."""
    if is_limited(case) and name not in LAWS_WITHIN_LIMITS:
        return False
    if case.kinds is not None and name not in LAWS_OF_FRAMES:
        return False
    return case.cost == "kmeans" or name in LAWS_OF_OTHER_COSTS


def is_limited(case: Case) -> bool:
    """Whether sizes of clusters are limited."""
    return any(
        case.parameters.get(name) is not None
        for name in ("min_cluster_size", "max_cluster_size", "balance")
    )


def check_case(case: Case, only: str | None = None) -> tuple[Failure | None, int]:
    """The first law that a case breaks, and how many fits that took.

    ``only``: this law and no other. Otherwise, of a case that failed once, all laws.
    """
    trial = Trial(case)
    draws = case.rng(7).random(len(LAWS))
    for one, draw in zip(LAWS.values(), draws, strict=True):
        if only is not None and one.name != only:
            continue
        if not speaks_of(one.name, case):
            continue
        if (only or case.law or draw < one.share) and one.applies(case):
            if trial.model is None and one.name != "refusal":
                continue
            try:
                one.check(trial)
            except Exception as error:
                message = f"{type(error).__name__}: {error}".strip()
                where = traceback.extract_tb(error.__traceback__)[-1]
                message += f" ({where.filename.rpartition('/')[2]}:{where.lineno})"
                return Failure(replace(case, law=one.name), message), trial.n_fits
    return None, trial.n_fits


# ---- what several laws ask -----------------------------------------------------------------------


def near(a: float, b: float, rel: float, atol: float = 0.0) -> bool:
    return bool(abs(a - b) <= rel * max(abs(a), abs(b)) + atol)


def squared_distances(X: Floats, centers: Floats) -> NDArray[Any]:
    """Squared distance of each row to each center, in extended precision."""
    rows = X.astype(np.longdouble)
    if X.size * len(centers) <= LARGE:
        return ((rows[:, None] - centers[None]) ** 2).sum(axis=2)
    return np.stack([((rows - center) ** 2).sum(axis=1) for center in centers], axis=1)


def kmeans_cost(X: Floats, labels: NDArray[Any], weights: Floats) -> float:
    """Cost of clusters about their means, in extended precision."""
    rows = np.flatnonzero(weights > 0)
    rows = rows[np.lexsort((-weights[rows], labels[rows]))]  # the heaviest of a cluster first
    first = np.flatnonzero(np.diff(labels[rows], prepend=-1))
    n_rows = np.diff(first, append=len(rows))
    w = weights[rows].astype(np.longdouble)[:, None]
    D = X[rows].astype(np.longdouble) - np.repeat(X[rows[first]], n_rows, axis=0)
    means = np.add.reduceat(w * D, first) / np.add.reduceat(w, first)
    return float((w * (D - np.repeat(means, n_rows, axis=0)) ** 2).sum())


def cost_to(X: Floats, centers: Floats, weights: Floats) -> float:
    """Cost of rows, each to its own center, in extended precision."""
    D = X.astype(np.longdouble) - centers
    return float(weights.astype(np.longdouble) @ (D**2).sum(axis=1))


def is_ordinary(case: Case) -> bool:
    """Whether values and weights are such that the fit must succeed."""
    if case.kinds is not None:
        return case.weights is None or _plain_weights(case.weights)
    values = np.abs(case.X if case.centers is None else np.vstack([case.X, case.centers]))
    if values.max() > 1e100 or 0 < np.abs(case.X).max() < 1e-100:
        return False
    if case.parameters["reference"] in ("scaled", "pca"):  # scikit-learn may refuse the table
        return False
    if case.weights is None:
        return True
    total = np.log10(max(case.weights.sum(), 1.0)) + 2 * np.log10(max(values.max(), 1.0))
    return _plain_weights(case.weights) and bool(total < 290)


def _plain_weights(weights: Floats) -> bool:
    used = weights[weights > 0]
    return bool(len(used) and used.max() < 1e12 * used.min() and 1e-150 < used.max() < 1e150)


def is_exact(case: Case) -> bool:
    """Whether values, centers and weights have so few digits that no cost is rounded."""
    parts = [case.X, case.row_weights[:, None]]
    if case.centers is None:
        return False
    return all(
        bool(np.abs(part).max() < 2**12 and np.array_equal(part * 16, np.round(part * 16)))
        for part in [*parts, case.centers]
    )


def is_grown(case: Case) -> bool:
    """Whether the tree is that of the expansion, not refined."""
    return case.parameters["refine"] == "none"


def has_centers(case: Case) -> bool:
    """Whether the reference is the same for any form of the table."""
    return case.centers is not None
