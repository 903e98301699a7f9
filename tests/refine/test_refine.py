"""Refined trees, as a user of ExKMC gets them: never dearer, and all that is said of them holds."""

import itertools
import pickle
import signal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from tests.helpers.datasets import kmeans, load
from tests.helpers.examples import examples
from tests.helpers.fit_tables import FitTable, word_counts
from tests.helpers.plain_numpy import (
    assert_same_model,
    cluster_means,
    cost_to,
    dense,
    leaf_of,
    random_weights,
    scaled_pca,
    squared_distances,
)
from tests.partitioned.test_dask_pass import shown_on_a_terminal
from treemeans import ExKMC
from treemeans.growth.base_tree import BASE_TREES
from treemeans.refine import chains, coreset
from treemeans.refine.centered_tree import CenteredTree

IRIS = load_iris().data
WINE = load_wine().data
SCALED = StandardScaler().fit_transform(WINE)
WORDS = word_counts(150, 40, 0.2)
REFINED = ("local", "search")
pytestmark = pytest.mark.usefixtures("one_thread")


class Table(FitTable):
    def fit(self, **parameters):
        parameters = {"search_rounds": 25, "random_state": 0} | parameters
        model = ExKMC(None, reference=self.reference, **parameters)
        return model.fit(self.X, sample_weight=self.weights)


TABLES = {
    "iris": lambda: Table(IRIS, kmeans(IRIS, 3)),
    "scaled wine": lambda: Table(SCALED, kmeans(SCALED, 4)),
    "sparse": lambda: Table(WORDS, kmeans(WORDS, 4)),
    "weighted": lambda: Table(SCALED, kmeans(SCALED, 4), random_weights(len(SCALED))),
    "pipeline": lambda: Table(WINE, scaled_pca().fit(WINE)),
    "weighted pipeline": lambda: Table(WINE, scaled_pca().fit(WINE), random_weights(len(WINE))),
    "float32": lambda: Table(SCALED.astype(np.float32), kmeans(SCALED, 4)),
    "integers": lambda: Table((IRIS * 10).astype(np.int16), kmeans(IRIS * 10, 4)),
    "far from the origin": lambda: Table(SCALED + 1e4, kmeans(SCALED + 1e4, 4)),
    "digits": lambda: Table(load("digits")[0][::4], kmeans(load("digits")[0][::4], 10)),
}


@pytest.fixture(scope="module", params=TABLES)
def table(request):
    with threadpool_limits(1):
        return TABLES[request.param]()


@pytest.fixture(scope="module", params=REFINED)
def refine(request):
    return request.param


@pytest.fixture(scope="module")
def plain(table):
    return table.fit()


@pytest.fixture(scope="module")
def model(table, refine):
    return table.fit(refine=refine)


def inertia_of(labels, table, centers):
    weights, space = table.plain_weights, table.space
    return cost_to(space, labels, cluster_means(space, labels, weights, centers), weights)


def sizes(model):
    """The model of every row of the path."""
    return [model.with_leaves(n_leaves) for n_leaves in model.path_["n_leaves"]]


# ---- what is said of the tree --------------------------------------------------------------------


def test_it_costs_no_more_and_has_no_more_leaves(model, plain):
    assert model.inertia_ <= plain.inertia_ * (1 + 1e-9)
    assert model.n_leaves_ <= 2 * len(model.reference_centers_)


def test_search_is_cheaper_somewhere():
    found = [TABLES[name]() for name in ("scaled wine", "sparse", "pipeline", "digits")]
    for each in found:
        plain, local, search = each.fit(), each.fit(refine="local"), each.fit(refine="search")
        assert search.inertia_ < plain.inertia_
        assert search.inertia_ <= local.inertia_ * (1 + 1e-3)


def test_every_size_is_a_model_of_its_own(model, table):
    for small, row in zip(sizes(model), model.path_, strict=True):
        tree = small.tree_
        assert tree.n_leaves == small.n_leaves_ == row["n_leaves"] == small.max_leaf_nodes
        leaf = leaf_of(tree, dense(table.X))
        assert small.labels_.tolist() == tree.label[leaf].tolist()
        assert small.labels_.tolist() == small.predict(table.X).tolist()
        inertia = inertia_of(small.labels_, table, small.reference_centers_)
        np.testing.assert_allclose(small.inertia_, inertia, rtol=1e-9)
        assert row["kmeans_cost"] == small.inertia_
        assert row["surrogate_cost"] == small.surrogate_inertia_ >= small.inertia_ * (1 - 1e-12)
        assert row["ratio"] == small.inertia_ / small.reference_inertia_
        right = table.plain_weights[small.labels_ == small.reference_labels_].sum()
        np.testing.assert_allclose(row["accuracy"], right / table.plain_weights.sum(), rtol=1e-9)
        assert_same_model(small.with_leaves(model.n_leaves_), model)


