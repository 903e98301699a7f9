"""Laws of other costs than squared distances: stated costs are those of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.case import Case
from fuzz.law import Floats, Trial, law, near

DIGITS = 1e-9


def is_other_cost(case: Case) -> bool:
    return case.cost != "kmeans"


def rows_cost(case: Case, labels: NDArray[Any]) -> tuple[float, float]:
    """Cost of clusters with their best representatives, and the size of what is added up."""
    X, w = case.X.astype(np.longdouble), case.row_weights
    if case.cost == "labels":
        wrong = np.array(case.parameters["reference"]) != labels
        return float(w @ wrong), float(w.sum())
    total, size = np.longdouble(0.0), np.longdouble(0.0)
    for cluster in np.unique(labels):
        rows = np.flatnonzero((labels == cluster) & (w > 0))
        weight = w[rows].astype(np.longdouble)
        if not len(rows):
            continue
        if case.cost == "kmedians":
            for column in X[rows].T:
                total += weight @ np.abs(column - _median(column, weight))
            size += weight @ np.abs(X[rows]).sum(axis=1)
        else:
            with np.errstate(all="ignore"):
                unit = X[rows] / np.abs(X[rows]).max(axis=1, keepdims=True)
                unit = np.nan_to_num(unit / np.sqrt((unit**2).sum(axis=1, keepdims=True)))
            total += weight.sum() - np.sqrt(((weight @ unit) ** 2).sum())
            size += weight.sum()
    return float(total), float(size)


def _median(values: NDArray[Any], weight: NDArray[Any]) -> Any:
    order = np.argsort(values, kind="stable")
    return values[order][np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)]


@law("other costs", applies=lambda case: is_other_cost(case) and case.cost != "table")
def other_costs(trial: Trial) -> None:
    """inertia_ is the cost of the tree's clusters, at every size."""
    for model in trial.sizes:
        truth, size = rows_cost(trial.case, model.labels_)
        slack = size * 2.0**-40 + 1e-300
        assert near(model.inertia_, truth, DIGITS, slack), (model.inertia_, truth, size)
        assert model.path_[-1]["kmeans_cost"] == model.inertia_


@law("cost table", applies=lambda case: case.cost == "table")
def cost_table(trial: Trial) -> None:
    """inertia_ is the sum of what rows cost at their clusters, the least of all costs being 0."""
    given: Floats = np.array(trial.case.parameters["cost"])
    shifted = given - min(0.0, float(given[np.isfinite(given)].min()))
    w = trial.case.row_weights
    for model in trial.sizes:
        each = shifted[np.arange(len(given)), model.labels_]
        if not np.isfinite(each[w > 0]).all():
            continue
        truth = float(w[w > 0] @ each[w > 0])
        finite = np.where(np.isfinite(shifted), shifted, 0.0).max(axis=1)
        assert near(model.inertia_, truth, DIGITS, 1e-12 * float(w @ finite) + 1e-300)


@law("path of other costs", applies=is_other_cost)
def path_of_other_costs(trial: Trial) -> None:
    """Every number of leaves, with costs to the grown centers that never rise."""
    found = trial.model.path_
    assert np.array_equal(np.diff(found["n_leaves"]), np.ones(len(found) - 1)), "n_leaves"
    which = "surrogate_cost" if trial.case.parameters["refine"] == "none" else "kmeans_cost"
    slack = 1e-9 * np.abs(found[which]).max() + 1e-300
    _, size = rows_cost(trial.case, trial.model.labels_) if trial.case.cost != "table" else (0, 0.0)
    assert (np.diff(found[which]) <= slack + size * 2.0**-40).all(), found[which].tolist()
