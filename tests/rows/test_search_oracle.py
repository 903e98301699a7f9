"""The whole tree of ExKMC against the oracle's: cuts, labels and the order they were made in."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from tests.helpers.examples import examples
from tests.helpers.training_data import price_rows
from tests.oracles.search_oracle import (
    OracleTree,
    as_dense,
    counted_rows,
    expand,
    imm_tree,
    label_by_surrogate,
    label_leaves_by_surrogate,
)
from treemeans import ExKMC

# Centers are drawn at random, so some are nearest to no row.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

BASE_TREES = st.sampled_from(["imm", "none"])
STRUCTURE = ("feature", "threshold", "left", "right", "label", "growth")


# ---- the two sides of every comparison -----------------------------------------------------------


def built(X, centers, base_tree, max_leaves, weights=None, n_jobs=None):
    """The tree of the estimator."""
    if X.shape[0] < len(centers):
        assume(False)  # is refused: test_bad_input.py
    model = ExKMC(
        n_clusters=None,
        reference=centers,
        base_tree=base_tree,
        max_leaf_nodes=max_leaves,
        n_jobs=n_jobs,
    )
    return model.fit(X, sample_weight=weights).tree_


def expected(X, centers, base_tree, max_leaves, weights=None):
    """The tree of the oracle, from the estimator's cost table (test_costs.py checks that one)."""
    costs = price_rows(X, centers, weights)
    regrets = costs.regrets.values
    if base_tree == "none":
        tree = OracleTree.one_leaf(counted_rows(X.shape[0], weights))
        label_by_surrogate(tree, regrets, inner_only=False)
        return expand(tree, X, regrets, max_leaves)
    counted = counted_rows(X.shape[0], weights)
    tree = imm_tree(X, centers, costs.nearest, whole(weights, costs), counted)
    label_by_surrogate(tree, regrets, inner_only=True)
    label_leaves_by_surrogate(tree, regrets, pure_only=True)
    base_leaves, base_labels = tree.n_leaves, list(tree.label)
    label_leaves_by_surrogate(tree, regrets, pure_only=False)
    tree = expand(tree, X, regrets, max_leaves)
    if tree.n_leaves == base_leaves:
        tree.label[:] = base_labels
    return tree


def whole(weights, costs):
    """The weights as integers: exactly, where they are eighths; else as the cost table has them."""
    if weights is None:
        return None
    eighths = weights * 8
    if eighths.max() < 2**40 and np.array_equal(eighths, np.floor(eighths)):
        return eighths.astype(np.int64)
    return costs.weights.values


def assert_same_structure(tree, other, but=()):
    for name in STRUCTURE:
        if name not in but:
            np.testing.assert_array_equal(getattr(tree, name), getattr(other, name), err_msg=name)


def check(X, centers, base_tree, n_more, weights=None):
    max_leaves = len(centers) + n_more
    tree = built(X, centers, base_tree, max_leaves, weights)
    assert_same_structure(tree, expected(X, centers, base_tree, max_leaves, weights))
    return tree


# ---- small tables, value by value ----------------------------------------------------------------

ULP = np.spacing(1.0)
FLOATS = st.floats(-1e6, 1e6)
ELEMENTS = {
    "few": st.integers(-2, 2).map(float),
    "binary": st.sampled_from([0.0, 1.0]),
    "constant": None,
    "mostly": None,
    "halves": st.integers(-20, 20).map(lambda v: v / 2),
    "wide integers": st.integers(-100_000, 100_000).map(float),
    "any": FLOATS,
    "negative": st.floats(-9.0, -1.0),
    "offset": st.integers(-3, 3).map(lambda v: 1e9 + v / 4),
    "far offset": st.floats(0, 1).map(lambda v: -1e9 + v),
    "tiny": st.integers(-5, 5).map(lambda v: v * 1e-9),
    "tinier": st.floats(-1e-9, 1e-9),
    "neighbours": st.integers(-3, 4).map(lambda v: 1.0 + v * ULP),
}


