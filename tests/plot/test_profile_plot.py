"""plot_profiles, trees with distributions, and rows projected to their main axes."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from scipy import sparse
from sklearn.datasets import load_digits, load_iris

from treemeans import BadSegmentWarning, ExKMC, plot_profiles, plot_regions, plot_tree
from treemeans.tree_layout.colors import fill

pytestmark = pytest.mark.usefixtures("one_thread")
IRIS = load_iris(as_frame=True).data


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return ExKMC(3, max_leaf_nodes=5, random_state=0).fit(IRIS)


@pytest.fixture(scope="module")
def digits():
    X = load_digits().data
    return ExKMC(10, max_leaf_nodes=20, random_state=0).fit(X), X


def test_a_cell_has_the_mean_and_the_colour_of_its_distance(model):
    ax = plot_profiles(model)
    means = IRIS.groupby(model.labels_).mean()
    apart = (means - IRIS.mean()) / IRIS.std(ddof=0)
    order = np.argsort(-apart.abs().max().to_numpy(), kind="stable")
    shown = [label.get_text() for label in ax.get_xticklabels()]
    assert shown == IRIS.columns[order].tolist()
    texts = [float(text.get_text()) for text in ax.texts]
    np.testing.assert_allclose(texts, means.to_numpy()[:, order].ravel(), rtol=1e-3)
    np.testing.assert_allclose(ax.images[0].get_array(), apart.to_numpy()[:, order], rtol=1e-9)
    assert "%" in ax.get_yticklabels()[0].get_text()


def test_columns_of_categories_have_no_mean():
    plan = np.repeat(["basic", "pro"], 30)
    table = pd.DataFrame({"plan": plan, "spend": np.where(plan == "pro", 90.0, 5.0)})
    ax = plot_profiles(ExKMC(2, random_state=0).fit(table))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["spend"]
    with pytest.warns(BadSegmentWarning, match="is one category of plan"):
        only = ExKMC(2, random_state=0).fit(table[["plan"]])
    with pytest.raises(ValueError, match="all columns hold categories; use plot_tree"):
        plot_profiles(only)


def test_many_columns_and_names(digits):
    ax = plot_profiles(digits[0], max_columns=7, cluster_names=[f"$n_{i}" for i in range(10)])
    assert len(ax.get_xticklabels()) == 7
    assert ax.get_yticklabels()[3].get_text().startswith("$n_3 (")
    with pytest.raises(ValueError, match="max_columns must be a positive whole number; got 0"):
        plot_profiles(digits[0], max_columns=0)
    with plt.style.context("dark_background"):
        plot_profiles(digits[0]).figure.canvas.draw()


def test_an_empty_cluster_has_an_empty_line():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 1.0]])
    with pytest.warns(UserWarning, match="are empty"):
        model = ExKMC(3, reference=np.array([[0.5, 0.0], [9.0, 1.0], [500.0, 0.0]])).fit(X)
    assert len(plot_profiles(model).texts) < 3 * 2 + 1


def test_distributions_show_the_rows_of_each_split_and_the_cut(model):
    ax = plot_tree(model, X=IRIS, distributions=True)
    tree = model.tree_
    splits = np.flatnonzero(~tree.is_leaf)
    insets = ax.child_axes
    assert len(insets) == len(splits)
    arrived = tree.decision_path(IRIS.to_numpy()).toarray().sum(axis=0)
    for node, inset in zip(splits.tolist(), insets, strict=True):
        counted = sum(patch.get_height() for patch in inset.patches)
        assert counted == arrived[node]
        assert inset.lines[0].get_xdata()[0] == tree.threshold[node]
        assert inset.get_title() == IRIS.columns[tree.feature[node]]
        colours = {matplotlib_hex(patch.get_facecolor()) for patch in inset.patches}
        assert colours <= {fill(i) for i in range(3)}
    written = " ".join(text.get_text() for text in ax.texts)
    assert all(written.count(f"{i}: ") == np.sum(tree.label[tree.leaves] == i) for i in range(3))
    with plt.style.context("dark_background"):
        model.plot(X=IRIS, distributions=True).figure.canvas.draw()


def matplotlib_hex(color):
    from matplotlib.colors import to_hex

    return to_hex(color)


def test_distributions_of_dates_flags_and_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, 80), "D"),
            "flag": rng.integers(0, 2, 80).astype(float) * 50,
            "color_red": rng.integers(0, 2, 80) * 40.0 / 40.0,
        }
    )
    model = ExKMC(4, max_leaf_nodes=8, random_state=0).fit(frame)
    model.plot(X=frame, distributions=True).figure.canvas.draw()


def test_distributions_are_refused_without_rows_and_for_large_trees(model):
    with pytest.raises(ValueError, match="give the table as X"):
        plot_tree(model, distributions=True)
    X = np.random.default_rng(0).normal(size=(300, 3))
    large = ExKMC(10, max_leaf_nodes=30, random_state=0).fit(X)
    with pytest.raises(ValueError, match="up to 24 leaves; this one has 30"):
        plot_tree(large, X=X, distributions=True)
    plot_tree(large, X=X, distributions=True, max_leaves=12)


def test_many_columns_are_projected(digits):
    model, X = digits
    ax = plot_regions(model, X)
    assert "no plane can show" in ax.get_title(loc="left")
    assert sum(len(each.get_offsets()) for each in ax.collections) == len(X)
    assert {text.get_text() for text in ax.texts} == {str(i) for i in range(10)}
    plot_regions(model, sparse.csr_array(X), max_points=100)
    assert plot_regions(model, X, features=(20, 30)).get_xlabel() == "x20"


def test_points_that_other_columns_take_elsewhere_are_faded(model):
    ax = plot_regions(model, IRIS, features=[0, 1])
    opacity = np.concatenate([np.atleast_1d(each.get_alpha()) for each in ax.collections[-2:]])
    assert set(np.unique(opacity)) == {0.22, 1.0}
