"""A fit on partitioned rows is the fit in one memory: the same tree, for any partitions."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.helpers.datasets import kmeans, stored
from tests.helpers.examples import examples
from tests.helpers.partitioned_cases import ListedPartitions, split_rows
from tests.helpers.random_trees import random_tree
from tests.partitioned.test_best_cuts import TIGHT, set_to
from treemeans import ExKMC, ThresholdTree
from treemeans.partitioned import partitioned_fit

STRUCTURE = ("feature", "left", "right", "label", "growth", "gap")
empty_clusters = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
pytestmark = pytest.mark.usefixtures("one_thread")


# ---- the two sides of every comparison -----------------------------------------------------------


def partitioned(X, n_partitions, weights=None, seed=0):
    """X in partitions of very different sizes, some of them empty."""
    pieces = split_rows(np.arange(len(X)), n_partitions, seed)
    return ListedPartitions(
        [X[rows] for rows in pieces],
        None if weights is None else [np.asarray(weights)[rows] for rows in pieces],
    )


def assert_same_trees(tree, other, nearly=0.0):
    """``nearly``: how far thresholds may be apart; the same rows are on either side in any case."""
    np.testing.assert_allclose(tree.threshold, other.threshold, rtol=0.0, atol=nearly)
    for name in STRUCTURE:
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name), err_msg=name)
    np.testing.assert_allclose(tree.weight, other.weight, rtol=1e-12)
    np.testing.assert_allclose(tree.costs, other.costs, rtol=1e-9, atol=1e-12 * other.costs.max())


def assert_same_fits(model, expected, X, weights=None, nearly=0.0):
    """Costs are equal but for rounding: that of k-means is what sums of squares leave."""
    assert_same_trees(model.tree_, expected.tree_, nearly)
    weight = len(X) if weights is None else np.sum(weights)
    largest = np.abs(X).max() + np.abs(model.reference_centers_).max()
    for name in ("n_leaves", "surrogate_cost", "accuracy"):
        np.testing.assert_allclose(
            model.path_[name],
            expected.path_[name],
            rtol=1e-9,
            atol=1e-12 if name == "accuracy" else 0.0,
            err_msg=name,
        )
    np.testing.assert_allclose(
        model.path_["kmeans_cost"],
        expected.path_["kmeans_cost"],
        rtol=1e-9,
        atol=1e-12 * weight * float(largest) ** 2,
    )
    np.testing.assert_allclose(model.reference_inertia_, expected.reference_inertia_, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    for n_leaves in expected.path_["n_leaves"].tolist():
        np.testing.assert_array_equal(
            model.with_leaves(n_leaves).tree_.label, expected.with_leaves(n_leaves).tree_.label
        )


def check(X, reference, n_partitions=3, weights=None, seed=0, nearly=0.0, **parameters):
    """Fit X in memory and in partitions, and compare."""
    model = ExKMC(None, reference=reference, **parameters)
    expected = model.fit(X, sample_weight=weights)
    model = ExKMC(None, reference=reference, **parameters)
    model.fit(partitioned(X, n_partitions, weights, seed))
    assert_same_fits(model, expected, X, weights, nearly)
    return model


# ---- random tables -------------------------------------------------------------------------------

COLUMNS = {
    "few": lambda rng, n: rng.integers(-2, 3, n).astype(float),
    "binary": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "constant": lambda rng, n: np.full(n, 0.3),
    "quarters": lambda rng, n: rng.integers(-20, 20, n) / 4,
    "mostly": lambda rng, n: np.where(rng.random(n) < 0.8, 7.0, rng.normal(size=n)),
    "any": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-6, 6),
    "clusters": lambda rng, n: rng.normal(rng.choice([-5.0, 0.0, 7.0], n), 1.0),
    "neighbours": lambda rng, n: 1.0 + rng.integers(-3, 4, n) * 2.0**-52,
    "zeros": lambda rng, n: rng.choice([-0.0, 0.0, 1.0], n),
}
WEIGHTS = {
    "none": lambda rng, n: None,
    "whole": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "eighths": lambda rng, n: rng.integers(0, 16, n) / 8,
    "any": lambda rng, n: np.where(rng.random(n) < 0.2, 0.0, rng.random(n)),
    "tiny and huge": lambda rng, n: 10.0 ** rng.integers(-20, 20, n),
    "tiny": lambda rng, n: rng.random(n) * 1e-200,
}


def some_table(rng):
    n, d = int(rng.choice([1, 2, 4, 9, 40, 200])), int(rng.integers(1, 5))
    X = np.column_stack([COLUMNS[kind](rng, n) for kind in rng.choice(sorted(COLUMNS), d)])
    if rng.random() < 0.3:  # rows that occur again and again
        X = X[rng.integers(0, n // 3 + 1, n)]
    return X


def some_centers(rng, X, k):
    """On rows, between them or away from them; some coincide, some are nearest to no row."""
    n = len(X)
    centers = X[rng.integers(0, n, k)]
    if rng.random() < 0.6:
        centers = centers / 2 + X[rng.integers(0, n, k)] / 2
    centers = centers + rng.choice([0.0, 0.25, 3.0], (k, 1), p=[0.6, 0.2, 0.2])
    if rng.random() < 0.2:
        centers[-1] = centers[0]
    if rng.random() < 0.2:
        centers[-2:] += 1e4
    return centers


def some_weights(rng, n):
    weights = WEIGHTS[rng.choice(sorted(WEIGHTS))](rng, n)
    if weights is not None and not weights.any():
        weights[rng.integers(n)] = 1.0
    return weights


def some_parameters(rng, n_features, k):
    """A base tree, a number of leaves, and limits."""
    bases = ["imm", "none", random_tree(rng, int(rng.integers(1, 6)), n_features, k, known=False)]
    base_tree = bases[rng.integers(3)]
    parameters = {"base_tree": base_tree, "max_leaf_nodes": k + int(rng.choice([0, 1, 4, 12]))}
    if not isinstance(base_tree, str):
        parameters["max_leaf_nodes"] += 5
    if rng.random() < 0.3:
        parameters["max_depth"] = int(rng.integers(1, 5))
    if rng.random() < 0.3:
        parameters["min_samples_leaf"] = float(rng.choice([2, 2.5, 0.1, 0.3]))
    if rng.random() < 0.3:
        chosen = np.flatnonzero(rng.random(n_features) < 0.6).tolist()
        parameters["allowed_features"] = chosen or [0]
    if rng.random() < 0.3:
        parameters["feature_costs"] = rng.choice([0, 1e-3, 0.01, 0.5], n_features)
    return parameters


def check_some(seed, **parameters):
    """A random problem in a random number of partitions; ``parameters`` replace those drawn."""
    rng = np.random.default_rng(seed)
    X = some_table(rng)
    k = int(rng.choice([1, min(len(X), 6), rng.integers(1, min(len(X), 6) + 1)]))
    check(
        X,
        some_centers(rng, X, k),
        n_partitions=int(rng.choice([1, 2, 7, 20])),
        weights=some_weights(rng, len(X)),
        seed=seed,
        **some_parameters(rng, X.shape[1], k) | parameters,
    )


@empty_clusters
@examples(150)
@given(st.integers(0, 2**32))
def test_random_tables(seed):
    check_some(seed)


@empty_clusters
@examples(80)
@given(st.integers(0, 2**32), st.sampled_from([1, 3000]))
def test_random_tables_in_many_passes(seed, room):
    with pytest.MonkeyPatch.context() as patch:
        set_to(patch, **TIGHT | {"RESULT_BYTES": room})
        check_some(seed)


@empty_clusters
@examples(80)
@given(st.integers(0, 2**32), st.sampled_from([1, 3000, 2**25]))
def test_random_tables_with_emn(seed, room):
    with pytest.MonkeyPatch.context() as patch:
        set_to(patch, **TIGHT | {"RESULT_BYTES": room})
        check_some(seed, base_tree="emn")


# ---- one thing at a time -------------------------------------------------------------------------


def blobs(n, k=4, d=3, seed=0):
    """Clusters that overlap, and their centers."""
    rng = np.random.default_rng(seed)
    centers = 3 * rng.normal(size=(k, d))
    return centers[rng.integers(0, k, n)] + rng.normal(size=(n, d)), centers


X, CENTERS = blobs(1500)


@pytest.mark.parametrize("base_tree", ["imm", "none"])
@pytest.mark.parametrize("n_partitions", [1, 2, 7, 60])
def test_any_number_of_parts(n_partitions, base_tree):
    model = check(X, CENTERS, n_partitions=n_partitions, base_tree=base_tree, max_leaf_nodes=16)
    assert model.n_leaves_ == 16


DTYPES = [np.float64, np.float32, np.int64, np.int16, np.uint8, ">f4"]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_number_types(dtype):
    table = np.clip(20 * X + 100, 0, 255).astype(dtype)
    centers = table[[0, 8, 21, 100]].astype(float)
    check(table, centers + 0.1, max_leaf_nodes=9)
    check(np.asfortranarray(table)[::2], centers, max_leaf_nodes=9)


@empty_clusters
@examples(15)
@given(st.integers(0, 2**32), st.sampled_from(["imm", "none"]))
def test_pipelines(seed, base_tree):
    """IMM cuts next to centers, whose places in the columns are means, which are rounded."""
    rng = np.random.default_rng(seed)
    table = X * 10.0 ** rng.integers(-3, 5, 3)
    between = [PCA(2)] if rng.random() < 0.5 else []
    pipeline = make_pipeline(StandardScaler(), *between, KMeans(4, n_init=1, random_state=0))
    model = check(
        table,
        pipeline.fit(table),
        weights=some_weights(rng, len(table)),
        nearly=1e-12 * np.abs(table).max() if base_tree == "imm" else 0.0,
        base_tree=base_tree,
        max_leaf_nodes=12,
    )
    assert model.cluster_centers_.shape == (4, 2 if between else 3)


@empty_clusters
def test_a_pipeline_with_a_center_nearest_to_no_row():
    """It has no place in the columns of the rows, and so no leaf."""
    reference = make_pipeline(StandardScaler(), KMeans(5, n_init=1, random_state=0)).fit(X)
    reference[-1].cluster_centers_[3] = 1e3
    check(X, reference, nearly=1e-12, max_leaf_nodes=5)
    check(X, reference, nearly=1e-12, max_leaf_nodes=9)


def test_centers_nearest_to_no_row_are_told():
    far = np.vstack([CENTERS, [[1e3] * 3]])
    for rows in (X, partitioned(X, 3)):
        with pytest.warns(ConvergenceWarning, match="Only 4 of the 5 reference centers"):
            ExKMC(None, reference=far).fit(rows)


def test_one_center():
    assert check(X, CENTERS[:1], max_leaf_nodes=5).n_leaves_ == 1


@pytest.mark.parametrize("base_tree", ["exgreedy", "kdtree", "random", "cart", "kauri", "best"])
def test_base_trees_that_need_all_rows(base_tree):
    model = ExKMC(None, reference=CENTERS, base_tree=base_tree)
    sentence = f'base_tree="{base_tree}" needs all rows in one memory'
    with pytest.raises(ValueError, match=f'{sentence}; use "imm"'):
        model.fit(partitioned(X, 3))
    rows = partitioned(X, 3)
    rows.gather_bytes = 1000
    with pytest.raises(ValueError, match=f"{sentence}, and only rows .* at most 0.001 MB"):
        model.fit(rows)


@pytest.mark.parametrize("base_tree", ["imm", "emn", "none"])
def test_many_centers(base_tree):
    table, centers = blobs(800, k=40)
    check(table, centers, base_tree=base_tree, max_leaf_nodes=60)


@pytest.mark.parametrize("base_tree", ["imm", "emn", "none"])
def test_as_many_centers_as_rows(base_tree):
    check(X[:12], X[:12], n_partitions=5, base_tree=base_tree, max_leaf_nodes=20)


@pytest.mark.parametrize("base_tree", ["imm", "none"])
def test_until_every_leaf_is_pure(base_tree):
    model = check(X[:60], CENTERS, base_tree=base_tree, max_leaf_nodes=60)
    assert model.n_leaves_ < 60
    assert model.path_["accuracy"][-1] == 1.0


@empty_clusters
def test_several_centers_far_from_all_rows():
    """Nodes without rows are parted between them, and their leaves are labelled with them."""
    centers = np.array([[0.0], [10.0], [20.0], [30.0]])
    rows = np.array([[0.0], [1.0], [0.5], [0.0], [12.0]])
    for max_leaves in (4, 6):
        model = check(rows, centers, max_leaf_nodes=max_leaves)
        assert set(model.tree_.label[model.tree_.leaves]) == {0, 1, 2, 3}
    check(rows, centers, max_leaf_nodes=6, max_depth=1)


def test_a_given_tree_saves_more_than_a_share_of_nothing():
    """The reference costs nothing, so the price of a cut is zero; but it is not free."""
    rows = np.repeat([[0.0], [3.0]], 3, axis=0)
    base_tree = ThresholdTree(
        feature=[0, 0, -1, -1, -1],
        threshold=[1.5, -1.0, np.nan, np.nan, np.nan],
        left=[1, 3, -1, -1, -1],
        right=[2, 4, -1, -1, -1],
        label=[0] * 5,
        n_features=1,
    )
    free = check(rows, rows[[0, 3]], base_tree=base_tree, max_leaf_nodes=3)
    assert free.n_leaves_ == 3
    priced = check(rows, rows[[0, 3]], base_tree=base_tree, max_leaf_nodes=3, feature_costs=[0.5])
    assert priced.n_leaves_ == 2


def test_short_thresholds_and_rules():
    """Quarters add up without rounding, so that even words about means agree."""
    rows = np.round(4 * X) / 4
    centers = rows[[0, 50, 100, 200]]
    expected = ExKMC(None, reference=centers, round_thresholds=True).fit(rows)
    model = ExKMC(None, reference=centers, round_thresholds=True).fit(partitioned(rows, 7))
    assert_same_trees(model.tree_, expected.tree_)
    assert str(model.rules()) == str(expected.rules())
    assert model.columns_ == expected.columns_
    np.testing.assert_array_equal(model.cluster_profiles_, expected.cluster_profiles_)


@empty_clusters
@examples(6)
@given(st.integers(0, 2**32))
def test_the_order_of_the_parts_leaves_no_trace(seed):
    rng = np.random.default_rng(seed)
    weights = some_weights(rng, len(X))
    pieces = [rows for rows in split_rows(np.arange(len(X)), 9, seed) if len(rows)]
    fits = []
    for order in (np.arange(len(pieces)), rng.permutation(len(pieces))):
        partitions = ListedPartitions(
            [X[pieces[i]] for i in order],
            None if weights is None else [weights[pieces[i]] for i in order],
        )
        fits.append(ExKMC(None, reference=CENTERS, max_leaf_nodes=10).fit(partitions))
    assert_same_fits(fits[1], fits[0], X, weights)
    np.testing.assert_array_equal(fits[1].tree_.costs, fits[0].tree_.costs)


# ---- how many passes, and how much they bring back -----------------------------------------------


class Measured(ListedPartitions):
    """Knows the size of the largest answer to each kind of question."""

    def map_reduce(self, step):
        answer = super().map_reduce(step)
        name = type(step).__name__
        self.sizes = getattr(self, "sizes", {})
        self.sizes[name] = max(len(pickle.dumps(answer)), self.sizes.get(name, 0))
        return answer


@pytest.mark.parametrize("base_tree", ["imm", "none"])
@pytest.mark.parametrize("k", [4, 16])
def test_passes_go_with_the_depth_of_the_tree(k, base_tree):
    table, centers = blobs(4000, k=k, d=4)
    passes = {}
    for max_leaves in (k, 4 * k):
        partitions = ListedPartitions(np.array_split(table, 2))
        model = ExKMC(None, reference=centers, base_tree=base_tree, max_leaf_nodes=max_leaves)
        depth = model.fit(partitions).tree_.depth.max()
        assert model.n_leaves_ == max_leaves
        assert partitions.n_passes <= 4 + 3 * (depth + 2)
        passes[max_leaves] = partitions.n_passes
    assert passes[4 * k] - passes[k] <= 12  # for 12 or 48 leaves more


def test_answers_do_not_grow_with_the_rows(monkeypatch):
    """Of ten times the rows: as much, but for lists of values, which are kept to the same room."""
    room = 2**16
    set_to(monkeypatch, RESULT_BYTES=room, LISTED_ROWS=64)
    monkeypatch.setattr(partitioned_fit, "_FEWEST_ROWS", 500)
    monkeypatch.setattr(partitioned_fit, "_SAMPLE_VALUES", 1500)
    sizes = []
    for n in (10_000, 100_000):
        table, centers = blobs(n)
        partitions = Measured(np.array_split(table, 4))
        ExKMC(None, reference=centers, max_leaf_nodes=8).fit(partitions)
        sizes.append(partitions.sizes)
    few, many = sizes
    assert few.pop("SumHistograms") <= 1.5 * room
    assert many.pop("SumHistograms") <= 1.5 * room
    assert few.keys() == many.keys()
    for step, size in few.items():
        assert many[step] <= size + 100, step  # larger integers are written with more bytes


# ---- dask ----------------------------------------------------------------------------------------


def assert_same_with_dask(model, expected, rows):
    assert_same_trees(model.tree_, expected.tree_)
    np.testing.assert_array_equal(model.predict(rows).compute(), expected.labels_)


def test_a_dask_array():
    da = pytest.importorskip("dask.array")
    weights = np.arange(1500) % 4
    rows = da.from_array(X, chunks=((700, 1, 99, 700), 2))
    expected = ExKMC(None, reference=CENTERS).fit(X, sample_weight=weights)
    model = ExKMC(None, reference=CENTERS).fit(rows, sample_weight=weights)
    assert_same_with_dask(model, expected, rows)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_partitions(form):
    """The tree and its costs are those of the same rows as a dense table."""
    import dask
    import dask.array as da

    rows = form(sparse.random(600, 40, 0.1, format="csr", random_state=0))
    centers = KMeans(5, n_init=1, random_state=0).fit(rows).cluster_centers_
    parts = [dask.delayed(rows[first : first + 130]) for first in range(0, 600, 130)]
    sizes = [130, 130, 130, 130, 80]
    X = da.concatenate(
        [
            da.from_delayed(part, (size, 40), float, meta=form((0, 40)))
            for part, size in zip(parts, sizes, strict=True)
        ]
    )
    weights = np.random.default_rng(0).random(600).round(2)
    for how in ({}, {"refine": "local"}):
        model = ExKMC(5, max_leaf_nodes=12, reference=centers, **how)
        dense = model.fit(rows.toarray(), sample_weight=weights)
        wanted = dense.tree_, dense.path_.tolist(), dense.labels_
        found = model.fit(X, sample_weight=da.from_array(weights, chunks=(sizes,)))
        assert np.array_equal(found.tree_.threshold, wanted[0].threshold, equal_nan=True)
        assert np.allclose(found.tree_.costs, wanted[0].costs, rtol=1e-12)
        assert np.allclose(found.path_.tolist(), wanted[1], rtol=1e-12)
        assert np.array_equal(found.predict(X).compute(), wanted[2])


def test_a_dask_data_frame():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"size": X[:, 0], "weight": X[:, 1].round(), "count": X[:, 2].astype(int)})
    centers = frame.to_numpy()[[3, 200, 700]]
    parameters = {"reference": centers, "allowed_features": ["weight", "count"]}
    expected = ExKMC(None, **parameters).fit(frame)
    model = ExKMC(None, **parameters).fit(dd.from_pandas(frame, npartitions=5))
    assert_same_with_dask(model, expected, dd.from_pandas(frame, npartitions=2))
    of_clusters = [str(each.rules()).partition("cluster 0: ")[2] for each in (model, expected)]
    assert of_clusters[0] == of_clusters[1] != ""  # warnings differ: some need the rows in memory


@pytest.mark.slow
def test_covtype_in_20_partitions():
    """All 581,012 rows; IMM and as many leaves again."""
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    data = stored("covtype")
    table, k = data.X, data.k
    centers = kmeans(table[::50].astype(float), k, n_init=1).cluster_centers_
    expected = ExKMC(None, reference=centers).fit(table)
    with dask.config.set(scheduler="threads", num_workers=2):
        rows = da.from_array(table, chunks=(-(-len(table) // 20), -1))
        assert rows.numblocks == (20, 1)
        model = ExKMC(None, reference=centers).fit(rows)
    assert model.n_leaves_ == 2 * k
    assert_same_fits(model, expected, table)


@pytest.mark.parametrize("seed", [60, 92, 116, 133, 138])
def test_weights_that_sum_to_one(seed):
    """But for rounding, which must not decide on their scale: here cuts tie in all but rounding."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([30, 100, 300]))
    corner, weights = rng.integers(0, 4, (n, 2)).astype(float), rng.integers(2, 9, n).astype(float)
    part = np.floor(weights * rng.random(n)).clip(1, weights - 1)
    table = np.vstack([corner, corner[:, ::-1], corner[:, ::-1]])
    weights = np.concatenate([weights, part, weights - part])
    centers = np.array([[0.3, 2.7], [2.7, 0.3], [1.4, 1.4]])[: 2 if rng.random() < 0.5 else 3]
    check(table, centers, weights=weights / weights.sum(), max_leaf_nodes=10)
