"""The paper's statements, and its numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.tree import DecisionTreeClassifier

from tests.helpers.datasets import kmeans, load, synthetic_1, synthetic_2
from tests.helpers.examples import examples
from tests.helpers.plain_numpy import squared_distances
from treemeans import ExKMC, ThresholdTree

# Random centers are sometimes nearest to no row.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# ---- random tables, centers and trees ------------------------------------------------------------


def tables(n_rows, n_columns, values):
    return hnp.arrays(np.float64, (n_rows, n_columns), elements=values)


@st.composite
def problems(draw, max_rows=30):
    """A table and distinct centers, mostly on a coarse grid: ties and duplicates abound."""
    values = draw(
        st.sampled_from(
            [
                st.integers(-3, 3).map(float),
                st.integers(-8, 8).map(lambda i: i / 4),
                # Tables of tinier numbers, whose squares underflow, are refused.
                st.floats(-100, 100).map(lambda x: x if abs(x) > 1e-100 else 0.0),
            ]
        )
    )
    n_columns, k = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    X = draw(tables(draw(st.integers(k, max_rows)), n_columns, values))
    if draw(st.booleans()):  # centers of a clustering: means of parts of the rows
        part = draw(hnp.arrays(np.int64, len(X), elements=st.integers(0, k - 1)))
        centers = np.array([X[part == c].mean(axis=0) for c in np.unique(part)])
    else:
        centers = draw(tables(k, n_columns, values))
    return X, np.unique(centers, axis=0)


def grown(X, centers, max_leaves=None, base_tree="imm"):
    max_leaves = None if max_leaves is None else max(max_leaves, len(centers))
    return ExKMC(None, reference=centers, max_leaf_nodes=max_leaves, base_tree=base_tree).fit(X)


def prices(X, centers):
    return ((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)


def surrogate(X, centers, tree):
    """The paper's definition: over the leaves, the cost of the best center for all its rows."""
    costs = prices(X, centers)
    leaf = tree.apply(X)
    return sum(costs[leaf == node].sum(axis=0).min() for node in np.unique(leaf))


def at_most(value, bound):
    """Up to the rounding of sums in floating point."""
    return np.all(value <= bound + 1e-9 * (1 + np.abs(bound)))


def cut_once_more(tree, leaf, feature, threshold):
    """The tree with one leaf cut."""
    n = tree.n_nodes
    feature_, threshold_ = np.append(tree.feature, [-1, -1]), np.append(tree.threshold, [0.0, 0.0])
    left, right = np.append(tree.left, [-1, -1]), np.append(tree.right, [-1, -1])
    feature_[leaf], threshold_[leaf], left[leaf], right[leaf] = feature, threshold, n, n + 1
    label = np.append(tree.label, [0, 0])
    return ThresholdTree(feature_, threshold_, left, right, label, tree.n_features)


# ---- Theorem 1: the surrogate cost never rises ---------------------------------------------------