def test_centers_are_the_means_of_the_trees_clusters(model, table):
    for small in sizes(model):
        labels, weights = small.labels_, table.plain_weights
        means = cluster_means(table.space, labels, weights, small.reference_centers_)
        np.testing.assert_allclose(small.cluster_centers_, means, rtol=1e-9, atol=1e-9)
        nothing = np.full(small.cluster_profiles_.shape, np.nan)
        profiles = cluster_means(dense(table.X), labels, weights, nothing)
        np.testing.assert_allclose(small.cluster_profiles_, profiles, rtol=1e-9, atol=1e-9)


def test_the_path_never_rises(model):
    path, k = model.path_, len(model.reference_centers_)
    first = min(k, model.n_leaves_)
    assert path["n_leaves"].tolist() == list(range(first, model.n_leaves_ + 1))
    for name in ("surrogate_cost", "kmeans_cost", "ratio"):
        assert (np.diff(path[name]) <= 1e-9 * path[name][0]).all()


def test_the_reference_is_that_of_the_plain_fit(model, plain, table):
    np.testing.assert_array_equal(model.reference_centers_, plain.reference_centers_)
    np.testing.assert_array_equal(model.reference_labels_, plain.reference_labels_)
    assert model.reference_inertia_ == plain.reference_inertia_
    distances = squared_distances(table.space, model.reference_centers_)
    expected = table.plain_weights @ distances.min(axis=1)
    np.testing.assert_allclose(model.reference_inertia_, expected, rtol=1e-9)


def test_labels_are_matched_with_the_reference(model, table):
    """No other numbering of the clusters agrees with the reference on more rows."""
    k = len(model.reference_centers_)
    if k > 4 or model.refine != "search":
        return
    pairs = np.zeros((k, k))
    np.add.at(pairs, (model.labels_, model.reference_labels_), table.plain_weights)
    agree = [pairs[np.arange(k), list(order)].sum() for order in itertools.permutations(range(k))]
    assert np.trace(pairs) >= max(agree) - 0.02 * table.plain_weights.sum()


def test_weight_and_thresholds(model, table):
    tree, there = model.tree_, table.plain_weights > 0
    rows = dense(table.X)[there]
    passed = model.decision_path(table.X).toarray().astype(bool)[there]
    np.testing.assert_allclose(tree.weight, table.plain_weights[there] @ passed, rtol=1e-12)
    for node in np.flatnonzero(~tree.is_leaf):
        values, threshold = rows[passed[:, node], tree.feature[node]], tree.threshold[node]
        assert values[values <= threshold].max() < threshold < values[values > threshold].min()


def test_importances(model):
    assert (model.feature_importances_ >= 0).all()
    np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)
    assert set(np.flatnonzero(model.feature_importances_)) <= set(model.tree_.feature)


def test_pickle_and_clone(model, table):
    twin = pickle.loads(pickle.dumps(model))
    assert_same_model(twin, model)
    assert_same_model(sizes(twin)[0], sizes(model)[0])
    twin = clone(model).set_params(reference=table.reference)
    assert_same_model(twin.fit(table.X, sample_weight=table.weights), model)


# ---- the same tree -------------------------------------------------------------------------------


def test_the_same_tree_for_any_number_of_threads(model, table, refine, two_threads):
    assert_same_model(table.fit(refine=refine, n_jobs=2), model)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix], ids=["csr", "csc"])
@pytest.mark.parametrize("refine", REFINED)
def test_the_same_tree_from_sparse_rows(refine, form):
    table = TABLES["sparse"]()
    model = table.fit(refine=refine)
    other = Table(form(table.X), table.reference).fit(refine=refine)
    assert_same_model(other, model)
    from_array = Table(table.X.toarray(), table.reference).fit(refine=refine)
    np.testing.assert_allclose(from_array.inertia_, model.inertia_, rtol=0.02)


def test_the_seed_decides():
    table = TABLES["scaled wine"]()
    models = [table.fit(refine="search", search_rounds=40, random_state=seed) for seed in range(6)]
    assert len({model.tree_.threshold.tobytes() for model in models}) > 1
    for seed, model in enumerate(models):
        assert_same_model(table.fit(refine="search", search_rounds=40, random_state=seed), model)


