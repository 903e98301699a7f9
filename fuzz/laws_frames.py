"""Laws of data frames with mixed columns: what leaves a model reads rows as predict does."""

from __future__ import annotations

import sqlite3
import warnings
from typing import Any

import numpy as np
import pandas as pd

from fuzz.case import Case
from fuzz.frames import FRAMES, Floats, names_of, pandas_frame, raw_rows
from fuzz.law import Trial, law
from fuzz.laws_export import _duckdb


def is_frame(case: Case) -> bool:
    return case.kinds is not None


def walked(model: Any, rows: list[dict[str, Any]]) -> list[int]:
    """Leaf of each row, by the questions of the tree on the values as the user has them."""
    tree, found = model.tree_, []
    for row in rows:
        node = 0
        while tree.feature[node] >= 0:
            split = tree.split(node)
            column = model.columns_[split.feature]
            value = row[column.name]
            if value is None:
                goes_left = split.missing_left
            elif np.isinf(split.threshold):  # asks only whether there is a value
                goes_left = split.threshold > 0
            elif split.is_categorical:
                goes_left = str(value) in [column.categories[code] for code in split.categories]
            else:
                goes_left = _counted(value, column.unit) <= split.threshold
            assert goes_left is not None, "a training row has no side"
            node = int(tree.left[node] if goes_left else tree.right[node])
        found.append(node)
    return found


def _counted(value: Any, unit: str) -> float:
    """A value as a number: dates in days since 1970, durations in their unit."""
    if isinstance(value, float | int):
        return float(value)
    moment = (
        pd.Timedelta(value) if hasattr(value, "days") else pd.Timestamp(value) - pd.Timestamp(0)
    )
    seconds = {"D": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}[unit or "D"]
    return moment / pd.Timedelta(seconds=1) / seconds


def other_rows(trial: Trial) -> Floats:
    """Training rows in which some values are missing, and some categories are new."""
    case, rng = trial.case, trial.case.rng(9)
    assert case.kinds is not None
    X = case.X[rng.integers(case.n_rows, size=20)].copy()
    X[rng.random(X.shape) < 0.15] = np.nan
    for i, kind in enumerate(case.kinds):
        if kind in ("category", "levels"):
            X[rng.random(len(X)) < 0.1, i] = -1.0
    return X


@law("frame rows", applies=is_frame)
def frame_rows(trial: Trial) -> None:
    """labels_ = predict = label of apply = a walk down the tree with the user's own values."""
    case = trial.case
    rows, table = raw_rows(case.X, case.kinds), case.table()
    for model in trial.sizes:
        leaf = model.apply(table)
        assert leaf.tolist() == walked(model, rows), "apply"
        assert np.array_equal(model.tree_.label[leaf], model.labels_), "labels_"
        assert np.array_equal(model.predict(table), model.labels_), "predict"


@law("frame packages", share=0.3, applies=is_frame)
def frame_packages(trial: Trial) -> None:
    """pandas = polars = pyarrow, for the fit and for predict."""
    for storage in FRAMES:
        if storage != trial.case.storage:
            table = trial.case.table(storage)
            assert np.array_equal(trial.model.predict(table), trial.model.labels_), storage
    if len(np.unique(trial.space, axis=0)) < len(trial.model.reference_centers_):
        return  # two of k-means' centers are the same, but for the order in which it adds
    other = trial.fit(X=trial.case.table("polars" if trial.case.storage != "polars" else "pandas"))
    # The order of numbers in memory, which differs, is that in which k-means adds them up.
    a, b = trial.model.tree_, other.tree_
    for name in ("feature", "threshold", "left", "right", "label", "missing_left"):
        assert np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True), name
    assert np.array_equal(trial.model.labels_, other.labels_), "labels_"
    assert [c.name for c in other.columns_] == [c.name for c in trial.model.columns_]


