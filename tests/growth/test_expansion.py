"""The expansion in the core does what the one in Python does, cut by cut."""

import numpy as np
import pytest
from scipy import sparse

from treemeans.costs import KMeansCost
from treemeans.growth.base_tree import base_tree
from treemeans.growth.expansion import expand, grow
from treemeans.limits import Limits
from treemeans.progress import Progress
from treemeans.rows import Table, as_points
from treemeans.training_data import TrainingData

SILENT = Progress("", None, False)


def _data(rng, kind, limits):
    n, k = int(rng.integers(20, 200)), int(rng.integers(2, 6))
    X = rng.integers(0, 4, (n, 4)).astype(float)
    X[:, 1] = rng.normal(size=n)
    categorical = None
    if kind == "mixed":
        categorical = np.array([True, False, False, False])
        X[rng.random(n) < 0.2, 2] = np.nan
    weights = rng.integers(1, 4, n).astype(float) if kind == "weighted" else None
    features = sparse.csr_matrix(X) if kind == "sparse" else X
    table = Table.of(features, 1, None, categorical)
    space = np.nan_to_num(X)
    cost = KMeansCost(space, as_points(space), weights, 1)
    return TrainingData.of(features, table, cost, limits, space[rng.choice(n, k, replace=False)])


@pytest.mark.parametrize("kind", ["dense", "weighted", "sparse", "mixed"])
@pytest.mark.parametrize(
    "limits",
    [
        Limits(),
        Limits(min_samples_leaf=4),
        Limits(max_depth=3),
        Limits(feature_costs=np.array([0.0, 0.05, 0.0, 0.01])),
    ],
    ids=["any", "heavy leaves", "shallow", "priced"],
)
def test_both_expansions_make_the_same_cuts(kind, limits):
    rng = np.random.default_rng(5)
    for _ in range(8):
        data = _data(rng, kind, limits)
        max_leaves = int(rng.integers(2, 40))
        told = []
        one = grow(data, "none", max_leaves, SILENT)
        two = base_tree(data, "none", SILENT)
        two.begin_expansion()
        expand(two, two.leaves, max_leaves, two.least_cut, told.append)
        for name in ("feature", "left", "right", "label", "depth", "growth", "missing_left"):
            assert getattr(one, name) == getattr(two, name), name
        assert one.categories == two.categories
        np.testing.assert_array_equal(one.threshold, two.threshold)
        np.testing.assert_array_equal(one.totals, two.totals)
        np.testing.assert_array_equal(one.leaf_of_row(), two.leaf_of_row())
        assert one.margins == two.margins
        assert told == list(range(2, two.n_leaves + 1))


def test_progress_is_told_and_may_stop_the_expansion():
    data = _data(np.random.default_rng(0), "dense", Limits())
    told = []

    class Stopped(SILENT.__class__):
        def update(self, done, note=""):
            told.append(done)
            if done == 4:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grow(data, "none", 8, Stopped("", None, False))
    assert sorted(set(told)) == [1, 2, 3, 4]
