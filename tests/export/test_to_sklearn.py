"""Trees as scikit-learn's: the same clusters, as far as float32 can tell them apart."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, export_graphviz, export_text, plot_tree

from tests.helpers.examples import examples
from tests.helpers.plain_numpy import leaf_of
from tests.helpers.random_trees import random_tree, rows_near, trees
from treemeans import ExKMC, ThresholdTree, export_sklearn
from treemeans.growth.given_tree import from_sklearn

IRIS = load_iris().data
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def model():
    return ExKMC(3, max_leaf_nodes=6, random_state=0).fit(IRIS)


def quietly(tree):
    """The classifier, without the warning that float32 loses a cut."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return export_sklearn(tree)


def float32(values):
    with np.errstate(over="ignore"):
        return np.asarray(values, dtype=np.float32)


# ---- float32, and what it cannot tell ------------------------------------------------------------


@examples(100)
@given(trees(known=False))
def test_rows_of_float32_are_exact(problem):
    tree, rng = problem  # without gaps, so that no threshold moves
    X = float32(rows_near(tree, rng))
    classifier = export_sklearn(tree)
    assert classifier.apply(X).tolist() == tree.apply(X).tolist()
    assert classifier.predict(X).tolist() == tree.predict(X).tolist()


@examples(100)
@given(trees(known=True))
def test_values_on_both_sides_of_a_gap_stay_there(problem):
    tree, rng = problem
    classifier = quietly(tree)
    for node in np.flatnonzero(~tree.is_leaf):
        (below, above), t = tree.gap[node], tree.threshold[node]
        moved = classifier.tree_.threshold[node]
        if float32(below) < float32(above):
            assert float32(below) <= moved < float32(above)
            assert below <= moved < above
        if float32(below) <= t < float32(above) or not float32(below) < float32(above):
            assert moved == t
    X = float32(rows_near(tree, rng))
    between = np.zeros(len(X), dtype=bool)  # a threshold and where it moved
    for node in np.flatnonzero(~tree.is_leaf):
        x = X[:, tree.feature[node]].astype(float)
        between |= (x <= tree.threshold[node]) != (x <= classifier.tree_.threshold[node])
    assert classifier.apply(X)[~between].tolist() == leaf_of(tree, X)[~between].tolist()


