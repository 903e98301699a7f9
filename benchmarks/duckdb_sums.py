"""``python -m benchmarks duckdb``: sums of a fit computed by SQL in DuckDB, or from rows read out.

The tree needs, for each node, the costs of the rows in each bin of each column. A warehouse can
compute these sums itself; this measures whether that is faster than a fit that reads the rows.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from treemeans import ExKMC

COLUMNS, CLUSTERS, LEAVES, BINS = 20, 10, 20, 128


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks duckdb", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(0)
    centers = 2.0 * rng.normal(size=(CLUSTERS, COLUMNS))
    group = rng.integers(CLUSTERS, size=options.rows)
    X = centers[group] + rng.normal(size=(options.rows, COLUMNS))
    table = pa.table({f"x{j}": X[:, j] for j in range(COLUMNS)})
    print("| step | processor seconds |\n| :-- | --: |")
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(Path(folder) / "rows.db") as db:
        db.execute("set threads = 1")
        db.register("given", table)
        db.execute("create table t as from given")
        model = ExKMC(CLUSTERS, max_leaf_nodes=LEAVES, reference=centers, n_jobs=1)
        _timed("rows read out", lambda: sum(len(b) for b in db.sql("from t").to_arrow_reader()))
        _timed("costs of the rows by SQL, once a fit", lambda: db.execute(costs_query(centers)))
        _timed("codes of the bins by SQL, once a fit", lambda: db.execute(codes_query()))
        _timed("sums of one node by SQL", lambda: db.execute(sums_query()).fetchnumpy())
        _timed("whole fit from a query, rows read out", lambda: model.fit(db.sql("from t")))
        _timed("whole fit in memory", lambda: model.fit(X))


def costs_query(centers: np.ndarray) -> str:
    """Squared distances of all rows to all centers."""
    costs = [
        # A product: DuckDB takes twice as long for the power of two.
        " + ".join(f"(x{j} - ({v!r})) * (x{j} - ({v!r}))" for j, v in enumerate(center))
        for center in centers.tolist()
    ]
    return f"create table p as select *, {_listed('({}) as c{}', costs)} from t"


def codes_query() -> str:
    """Bins of equal width, the cheapest that SQL can compute, and costs as whole numbers."""
    codes = [
        f"cast(least({BINS - 1}, greatest(0, floor((x{j} + 10) * {BINS / 20}))) as utinyint)"
        for j in range(COLUMNS)
    ]
    costs = [f"cast(c{i} * 1e9 as bigint)" for i in range(CLUSTERS)]
    parts = f"{_listed('{} as b{}', codes)}, {_listed('{} as r{}', costs)}"
    return f"create table b as select {parts} from p"


def sums_query() -> str:
    """Costs at every center, by bin of every column."""
    bins = [f"b{j}" for j in range(COLUMNS)]
    sums = ", ".join(f"sum(r{i})" for i in range(CLUSTERS))
    sets = ", ".join(f"({each})" for each in bins)
    return f"select {', '.join(bins)}, {sums} from b group by grouping sets ({sets})"


def _listed(form: str, expressions: Sequence[str]) -> str:
    return ", ".join(form.format(each, i) for i, each in enumerate(expressions))


def _timed(what: str, run: Callable[[], object]) -> None:
    start = time.process_time()
    run()
    print(f"| {what} | {time.process_time() - start:.2f} |", flush=True)
