"""What a growing tree learns while it cuts is what a walk over all rows would find."""

from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from tests.helpers.training_data import data_of
from treemeans.columns.detect_columns import (
    ArrayRows,
    SplitValues,
    find_split_values,
    learnt_split_values,
)
from treemeans.growth import grow
from treemeans.progress import Progress
from treemeans.tree import ThresholdTree


def table(kind: str) -> np.ndarray:
    """Columns of fractions, whole numbers, flags, and mostly zeros."""
    rng = np.random.default_rng(0)
    n = 700
    columns = [rng.normal(size=n), rng.integers(-9, 900, n), rng.integers(0, 2, n)]
    columns.append(np.where(rng.random(n) < 0.97, 0.0, rng.normal(size=n)))
    X = np.stack(columns, axis=1).astype(float) * [1.0, 0.01, 3.0, 5.0] + [0, 0, 0, 0]
    X[:, 1] = np.round(X[:, 1] * 100)
    if kind == "sparse":
        return sparse.csr_matrix(X)
    return np.asfortranarray(X) if kind == "by column" else X.astype(kind)


@pytest.mark.parametrize("kind", ["float64", "float32", "by column", "sparse"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_cuts_learn_the_values_that_come_to_them(kind, n_threads):
    X = table(kind)
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    centers = KMeans(5, n_init=1, random_state=0).fit(dense).cluster_centers_
    data = data_of(X, centers)
    growing = grow(data, "imm", 12, Progress("", 1, False))
    tree = growing.freeze()
    learnt, walked = (
        learnt_split_values(growing.margins),
        find_split_values(tree, data.table.points, n_threads),
    )
    for field in fields(SplitValues):
        np.testing.assert_array_equal(getattr(learnt, field.name), getattr(walked, field.name))


@pytest.mark.parametrize("kind", ["float64", "sparse"])
def test_bins_know_the_range_of_every_feature(kind):
    X = table(kind)
    bins = data_of(X, np.zeros((1, 4))).table.bins
    for feature in range(4):
        assert ArrayRows(X, bins).range_of(feature) == ArrayRows(X).range_of(feature)


def test_a_grown_tree_passes_the_checks_it_is_not_put_through():
    data = data_of(table("float64"), table("float64")[:6])
    tree = grow(data, "imm", 12, Progress("", 1, False)).freeze()
    checked = ThresholdTree(**{field.name: getattr(tree, field.name) for field in fields(tree)})
    assert checked == tree
    for field in fields(tree):
        value = getattr(tree, field.name)
        if isinstance(value, np.ndarray):
            assert value.dtype == getattr(checked, field.name).dtype
            assert not value.flags.writeable