@st.composite
def close_tables(draw):
    """Tables of values that differ by little more than what float32 tells apart, or less."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(20, 60)), draw(st.integers(1, 3))
    at = draw(st.sampled_from([1.0, 0.1, 1000.0, -3.0, 2.0**24]))
    step = draw(st.sampled_from([1e-8, 5e-8, 1e-7, 3e-7, 1e-6]))
    X = at * (1 + step * rng.integers(-30, 30, (n, d)))
    return X, draw(st.booleans()), draw(st.sampled_from([3, 8, 15]))


@examples(80)
@given(close_tables())
def test_training_rows_keep_their_cluster_unless_a_warning_says_so(problem):
    X, rounded, n_leaves = problem
    centers = X[np.sort(np.unique(X, axis=0, return_index=True)[1])[:3]]
    k = len(centers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of centers without rows
        model = ExKMC(
            k, max_leaf_nodes=max(n_leaves, k), reference=centers, round_thresholds=rounded
        ).fit(X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier = model.to_sklearn()
    told_apart = [float32(b) < float32(a) for b, a in model.tree_.gap[~model.tree_.is_leaf]]
    assert bool(caught) == (not all(told_apart))
    if not caught:
        assert classifier.predict(X).tolist() == model.labels_.tolist()


def test_a_threshold_on_a_training_value_moves_with_it():
    # 0.1 becomes 0.100000001 in float32, which is more than the threshold.
    X = np.repeat([0.1, 0.3], 5)[:, None]
    tree = ThresholdTree(
        [0, -1, -1], [0.1, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1, gap=[[0.1, 0.3]] * 3
    )
    classifier = export_sklearn(tree)
    assert classifier.tree_.threshold[0] == np.float32(0.1)
    assert classifier.predict(X).tolist() == tree.predict(X).tolist() == [0] * 5 + [1] * 5


def test_a_warning_counts_the_cuts_that_float32_loses():
    below, above = 1.0, 1.0 + 1e-9
    tree = ThresholdTree(
        [0, 0, -1, -1, -1],
        [2.0, 1.0 + 5e-10, 0, 0, 0],
        [1, 3, -1, -1, -1],
        [2, 4, -1, -1, -1],
        [0, 0, 1, 0, 2],
        1,
        gap=[[1.5, 2.5], [below, above], *[[0, 0]] * 3],
    )
    with pytest.warns(UserWarning, match=r"^1 of the tree's 2 cuts part training values .*\.$"):
        classifier = export_sklearn(tree)
    assert classifier.predict([[2.5], [1.0]]).tolist() == [1, 0]


def test_beyond_float32():
    tree = ThresholdTree(
        [0, -1, -1], [1e39, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1, gap=[[1.0, 1e40]] * 3
    )
    assert export_sklearn(tree).predict([[1e38]]).tolist() == [0]


def test_back_again(model):
    # The importer finds the float64 thresholds that do what rounding to float32 does.
    back = from_sklearn(model.to_sklearn())
    assert back.apply(IRIS).tolist() == model.apply(IRIS).tolist()


# ---- a classifier in full ------------------------------------------------------------------------


def test_it_is_a_fitted_classifier(model):
    classifier = model.to_sklearn()
    assert type(classifier) is DecisionTreeClassifier
    assert classifier.classes_.tolist() == [0, 1, 2]
    assert (classifier.n_features_in_, classifier.n_outputs_, classifier.n_classes_) == (4, 1, 3)
    assert classifier.get_n_leaves() == model.n_leaves_
    assert classifier.get_depth() == model.tree_.depth.max()
    assert classifier.score(IRIS, model.labels_) == 1.0
    assert (classifier.decision_path(IRIS) != model.decision_path(IRIS)).nnz == 0
    assert classifier.predict(sparse.csr_array(IRIS)).tolist() == model.labels_.tolist()
    again = pickle.loads(pickle.dumps(classifier))
    assert again.predict(IRIS).tolist() == model.labels_.tolist()
    assert clone(classifier).fit(IRIS, model.labels_).score(IRIS, model.labels_) == 1.0


def test_it_looks_like_one_fitted_to_the_clusters(model):
    """Every number in its nodes is what scikit-learn would have put there."""
    ours, tree = model.to_sklearn().tree_, model.tree_
    path = model.decision_path(IRIS).toarray().astype(bool)
    for node in range(tree.n_nodes):
        share = np.bincount(model.labels_[path[:, node]], minlength=3) / path[:, node].sum()
        np.testing.assert_allclose(ours.value[node, 0], share)
        np.testing.assert_allclose(ours.impurity[node], 1 - (share**2).sum(), atol=1e-15)
        assert (
            ours.n_node_samples[node] == ours.weighted_n_node_samples[node] == path[:, node].sum()
        )
    theirs = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(IRIS, model.labels_).tree_
    assert ours.__getstate__().keys() == theirs.__getstate__().keys()
    assert ours.value.dtype == theirs.value.dtype
    assert ours.compute_feature_importances().sum() == pytest.approx(1.0)


@examples(50)
@given(trees())
def test_probabilities_are_sure_and_sum_to_one(problem):
    tree, rng = problem
    X = float32(rows_near(tree, rng))
    classifier = quietly(tree)
    chance = classifier.predict_proba(X)
    assert set(np.unique(chance)) <= {0.0, 1.0}
    assert (chance.sum(axis=1) == 1).all()
    assert chance.argmax(axis=1).tolist() == classifier.predict(X).tolist()
    np.testing.assert_allclose(classifier.tree_.value.sum(axis=2), 1.0)
    assert (classifier.tree_.weighted_n_node_samples > 0).all()
    assert (classifier.tree_.n_node_samples > 0).all()


def test_a_leaf_without_rows_still_has_its_cluster():
    weight = np.array([4.0, 4.0, 0.0, 1.0, 3.0])
    parts = ([0, 1, -1, -1, -1], [2.5, -1, 0, 0, 0], [1, 3, -1, -1, -1], [2, 4, -1, -1, -1])
    tree = ThresholdTree(*parts, [0, 0, 1, 0, 2], 2, weight)
    classifier = export_sklearn(tree)
    assert classifier.predict([[3.0, 0.0]]).tolist() == [1]
    assert classifier.tree_.value[0, 0].tolist() == [0.25, 0.0, 0.75]


def test_of_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(IRIS, columns=["a", "b <i>", 'c "x"\n', "\U0001f33a"])
    model = ExKMC(3, random_state=0).fit(frame)
    classifier = model.to_sklearn()
    assert classifier.feature_names_in_.tolist() == frame.columns.tolist()
    assert classifier.predict(frame).tolist() == model.labels_.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(frame.rename(columns={"a": "z"}))


def test_not_fitted():
    with pytest.raises(ValueError, match="not fitted"):
        ExKMC().to_sklearn()
    with pytest.raises(TypeError, match="fitted model or a ThresholdTree"):
        export_sklearn("tree")


# ---- other people's tools ------------------------------------------------------------------------


def test_scikit_learn_draws_it(model):
    classifier = model.to_sklearn()
    text = export_text(classifier)
    assert text.count("class:") == model.n_leaves_
    assert export_graphviz(classifier).count("->") == model.tree_.n_nodes - 1
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    assert len(plot_tree(classifier)) >= model.tree_.n_nodes
    pyplot.close("all")


def test_skl2onnx_converts_it(model):
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    X = IRIS.astype(np.float32)
    proto = skl2onnx.to_onnx(model.to_sklearn(), X[:1], options={"zipmap": False})
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    assert session.run(None, {"X": X})[0].tolist() == model.predict(X).tolist()


@pytest.mark.filterwarnings("ignore")  # of others
def test_shap_explains_it(model):
    shap = pytest.importorskip("shap")
    explainer = shap.TreeExplainer(model.to_sklearn())
    values = explainer.shap_values(IRIS)
    assert values.shape == (150, 4, 3)
    share = np.bincount(model.labels_) / 150
    np.testing.assert_allclose(explainer.expected_value, share)
    sure = np.eye(3)[model.labels_]
    np.testing.assert_allclose(values.sum(axis=1) + explainer.expected_value, sure, atol=1e-9)


@pytest.mark.filterwarnings("ignore")  # of others
def test_shap_explains_a_tree_made_by_hand():
    shap = pytest.importorskip("shap")
    tree = random_tree(np.random.default_rng(0), 12, 3, 4, known=False)
    X = np.random.default_rng(1).normal(size=(30, 3))
    explainer = shap.TreeExplainer(export_sklearn(tree))
    total = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, np.eye(4)[tree.predict(X)], atol=1e-9)


@pytest.mark.filterwarnings("ignore")  # of others
def test_dtreeviz_reads_it(model):
    dtreeviz = pytest.importorskip("dtreeviz")
    labels = model.labels_.astype(np.int64)  # dtreeviz takes no others
    view = dtreeviz.model(model.to_sklearn(), IRIS, labels, list("abcd"), "cluster", list("xyz"))
    shadow = view.shadow_tree
    assert shadow.nnodes() == model.tree_.n_nodes
    for node in shadow.leaves:
        assert node.prediction() == model.tree_.label[node.id]
        assert node.nsamples() == model.tree_.weight[node.id]
    drawn = view.view(x=IRIS[0])
    assert drawn.dot.count("->") >= model.tree_.n_nodes - 1