@law("missing at predict", share=0.5, applies=is_frame)
def missing_at_predict(trial: Trial) -> None:
    """A missing value or new category is refused in a sentence, or has the side that is stated."""
    case, model = trial.case, trial.model
    X = other_rows(trial)
    table = FRAMES[case.storage](X, case.kinds)
    try:
        model.predict(table)
    except ValueError as error:
        if "Input X contains NaN" not in str(error):
            raise
    filled = model.with_missing_sides()
    found = filled.predict(table)
    assert found.tolist() == filled.tree_.label[walked(filled, raw_rows(X, case.kinds))].tolist()


@law("frame exports", share=0.25, applies=is_frame)
def frame_exports(trial: Trial) -> None:
    """Python and SQL give the clusters of predict for rows that lack values or are new."""
    case, model = trial.case, trial.model.with_missing_sides()
    X = np.vstack([case.X[:20], other_rows(trial)])
    frame = pandas_frame(X, case.kinds)
    expected = model.predict(frame).tolist()
    space: dict[str, Any] = {}
    exec(model.to_python(), space)
    assert [space["predict"](row) for row in raw_rows(X, case.kinds)] == expected, "Python"
    table = frame.copy()
    for name, kind in zip(names_of(case.kinds), case.kinds, strict=True):
        if kind == "number levels":
            table[name] = table[name].astype(object).map(str, na_action="ignore")
    table.insert(0, "id", range(len(X)))
    _duckdb().register("mixed", table)
    answers = _duckdb().execute(model.to_sql("duckdb", "mixed")).fetchall()
    assert {row[0]: row[-1] for row in answers} == dict(enumerate(expected)), "DuckDB"
    if "duration" not in case.kinds:
        with sqlite3.connect(":memory:") as connection:
            table.to_sql("mixed", connection, index=False)
            answers = connection.execute(model.to_sql("sqlite", "mixed")).fetchall()
        connection.close()
        assert {row[0]: row[-1] for row in answers} == dict(enumerate(expected)), "SQLite"


@law("frame rules", share=0.3, applies=is_frame)
def frame_rules(trial: Trial) -> None:
    """A row meets rules of its own cluster and of no other; they and the tree can be printed."""
    model, table = trial.model, trial.case.table()
    X = model._validate(table, reset=False)
    found = model.rules()
    for each in found:
        met = np.zeros(len(X), dtype=bool)
        for rule in each:
            met |= np.all(
                [values.holds(X[:, feature]) for feature, values in rule.box.items()]
                or [np.ones(len(X), dtype=bool)],
                axis=0,
            )
        assert np.array_equal(met, model.labels_ == each.cluster), each.cluster
    assert str(found)
    assert model.to_text()
    assert model.rules()._repr_html_()


@law("frame explained", share=0.2, applies=is_frame)
def frame_explained(trial: Trial) -> None:
    """An explanation of a row is of its cluster; a counterfactual leads where it says."""
    case, model = trial.case, trial.model
    used = {column.name for column in model.columns_}
    rows = [{k: v for k, v in row.items() if k in used} for row in raw_rows(case.X[:4], case.kinds)]
    to = int(case.rng(8).choice(model.tree_.label[model.tree_.leaves]))
    for row, label in zip(rows, model.labels_.tolist(), strict=False):
        explained = model.explain(row)
        assert explained.cluster == label, (row, explained.cluster, label)
        assert str(explained)
        changed = model.counterfactual(row, to=to)
        assert str(changed)
        if changed.possible:
            new = row | {name: pair[1] for name, pair in changed.changes.items()}
            assert model.explain(new).cluster == to, (row, changed.changes, to)


@law("frame monitored", share=0.05, applies=is_frame)
def frame_monitored(trial: Trial) -> None:
    """Figures of the training rows can be printed; they have not drifted; a refit labels them."""
    model, table = trial.model, trial.case.table()
    if trial.case.cost != "kmeans":
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drift = model.drift(table)
        assert str(drift)
        assert str(model.confidence(table))
        again = model.refit(table, sample_weight=trial.case.weights)
    assert again.predict(table).shape == model.labels_.shape
