"""Laws of what leaves the model: files, SQL, Python, ONNX, scikit-learn, rules, counterfactuals."""

from __future__ import annotations

import sqlite3
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.law import Trial, law
from tests.helpers.plain_numpy import leaf_of
from tests.helpers.sql_cases import neighbours
from tests.oracles.rules_oracle import clusters_of
from treemeans import export_text, load

Floats = NDArray[np.float64]


def rows_around(trial: Trial, n: int = 40) -> Floats:
    """Rows on thresholds, next to them, and of the table."""
    tree, rng = trial.model.tree_, trial.case.rng(6)
    cut = tree.threshold[tree.feature >= 0]
    X = trial.case.X[rng.integers(trial.case.n_rows, size=n)]
    if not len(cut):
        return X
    near = neighbours(cut)
    return np.where(rng.random(X.shape) < 0.5, rng.choice(near, X.shape), X)


def _names(model: Any) -> list[str]:
    return [column.name for column in model.columns_]


def _expected(trial: Trial, X: Floats) -> list[int]:
    tree = trial.model.tree_
    return tree.label[leaf_of(tree, X)].tolist()


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzz-"))


@law("saved", share=0.05)
def saved(trial: Trial) -> None:
    """A loaded model is the saved one, and is saved to the same bytes."""
    model = trial.model
    if model._fit_result.reference.pipeline is not None:
        return
    path, second = _folder() / "model.json", _folder() / "again.json"
    model.save(path)
    other = load(path)
    assert other.tree_ == model.tree_
    assert np.array_equal(other.predict(trial.case.table()), model.labels_)
    assert np.array_equal(other.path_, model.path_)
    assert other.inertia_ == model.inertia_
    assert export_text(other) == export_text(model)
    assert list(other.cluster_names_) == list(model.cluster_names_)
    assert len(set(model.cluster_names_)) == len(model.cluster_names_)
    smallest = int(model.path_["n_leaves"][0])
    assert other.with_leaves(smallest).tree_ == model.with_leaves(smallest).tree_
    other.save(second)
    assert path.read_bytes() == second.read_bytes()


@law("python", share=0.1)
def python(trial: Trial) -> None:
    """The exported function gives the clusters of predict."""
    X, names, space = rows_around(trial), _names(trial.model), {}
    exec(trial.model.to_python(), space)
    found = [space["predict"](dict(zip(names, row, strict=True))) for row in X.tolist()]
    assert found == _expected(trial, X)


@law("sqlite", share=0.02)
def sqlite(trial: Trial) -> None:
    """SQLite gives the clusters of predict, in one query and in one condition a cluster."""
    X, names = rows_around(trial, 30), _names(trial.model)
    with sqlite3.connect(":memory:") as connection:
        columns = ", ".join(f'"{name}" REAL' for name in names)
        connection.execute(f"CREATE TABLE t (id INTEGER, {columns})")
        marks = ", ".join("?" * (len(names) + 1))
        rows = [(i, *row) for i, row in enumerate(X.tolist())]
        connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        answers = connection.execute(trial.model.to_sql("sqlite", "t")).fetchall()
    connection.close()
    assert {row[0]: row[-1] for row in answers} == dict(enumerate(_expected(trial, X)))


@cache
def _duckdb() -> Any:
    import duckdb

    return duckdb.connect(config={"threads": 1})


@law("duckdb", share=0.01)
def in_duckdb(trial: Trial) -> None:
    """So does DuckDB."""
    import pandas as pd

    X = rows_around(trial, 30)
    table = pd.DataFrame(X, columns=_names(trial.model))
    table.insert(0, "id", range(len(X)))
    _duckdb().register("t", table)
    answers = _duckdb().execute(trial.model.to_sql("duckdb", "t")).fetchall()
    assert {row[0]: row[-1] for row in answers} == dict(enumerate(_expected(trial, X)))


@law("onnx", share=0.01)
def in_onnx(trial: Trial) -> None:
    """So does an ONNX runtime."""
    import onnxruntime

    X = rows_around(trial)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    graph = trial.model.to_onnx().SerializeToString()
    (found,) = onnxruntime.InferenceSession(graph, options).run(None, {"X": X})
    assert found.tolist() == _expected(trial, X)


@law("sklearn", share=0.03)
def in_sklearn(trial: Trial) -> None:
    """So does the decision tree of scikit-learn, on rows of float32 it can tell apart."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # float32 loses a cut
        if np.abs(trial.case.X).max() > 1e38:
            return
        classifier = trial.model.to_sklearn()
        with np.errstate(under="ignore"):
            X = trial.case.X.astype(np.float32)
        if np.array_equal(X, trial.case.X):
            assert classifier.predict(X).tolist() == _expected(trial, trial.case.X)


@law("rules", share=0.05)
def rules(trial: Trial) -> None:
    """A row meets rules of its own cluster and of no other; the words can be printed."""
    model, X = trial.model, rows_around(trial)
    if any(column.kind in ("category", "flag", "boolean") for column in model.columns_):
        X = trial.case.X  # rules of flags speak of values that occur
    found = model.rules()
    assert [sorted(c) for c in clusters_of(found, X)] == [[c] for c in _expected(trial, X)]
    assert str(found)
    assert export_text(model)


@law("explained", share=0.05)
def explained(trial: Trial) -> None:
    """An explanation names the cluster of predict; a counterfactual leads where it says."""
    model, X = trial.model, trial.case.X[:20]
    names = _names(model)
    row = dict(zip(names, X[0].tolist(), strict=True))
    assert str(model.explain(row))
    to = int(trial.case.rng(8).choice(model.tree_.label[model.tree_.leaves]))
    changed = model.counterfactual(dict(row), to=to)
    if changed.possible:
        new = [changed.changes[name][1] if name in changed.changes else row[name] for name in names]
        assert _expected(trial, np.array([new], dtype=np.float64)) == [to]