def test_without_a_seed_it_is_always_the_same():
    centers = kmeans(SCALED, 4).cluster_centers_
    models = [
        ExKMC(None, reference=centers, refine="search", search_rounds=20).fit(SCALED)
        for _ in range(2)
    ]
    assert_same_model(*models)


def test_local_needs_no_seed():
    table = TABLES["scaled wine"]()
    assert_same_model(
        table.fit(refine="local", random_state=1), table.fit(refine="local", random_state=2)
    )


# ---- never dearer, on any table ------------------------------------------------------------------


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, k = draw(st.integers(5, 40)), draw(st.integers(1, 4)), draw(st.integers(1, 5))
    X = rng.integers(-6, 7, size=(n, d)) / draw(st.sampled_from([1, 3]))
    kind = draw(st.sampled_from(["plain", "copies", "weights"]))
    weights = {
        "plain": None,
        "copies": rng.integers(0, 4, size=n) + (np.arange(n) == 0),
        "weights": random_weights(n, draw(st.integers(0, 99))) + (np.arange(n) == 0),
    }[kind]
    centers = X[rng.integers(n, size=k)] + rng.normal(scale=0.2, size=(k, d))
    limits = {
        "min_samples_leaf": draw(st.sampled_from([1, 1, 2])),
        "max_depth": draw(st.sampled_from([None, None, 2, 3])),
        "base_tree": draw(st.sampled_from(BASE_TREES)),
        "max_leaf_nodes": k + draw(st.integers(0, 6)),
    }
    form = draw(st.sampled_from([np.asarray, sparse.csr_matrix]))
    return Table(form(X), centers, weights), limits


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("refine", REFINED)
@given(problem=problems())
@examples(80)
def test_no_refined_tree_costs_more_than_the_one_it_came_from(refine, problem):
    table, limits = problem
    plain = table.fit(**limits)
    model = table.fit(refine=refine, **limits | {"search_rounds": 4})
    assert model.inertia_ <= plain.inertia_ * (1 + 1e-9) + 1e-9
    assert model.n_leaves_ <= limits["max_leaf_nodes"]
    for small in sizes(model):
        assert small.labels_.tolist() == small.predict(table.X).tolist()
        inertia = inertia_of(small.labels_, table, small.reference_centers_)
        np.testing.assert_allclose(small.inertia_, inertia, rtol=1e-9, atol=1e-9)
    for name in ("surrogate_cost", "kmeans_cost"):
        costs = model.path_[name]
        assert (np.diff(costs) <= 1e-9 * costs.max() + 1e-9).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_labels_of_a_bare_tree_are_not_forgotten():
    """The leaves of IMM carry their own centers; the cheapest ones would cost more."""
    X, centers = np.array([[2.0], [3.0], [3.0]]), np.array([[4.0], [0.0], [2.0]])
    for refine in ("none", *REFINED):
        model = Table(X, centers).fit(refine=refine, max_leaf_nodes=3)
        assert model.inertia_ == 0.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("refine", REFINED)
@given(problem=problems(), seed=st.integers(0, 99))
@examples(80)
def test_what_features_cost_is_part_of_the_cost(refine, problem, seed):
    table, limits = problem
    rng = np.random.default_rng(seed)
    prices = rng.choice([0.0, 0.001, 0.01, 0.05, 0.3], size=table.X.shape[1])

    def total(model):
        cuts = model.tree_.feature[~model.tree_.is_leaf]
        return model.inertia_ + prices[cuts].sum() * model.reference_inertia_

    plain = table.fit(feature_costs=prices, **limits)
    model = table.fit(feature_costs=prices, refine=refine, **limits | {"search_rounds": 4})
    assert total(model) <= total(plain) * (1 + 1e-9) + 1e-9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(problem=problems())
@examples(100)
def test_no_move_raises_the_cost(problem):
    table, limits = problem
    costs: dict[CenteredTree, list] = {}  # a base tree with empty leaves is refined in two ways

    class Watched(CenteredTree):
        def note(self):
            labels = self.tree.labels()
            rows = table.plain_weights > 0
            surrogate = cost_to(
                table.space[rows], labels[rows], self.centers, table.plain_weights[rows]
            )
            np.testing.assert_allclose(self.cost, surrogate, rtol=1e-9, atol=1e-9)
            costs.setdefault(self, []).append((self.cost, self.clusters().cost))

        def reoptimize(self, *arguments, **options):
            self.note()
            super().reoptimize(*arguments, **options)
            self.note()

        def recenter(self, *arguments):
            self.note()
            super().recenter(*arguments)
            self.note()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("treemeans.refine.refinement.CenteredTree", Watched)
        table.fit(refine="local", **limits)
    assert costs
    for of_tree in costs.values():
        assert len(of_tree) >= 2
        surrogate, kmeans_cost = np.array(of_tree).T
        slack = 1e-9 * surrogate[0] + 1e-9
        assert (np.diff(surrogate) <= slack).all()
        assert (kmeans_cost <= surrogate + slack).all()
        # A relabelling lowers the surrogate, not always the cost to the means: their envelope falls
        assert kmeans_cost[-1] <= surrogate.min() + slack


