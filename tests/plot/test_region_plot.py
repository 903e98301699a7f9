"""plot_regions: cells of the tree, rows, and borders of the reference."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.helpers.mutable_trees import SHAPES
from tests.helpers.random_trees import MIXED_COLUMNS, mixed_rows, mixed_tree
from tests.helpers.report_cases import hand_made_model
from treemeans import ExKMC, plot_regions
from treemeans.plot.feature_plane import Plane, cells, grid_distances
from treemeans.tree_layout.colors import fill, mixed

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def fitted(X, k=3, leaves=6, **options):
    return ExKMC(k, max_leaf_nodes=leaves, random_state=0, **options).fit(X)


@pytest.fixture(scope="module")
def blobs():
    X, _ = make_blobs(150, centers=4, random_state=1, cluster_std=1.5)
    return X, fitted(X, 4, 8)


@given(st.integers(0, 10**6), st.permutations([0, 1, 2, 3]))
def test_cells_of_sets_of_categories(seed, order):
    rng = np.random.default_rng(seed)
    tree = mixed_tree(rng, 12, missing="none")
    pair = order[0], order[1]
    fixed = np.array([0.25, 2.0, -0.75, 1.0])
    found = cells(tree, pair, fixed, (-1.2, -1.2), (6.3, 6.3))
    points = np.tile(fixed, (300, 1))
    for feature in pair:
        codes = rng.integers(0, 7, 300)
        points[:, feature] = codes if feature % 2 else rng.uniform(-1.2, 6.3, 300)
    leaf = tree.apply(points)
    for point, wanted in zip(points[:, list(pair)], leaf.tolist(), strict=True):
        inside = [c for c in found if np.all(point > c.above) and np.all(point <= c.upto)]
        assert [cell.leaf for cell in inside] == [wanted]
    area = sum(np.prod(np.subtract(cell.upto, cell.above)) for cell in found)
    assert area == pytest.approx(7.5**2)


@given(st.sampled_from(SHAPES), st.integers(1, 25), st.integers(0, 999), st.permutations(range(4)))
def test_cells_are_what_the_tree_predicts(shape, n_leaves, seed, order):
    tree = shape(n_leaves, seed=seed)
    rng = np.random.default_rng(seed)
    features = tuple(order[:2])
    elsewhere = rng.normal(size=4)
    found = cells(tree, features, elsewhere, (-2.0, -1.0), (2.0, 3.0))
    assert sum(np.subtract(c.upto, c.above).prod() for c in found) == pytest.approx(16.0)
    rows = np.tile(elsewhere, (40, 1))
    rows[:, list(features)] = rng.uniform((-2, -1), (2, 3), size=(40, 2))
    for row, leaf in zip(rows, tree.apply(rows), strict=True):
        holding = [
            c.leaf
            for c in found
            if all(c.above[i] < row[f] <= c.upto[i] for i, f in enumerate(features))
        ]
        assert holding == [leaf]


def test_what_is_drawn(blobs):
    X, model = blobs
    ax = plot_regions(model, X)
    assert len(ax.patches) == model.n_leaves_
    tints = {mixed(fill(c), "#ffffff", 0.55) for c in range(4)}
    assert {to_hex(patch.get_facecolor()) for patch in ax.patches} == tints
    kept, moved = ax.collections[-2:]
    differs = model.labels_ != model.reference_labels_
    assert 0 < differs.sum() < len(X) / 2
    np.testing.assert_array_equal(moved.get_offsets(), X[differs])
    np.testing.assert_array_equal(kept.get_offsets(), X[~differs])
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2", "3"]
    np.testing.assert_allclose([t.get_position() for t in ax.texts], model.reference_centers_)
    assert ax.get_legend().get_title().get_text() == ""  # two columns: nothing is left out
    ax.figure.canvas.draw()


def border_points(ax):
    return np.concatenate([path.vertices for c in ax.collections[:-2] for path in c.get_paths()])


def test_borders_are_equally_far_from_two_centers(blobs):
    X, model = blobs
    points = border_points(plot_regions(model, X))
    assert len(points) > 200
    distances = np.linalg.norm(points[:, None] - model.reference_centers_, axis=-1)
    nearest, second = np.sort(distances, axis=1)[:, :2].T
    np.testing.assert_allclose(nearest, second, rtol=2e-3)  # a square of the grid too far
    assert np.mean(second - nearest < 1e-9) > 0.98


def test_without_the_reference(blobs):
    X, model = blobs
    ax = plot_regions(model, X, reference=False)
    kept, moved = ax.collections
    assert len(moved.get_offsets()) == 0
    assert len(kept.get_offsets()) == len(X)
    np.testing.assert_allclose([t.get_position() for t in ax.texts], model.cluster_profiles_)
    assert len(ax.get_legend().get_texts()) == 1


def test_a_slice_says_so_and_lies_at_the_median():
    X = load_iris().data
    model = fitted(X)
    ax = plot_regions(model, X, features=(2, 3))
    assert "median" in ax.get_legend().get_title().get_text()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x2", "x3")
    middle = np.median(X, axis=0)
    for patch in ax.patches:
        row = middle.copy()
        row[2:] = patch.get_center()
        label = int(model.predict(row[None])[0])
        assert to_hex(patch.get_facecolor()) == mixed(fill(label), "#ffffff", 0.55)


def test_the_columns_that_save_most_are_shown():
    iris = load_iris(as_frame=True).data
    model = fitted(iris)
    best = np.argsort(-model.feature_importances_)[:2]
    ax = plot_regions(model, iris)
    assert [ax.get_xlabel(), ax.get_ylabel()] == iris.columns[best].tolist()


def test_no_slice_where_only_the_tree_is_shown_and_cuts_the_two():
    X = load_iris().data
    model = fitted(X, allowed_features=[2, 3])
    assert plot_regions(model, X, reference=False).get_legend().get_title().get_text() == ""
    assert "median" in plot_regions(model, X).get_legend().get_title().get_text()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, np.asarray, sparse.csr_array])
def test_kinds_of_tables_with_a_pipeline(frame):
    X = load_iris().data
    names = ["a", "b", "$c$", "d\n"]
    if frame is pd.DataFrame:
        X = pd.DataFrame(X, columns=names)
    elif frame is pl.DataFrame:
        X = pl.DataFrame(X, schema=names)
    else:
        X = frame(X)
    steps = StandardScaler(with_mean=frame is not sparse.csr_array)
    reference = make_pipeline(steps, KMeans(3, n_init=3, random_state=0))
    model = fitted(X, reference=reference)
    ax = plot_regions(model, X, features=(2, 3))
    assert len(border_points(ax)) > 50
    assert len(ax.texts) == 3
    if hasattr(X, "columns"):
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("$c$", "d")
        assert not ax.xaxis.label.get_parse_math()
    ax.figure.canvas.draw()


def test_a_pipeline_that_asks_for_names():
    iris = load_iris(as_frame=True).data
    scaled = make_column_transformer((StandardScaler(), list(iris.columns)))
    model = fitted(iris, reference=make_pipeline(scaled, KMeans(3, n_init=3, random_state=0)))
    names = ["petal width (cm)", "sepal width (cm)"]
    ax = plot_regions(model, iris, features=names)
    points = border_points(ax)
    rows = np.tile(iris.median().to_numpy(), (len(points), 1))
    rows[:, [3, 1]] = points
    space = model._fit_result.reference.pipeline.transform(pd.DataFrame(rows, columns=iris.columns))
    distances = np.linalg.norm(space[:, None] - model.reference_centers_, axis=-1)
    nearest, second = np.sort(distances, axis=1)[:, :2].T
    np.testing.assert_allclose(nearest, second, rtol=1e-3)


def test_grid_distances_are_squared_distances(blobs):
    X = load_iris().data
    model = fitted(X)
    plane = Plane.of(model, X, (3, 1), True)
    across, up = np.array([0.5, 1.0]), np.array([2.0, 3.0, 4.0])
    found = grid_distances(plane, model, X, across, up)
    for c, center in enumerate(model.reference_centers_):
        for i, y in enumerate(up):
            for j, x in enumerate(across):
                row = np.median(X, axis=0)
                row[[3, 1]] = x, y
                assert found[c, i, j] == pytest.approx(((row - center) ** 2).sum())


def test_dates_and_flags_on_the_axes():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "when": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, 80), "D"),
            "member": rng.integers(0, 2, 80),
        }
    )
    model = fitted(frame, 2, 4)
    ax = plot_regions(model, frame, features=["when", "member"])
    ax.figure.canvas.draw()
    ticks = [tick.get_text() for tick in ax.get_xticklabels()]
    assert any(tick.startswith("2024-") for tick in ticks)
    assert len(ax.patches) >= 2


def test_only_some_of_many_points():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    model = fitted(X)
    ax = plot_regions(model, X, max_points=500)
    assert sum(len(c.get_offsets()) for c in ax.collections[-2:]) == 500


def test_one_value_and_given_axes():
    X = np.column_stack([np.arange(20.0), np.ones(20)])
    ax = plt.figure().add_subplot()
    assert plot_regions(fitted(X, 2, 3), X, ax=ax) is ax
    ax.figure.canvas.draw()


def test_bad_requests(blobs):
    X, model = blobs
    for features, said in [
        ((0,), "two columns"),
        ("ab", "two columns"),
        ((1, 1), "two different columns"),
        ((0, 7), "no column 7"),
    ]:
        with pytest.raises(ValueError, match=said):
            plot_regions(model, X, features=features)
    with pytest.raises(ValueError, match="fitted on one"):
        plot_regions(fitted(X[:, :1]), X[:, :1])
    with pytest.raises(ValueError, match="not fitted"):
        plot_regions(ExKMC(), X)


def test_categories_are_named_at_their_codes():
    X = np.nan_to_num(mixed_rows(np.random.default_rng(0), 100))
    ax = plot_regions(hand_made_model(), X, features=["x1", "x0"], reference=False)
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert names == list(MIXED_COLUMNS[1].categories)
    assert ax.get_xticks().tolist() == list(range(len(names)))
