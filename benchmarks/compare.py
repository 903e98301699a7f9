"""A fixed set of fits, recorded on one build of treemeans and compared on another.

    python -m benchmarks compare --write before.json      # on the one commit
    python -m benchmarks compare --against before.json    # on the other

The file uses only the public interface of treemeans and imports nothing else from this repository,
so an older commit, which does not have it, runs it by its path: ``python compare.py --write ...``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import treemeans
from treemeans import ExKMC, baselines

DIALECTS = ("PostgreSQL", "DuckDB", "SQLite", "BigQuery", "Snowflake", "Spark", "MySQL", "T-SQL")
TREE_ARRAYS = (
    *("feature", "threshold", "left", "right", "label"),
    *("weight", "costs", "growth", "gap"),
)
FITTED = (
    *("labels_", "reference_labels_", "inertia_", "surrogate_inertia_", "reference_inertia_"),
    *("n_leaves_", "n_iter_", "cluster_centers_", "cluster_profiles_", "feature_importances_"),
)
STORED_VALUES = 4000  # longer arrays are compared by their hash
ROUNDING = 1e-9  # relative difference that is reported as rounding, not as a difference

Fit = tuple[Any, Any]  # a fitted model, and rows in memory that it can label


# The fits


def _blobs(n: int = 1500, d: int = 6, k: int = 8, seed: int = 0) -> np.ndarray:
    """Overlapping groups of very different size and scale, one column constant."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d)) * 3
    X = centers[rng.choice(k, n, p=rng.dirichlet(np.ones(k)))] + rng.normal(size=(n, d))
    X *= 10.0 ** rng.integers(-3, 4, d)
    X[:, -1] = 0.3
    return X


def _ties(n: int = 600, d: int = 5, seed: int = 1) -> np.ndarray:
    """Few distinct values, so that many cuts cost the same."""
    return np.random.default_rng(seed).integers(0, 4, (n, d)).astype(float)


def _counts(n: int = 500, d: int = 60, seed: int = 2) -> sparse.csr_matrix:
    return sparse.random(
        n, d, 0.1, "csr", np.float64, np.random.RandomState(seed), lambda m: np.arange(m) % 7 + 1.0
    )