# ---- the path is optimal pruning -----------------------------------------------------------------


def leaf_sets(tree, node=0):
    """The leaves of every tree inside this one, below a node."""
    yield (node,)
    if tree.feature[node] >= 0:
        left, right = int(tree.left[node]), int(tree.right[node])
        for some, others in itertools.product(leaf_sets(tree, left), leaf_sets(tree, right)):
            yield some + others


def labels_by(tree, leaves, leaf):
    """Labels where these nodes are the leaves, each with its cheapest center."""
    label = np.zeros(tree.n_nodes, dtype=int)
    for top in leaves:
        below = [top]
        for node in below:
            label[node] = tree.costs[top].argmin()
            if tree.feature[node] >= 0:
                below += [int(tree.left[node]), int(tree.right[node])]
    return label[leaf]


def assert_optimal(model, table):
    tree = model.tree_
    leaf, best = leaf_of(tree, dense(table.X)), tree.costs.min(axis=1)
    cheapest = {}
    for leaves in leaf_sets(tree):
        cost = best[list(leaves)].sum()
        if cost < cheapest.get(len(leaves), (np.inf,))[0]:
            cheapest[len(leaves)] = cost, leaves
    before = None
    for small, row in zip(sizes(model), model.path_, strict=True):
        cost, leaves = cheapest[small.n_leaves_]
        if not np.isclose(row["surrogate_cost"], cost, rtol=1e-9, atol=1e-9):
            # Only where the k-means cost of that tree would be above that of the smaller one.
            labels = labels_by(tree, leaves, leaf)
            assert before is not None
            assert inertia_of(labels, table, model.reference_centers_) > before.inertia_
            assert small.labels_.tolist() == before.labels_.tolist()
        before = small


@pytest.mark.parametrize("base_tree", ["imm", "none", "kdtree"])
@pytest.mark.parametrize("name", ["iris", "scaled wine", "weighted", "pipeline", "sparse"])
def test_the_path_holds_the_cheapest_prunings(name, base_tree, refine):
    table = TABLES[name]()
    assert_optimal(table.fit(refine=refine, base_tree=base_tree, max_leaf_nodes=9), table)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(problem=problems(), refine=st.sampled_from(REFINED))
@examples(80)
def test_the_path_of_any_table_holds_the_cheapest_prunings(problem, refine):
    table, limits = problem
    assert_optimal(table.fit(refine=refine, **limits | {"search_rounds": 3}), table)


# ---- effort --------------------------------------------------------------------------------------


def test_rounds_are_counted():
    table = TABLES["scaled wine"]()
    assert table.fit().n_iter_ == 1
    assert table.fit(refine="local").n_iter_ == 1
    for rounds in (0, 1, 7):
        assert table.fit(refine="search", search_rounds=rounds).n_iter_ == 1 + rounds


def test_time_ends_a_search():
    table = TABLES["scaled wine"]()
    assert table.fit(refine="search", search_rounds=None, max_time=0).n_iter_ == 1
    model = table.fit(refine="search", search_rounds=None, max_time=0.1)
    assert model.inertia_ <= table.fit().inertia_
    assert table.fit(refine="search", search_rounds=3, max_time=3600).n_iter_ == 4


def test_more_rounds_find_more():
    table = TABLES["digits"]()
    few, many = (
        np.mean(
            [table.fit(refine="search", search_rounds=n, random_state=s).inertia_ for s in range(3)]
        )
        for n in (5, 100)
    )
    assert many < few


