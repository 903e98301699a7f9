"""Laws of two fits: the same tree for the same rows, however they are given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fuzz.case import SPARSE, STORAGES, Case
from fuzz.draw import as_stored
from fuzz.law import Trial, has_centers, is_exact, is_grown, is_ordinary, law, near
from tests.helpers.partitioned_cases import ListedPartitions, split_rows
from treemeans.costs.cost_table import SMALLEST

PARTITIONED_BASES = ("imm", "none", "given")


def assert_same(model: Any, other: Any, labels: bool = True) -> None:
    a, b = model.tree_, other.tree_
    for name in ("feature", "threshold", "left", "right", "label"):
        assert np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True), (
            name,
            getattr(a, name).tolist(),
            getattr(b, name).tolist(),
        )
    if labels:
        assert np.array_equal(model.labels_, other.labels_), "labels_"
    _assert_same_cost(model, other)


def _assert_same_cost(model: Any, other: Any) -> None:
    """The same inertia, to nine digits."""
    zero = _nearly_zero(model)
    assert near(model.inertia_, other.inertia_, 1e-9, zero), (model.inertia_, other.inertia_)


def _nearly_zero(model: Any) -> float:
    """What rounding of the means may leave of a cost that is 0."""
    facts = model._fit_result
    with np.errstate(over="ignore"):
        return 1e-28 * float(facts.hits.sum() * (facts.spread**2).sum()) + 1e-300


def assert_same_but_for_numbers(model: Any, other: Any) -> None:
    """The same cuts and clusters; a search adds up in the order of memory, so that two clusters
    which cost the same may have each other's number."""
    for name in ("feature", "threshold"):
        a, b = getattr(model.tree_, name), getattr(other.tree_, name)
        assert np.array_equal(a, b, equal_nan=True), name
    pairs = set(zip(model.labels_.tolist(), other.labels_.tolist(), strict=True))
    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs), "labels_"
    _assert_same_cost(model, other)


def _other_storages(case: Case) -> list[str]:
    """Those that hold the same numbers."""
    return [
        storage
        for storage in STORAGES
        if storage != case.storage and np.array_equal(as_stored(case.X, storage)[0], case.X)
        and as_stored(case.X, storage)[1] == storage
        # Where sums of squares are rounded, sparse tables add them in another order.
        and (
            (is_exact(case) and is_grown(case))
            or (
                (storage in SPARSE) == (case.storage in SPARSE)
                and "explicit zeros" not in (storage, case.storage)
            )
        )
    ]  # fmt: skip


@law("storage", share=0.7, applies=has_centers)
def storage(trial: Trial) -> None:
    """Dense = sparse = float32 = integers = data frame."""
    others = _other_storages(trial.case)
    if others:
        chosen = others[int(trial.case.rng(2).integers(len(others)))]
        # A given tree of scikit-learn and k-means see the table itself, which is the same.
        other = trial.fit(X=trial.case.table(chosen))
        if is_grown(trial.case) or is_exact(trial.case):
            assert_same(trial.model, other)
        else:
            assert_same_but_for_numbers(trial.model, other)


@law("threads", share=0.25)
def threads(trial: Trial) -> None:
    """One thread = two, bit for bit."""
    other = trial.fit(n_jobs=2)
    assert other.tree_ == trial.model.tree_
    assert other.inertia_ == trial.model.inertia_
    assert np.array_equal(other.predict(trial.case.table()), trial.model.labels_)


@law(
    "partitions",
    share=0.05,
    applies=lambda case: (
        has_centers(case)
        and case.storage not in SPARSE
        and case.parameters["base_tree"] in PARTITIONED_BASES
        and case.parameters["refine"] != "optimal"
        and case.parameters.get("protected") is None  # which needs all rows in one memory
        and case.n_rows < 400
    ),
)
def partitions(trial: Trial) -> None:
    """Rows in parts give the tree of the rows in one memory; refined, one that costs no more."""
    case, rng = trial.case, trial.case.rng(3)
    n_partitions, seed = int(rng.integers(1, 5)), int(rng.integers(1000))
    arrays = split_rows(case.X, n_partitions, seed)
    weights = None if case.weights is None else split_rows(case.weights, n_partitions, seed)
    plain = trial.model if is_grown(case) else trial.fit(refine="none", search_rounds=None)
    names = np.array([f"c{i}" for i in range(case.X.shape[1])]) if case.storage == "frame" else None
    other = trial.fit(
        replace(case, weights=None),
        ListedPartitions(arrays, weights, names),
        refine="none",
        search_rounds=None,
    )
    assert_same(plain, other, labels=False)
    if not is_grown(case):
        found = trial.fit(replace(case, weights=None), ListedPartitions(arrays, weights, names))
        scale = 1e-28 * float(case.row_weights @ (case.X**2).sum(axis=1)) + 1e-300
        prices = case.parameters["feature_costs"]
        if prices is None:
            assert found.inertia_ <= plain.inertia_ * (1 + 1e-9) + scale, "refined in parts"