@st.composite
def columns(draw, n):
    """One column of n values."""
    kind = draw(st.sampled_from(sorted(ELEMENTS)))
    if ELEMENTS[kind] is not None:
        return draw(hnp.arrays(np.float64, n, elements=ELEMENTS[kind], fill=st.nothing()))
    column = np.full(n, draw(st.sampled_from([0.0, 1.0, -7.0, 0.3, 1e9])))
    if kind == "mostly":
        for row in draw(st.lists(st.integers(0, n - 1), max_size=max(1, n // 16))):
            column[row] = draw(st.one_of(st.integers(-3, 300).map(float), FLOATS))
    return column


@st.composite
def centers_for(draw, X, k):
    """K centers on rows, between rows, or away from them; some may coincide."""
    rows = st.integers(0, len(X) - 1).map(lambda row: X[row])
    between_rows = st.tuples(rows, rows).map(lambda pair: pair[0] / 2 + pair[1] / 2)
    away = st.tuples(rows, st.sampled_from([0.25, -1.0, 3.0])).map(lambda pair: pair[0] + pair[1])
    return np.array([draw(st.one_of(rows, between_rows, away)) for _ in range(k)])


@st.composite
def weights_for(draw, n):
    """None, whole, eighths, or any; zeros among them, but not only zeros."""
    elements = draw(
        st.sampled_from(
            [
                None,
                st.integers(0, 3).map(float),
                st.integers(0, 16).map(lambda v: v / 8),
                st.one_of(st.just(0.0), st.floats(0.01, 10.0)),
            ]
        )
    )
    if elements is None:
        return None
    weights = draw(hnp.arrays(np.float64, n, elements=elements, fill=st.nothing()))
    weights[draw(st.integers(0, n - 1))] = 1.0
    return weights


@st.composite
def small_problems(draw, max_rows=40):
    n = draw(st.integers(1, max_rows))
    X = np.column_stack([draw(columns(n)) for _ in range(draw(st.integers(1, 5)))])
    if draw(st.booleans()):  # rows that occur again and again
        X = X[draw(hnp.arrays(np.int64, n, elements=st.integers(0, n // 2), fill=st.nothing()))]
    return X, draw(centers_for(X, draw(st.integers(1, 6)))), draw(weights_for(n))


@examples(300)
@given(small_problems(), BASE_TREES, st.integers(0, 6))
def test_small_tables(problem, base_tree, n_more):
    X, centers, weights = problem
    check(X, centers, base_tree, n_more, weights)


@examples(60)
@given(small_problems(max_rows=12), BASE_TREES)
def test_until_every_leaf_is_pure(problem, base_tree):
    X, centers, weights = problem
    check(X, centers, base_tree, 12, weights)


INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32)


@examples(100)
@given(st.data(), st.sampled_from(INTEGERS), BASE_TREES)
def test_integer_types(data, dtype, base_tree):
    limits = np.iinfo(dtype)
    low, high = max(limits.min, -(2**40)), min(limits.max, 2**40)
    bounds = data.draw(st.sampled_from([(max(low, -2), 2), (max(low, -99), 127), (low, high)]))
    shape = data.draw(st.tuples(st.integers(1, 40), st.integers(1, 4)))
    X = data.draw(hnp.arrays(dtype, shape, elements=st.integers(*bounds), fill=st.nothing()))
    centers = data.draw(centers_for(as_dense(X), data.draw(st.integers(1, 5))))
    check(X, centers, base_tree, 4)


LAYOUTS = {
    "F": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "part of a wider table": lambda X: np.hstack([X * 2, X, X + 1])[:, X.shape[1] : -X.shape[1]],
    "other byte order": lambda X: X.astype(X.dtype.newbyteorder("S")),
    "unaligned": lambda X: _unaligned(X),
    "read-only": lambda X: _read_only(X),
}


def _unaligned(X):
    raw = np.empty(X.nbytes + 1, dtype=np.uint8)
    out = raw[1:].view(X.dtype).reshape(X.shape)
    out[:] = X
    return out


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_layouts(layout, dtype):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(0, 50, 500), rng.integers(0, 9, 500), rng.normal(0, 9, 500)])
    X = np.ascontiguousarray(X.astype(dtype))
    centers = X[[3, 100, 200, 300]] + 0.25
    laid_out = LAYOUTS[layout](X)
    assert np.array_equal(laid_out, X)
    tree = check(laid_out, centers, "imm", 6)
    assert tree == built(X, centers, "imm", 10)


# ---- sparse tables -------------------------------------------------------------------------------


def compressed(X, kind, rng):
    """X as CSR or CSC whose lines are unsorted, with zeros that are stored and values in parts."""
    rows, cols = np.nonzero((X != 0) | (rng.random(X.shape) < 0.1))
    parts = rng.integers(-2, 3, len(rows)).astype(X.dtype) * (rng.random(len(rows)) < 0.2)
    twice = parts != 0
    rows, cols = np.concatenate([rows, rows[twice]]), np.concatenate([cols, cols[twice]])
    values = np.concatenate([X[rows[: len(parts)], cols[: len(parts)]] - parts, parts[twice]])
    lines, places = (rows, cols) if kind == "csr" else (cols, rows)
    order = np.lexsort((rng.random(len(rows)), lines))
    n_lines = X.shape[0] if kind == "csr" else X.shape[1]
    starts = np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=n_lines))])
    matrix = sparse.csr_array if kind == "csr" else sparse.csc_matrix
    return matrix((values[order], places[order], starts), shape=X.shape)


