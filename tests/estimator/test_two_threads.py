"""Small fits with two threads and with one: the same model.

On kernels that are built small, every table is shared out among threads, so CI runs this file under
the thread sanitizer, too (`.ci/threads`).
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from treemeans import ExKMC, FastKMeans

RNG = np.random.default_rng(0)
CENTERS = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 1.0], [0.0, 4.0, 2.0], [4.0, 4.0, 3.0]])
X = (CENTERS[np.arange(60) % 4] + RNG.normal(size=(60, 3))).round(1)
WEIGHTS = RNG.integers(1, 4, 60).astype(float)

WAYS = {
    "imm": {},
    "none": {"base_tree": "none"},
    "emn": {"base_tree": "emn"},
    "exgreedy": {"base_tree": "exgreedy"},
    "kauri": {"base_tree": "kauri"},
    "best": {"base_tree": "best"},
    "margins": {"round_thresholds": True, "min_samples_leaf": 2},
    "local": {"refine": "local"},
    "search": {"refine": "search", "search_rounds": 2},
    "medians": {"cost": "kmedians"},
    "cosine": {"cost": "cosine"},
    "own k-means": {"reference": "fast"},
}


def assert_same(one, two, table):
    assert one.tree_ == two.tree_
    assert one.inertia_ == two.inertia_
    assert np.array_equal(one.labels_, two.labels_)
    assert np.array_equal(one.predict(table), two.predict(table))
    assert np.array_equal(one.transform(table), two.transform(table))


@pytest.mark.parametrize(
    ("way", "storage"),
    [(way, np.asarray) for way in WAYS]
    + [(way, sparse.csr_array) for way in WAYS if way != "medians"],  # which are of dense tables
)
def test_one_thread_and_two(way, storage):
    settings = {"reference": CENTERS, "max_leaf_nodes": 7, "random_state": 0} | WAYS[way]
    table = storage(X)
    one = ExKMC(4, n_jobs=1, **settings).fit(table, sample_weight=WEIGHTS)
    two = ExKMC(4, n_jobs=2, **settings).fit(table, sample_weight=WEIGHTS)
    assert_same(one, two, table)


def test_missing_values_and_categories():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abc")).assign(d=list("xyzxyz") * 10)
    frame.loc[::7, "b"] = np.nan
    one = ExKMC(4, n_jobs=1, max_leaf_nodes=7, random_state=0).fit(frame)
    two = ExKMC(4, n_jobs=2, max_leaf_nodes=7, random_state=0).fit(frame)
    assert one.tree_ == two.tree_
    assert np.array_equal(one.predict(frame), two.predict(frame))


@pytest.mark.parametrize("refine", ["none", "local"])
def test_partitions(refine, tmp_path):
    pandas, parquet = pytest.importorskip("pandas"), pytest.importorskip("pyarrow.parquet")
    from pyarrow import Table

    from treemeans import open_parts

    path = tmp_path / "rows.parquet"
    frame = pandas.DataFrame(X, columns=list("abc"))
    parquet.write_table(Table.from_pandas(frame), path, row_group_size=9)
    model = ExKMC(4, reference=CENTERS, max_leaf_nodes=7, refine=refine, random_state=0)
    one = clone(model).set_params(n_jobs=1).fit(open_parts(path))
    two = clone(model).set_params(n_jobs=2).fit(open_parts(path))
    assert one.tree_ == two.tree_ == clone(model).set_params(n_jobs=2).fit(frame).tree_
    assert one.inertia_ == two.inertia_


def test_the_reference():
    one, two = (FastKMeans(4, n_jobs=jobs, random_state=0).fit(X) for jobs in (1, 2))
    assert np.array_equal(one.cluster_centers_, two.cluster_centers_)