def _customers(n: int = 500, seed: int = 3) -> pd.DataFrame:
    """Numbers, whole numbers, a flag, dates and one-hot columns."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "spend": np.round(rng.gamma(2.0, 200.0, n), 2),
            "visits": rng.poisson(4, n),
            "member": (rng.random(n) < 0.4) * 1,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            'it\'s "odd"': rng.normal(size=n),
            "color": rng.choice(["red", "dark green", "blue"], n),
        }
    )
    return pd.get_dummies(frame, columns=["color"], dtype=float)


def _weights(n: int, seed: int = 4) -> np.ndarray:
    """Weights with zeros, fractions and large numbers among them."""
    return np.random.default_rng(seed).choice([0.0, 0.25, 1.0, 3.0, 1000.0], n)


def _centers(X: Any, k: int) -> np.ndarray:
    return KMeans(k, n_init=2, random_state=0).fit(X).cluster_centers_


def _scaled(k: int) -> Any:
    return make_pipeline(StandardScaler(), PCA(3), KMeans(k, n_init=2, random_state=0))


def _fit(X: Any, k: int, *, weights: Any = None, **parameters: Any) -> Fit:
    """Fit with the centers of k-means, unless another reference is named."""
    if "reference" not in parameters:
        parameters["reference"] = _centers(X, k)
    return ExKMC(k, random_state=0, **parameters).fit(X, sample_weight=weights), X


def _partitioned(make: Callable[[np.ndarray], Any], k: int = 5, **parameters: Any) -> Fit:
    """Fit rows in parts, which ``make`` makes of rows in memory."""
    X = np.round(_blobs(900, 4, k), 3)
    return ExKMC(k, reference=_centers(X, k), random_state=0, **parameters).fit(make(X)), X


def _dask_array(X: np.ndarray) -> Any:
    import dask.array

    return dask.array.from_array(X, chunks=(200, X.shape[1]))


def _parquet(X: np.ndarray) -> Any:
    """Rows in a Parquet file, which lives as long as the process."""
    import pyarrow as pa
    import pyarrow.parquet

    path = Path(FOLDER.name, f"{len(X)}.parquet")
    table = pa.table({f"x{j}": column for j, column in enumerate(X.T)})
    pyarrow.parquet.write_table(table, path, row_group_size=170)
    return treemeans.open_parts(path)


def _dask_frame() -> Fit:
    import dask.dataframe

    frame = _customers()
    reference = _centers(_numbers(frame), 4)
    model = ExKMC(4, reference=reference, max_leaf_nodes=10, round_thresholds=True)
    return model.fit(dask.dataframe.from_pandas(frame, npartitions=3)), frame


def _dask_clusters() -> Fit:
    """The clustering itself on rows in parts."""
    X = np.round(_blobs(900, 4, 5), 3)
    return ExKMC(5, random_state=0, max_leaf_nodes=10).fit(_dask_array(X)), X


def _numbers(frame: pd.DataFrame) -> np.ndarray:
    """Dates as days since 1970, as treemeans reads them."""
    days = frame["since"].to_numpy().astype("datetime64[D]").astype(float)
    return frame.assign(since=days).to_numpy(dtype=float)


def _given(make: Callable[[np.ndarray, np.ndarray], Any], **parameters: Any) -> Fit:
    X = load_wine().data
    labels = KMeans(3, n_init=2, random_state=0).fit_predict(X)
    return _fit(X, 3, base_tree=make(X, labels), **parameters)


def _decision_tree(X: np.ndarray, labels: np.ndarray) -> Any:
    return DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, labels)


def _threshold_tree(X: np.ndarray, labels: np.ndarray) -> Any:
    nan = float("nan")
    return treemeans.ThresholdTree(
        [0, -1, 12, -1, -1],
        [13.0, nan, 755.0, nan, nan],
        [1, -1, 3, -1, -1],
        [2, -1, 4, -1, -1],
        [0, 0, 1, 1, 2],
        n_features=X.shape[1],
    )


def _baseline(name: str, X: np.ndarray, k: int, **parameters: Any) -> Fit:
    model = getattr(baselines, name)(k, reference=_centers(X, k), random_state=0, **parameters)
    return model.fit(X), X


def _fits() -> dict[str, Callable[[], Fit]]:
    """All fits by name."""
    iris, wine = load_iris().data, load_wine().data
    digits, cancer = load_digits().data, load_breast_cancer().data
    blobs, ties, counts, shop = _blobs(), _ties(), _counts(), _customers()
    fits: dict[str, Callable[[], Fit]] = {
        "iris, k-means of its own": lambda: _fit(iris, 3, reference=None, max_leaf_nodes=12),
        "iris, all leaves": lambda: _fit(iris, 3, max_leaf_nodes=150),
        "digits, two threads": lambda: _fit(digits, 10, max_leaf_nodes=40, n_jobs=2),
        "digits, float32": lambda: _fit(digits.astype(np.float32), 10),
        "cancer": lambda: _fit(cancer, 6, max_leaf_nodes=30),
        "far from zero": lambda: _fit(iris + 1e6, 3, max_leaf_nodes=10),
        "given centers": lambda: _fit(iris, 3, reference=iris[[0, 70, 140]], max_leaf_nodes=8),
        "mini batches": lambda: _fit(
            blobs, 5, reference=MiniBatchKMeans(5, n_init=1, random_state=0, batch_size=2000)
        ),
        "rounded": lambda: _fit(blobs, 8, max_leaf_nodes=24, round_thresholds=True),
        "weights": lambda: _fit(blobs, 8, weights=_weights(1500), max_leaf_nodes=24),
        "weights and limits": lambda: _fit(
            ties, 5, weights=_weights(600), max_leaf_nodes=20, min_samples_leaf=0.02, max_depth=6
        ),
        "sparse": lambda: _fit(counts, 6, max_leaf_nodes=20),
        "sparse, csc": lambda: _fit(counts.tocsc(), 6, max_leaf_nodes=20, base_tree="exgreedy"),
        "sparse, weights": lambda: _fit(counts, 6, weights=_weights(500), max_leaf_nodes=20),
        "sparse, local": lambda: _fit(counts, 6, max_leaf_nodes=20, refine="local"),
        "sparse, pipeline": lambda: _fit(
            counts,
            4,
            reference=make_pipeline(
                TruncatedSVD(3, random_state=0), KMeans(4, n_init=2, random_state=0)
            ),
        ),
        "pipeline": lambda: _fit(wine, 4, reference=_scaled(4), max_leaf_nodes=12),
        "pipeline, search": lambda: _fit(
            wine, 4, reference=_scaled(4), max_leaf_nodes=12, refine="search", search_rounds=60
        ),
        "frame": lambda: _fit(shop, 4, reference=_scaled(4), max_leaf_nodes=14),
        "frame, rounded": lambda: _fit(
            shop, 4, reference=_scaled(4), max_leaf_nodes=14, round_thresholds=True
        ),
        "frame, priced": lambda: _fit(
            shop,
            4,
            reference=_scaled(4),
            max_leaf_nodes=14,
            feature_costs={"spend": 0.05, "since": 0.01},
            allowed_features=[name for name in shop if name != "member"],
            refine="local",
        ),
        "decision tree given": lambda: _given(_decision_tree, max_leaf_nodes=8),
        "threshold tree given": lambda: _given(_threshold_tree, max_leaf_nodes=8),
        "given, refined": lambda: _given(_threshold_tree, max_leaf_nodes=8, refine="local"),
        "search, more leaves": lambda: _fit(
            digits[:600], 10, max_leaf_nodes=30, refine="search", search_rounds=40
        ),
        "search, limits": lambda: _fit(
            blobs,
            6,
            max_leaf_nodes=14,
            refine="search",
            search_rounds=60,
            min_samples_leaf=40,
            max_depth=5,
        ),
        "search, weights": lambda: _fit(
            blobs, 6, weights=_weights(1500), max_leaf_nodes=14, refine="search", search_rounds=60
        ),
        "dask frame": _dask_frame,
        "dask, clustered": _dask_clusters,
        "parquet": lambda: _partitioned(_parquet, max_leaf_nodes=12),
        "parquet, search": lambda: _partitioned(
            _parquet, max_leaf_nodes=9, refine="search", search_rounds=40
        ),
        "baseline IMM": lambda: _baseline("IMM", wine, 5),
        "baseline CART": lambda: _baseline("CART", digits, 10, max_leaf_nodes=25),
        "baseline CART, cheapest label": lambda: _baseline("CART", iris, 3, leaf_label="cost"),
        "baseline KDTree": lambda: _baseline("KDTree", cancer, 5, max_leaf_nodes=12),
        "baseline CLTree": lambda: _baseline("CLTree", iris, 3),
        "baseline CUBT": lambda: _baseline("CUBT", iris, 3, max_leaf_nodes=9),
    }
    for base in ("imm", "emn", "exgreedy", "random", "kauri", "cart", "kdtree", "none", "best"):
        for name, X, k in (("blobs", blobs, 8), ("ties", ties, 5)):
            options = {"base_tree": base, "max_leaf_nodes": 3 * k, "n_random_trees": 3}
            fits[f"{name}, {base}"] = lambda X=X, k=k, o=options: _fit(X, k, **o)
            fits[f"{name}, {base}, bare"] = lambda X=X, k=k, o=options: _fit(
                X, k, **(o | {"max_leaf_nodes": k})
            )
        limits = {"min_samples_leaf": 25, "max_depth": 5, "feature_costs": {0: 0.02, 1: 0.0}}
        fits[f"limits, {base}"] = lambda b=base, o=limits: _fit(
            blobs,
            6,
            base_tree=b,
            max_leaf_nodes=15,
            n_random_trees=3,
            allowed_features=[0, 1, 2, 3],
            **o,
        )
        fits[f"local, {base}"] = lambda b=base: _fit(
            cancer, 5, base_tree=b, max_leaf_nodes=12, refine="local", n_random_trees=3
        )
        fits[f"search, {base}"] = lambda b=base: _fit(
            wine,
            4,
            base_tree=b,
            max_leaf_nodes=9,
            refine="search",
            search_rounds=40,
            n_random_trees=3,
        )
    for base in ("imm", "none"):
        fits[f"dask, {base}"] = lambda b=base: _partitioned(
            _dask_array, base_tree=b, max_leaf_nodes=12
        )
        fits[f"dask, local, {base}"] = lambda b=base: _partitioned(
            _dask_array, base_tree=b, max_leaf_nodes=12, refine="local", min_samples_leaf=5
        )
    return fits


# What is recorded of a fit


def _array(values: Any) -> dict[str, Any]:
    """An array's type and shape with its values or, if it is long, their hash."""
    array = np.ascontiguousarray(values)
    if array.dtype.names:
        return {name: _array(array[name]) for name in array.dtype.names}
    entry: dict[str, Any] = {"type": str(array.dtype), "shape": list(array.shape)}
    if array.size <= STORED_VALUES:
        return entry | {"values": array.ravel().tolist()}
    return entry | {"sha256": hashlib.sha256(array.tobytes()).hexdigest()}


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    return json.loads(json.dumps(value, default=lambda x: x.item() if hasattr(x, "item") else x))