@st.composite
def sparse_problems(draw, max_rows, dtype):
    """Halves, so that a value in two parts is the value; most of them zero."""
    n, d = draw(st.integers(1, max_rows)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.sampled_from([2, 50, 2000]))
    X = rng.integers(-size, size, (n, d)) / (1 if np.dtype(dtype).kind == "i" else 2)
    X[rng.random((n, d)) < draw(st.sampled_from([0.3, 0.8, 0.97]))] = 0
    X = X.astype(dtype)
    centers = draw(centers_for(as_dense(X), draw(st.integers(1, 5))))
    matrix = compressed(X, draw(st.sampled_from(["csr", "csc"])), rng)
    assert np.array_equal(matrix.toarray(), X)
    return X, matrix, centers, draw(weights_for(n))


@examples(100)
@given(st.data(), st.sampled_from([np.float64, np.float32, np.int32]), BASE_TREES)
def test_sparse_tables(data, dtype, base_tree):
    X, matrix, centers, weights = data.draw(sparse_problems(40, dtype))
    before = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
    tree = check(matrix, centers, base_tree, 5, weights)
    for part, was in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
        np.testing.assert_array_equal(part, was)
    # All of this is exact in float64, so that the trees agree to the last bit.
    assert tree == built(X, centers, base_tree, len(centers) + 5, weights)


@examples(25)
@given(st.data(), st.sampled_from(["csr", "csc"]), BASE_TREES)
def test_long_sparse_tables(data, kind, base_tree):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n = data.draw(st.sampled_from([300, 1500, 3000]))
    X = rng.normal(size=(n, 5)) * rng.choice([1e-9, 1.0, 100.0], 5)
    X[:, 3] = np.round(X[:, 3], 2)
    X[:, 4] = np.abs(X[:, 4])
    X[rng.random(X.shape) > [0.02, 0.1, 0.3, 0.9, 0.2]] = 0.0
    matrix = sparse.coo_array(X).asformat(kind)
    centers = data.draw(centers_for(X, data.draw(st.integers(2, 6))))
    check(matrix, centers, base_tree, 6, data.draw(long_weights(n, rng)))


# ---- long tables: more values than bins, more rows than are sampled for the bins -----------------


def _heavy_and_continuous(rng, n):
    return np.where(rng.random(n) < 0.6, rng.choice([-1.0, 0.1, 0.5, 2.0], n), rng.normal(size=n))


def _rare(rng, n, common, others, share):
    return np.where(rng.random(n) < share, others, common)