@law("row order", share=0.8, applies=lambda case: has_centers(case) and is_grown(case))
def row_order(trial: Trial) -> None:
    """The order of the rows is no matter."""
    case = trial.case
    if case.parameters["base_tree"] in ("given", "random", "kauri", "best", "cart"):
        return  # drawn by row, or sums of floats
    order = case.rng(4).permutation(case.n_rows)
    # Which zeros are stored follows from the place of a row: take the stored rows themselves.
    table = case.table()[order] if case.storage == "explicit zeros" else None
    other = trial.fit(case.keep_rows(order), X=table)
    assert_same(trial.model, other, labels=False)
    assert np.array_equal(trial.model.labels_[order], other.labels_)


@law(
    "copies",
    applies=lambda case: (
        has_centers(case)
        and is_grown(case)
        and case.weights is not None
        and case.weights.max() < 5
        and case.n_rows < 400
        # Sums of sparse tables are rounded by what else is in the table.
        and (case.storage not in SPARSE or is_exact(case))
        # A share of less than a row allows leaves without rows, unless rows have weights.
        and case.parameters["min_samples_leaf"] >= 1
        # Prices above that of all rows are alike where rows have weights.
        and max(case.parameters["feature_costs"] or [0.0]) <= 1.0
        # Rounding keeps rows without weight on their side, too.
        and not (case.parameters["round_thresholds"] and (case.weights == 0).any())
        and bool(np.array_equal(case.weights, np.floor(case.weights)))
    ),
)
def copies(trial: Trial) -> None:
    """A row of weight 2 is two rows; one of weight 0 is none."""
    case = trial.case
    if case.parameters["base_tree"] in ("given", "random", "kauri", "best", "cart"):
        return
    rows = np.repeat(np.arange(case.n_rows), case.weights.astype(int))
    if len(rows) < len(trial.model.reference_centers_):
        return
    if np.abs(case.X[rows]).max() < SMALLEST <= np.abs(case.X).max():
        return  # what is left without the rows of weight 0 is too small, and refused
    other = trial.fit(replace(case.keep_rows(rows), weights=None))
    assert_same(trial.model, other, labels=False)
    assert np.array_equal(trial.model.labels_[rows], other.labels_)


@law("scale", share=0.6, applies=lambda case: has_centers(case) and is_ordinary(case))
def scale(trial: Trial) -> None:
    """Values times a power of two: the same tree, its thresholds times that power."""
    case = trial.case
    values = np.abs(np.vstack([case.X, case.centers]))
    values = values[values > 0]
    if case.parameters["base_tree"] in ("given", "cart", "random") or not len(values):
        return
    if values.min() < 1e-60 or values.max() > 1e60 or case.parameters["round_thresholds"]:
        return
    power = 2.0 ** int(case.rng(5).choice([-40, -3, 5, 60]))
    parameters = case.parameters | {"reference": (case.centers * power).tolist()}
    stored = "dense" if case.storage in ("int64", "float32") else case.storage
    plain = trial.model if stored == case.storage else trial.fit(X=case.table("dense"))
    other = trial.fit(replace(case, X=case.X * power, parameters=parameters, storage=stored))
    a, b = plain.tree_, other.tree_
    assert np.array_equal(a.feature, b.feature), "feature"
    assert np.array_equal(a.threshold * power, b.threshold, equal_nan=True), "threshold"
    assert np.array_equal(plain.labels_, other.labels_), "labels_"


@law("weight scale", share=0.4, applies=is_exact)
def weight_scale(trial: Trial) -> None:
    """Weights times a power of two: the same tree, its cost times that power."""
    case = trial.case
    if case.weights is None or case.parameters["min_samples_leaf"] > 1:
        return  # a limit that counts weights
    # A KD-tree counts whole rows where weights are whole numbers.
    if case.parameters["base_tree"] in ("given", "cart", "random", "kdtree"):
        return
    power = 2.0 ** int(case.rng(10).choice([-30, -1, 4, 50]))
    other = trial.fit(replace(case, weights=case.weights * power))
    a, b = trial.model, other
    assert np.array_equal(a.tree_.feature, b.tree_.feature), "feature"
    assert np.array_equal(a.tree_.threshold, b.tree_.threshold, equal_nan=True), "threshold"
    assert np.array_equal(a.labels_, b.labels_), "labels_"
    zero = _nearly_zero(b)
    assert near(a.inertia_ * power, b.inertia_, 1e-9, zero), (a.inertia_, b.inertia_, power)


@law("constant column", share=0.4, applies=lambda case: has_centers(case) and is_grown(case))
def constant_column(trial: Trial) -> None:
    """A column that is zero in all rows and centers changes nothing."""
    case = trial.case
    if case.parameters["base_tree"] in ("given", "cart", "random", "best"):
        return
    parameters = case.parameters | {
        "reference": np.hstack([case.centers, np.zeros((len(case.centers), 1))]).tolist()
    }
    for name, value in (("allowed_features", True), ("feature_costs", 0.0)):
        if parameters[name] is not None:
            parameters[name] = [*parameters[name], value]
    wider = np.hstack([case.X, np.zeros((case.n_rows, 1))])
    other = trial.fit(replace(case, X=wider, parameters=parameters))
    assert_same(trial.model, other)
