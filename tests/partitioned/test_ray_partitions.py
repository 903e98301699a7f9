"""Fits on Ray Datasets, on a local cluster of two processes."""

import numpy as np
import pandas as pd
import pytest

from tests.helpers.partitioned_cases import weighted_frame
from treemeans import ExKMC

ray = pytest.importorskip("ray")
# Ray warns of settings and files of its own.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def table():
    return weighted_frame()


def on_ray(frame, n_blocks):
    """A frame as Ray's, in blocks of different sizes; with twelve, replies are merged twice."""
    edges = np.linspace(0, 1, n_blocks + 1) ** 1.5 * len(frame)
    return ray.data.from_pandas(
        [frame[a:b] for a, b in zip(edges[:-1].astype(int), edges[1:].astype(int), strict=True)]
    )


def test_the_tree_is_that_of_rows_in_memory(table):
    names = ["a", "b", "c d", "n"]
    centers = table[names].sample(3, random_state=0).to_numpy()
    model = ExKMC(3, max_leaf_nodes=5, reference=centers)
    model.fit(on_ray(table, 12), sample_weight="w")
    found = model.tree_
    expected = model.fit(table[names], sample_weight=table["w"]).tree_
    for name in ("feature", "threshold", "left", "right", "label", "costs", "weight"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    with pytest.raises(ValueError, match="takes rows in memory"):
        model.predict(on_ray(table, 1))


def test_categories_dates_and_missing_values(table):
    rng = np.random.default_rng(1)
    frame = table.drop(columns="w").assign(
        plan=rng.choice(["pro", "basic", None], 600),
        day=pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, 600), unit="D"),
    )
    frame.loc[::7, "a"] = np.nan
    model = ExKMC(3, max_leaf_nodes=6, random_state=0).fit(on_ray(frame, 3))
    assert model.to_text() == ExKMC(3, max_leaf_nodes=6, random_state=0).fit(frame).to_text()


def test_what_cannot_be_clustered_is_said(table):
    with pytest.raises(ValueError, match="no column 'z' for sample_weight"):
        ExKMC(2).fit(on_ray(table, 1), sample_weight="z")
    with pytest.raises(ValueError, match="must be a column of X"):
        ExKMC(2).fit(on_ray(table, 1), sample_weight=np.ones(600))
    with pytest.raises(ValueError, match="no rows"):
        ExKMC(2).fit(on_ray(table[:0], 1))
    broken = table.copy()
    broken.loc[5, "a"] = np.inf
    with pytest.raises(ValueError, match="Partition 1 contains infinity"):
        ExKMC(2, random_state=0).fit(ray.data.from_pandas([table, broken]))
