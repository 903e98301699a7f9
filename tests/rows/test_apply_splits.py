"""Rows through trees with thresholds, categories and missing values, against a plain walk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.helpers.examples import examples
from treemeans import _core
from treemeans.rows import as_points

N_FEATURES = 4
CATEGORIES = 2  # features from here on hold codes


def random_tree(rng, n_splits, *, missing=True):
    """Flat arrays of a tree whose nodes are cut at random."""
    feature, threshold, left, right, side, codes = [-1], [np.nan], [-1], [-1], [-1], [[]]
    for _ in range(n_splits):
        node = rng.choice([i for i, f in enumerate(feature) if f < 0])
        feature[node] = int(rng.integers(N_FEATURES))
        side[node] = int(rng.integers(-1, 2)) if missing else -1
        if feature[node] >= CATEGORIES:
            codes[node] = rng.choice(70, rng.integers(1, 30), replace=False).tolist()
        else:
            threshold[node] = float(rng.normal())
        left[node], right[node] = len(feature), len(feature) + 1
        feature += [-1, -1]
        threshold += [np.nan, np.nan]
        left += [-1, -1]
        right += [-1, -1]
        side += [-1, -1]
        codes += [[], []]
    return {
        "feature": np.array(feature, dtype=np.int32),
        "threshold": np.array(threshold),
        "left": np.array(left, dtype=np.int32),
        "right": np.array(right, dtype=np.int32),
        "missing_left": np.array(side, dtype=np.int8) if missing else None,
        "category_first": np.cumsum([0, *map(len, codes)]).astype(np.int64),
        "category_codes": np.array([c for set_ in codes for c in set_], dtype=np.int32),
    }


def random_rows(rng, n, *, missing=True):
    """Two columns of numbers, two of codes, some of them unknown, negative or missing."""
    X = rng.normal(size=(n, N_FEATURES))
    X[:, CATEGORIES:] = rng.integers(-3, 80, (n, N_FEATURES - CATEGORIES))
    X[rng.random(n) < 0.1, CATEGORIES] += 0.5
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X


def goes_left(tree, node, value):
    """Whether a value goes left at a node; None where it is not accepted."""
    begin, end = tree["category_first"][node : node + 2]
    if np.isnan(value):
        side = tree["missing_left"][node]
        return None if side < 0 else side == 1
    if begin < end:
        return value in tree["category_codes"][begin:end].tolist()
    return value <= tree["threshold"][node]


def walk(tree, row, visit=lambda node, value, left: None):
    """The leaf of a row; None where a split does not accept what the row has."""
    node = 0
    while (f := tree["feature"][node]) >= 0:
        left = goes_left(tree, node, row[f])
        if left is None:
            return None
        visit(node, row[f], left)
        node = tree["left" if left else "right"][node]
    return node


def applied(tree, X, n_threads=1):
    """What the kernel says."""
    outcome = np.arange(len(tree["feature"]), dtype=np.int32)
    return _core.apply(as_points(X), **tree, outcome=outcome, n_threads=n_threads)


KINDS = [np.asarray, np.asfortranarray, lambda X: X.astype(np.float32), sparse.csr_array]


@examples(150)
@given(st.integers(0, 2**32), st.integers(0, 12), st.sampled_from(KINDS))
def test_every_row_ends_where_a_plain_walk_ends(seed, n_splits, kind):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_splits)
    tree["threshold"] = tree["threshold"].astype(np.float32).astype(np.float64)
    X = kind(random_rows(rng, 40))
    dense = X.toarray() if sparse.issparse(X) else X.astype(np.float64)
    expected = [walk(tree, row) for row in dense]
    if None in expected:
        assert applied(tree, X) is None
        tree["missing_left"] = np.maximum(tree["missing_left"], 0)
        expected = [walk(tree, row) for row in dense]
    np.testing.assert_array_equal(applied(tree, X), expected)


def test_threads_find_the_same_leaves():
    rng = np.random.default_rng(1)
    tree = random_tree(rng, 20)
    tree["missing_left"] = np.maximum(tree["missing_left"], 0)
    X = random_rows(rng, 30_000)
    np.testing.assert_array_equal(applied(tree, X, 2), applied(tree, X, 1))


def test_integers_are_codes_too():
    rng = np.random.default_rng(2)
    tree = random_tree(rng, 8, missing=False)
    X = rng.integers(-3, 80, (50, N_FEATURES)).astype(np.int32)
    np.testing.assert_array_equal(applied(tree, X), [walk(tree, row) for row in X])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinities_are_never_accepted(kind, bad):
    rng = np.random.default_rng(3)
    tree = random_tree(rng, 3)
    tree["missing_left"] = np.maximum(tree["missing_left"], 0)
    X = random_rows(rng, 10)
    X[4, 1] = bad
    assert applied(tree, kind(X)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_without_sides_for_missing_values_a_nan_anywhere_is_not_accepted(kind):
    rng = np.random.default_rng(4)
    tree = random_tree(rng, 3, missing=False)
    X = random_rows(rng, 10, missing=False)
    assert applied(tree, kind(X)) is not None
    X[4, (tree["feature"][0] + 1) % N_FEATURES] = np.nan
    assert applied(tree, kind(X)) is None


def test_codes_that_no_set_holds_are_refused():
    tree = random_tree(np.random.default_rng(5), 3)
    tree["category_first"] = np.array([0, *[1] * len(tree["feature"])], dtype=np.int64)
    tree["category_codes"] = np.array([-1], dtype=np.int32)
    with pytest.raises(ValueError, match="category codes must be between 0 and"):
        applied(tree, np.zeros((2, N_FEATURES)))


@examples(100)
@given(st.integers(0, 2**32), st.integers(1, 8), st.sampled_from(KINDS))
def test_margins_are_those_of_the_rows_that_come_to_a_split(seed, n_splits, kind):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_splits)
    tree["missing_left"] = np.maximum(tree["missing_left"], 0)
    X = kind(random_rows(rng, 40))
    dense = X.toarray() if sparse.issparse(X) else X.astype(np.float64)
    found, whole = _core.margins(as_points(X), **tree, n_threads=1)
    arrived = {node: [] for node in range(len(tree["feature"]))}
    for row in dense:
        walk(tree, row, lambda node, value, left: arrived[node].append((value, left)))
    for node in np.flatnonzero(tree["feature"] >= 0):
        values = np.array([v for v, _ in arrived[node] if not np.isnan(v)])
        assert found[node, 2] == values.min(initial=np.inf)
        assert found[node, 3] == values.max(initial=-np.inf)
        assert whole[node] == bool(np.all(values == np.floor(values)))
        if tree["category_first"][node] == tree["category_first"][node + 1]:
            lefts = [v for v, left in arrived[node] if left and not np.isnan(v)]
            rights = [v for v, left in arrived[node] if not left and not np.isnan(v)]
            assert found[node, 0] == max(lefts, default=-np.inf)
            assert found[node, 1] == min(rights, default=np.inf)
