"""What comes to every cut of a tree, against a plain walk."""

import numpy as np
import pytest
from scipy import sparse

from tests.helpers.plain_numpy import a_tree, leaf_of
from treemeans import ExKMC
from treemeans.columns.detect_columns import find_split_values
from treemeans.rows import as_points


def plainly(tree, X):
    """Values at each cut: those that go left and those that go right."""
    passed = tree.decision_path(X).toarray().astype(bool)
    for node in np.flatnonzero(~tree.is_leaf):
        values = X[passed[:, node], tree.feature[node]]
        left = values <= tree.threshold[node]
        yield node, values[left], values[~left]


def tables(rng):
    X = rng.integers(-3, 9, size=(300, 4)).astype(float)
    X[:, 1] += rng.random(300)
    X[rng.random(X.shape) < 0.5] = 0.0
    yield "dense", X
    yield "by column", np.asfortranarray(X)
    yield "float32", X.astype(np.float32)
    yield "strided", np.repeat(X, 2, axis=1)[:, ::2]
    yield "csr", sparse.csr_matrix(X)


@pytest.mark.parametrize("kind", ["dense", "by column", "float32", "strided", "csr"])
def test_as_a_plain_walk_says(kind):
    X = dict(tables(np.random.default_rng(0)))[kind]
    tree = a_tree()
    seen = find_split_values(tree, as_points(X), 1)
    plain = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
    assert leaf_of(tree, plain).tolist() == tree.apply(X).tolist()
    for node, left, right in plainly(tree, plain):
        every = np.concatenate([left, right])
        assert seen.gap[node, 0] == (left.max() if len(left) else -np.inf)
        assert seen.gap[node, 1] == (right.min() if len(right) else np.inf)
        assert (seen.lowest[node], seen.highest[node]) == (every.min(), every.max())
        assert seen.whole[node] == np.array_equal(every, np.floor(every))


def test_the_same_for_every_number_of_threads(two_threads):
    X = np.random.default_rng(1).normal(size=(50_000, 4))
    for table in (X, sparse.csr_matrix(np.where(X > 0, X, 0.0))):
        one, two = (find_split_values(a_tree(), as_points(table), n) for n in (1, 2))
        for name in ("gap", "lowest", "highest", "whole"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_a_fitted_tree_has_the_gaps_of_its_rows(one_thread):
    X = np.random.default_rng(2).normal(size=(500, 3))
    tree = ExKMC(4, max_leaf_nodes=9, random_state=0).fit(X).tree_
    for node, left, right in plainly(tree, X):
        assert tree.gap[node].tolist() == [left.max(), right.min()]


def test_spread_is_the_standard_deviation(one_thread):
    rng = np.random.default_rng(3)
    X = 1e6 + rng.normal(size=(400, 3)) * [1.0, 10.0, 0.0]
    weights = rng.integers(0, 3, 400).astype(float)
    model = ExKMC(3, random_state=0).fit(X, sample_weight=weights)
    expected = np.repeat(X, weights.astype(int), axis=0).std(axis=0)
    np.testing.assert_allclose(model._facts.spread, expected, rtol=1e-9, atol=1e-6)
    words = sparse.random(300, 5, density=0.3, random_state=0, format="csr")
    model = ExKMC(3, random_state=0).fit(words)
    np.testing.assert_allclose(model._facts.spread, words.toarray().std(axis=0), rtol=1e-9)