def sampled_rows(n):
    """The rows cpp/binning.cpp looks at before it chooses bins; the tests hold for any others."""
    state, rows, m = 0x9E3779B97F4A7C15, [], min(n, max(512, min(n // 32, 1024)))
    for j in range(m):
        begin, end = j * n // m, (j + 1) * n // m
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        rows.append(begin + (state >> 33) % (end - begin))
    return rows


def _strays(rng, n, common, others):
    """All common but ten, of which the sample sees none (where it is not all rows)."""
    column = np.array(common, dtype=float)
    unseen = np.setdiff1d(np.arange(n), sampled_rows(n))
    column[rng.choice(unseen if len(unseen) else n, 10)] = rng.choice(others, 10)
    return column


LONG_COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "skewed": lambda rng, n: np.exp(3 * rng.normal(size=n)),
    "clusters": lambda rng, n: rng.normal(rng.choice([-5.0, 0.0, 7.0], n), 1.0),
    "offset": lambda rng, n: 1e9 + rng.normal(size=n),
    "tiny": lambda rng, n: 1e-9 * rng.normal(size=n),
    "rounded": lambda rng, n: np.round(rng.normal(size=n), 2),
    "bytes": lambda rng, n: rng.integers(0, 256, n).astype(float),
    "many integers": lambda rng, n: rng.integers(-2000, 2000, n).astype(float),
    "many heavy": lambda rng, n: rng.integers(0, 400, n) / 7,
    "few": lambda rng, n: rng.integers(0, 3, n).astype(float),
    "constant": lambda rng, n: np.full(n, 0.1),
    "ascending": lambda rng, n: np.linspace(-1, 1, n),
    "neighbours": lambda rng, n: 1.0 + ULP * rng.integers(0, 300, n),
    "heavy and continuous": _heavy_and_continuous,
    "rare extremes": lambda rng, n: _rare(
        rng, n, rng.normal(size=n), rng.normal(size=n) * 50, 0.01
    ),
    # Mostly one value:
    "rare continuous": lambda rng, n: _rare(rng, n, 0.7, rng.normal(size=n), 0.05),
    "rare integers": lambda rng, n: _rare(rng, n, 3.0, rng.integers(0, 200, n), 0.05),
    "rare wide integers": lambda rng, n: _rare(rng, n, 0.0, rng.integers(-5000, 5000, n), 0.06),
    # Bins chosen without a look at the strays must do for them too:
    "stray extremes": lambda rng, n: _strays(rng, n, rng.normal(size=n), [-50.0, 60.0]),
    "stray integers": lambda rng, n: _strays(rng, n, rng.integers(-9, 90, n), [-999.0, 77777.0]),
    "stray fractions": lambda rng, n: _strays(rng, n, rng.integers(-3, 3, n), [-0.5, 1 / 3]),
    "stray bytes": lambda rng, n: _strays(rng, n, rng.integers(0, 256, n), [256.0, -1.0, 0.1]),
    "nearly integers": lambda rng, n: _strays(
        rng, n, rng.integers(-1, 2, n), [1e-17, -1e-17, 1 + ULP, ULP - 1]
    ),
    "stray in a constant": lambda rng, n: _strays(rng, n, np.full(n, 0.3), [0.3 + ULP, 1.0, -7.0]),
}


@st.composite
def long_weights(draw, n, rng):
    kind = draw(st.sampled_from(["none", "whole", "any"]))
    if kind == "none":
        return None
    if kind == "whole":
        return rng.integers(0, 4, n).astype(float)
    return np.where(rng.random(n) < 0.1, 0.0, rng.random(n))


@st.composite
def long_problems(draw, sizes=(300, 1100, 3000)):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.sampled_from(sizes))
    kinds = draw(st.lists(st.sampled_from(sorted(LONG_COLUMNS)), min_size=1, max_size=5))
    X = np.column_stack([LONG_COLUMNS[kind](rng, n) for kind in kinds])
    centers = draw(centers_for(X, draw(st.integers(2, 6))))
    return X, centers, draw(long_weights(n, rng))


@examples(120)
@given(long_problems(), BASE_TREES, st.integers(0, 8))
def test_long_tables(problem, base_tree, n_more):
    X, centers, weights = problem
    check(X, centers, base_tree, n_more, weights)


@pytest.mark.parametrize("kind", LONG_COLUMNS)
@pytest.mark.parametrize("base_tree", ["imm", "none"])
def test_long_columns(kind, base_tree):
    """Every kind of column with only itself to cut, next to a copy of another sample of it."""
    rng = np.random.default_rng(11)
    X = np.column_stack([LONG_COLUMNS[kind](rng, 2500) for _ in range(2)])
    centers = X[rng.choice(len(X), 5)]
    check(X, centers, base_tree, 12)


@pytest.mark.parametrize("base_tree", ["imm", "none"])
@pytest.mark.parametrize("common", [0.0, -1.5, 7.0])
@pytest.mark.parametrize("kind", ["normal", "few", "many integers", "heavy and continuous"])
def test_a_sample_that_misleads(kind, common, base_tree):
    """A column that looks constant in the sample and is nothing of the kind elsewhere."""
    rng = np.random.default_rng(4)
    X = np.column_stack([LONG_COLUMNS[kind](rng, 3000) for _ in range(2)])
    X[sampled_rows(3000), 0] = common
    check(X, X[rng.choice(3000, 4)], base_tree, 8)


@pytest.mark.parametrize("base_tree", ["imm", "none"])
@pytest.mark.parametrize("value", [1e-17, -1e-17, 5e-324, 0.5, 300.0])
def test_a_value_the_sample_misses(value, base_tree):
    """Next to -1 and 1, none of these may be taken for another value."""
    X = np.ones((1030, 1))
    X[::2] = -1.0
    X[np.setdiff1d(np.arange(1030), sampled_rows(1030))[0]] = value
    check(X, np.array([[-1.0], [value / 2], [1.0]]), base_tree, 0)


@pytest.mark.parametrize("base_tree", ["imm", "none"])
@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_ties_between_kinds_of_columns(as_table, base_tree):
    """Clusters B and C are parted as well by the first column, mostly zero, as by the others."""
    rng = np.random.default_rng(8)
    cluster = np.where(rng.random(3000) < 0.95, 0, rng.integers(1, 3, 3000))
    inside = rng.integers(0, 512, (3000, 3)) / 1024
    X = np.array([0.0, 1.0, 1.5])[cluster, None] + inside
    X[cluster == 0, 0] = 0.0
    X[:, 1] = np.where(cluster == 0, -rng.integers(0, 2, 3000), cluster)
    centers = np.array([[0.0, -0.5, 0.25], [1.25, 1.0, 1.25], [1.75, 2.0, 1.75]])
    tree = check(as_table(X), centers, base_tree, 0)
    assert set(tree.feature) == {0, -1}


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("round_to", [16, 2**40])
def test_a_cut_that_gains_nothing(columns, round_to):
    """Only the far corner is nearer to the second center: no cut gains, so the lowest is made."""
    rng = np.random.default_rng(9)
    x, y = rng.random((2, 2000))
    y[x > 0.9] *= 0.5
    x[y > 0.9] *= 0.5
    X = np.column_stack([np.ceil(v * round_to) / round_to for v in [x] * columns + [y]])
    centers = np.vstack([np.full(columns + 1, 0.6), np.full(columns + 1, 1.0)])
    tree = check(X, centers, "none", 1)
    lowest = np.unique(X[:, 0])[:2]
    assert tree.feature[0] == 0
    assert tree.threshold[0] == lowest.mean()
    assert (tree.costs[0].min() - tree.costs[1:3].min(axis=1).sum()) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("base_tree", ["imm", "none"])
def test_many_centers(base_tree):
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=(600, 3)), rng.integers(0, 4, (600, 2))])
    check(X, X[rng.choice(600, 40, replace=False)], base_tree, 20)


