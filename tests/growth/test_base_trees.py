"""Every base tree by name: what holds for all of them, on tables of every kind."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from tests.helpers.datasets import kmeans
from tests.helpers.fit_tables import FitTable, word_counts
from tests.helpers.plain_numpy import (
    FLOATS,
    PATH_FIELDS,
    assert_same_model,
    cluster_means,
    cost_to,
    dense,
    leaf_of,
    random_weights,
    scaled_pca,
    squared_distances,
)
from treemeans import ExKMC
from treemeans.growth.base_tree import BASE_TREES, BEST_OF

IRIS = load_iris().data
WINE = load_wine().data
SCALED = StandardScaler().fit_transform(WINE)
WORDS = word_counts(120, 30, 0.3)
ONE_LEAF_A_CENTER = ("imm", "exgreedy", "emn", "random")
N_LEAVES = 12
pytestmark = pytest.mark.usefixtures("one_thread")


class Table(FitTable):
    @property
    def k(self):
        return (
            self.reference[-1] if hasattr(self.reference, "steps") else self.reference
        ).n_clusters

    def model(self, **parameters):
        parameters = {"max_leaf_nodes": N_LEAVES, "random_state": 0} | parameters
        return ExKMC(self.k, reference=self.reference, **parameters)

    def fit(self, **parameters):
        return self.model(**parameters).fit(self.X, sample_weight=self.weights)


TABLES = {
    "dense": lambda: Table(IRIS, kmeans(IRIS, 4)),
    "sparse": lambda: Table(WORDS, kmeans(WORDS, 4)),
    "weighted": lambda: Table(SCALED, kmeans(SCALED, 5), random_weights(len(SCALED))),
    "pipeline": lambda: Table(WINE, scaled_pca().fit(WINE)),
}


@pytest.fixture(scope="module", params=TABLES)
def table(request):
    with threadpool_limits(1):
        return TABLES[request.param]()


@pytest.fixture(scope="module", params=BASE_TREES)
def base_tree(request):
    return request.param


@pytest.fixture(scope="module")
def model(table, base_tree):
    return table.fit(base_tree=base_tree)


# ---- the tree and what is said of it -------------------------------------------------------------


def test_every_name_is_tried():
    assert set(BASE_TREES) == {
        "imm", "exgreedy", "emn", "random", "kauri", "cart", "kdtree", "none", "best",
    }  # fmt: skip
    assert set(BEST_OF) < set(BASE_TREES)


def test_the_leaves_part_all_rows(model, table):
    tree, leaf = model.tree_, leaf_of(model.tree_, dense(table.X))
    assert tree.is_leaf[leaf].all()
    assert model.apply(table.X).tolist() == leaf.tolist()
    assert model.labels_.tolist() == tree.label[leaf].tolist()
    assert model.predict(table.X).tolist() == model.labels_.tolist()
    weight = np.bincount(leaf, table.plain_weights, minlength=tree.n_nodes)
    np.testing.assert_allclose(tree.weight[tree.leaves], weight[tree.leaves], rtol=1e-12)
    assert model.n_leaves_ == tree.n_leaves == N_LEAVES


def test_base_trees_have_the_leaves_they_should(model, table, base_tree):
    fewest = model.path_["n_leaves"][0]
    if base_tree in ONE_LEAF_A_CENTER:
        assert fewest == table.k
        smallest = model.with_leaves(table.k)
        assert sorted(smallest.tree_.label[smallest.tree_.leaves]) == list(range(table.k))
    else:
        fitting = {"none": {1}, "best": {1, table.k}, "kdtree": range(2, table.k + 1)}
        assert fewest in fitting.get(base_tree, {table.k})


def stated_and_recomputed(model, table):
    space, weights, labels = table.space, table.plain_weights, model.labels_
    means = cluster_means(space, labels, weights, model.reference_centers_)
    distances = squared_distances(space, model.reference_centers_)
    return {
        "inertia_": cost_to(space, labels, means, weights),
        "surrogate_inertia_": cost_to(space, labels, model.reference_centers_, weights),
        "reference_inertia_": weights @ distances.min(axis=1),
        "cluster_centers_": means,
    }


def test_the_stated_costs_are_the_recomputed_ones(model, table):
    for row in model.path_:
        small = model.with_leaves(row["n_leaves"])
        for name, expected in stated_and_recomputed(small, table).items():
            np.testing.assert_allclose(getattr(small, name), expected, rtol=1e-9, atol=1e-9)
        assert row["kmeans_cost"] == small.inertia_
        assert row["surrogate_cost"] == small.surrogate_inertia_
        assert row["ratio"] == small.inertia_ / small.reference_inertia_
        right = table.plain_weights[small.labels_ == small.reference_labels_].sum()
        np.testing.assert_allclose(row["accuracy"], right / table.plain_weights.sum(), rtol=1e-9)


def test_expansion_never_raises_the_surrogate(model):
    costs = model.path_["surrogate_cost"]
    assert (np.diff(costs) <= 1e-9 * costs[0]).all()


def test_thresholds_lie_strictly_between_values_that_occur(model, table):
    """In the node; where a base tree parts centers but no rows, in the table."""
    tree, there = model.tree_, table.plain_weights > 0
    rows = dense(table.X)[there]
    passed = model.decision_path(table.X).toarray().astype(bool)[there]
    for node in np.flatnonzero(~tree.is_leaf):
        column, threshold = rows[:, tree.feature[node]], tree.threshold[node]
        values = column[passed[:, node]]
        if (values <= threshold).all() or (values > threshold).all():
            values = column
        low, high = values[values <= threshold], values[values > threshold]
        assert low.max() < threshold < high.min()


def test_the_same_model_on_two_threads(model, table, base_tree, two_threads):
    assert_same_model(table.fit(base_tree=base_tree, n_jobs=2), model)


def test_with_leaves_is_fitting_with_that_number(model, table, base_tree):
    if base_tree == "best":
        return  # another base tree may be best for another number of leaves
    for n_leaves in (table.k, table.k + 1, N_LEAVES - 1):
        fitted = table.fit(base_tree=base_tree, max_leaf_nodes=n_leaves)
        assert_same_model(model.with_leaves(n_leaves), fitted)


def test_with_many_leaves_the_reference_comes_back(table, base_tree):
    model = table.fit(base_tree=base_tree, max_leaf_nodes=10 * table.X.shape[0])
    there = table.plain_weights > 0
    assert model.labels_[there].tolist() == model.reference_labels_[there].tolist()
    np.testing.assert_allclose(model.surrogate_inertia_, model.reference_inertia_, rtol=1e-9)
    np.testing.assert_allclose(model.path_["accuracy"][-1], 1.0, rtol=1e-12)
    if table.weights is None:  # k-means was fitted without weights: its centers are no means
        np.testing.assert_allclose(model.path_["ratio"][-1], 1.0, rtol=1e-4)


# ---- parameters, copies --------------------------------------------------------------------------


def test_parameters_are_kept_as_given(table, base_tree):
    parameters = {
        "base_tree": base_tree,
        "n_random_trees": 3,
        "random_state": 7,
        "max_leaf_nodes": 9,
    }
    model = table.model(**parameters)
    before = model.get_params(deep=False)
    model.fit(table.X, sample_weight=table.weights)
    assert model.get_params(deep=False) == before
    assert parameters.items() <= before.items()


def test_clone_and_pickle(model, table, base_tree):
    twin = clone(model).set_params(reference=table.reference)  # clone() makes it an unfitted one
    assert not hasattr(twin, "tree_")
    assert twin.base_tree == base_tree
    assert_same_model(twin.fit(table.X, sample_weight=table.weights), model)
    twin = pickle.loads(pickle.dumps(model))
    assert_same_model(twin, model)
    fewest = model.path_["n_leaves"][0]
    assert_same_model(twin.with_leaves(fewest), model.with_leaves(fewest))
    assert twin.predict(table.X).tolist() == model.labels_.tolist()


# ---- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("seed", range(2))
def test_a_weight_is_a_number_of_rows(base_tree, form, seed):
    weights = np.random.default_rng(seed).integers(0, 4, size=len(SCALED))
    model = ExKMC(5, reference=kmeans(SCALED, 5), base_tree=base_tree, max_leaf_nodes=14)
    weighted = clone(model).set_params(reference=model.reference)
    weighted.fit(form(SCALED), sample_weight=weights)
    repeated = model.fit(form(np.repeat(SCALED, weights, axis=0)))
    for name in ("feature", "threshold", "left", "right", "label", "growth"):
        np.testing.assert_array_equal(
            getattr(weighted.tree_, name), getattr(repeated.tree_, name), err_msg=name
        )
    assert np.repeat(weighted.labels_, weights).tolist() == repeated.labels_.tolist()
    for name in FLOATS:
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-9, atol=1e-12, err_msg=name
        )
    for name in PATH_FIELDS:
        np.testing.assert_allclose(weighted.path_[name], repeated.path_[name], rtol=1e-9)


# ---- "best" and "random" -------------------------------------------------------------------------


@pytest.mark.parametrize("n_leaves", [5, 8, 16])
def test_best_is_the_cheapest_of_those_it_tries(table, n_leaves):
    best = table.fit(base_tree="best", max_leaf_nodes=n_leaves)
    costs = {name: table.fit(base_tree=name, max_leaf_nodes=n_leaves).inertia_ for name in BEST_OF}
    np.testing.assert_allclose(best.inertia_, min(costs.values()), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_best_counts_a_bare_tree_with_its_own_labels():
    X = np.array([[1.0, 1.0], [2.0, 2.0], [0.0, 2.0]])
    centers = np.array([[3.0, 0.0], [3.0, 4.0], [0.0, 4.0]])
    costs = {
        name: ExKMC(3, base_tree=name, max_leaf_nodes=3, reference=centers).fit(X).inertia_
        for name in (*BEST_OF, "best")
    }
    assert costs["exgreedy"] == 0.0 < costs["imm"]
    assert costs["best"] == 0.0


def test_best_is_not_always_the_same():
    """Else it would be enough to try one."""
    winners = set()
    for X, k in ((IRIS, 3), (WINE, 3), (WINE, 6), (WORDS.toarray(), 4)):
        costs = {
            name: ExKMC(k, base_tree=name, max_leaf_nodes=k, reference=kmeans(X, k)).fit(X).inertia_
            for name in BEST_OF
        }
        winners.add(min(costs, key=costs.get))
    assert len(winners) > 1


def at_base(table, n_random_trees, seed):
    model = table.fit(base_tree="random", n_random_trees=n_random_trees, random_state=seed)
    return model.with_leaves(table.k)


@pytest.mark.parametrize("seed", range(5))
def test_more_random_trees_are_no_worse(table, seed):
    many, one = at_base(table, 20, seed), at_base(table, 1, seed)
    # The base leaves of the path carry their own center; the choice is by that cost.
    assert many.surrogate_inertia_ <= one.surrogate_inertia_ * (1 + 1e-12)


def test_more_random_trees_are_better_somewhere(table):
    pairs = [(at_base(table, 20, seed), at_base(table, 1, seed)) for seed in range(5)]
    assert any(many.surrogate_inertia_ < one.surrogate_inertia_ for many, one in pairs)


def test_random_trees_are_the_seeds(table):
    models = [
        table.fit(base_tree="random", n_random_trees=1, random_state=seed) for seed in range(6)
    ]
    assert len({model.tree_.threshold.tobytes() for model in models}) > 1
    for seed, model in enumerate(models):
        assert_same_model(table.fit(base_tree="random", n_random_trees=1, random_state=seed), model)


def test_random_trees_without_a_seed_are_always_the_same(table):
    models = [table.fit(base_tree="random", random_state=None) for _ in range(2)]
    assert_same_model(*models)


def test_a_random_state_is_drawn_from(table):
    """An instance moves on: the second fit has other cuts."""
    state = np.random.RandomState(3)
    models = [table.fit(base_tree="random", n_random_trees=1, random_state=state) for _ in range(6)]
    assert len({model.tree_.threshold.tobytes() for model in models}) > 1
    again = table.fit(base_tree="random", n_random_trees=1, random_state=np.random.RandomState(3))
    assert_same_model(again, models[0])


def test_every_base_tree_is_its_own():
    """No two names stand for the same search."""
    X, reference = WINE, kmeans(WINE, 6)
    trees = {
        name: ExKMC(6, base_tree=name, max_leaf_nodes=6, reference=reference).fit(X).tree_
        for name in BASE_TREES
        if name != "best"
    }
    cuts = {(*tree.feature.tolist(), *tree.threshold.tolist()) for tree in trees.values()}
    assert len(cuts) == len(trees)