@examples(200)
@given(problems(), st.integers(1, 12), st.sampled_from(["imm", "none"]), st.data())
def test_theorem_1_for_any_cut_of_any_leaf(problem, n_leaves, base_tree, data):
    X, centers = problem
    tree = grown(X, centers, n_leaves, base_tree).tree_
    leaf = data.draw(st.sampled_from(tree.leaves.tolist()))
    feature = data.draw(st.integers(0, X.shape[1] - 1))
    threshold = data.draw(st.one_of(st.sampled_from(X[:, feature].tolist()), st.floats(-120, 120)))
    cut = cut_once_more(tree, leaf, feature, threshold)
    before = grown(X, centers, base_tree=tree).path_["surrogate_cost"][0]
    after = grown(X, centers, base_tree=cut).path_["surrogate_cost"][0]
    assert at_most(after, before)
    np.testing.assert_allclose(before, surrogate(X, centers, tree), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(after, surrogate(X, centers, cut), rtol=1e-9, atol=1e-9)


@examples(150)
@given(problems(), st.sampled_from(["imm", "none"]))
def test_theorem_1_for_every_cut_of_the_algorithm(problem, base_tree):
    X, centers = problem
    path = grown(X, centers, len(X), base_tree).path_
    assert at_most(path["surrogate_cost"][1:], path["surrogate_cost"][:-1])


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
@pytest.mark.parametrize("base_tree", ["imm", "none"])
def test_theorem_1_on_data(name, base_tree):
    X, k = load(name)
    model = ExKMC(k, max_leaf_nodes=20 * k, reference=kmeans(X, k, n_init=1), base_tree=base_tree)
    path = model.fit(X).path_
    assert at_most(path["surrogate_cost"][1:], path["surrogate_cost"][:-1])
    assert path["surrogate_cost"][-1] < path["surrogate_cost"][0] or path["ratio"][0] < 1 + 1e-9


# ---- Theorem 2 and the corollary: the reference comes back ---------------------------------------


@examples(100)
@given(problems())
def test_theorem_2_a_tree_that_refines_the_reference_gives_it_back(problem):
    X, centers = problem
    reference_labels = grown(X, centers).reference_labels_
    refining = DecisionTreeClassifier(random_state=0).fit(X.astype(np.float32), reference_labels)
    pure = refining.predict(X.astype(np.float32)) == reference_labels
    if not pure.all():  # rows that float32 cannot tell apart
        X, reference_labels = X[pure], reference_labels[pure]
    model = grown(X, centers, refining.get_n_leaves(), base_tree=refining)
    base = model.with_leaves(refining.get_n_leaves())
    # Fixed point cannot tell costs apart that differ by less than 2**-60 of the total.
    costs, rows = prices(X, centers), np.arange(len(X))
    equal = np.isclose(costs[rows, base.labels_], costs[rows, reference_labels], rtol=1e-9)
    assert np.all(equal | (base.labels_ == reference_labels))
    np.testing.assert_allclose(base.surrogate_inertia_, base.reference_inertia_, rtol=1e-9)


@examples(200)
@given(problems(), st.sampled_from(["imm", "none"]))
def test_corollary_n_leaves_give_the_reference_back(problem, base_tree):
    X, centers = problem
    # IMM has leaves for centers without rows, too: they come on top of the n.
    model = grown(X, centers, len(X) + len(centers), base_tree)
    costs = np.sort(prices(X, centers), axis=1)
    own = prices(X, centers)[np.arange(len(X)), model.labels_]
    assert at_most(own, costs[:, 0])
    # A row between two centers may go to either.
    between = np.isclose(costs[:, 0], costs[:, min(1, len(centers) - 1)], rtol=1e-9, atol=1e-9)
    assert np.all(between | (model.labels_ == model.reference_labels_) | (len(centers) == 1))
    np.testing.assert_allclose(model.surrogate_inertia_, model.reference_inertia_, rtol=1e-9)


@pytest.mark.parametrize("base_tree", ["imm", "none"])
def test_corollary_where_a_leaf_of_imm_holds_only_mistakes(base_tree):
    # Both rows are nearest to center 1. IMM must cut between the centers, and parts the first row
    # from its center; that leaf is pure then, but not of the center it is labelled with.
    X = np.array([[-1.0, -2.0], [2.0, 1.0]])
    centers = np.array([[-1.0, 1.0], [1.0, 0.0]])
    model = grown(X, centers, 10, base_tree)
    assert model.reference_labels_.tolist() == [1, 1]
    assert model.labels_.tolist() == [1, 1]
    assert model.surrogate_inertia_ == pytest.approx(model.reference_inertia_)


@pytest.mark.parametrize("base_tree", ["imm", "none"])
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_corollary_on_data(name, base_tree):
    X, k = load(name)
    model = ExKMC(k, max_leaf_nodes=len(X), reference=kmeans(X, k), base_tree=base_tree).fit(X)
    assert model.labels_.tolist() == model.reference_labels_.tolist()
    np.testing.assert_allclose(model.path_["ratio"][-1], 1.0, rtol=1e-9)


# ---- the k-means cost, IMM, and Theorem 3 --------------------------------------------------------


@examples(100)
@given(problems(), st.sampled_from(["imm", "none"]))
def test_surrogate_is_at_least_the_kmeans_cost(problem, base_tree):
    X, centers = problem
    path = grown(X, centers, len(X), base_tree).path_
    assert at_most(path["kmeans_cost"], path["surrogate_cost"])


@examples(200)
@given(problems())
def test_imm_has_a_leaf_for_every_center(problem):
    X, centers = problem
    k = len(centers)
    tree = grown(X, centers, k).with_leaves(k).tree_
    assert tree.n_leaves == k
    leaf = tree.apply(centers)
    assert sorted(leaf) == tree.leaves.tolist()
    cheapest = squared_distances(X, centers).min(axis=1)
    for center in range(k):
        label = tree.label[leaf[center]]
        if label != center:  # only where all rows are at home with another center
            rows = tree.apply(X) == leaf[center]
            np.testing.assert_allclose(tree.costs[leaf[center], label], cheapest[rows].sum())
            assert tree.costs[leaf[center], center] > tree.costs[leaf[center], label]


@examples(200)
@given(problems())
def test_theorem_3_imm_is_not_far_from_the_reference(problem):
    """The bound that Dasgupta et al. prove: (8 H k + 2) times the reference, H the depth."""
    X, centers = problem
    k = len(centers)
    model = grown(X, centers, k).with_leaves(k)
    depth = int(model.tree_.depth.max())
    assert at_most(model.surrogate_inertia_, (8 * depth * k + 2) * model.reference_inertia_)


# ---- the synthetic sets --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "d"), [(10, 400), (10, 1000), pytest.param(30, 1000, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("seed", range(2))
def test_synthetic_2(k, d, seed):
    """Hard for k leaves; the cost falls about linearly; k log k leaves reach the reference."""
    assert d > k**2
    X = synthetic_2(seed, k, d)
    model = ExKMC(k, max_leaf_nodes=20 * k, reference=kmeans(X, k, seed, n_init=1)).fit(X)
    # k-means++ finds the codewords: each cluster is its codeword's d rows, at a cost of d - 1.
    np.testing.assert_allclose(model.reference_inertia_, k * (d - 1))
    path = model.path_
    # IMM starts at O(log k), and no tree of k leaves starts at less than that order.
    assert 1 + 0.5 * np.log(k) < path["ratio"][0] < 1 + np.log2(k)
    # Every cut saves the same, up to a constant: c d.
    saved = -np.diff(path["surrogate_cost"])
    assert saved.max() < 1.5 * saved.min()
    assert saved.min() > d
    straight = np.polyval(np.polyfit(path["n_leaves"], path["ratio"], 1), path["n_leaves"])
    assert np.abs(path["ratio"] - straight).max() < 0.1
    # The reference is reached, and then there is nothing left to cut.
    assert model.n_leaves_ <= k * np.log2(k)
    assert model.labels_.tolist() == model.reference_labels_.tolist()
    np.testing.assert_allclose(path["ratio"][-1], 1.0, rtol=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_synthetic_1(seed):
    """CART is misled by two far points: it never cuts them off."""
    X = synthetic_1(seed)
    reference = kmeans(X, 3, seed)

    def ratio_of_cart(n_leaves):
        cart = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0)
        labels = cart.fit(X, reference.labels_).predict(X)
        clusters = [X[labels == c] for c in np.unique(labels)]
        return sum(((x - x.mean(axis=0)) ** 2).sum() for x in clusters) / reference.inertia_

    for base_tree in ("imm", "none"):
        model = ExKMC(3, max_leaf_nodes=36, reference=reference, base_tree=base_tree).fit(X)
        ratio = dict(model.path_[["n_leaves", "ratio"]].tolist())
        assert ratio[3] < 1.6
        assert ratio[12] < 1.12
        assert model.path_["ratio"][-1] < 1.01
    assert ratio_of_cart(3) > 5
    assert ratio_of_cart(12) > 5


# ---- published numbers ---------------------------------------------------------------------------

# Ratio of the k-means cost at k leaves (IMM) to the reference: published, and how far the mean over
# ten seeds of k-means may be from it. That is three standard errors of such a mean, and half of the
# last digit published. Iris, Wine and Breast Cancer have one optimum, which every seed finds.
PUBLISHED = {
    "iris": (1.037, 0.0005),
    "wine": (1.000, 0.0005),
    "breast_cancer": (1.000, 0.0005),
    "digits": (1.23, 0.024),
    "mice_protein": (1.12, 0.035),
    "anuran": (1.30, 0.066),
    "avila": (1.10, 0.016),
}


def mean_ratios(X, k, seeds, n_init):
    """At k leaves and at 2 k, means over seeds of k-means."""
    paths = [ExKMC(k, reference=kmeans(X, k, seed, n_init)).fit(X).path_ for seed in seeds]
    assert {int(path["n_leaves"][0]) for path in paths} == {k}
    return np.mean([(path["ratio"][0], path["ratio"][-1]) for path in paths], axis=0)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ("anuran", "avila") else name
        for name in PUBLISHED
    ],
)
def test_published_ratio_at_k_leaves(name):
    X, k = load(name)
    published, noise = PUBLISHED[name]
    assert mean_ratios(X, k, range(10), n_init=10)[0] == pytest.approx(published, abs=noise)


@pytest.mark.slow
def test_published_ratio_of_covtype():
    """k-means is slow here, and the ratio the same for every seed, to 0.0005: one of them does."""
    X, k = load("covtype")
    assert mean_ratios(X, k, range(1), n_init=1)[0] == pytest.approx(1.03, abs=0.005)


@pytest.mark.slow
def test_ratio_of_20newsgroups():
    """Published as 1.006 at k leaves: that is what we get at 2 k. At k, we get 1.024 (sd 0.005).

    The tree is IMM's all the same: a plain numpy IMM gives the same labels on this table. With
    n_init=10, as published, the mean is 1.026 (sd 0.002).
    """
    X, k = load("20newsgroups")
    at_k, at_2k = mean_ratios(X, k, range(5), n_init=1)
    assert at_k == pytest.approx(1.024, abs=0.007)
    assert at_2k == pytest.approx(1.006, abs=0.002)