@pytest.mark.parametrize("seed", range(4))
def test_centers_that_nearly_coincide(seed):
    """Closer together than the values of a coarse bin, so that they are parted inside of one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 3))
    pairs = np.repeat(X[rng.choice(1500, 15)], 2, axis=0)
    check(X, pairs + 1e-3 * rng.normal(size=pairs.shape), "imm", 3)


@pytest.mark.parametrize("base_tree", ["imm", "none"])
def test_many_columns(base_tree):
    rng = np.random.default_rng(6)
    kinds = rng.choice(sorted(LONG_COLUMNS), 53)
    X = np.column_stack([LONG_COLUMNS[kind](rng, 400) for kind in kinds])
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    check(X, X[rng.choice(400, 7, replace=False)], base_tree, 7)


@pytest.mark.parametrize("base_tree", ["imm", "none"])
@pytest.mark.parametrize("shape", [(60_000, 8), (3000, 100)])
@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_enough_for_two_threads(as_table, shape, base_tree):
    """Tables large enough for every kernel to share them out."""
    rng = np.random.default_rng(7)
    kinds = ["clusters", "rounded", "rare continuous", "heavy and continuous", "bytes", "few"]
    X = np.column_stack([LONG_COLUMNS[kinds[i % 6]](rng, shape[0]) for i in range(shape[1])])
    X /= X.std(axis=0)
    centers = X[rng.choice(len(X), 8, replace=False)]
    if as_table is sparse.csr_array:
        X[rng.random(X.shape) < 0.5] = 0.0
    tree = check(as_table(X), centers, base_tree, 2)
    assert tree == built(as_table(X), centers, base_tree, 10, n_jobs=2)


# ---- what must not matter ------------------------------------------------------------------------


@examples(25)
@given(st.one_of(small_problems(), long_problems(sizes=(300, 2000))), BASE_TREES)
def test_threads_and_order_in_memory_do_not_matter(problem, base_tree):
    X, centers, weights = problem
    tree = built(X, centers, base_tree, len(centers) + 5, weights, n_jobs=1)
    assert tree == built(X, centers, base_tree, len(centers) + 5, weights, n_jobs=2)
    assert tree == built(np.asfortranarray(X), centers, base_tree, len(centers) + 5, weights)


@examples(40)
@given(st.one_of(small_problems(), long_problems(sizes=(300, 2000))), BASE_TREES)
def test_float32_is_its_float64_copy(problem, base_tree):
    X, centers, weights = problem
    X = X.astype(np.float32)
    tree = built(X, centers, base_tree, len(centers) + 5, weights)
    assert tree == built(X.astype(np.float64), centers, base_tree, len(centers) + 5, weights)


@examples(10)
@given(st.integers(0, 2**32), BASE_TREES)
def test_sparse_is_dense(seed, base_tree):
    """More values than bins, yet few enough digits for both ways to the costs to be exact."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(1500, 4)) * 256) / 64
    X[rng.random(X.shape) > [0.02, 0.1, 0.5, 1.0]] = 0.0
    centers = X[rng.choice(1500, 4)] + 0.5
    dense = built(X, centers, base_tree, 10)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        assert dense == built(kind(X), centers, base_tree, 10)
        assert dense == built(kind(X), centers, base_tree, 10, n_jobs=2)


@examples(40)
@given(
    st.one_of(small_problems(), long_problems(sizes=(300, 2000))),
    BASE_TREES,
    st.integers(0, 2**32),
)
def test_order_of_rows_does_not_matter(problem, base_tree, seed):
    X, centers, weights = problem
    order = np.random.default_rng(seed).permutation(len(X))
    tree = built(X, centers, base_tree, len(centers) + 5, weights)
    shuffled = None if weights is None else weights[order]
    assert_same_structure(tree, built(X[order], centers, base_tree, len(centers) + 5, shuffled))


@examples(40)
@given(st.one_of(small_problems(), long_problems(sizes=(300, 1100))), BASE_TREES, st.data())
def test_weight_is_repetition(problem, base_tree, data):
    X, centers, _ = problem
    times = np.random.default_rng(data.draw(st.integers(0, 2**32))).integers(0, 4, len(X))
    assume(times.any())
    tree = built(X, centers, base_tree, len(centers) + 5, times.astype(float))
    repeated = built(np.repeat(X, times, axis=0), centers, base_tree, len(centers) + 5)
    assert_same_structure(tree, repeated)
