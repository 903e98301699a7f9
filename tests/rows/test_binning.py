"""The bins: what is not finite is found wherever it is, and memory stays small."""

import numpy as np
import pytest
from scipy import sparse

from treemeans import ExKMC, _core
from treemeans.rows import as_points

N = 3000  # more rows than are sampled to choose the bins


def bins_of(X, n_threads=1):
    return _core.make_bins(as_points(X, by_column=True), None, n_threads)


def mostly_constant(rng):
    return np.where(rng.random(N) < 0.02, rng.normal(size=N), 0.25)


COLUMNS = {
    "continuous": lambda rng: rng.normal(size=N),
    "bytes": lambda rng: rng.integers(0, 200, N).astype(float),
    "negative integers": lambda rng: rng.integers(-50, 50, N).astype(float),
    "wide integers": lambda rng: rng.integers(-5000, 5000, N).astype(float),
    "close integers": lambda rng: rng.integers(900, 3000, N).astype(float),
    "mostly constant": mostly_constant,
    "constant": lambda rng: np.full(N, 2.0),
}
NOT_FINITE = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("bad", NOT_FINITE)
@pytest.mark.parametrize("kind", COLUMNS)
def test_one_value_that_is_not_finite(kind, bad):
    rng = np.random.default_rng(0)
    X = np.column_stack([COLUMNS["bytes"](rng), COLUMNS[kind](rng), COLUMNS["continuous"](rng)])
    assert bins_of(X) is not None
    for row in [0, N - 1, *rng.choice(N, 8)]:
        for dtype in (np.float64, np.float32):
            spoilt = X.astype(dtype)
            spoilt[row, 1] = bad
            assert bins_of(spoilt) is None
            assert bins_of(np.asfortranarray(spoilt)) is None
    assert bins_of(spoilt, 2) is None


@pytest.mark.parametrize("bad", NOT_FINITE)
@pytest.mark.parametrize("share", [0.1, 0.97, 1.0])
def test_many_values_that_are_not_finite(bad, share):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((N, 2)) < share, bad, 1.0)
    assert bins_of(X) is None
    assert bins_of(np.full((1, 1), bad)) is None


@pytest.mark.parametrize("bad", NOT_FINITE)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_sparse_values_that_are_not_finite(kind, bad):
    rng = np.random.default_rng(2)
    X = sparse.random_array((500, 6), density=0.1, rng=rng, format="csr")
    assert bins_of(kind(X)) is not None
    for entry in [0, X.nnz - 1, *rng.choice(X.nnz, 10)]:
        spoilt = X.copy()
        spoilt.data[entry] = bad
        assert bins_of(kind(spoilt)) is None


def test_a_byte_for_each_value():
    rng = np.random.default_rng(3)
    X = np.column_stack([COLUMNS["continuous"](rng) for _ in range(40)])
    bins = bins_of(X)
    assert bins.n_dense == 40
    assert bins.n_bins <= 40 * 256
    assert bins.n_bytes <= X.size + 16 * bins.n_bins + 8 * (N + 1)


def test_less_for_columns_that_are_mostly_one_value():
    rng = np.random.default_rng(4)
    X = np.column_stack([mostly_constant(rng) for _ in range(100)])
    bins = bins_of(X)
    assert bins.n_dense == 0
    assert bins.n_bytes < X.size / 4


def test_sparse_memory_grows_with_what_is_stored():
    rng = np.random.default_rng(5)
    X = sparse.random_array((2000, 20_000), density=1e-3, rng=rng, format="csr")
    assert bins_of(X).n_bytes <= 40 * (X.nnz + sum(X.shape))


@pytest.mark.parametrize("n_rows", [1, 2])
def test_hardly_any_rows(n_rows):
    assert bins_of(np.arange(2.0 * n_rows).reshape(n_rows, 2)).n_bins >= 2


def test_threads_make_the_same_bins():
    rng = np.random.default_rng(6)
    X = np.column_stack([column(rng) for column in COLUMNS.values()] * 8)
    one, two = bins_of(X), bins_of(X, 2)
    assert (one.n_bytes, one.n_bins, one.n_dense) == (two.n_bytes, two.n_bins, two.n_dense)


@pytest.mark.parametrize("far", [None, 10_000.0, -10_000.0, 0.5])
def test_whole_numbers_are_cut_like_others(far):
    """Bins of whole numbers are looked up; those of the same numbers halved are searched for.

    A far value, or a fraction, that the sample did not see does not fit the table.
    """
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.poisson(900, N), rng.integers(-700, 800, N)]).astype(float)
    if far is not None:
        X[1234, 0] = far
    centers = X[[5, 50, 500, 700, 900]]
    whole = ExKMC(5, max_leaf_nodes=20, reference=centers).fit(X)
    halved = ExKMC(5, max_leaf_nodes=20, reference=centers / 2).fit(X / 2)
    np.testing.assert_array_equal(whole.tree_.feature, halved.tree_.feature)
    np.testing.assert_array_equal(whole.tree_.threshold, halved.tree_.threshold * 2)
    np.testing.assert_array_equal(whole.labels_, halved.labels_)