def _attempt(call: Callable[[], Any]) -> Any:
    """What a call returns, or the type of what it raises."""
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}"


def _fit_result(model: Any, X: Any) -> dict[str, Any]:
    """Everything about a fitted model that must not change, and the text of its file."""
    record: dict[str, Any] = {
        f"tree.{name}": _array(getattr(model.tree_, name)) for name in TREE_ARRAYS
    }
    for name in FITTED:
        if hasattr(model, name):
            record[name] = _array(getattr(model, name))
    record["path_"] = _array(model.path_)
    record["predict"] = _array(model.predict(X))
    record["apply"] = _array(model.apply(X))
    smaller = int(model.path_["n_leaves"][len(model.path_) // 2])
    record["predict of a smaller tree"] = _array(model.with_leaves(smaller).predict(X))
    record["rules"] = str(model.rules())
    record["rules as dict"] = _plain(model.rules().to_dict())
    record["text"] = treemeans.export_text(model)
    record["graphviz"] = treemeans.export_graphviz(model)
    record["python"] = model.to_python()
    for dialect in DIALECTS:
        record[f"sql, {dialect}"] = _attempt(lambda d=dialect: model.to_sql(d, "shop.customers"))
        record[f"sql where, {dialect}"] = _plain(
            _attempt(lambda d=dialect: model.to_sql(d, form="where"))
        )
    first = X.iloc[[0]] if hasattr(X, "iloc") else X[[0]]
    record["explain"] = _attempt(lambda: str(model.explain(first)))
    record["counterfactual"] = _attempt(lambda: str(model.counterfactual(first, to=1)))
    path = Path(FOLDER.name, "model.json")
    model.save(path)
    record["saved"] = path.read_text()
    record["loaded"] = _loaded(record["saved"], X)
    return record


def _loaded(text: str, X: Any) -> dict[str, Any]:
    """A model read from the text of its file: what it predicts, and its rules."""
    path = Path(FOLDER.name, "model.json")
    path.write_text(text)
    model = treemeans.load(path)
    return {
        "predict": _array(model.predict(X)),
        "path_": _array(model.path_),
        "rules as dict": _plain(model.rules().to_dict()),
        **{f"tree.{name}": _array(getattr(model.tree_, name)) for name in TREE_ARRAYS},
    }


def _records(
    names: list[str], before: dict[str, Any] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run the fits. What an earlier build saved is loaded too, and stands beside what it was."""
    fits = _fits()
    for name in [name for name in fits if not names or any(part in name for part in names)]:
        start = time.perf_counter()
        try:
            with threadpool_limits(1):  # k-means on several threads rounds differently every time
                model, X = fits[name]()
            record = _fit_result(model, X)
            old = (before or {}).get(name, {})
            if "saved" in old:
                record["loaded, file of the earlier build"] = _loaded(old["saved"], X)
                old["loaded, file of the earlier build"] = old["loaded"]
        except Exception:
            record = {"error": traceback.format_exc().splitlines()[-1]}
        print(f"{time.perf_counter() - start:6.2f} s  {name}", file=sys.stderr, flush=True)
        yield name, record


# Comparison


def _differences(key: str, one: Any, other: Any, scale: float = 0.0) -> Iterator[tuple[str, str]]:
    """Pairs of "rounding" or "different" and a sentence.

    ``scale`` is the largest number beside this one in its entry: a mean that cancels to zero beside
    numbers of about 10 is as close as they are.
    """
    if one == other or (one != one and other != other):
        return
    if isinstance(one, dict) and isinstance(other, dict) and "values" in one and "values" in other:
        yield from _array_differences(key, one, other)
    elif isinstance(one, dict) and isinstance(other, dict):
        scale = max((abs(v) for v in one.values() if isinstance(v, float)), default=0.0)
        for name in sorted(one.keys() | other.keys()):
            yield from _differences(f"{key}: {name}", one.get(name), other.get(name), scale)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from _differences(f"{key}[{i}]", a, b)
    elif isinstance(one, float) and isinstance(other, float):
        close = abs(one - other) <= ROUNDING * max(abs(one), abs(other), scale)
        yield "rounding" if close else "different", f"{key}: {one!r} -> {other!r}"
    elif isinstance(one, str) and isinstance(other, str):
        lines = zip([*one.splitlines(), ""], [*other.splitlines(), ""], strict=False)
        a, b = next(((a, b) for a, b in lines if a != b), (one[-60:], other[-60:]))
        yield "different", f"{key}:\n      - {a[:300]}\n      + {b[:300]}"
    else:
        yield "different", f"{key}: {str(one)[:120]} -> {str(other)[:120]}"


def _array_differences(
    key: str, one: dict[str, Any], other: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    if (one["type"], one["shape"]) != (other["type"], other["shape"]):
        kinds = [f"{each['type']} {each['shape']}" for each in (one, other)]
        yield "different", f"{key}: {kinds[0]} -> {kinds[1]}"
        return
    a, b = (np.array(each["values"], dtype=one["type"]) for each in (one, other))
    floats = a.dtype.kind == "f"
    unequal = np.flatnonzero(~((a == b) | ((a != a) & (b != b)) if floats else a == b))
    if not unequal.size:
        return
    first = unequal[0]
    where = f"{key}: {unequal.size} of {a.size} values, first {a[first]!r} -> {b[first]!r}"
    # Entries that nearly cancel are close on the scale of the array.
    scale = np.nanmax(np.abs(a)) if floats else 0
    close = floats and np.allclose(a, b, rtol=ROUNDING, atol=ROUNDING * scale, equal_nan=True)
    yield "rounding" if close else "different", where


def _compare(before: dict[str, Any], names: list[str], ignored: list[str]) -> int:
    """Run the fits, print what differs; the number of fits that do, apart from rounding."""
    ignored = [*ignored, "saved"]  # the text of a file may change as long as it loads
    counts = {"identical": 0, "rounding": 0, "different": 0}
    for name, record in _records(names, before):
        if name not in before:
            print(f"{name}: not in the earlier file")
            continue
        old, new = before[name], record
        keys = [key for key in {**old, **new} if key not in ignored]
        found = [d for key in keys for d in _differences(key, old.get(key), new.get(key))]
        kind = min((kind for kind, _ in found), default="identical")
        counts[kind] += 1
        if found:
            print(f"{name}: {kind}")
            for each, text in found:
                print(f"    [{each}] {text}")
    print(", ".join(f"{number} {kind}" for kind, number in counts.items()))
    return counts["different"]


def main(arguments: list[str] | None = None) -> None:
    """Write the record of this build, or compare this build with a record."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks compare",
        description="Fit a fixed set of models (about a minute) and compare trees, labels, paths, "
        "rules, SQL and saved models with those of another build. Fits that differ by more than "
        "rounding make the exit status 1.",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", metavar="FILE", type=Path, help="record this build")
    what.add_argument("--against", metavar="FILE", type=Path, help="compare with a record")
    what.add_argument("--list", action="store_true", help="print the names of the fits")
    parser.add_argument(
        "--only", nargs="+", default=[], help="fits whose name contains a TEXT", metavar="TEXT"
    )
    parser.add_argument(
        "--ignore",
        nargs="+",
        default=[],
        metavar="ENTRY",
        help="entries that are not compared, such as rules or explain",
    )
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if options.list:
        print("\n".join(_fits()))
    elif options.write:
        options.write.write_text(json.dumps(dict(_records(options.only)), indent=0))
    else:
        sys.exit(
            1
            if _compare(json.loads(options.against.read_text()), options.only, options.ignore)
            else 0
        )


FOLDER = tempfile.TemporaryDirectory(prefix="treemeans-compare-")

if __name__ == "__main__":
    main()