@pytest.mark.parametrize("seed", range(3))
def test_search_on_digits(seed):
    """At 2 k leaves and little effort: a third less above k-means than IMM."""
    X, k = load("digits")
    reference = kmeans(X, k, n_init=3)
    imm = ExKMC(k, reference=reference).fit(X)
    model = ExKMC(
        k, reference=reference, refine="search", search_rounds=150, random_state=seed
    ).fit(X)
    assert model.path_["ratio"][-1] - 1 < 0.8 * (imm.path_["ratio"][-1] - 1)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_sample_is_searched_and_all_rows_are_settled(monkeypatch, weighted):
    monkeypatch.setattr(coreset, "MOST_VALUES", 1)
    monkeypatch.setattr(coreset, "_FEWEST_ROWS", 40)
    table = TABLES["weighted" if weighted else "scaled wine"]()
    rows = []
    real = chains.search_chains

    def watched(starts, data, *arguments):
        rows.append(data.table.n_rows)
        return real(starts, data, *arguments)

    monkeypatch.setattr("treemeans.refine.refinement.search_chains", watched)
    plain = table.fit(min_samples_leaf=6)
    model = table.fit(refine="search", min_samples_leaf=6)
    assert 0 < max(rows) < 100
    assert model.inertia_ <= plain.inertia_ * (1 + 1e-9)
    assert model.labels_.tolist() == model.predict(table.X).tolist()
    np.testing.assert_allclose(
        model.inertia_, inertia_of(model.labels_, table, model.reference_centers_), rtol=1e-9
    )
    np.testing.assert_allclose(model.tree_.weight[0], table.plain_weights.sum())
    for small in sizes(model):
        assert small.tree_.weight[small.tree_.leaves].min() >= 6 * (1 - 1e-9)
    assert_same_model(table.fit(refine="search", min_samples_leaf=6), model)


# ---- Ctrl-C, verbose -----------------------------------------------------------------------------


def interrupted_after(monkeypatch, n_parts):
    """A search whose user presses Ctrl-C in the part after so many, of four to six rounds."""
    real, parts = chains._Chains._run_part, itertools.count(1)

    def impatient(*arguments):
        if next(parts) > n_parts:
            raise KeyboardInterrupt
        real(*arguments)

    monkeypatch.setattr(chains._Chains, "_run_part", impatient)


@pytest.mark.parametrize("n_parts", [0, 1, 6, 14])
def test_ctrl_c_keeps_the_best_so_far(monkeypatch, n_parts):
    table = TABLES["digits"]()
    plain = table.fit()
    interrupted_after(monkeypatch, n_parts)
    with pytest.warns(UserWarning, match="interrupted; the best tree so far is kept"):
        model = table.fit(refine="search", search_rounds=100)
    assert 4 * n_parts <= model.n_iter_ - 1 <= 6 * n_parts
    assert model.inertia_ <= plain.inertia_
    assert model.labels_.tolist() == model.predict(table.X).tolist()
    assert len(sizes(model)) == model.n_leaves_ - 10 + 1


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_a_real_ctrl_c(monkeypatch):
    table = TABLES["digits"]()
    real, armed = chains._Chains._run_part, []

    def run_part(*arguments):
        if not armed:
            armed.append(signal.setitimer(signal.ITIMER_REAL, 0.1))
        real(*arguments)

    monkeypatch.setattr(chains._Chains, "_run_part", run_part)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.warns(UserWarning, match="interrupted"):
            model = table.fit(refine="search", search_rounds=10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert model.n_iter_ < 10**8
    assert model.labels_.tolist() == model.predict(table.X).tolist()


def test_a_bar_with_the_ratio(monkeypatch):
    monkeypatch.setattr("treemeans.progress._PATIENCE", 0.0)
    monkeypatch.setattr("treemeans.progress._REFRESH", 0.0)
    table = TABLES["scaled wine"]()
    models = []
    shown = shown_on_a_terminal(
        monkeypatch, lambda: models.append(table.fit(refine="search", search_rounds=10, verbose=1))
    )
    told = shown[shown.index("\rtreemeans: search [") :].strip().split("\r")
    starts = [bar.split("from ")[1].strip() for bar in told if "from " in bar]
    assert starts == ["imm", "exgreedy", "emn", "exshallow", "cart", "kauri"]
    bars = told[len(starts) :]
    assert len(bars) == 3  # a round in each of four chains, twice, and in two
    assert bars[0].split("]")[1].startswith(" 40 % ratio 1.")
    assert bars[-1].split("]")[1].startswith(" 100 % ratio 1.")
    ratios = [float(bar.split("ratio ")[1]) for bar in bars]
    assert ratios[-1] >= models[0].path_["ratio"][-1] - 1e-3
    assert_same_model(models[0], table.fit(refine="search", search_rounds=10))


def test_no_bar_unless_asked_for(monkeypatch):
    monkeypatch.setattr("treemeans.progress._PATIENCE", 0.0)
    table = TABLES["scaled wine"]()
    assert shown_on_a_terminal(monkeypatch, lambda: table.fit(refine="search")) == ""
