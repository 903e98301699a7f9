"""plot_path, and the suggested number of leaves that it marks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits, load_iris

from treemeans import ExKMC, plot_path
from treemeans.cost_path import PATH_DTYPE
from treemeans.explain.suggest_leaves import is_at_the_end, suggested_leaves


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def path_of(ratios, start=3):
    path = np.zeros(len(ratios), dtype=PATH_DTYPE)
    path["n_leaves"] = np.arange(start, start + len(ratios))
    path["ratio"] = ratios
    return path


@pytest.mark.parametrize(
    ("ratios", "leaves"),
    [
        ([1.3], 3),
        ([np.inf], 3),
        ([1.3, 1.1], 4),  # the second leaf pays
        ([1.014, 1.0139], 3),  # and here it does not
        ([1.5, 1.25, 1.0], 5),  # no bend: every leaf saves the same
        ([1.5, 1.45, 1.0], 5),  # it bends upwards
        ([1.5, 1.1, 1.05], 5),
        ([1.5, 1.1, 1.092], 4),  # less than 1 % of the cost of k-means
        ([1.0] * 9, 3),
        ([1.2, 1.2001, 1.3], 3),  # more leaves cost more
        ([2.0, 1.1, 1.2, 1.09, 1.08, 1.07], 4),  # a step back on the way
        ([np.inf, np.inf, 1.0], 5),
        ([np.inf, 1.4, 1.1, 1.09, 1.08], 5),
    ],
)
def test_knee_by_hand(ratios, leaves):
    assert suggested_leaves(path_of(ratios)) == leaves


@given(st.lists(st.floats(0.0, 0.3), min_size=2, max_size=30), st.integers(1, 9))
def test_no_other_size_is_better_by_its_leaves(steps, start):
    path = path_of(1 + np.cumsum(steps)[::-1], start)
    found = suggested_leaves(path)
    ratio = dict(zip(path["n_leaves"].tolist(), path["ratio"].tolist(), strict=True))
    for n, cost in ratio.items():
        assert ratio[found] - cost <= 0.01 * (n - found) + 1e-6


@given(st.floats(0.3, 0.8), st.integers(20, 60), st.integers(20, 60))
def test_the_knee_does_not_depend_on_the_range(factor, n, m):
    ratios = 1 + 0.5 * factor ** np.arange(60)  # less than 1 % after at most 14 leaves
    assert suggested_leaves(path_of(ratios[:n])) == suggested_leaves(path_of(ratios[:m]))


def test_the_knee_of_digits_is_the_same_for_all_ranges():
    path = ExKMC(10, max_leaf_nodes=40, random_state=0).fit(load_digits().data).path_
    assert {suggested_leaves(path[:n]) for n in (12, 15, 20, 31)} == {suggested_leaves(path)}
    assert not is_at_the_end(path)
    assert is_at_the_end(path[:3])


@pytest.fixture(scope="module")
def model():
    return ExKMC(3, max_leaf_nodes=8, random_state=0).fit(load_iris().data)


def test_the_curve_and_its_marks(model):
    small = model.with_leaves(5)
    ax = plot_path(small)
    curve, reference, knee, now = ax.lines
    assert curve.get_xdata().tolist() == list(range(3, 9))  # the whole fit, not only to 5
    assert curve.get_ydata().tolist() == model.path_["ratio"].tolist()
    assert set(reference.get_ydata()) == {1.0}
    assert knee.get_xdata()[0] == suggested_leaves(model.path_)
    assert now.get_xdata()[0] == 5
    assert now.get_ydata()[0] == model.path_["ratio"][2]
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert said[1] == "k-means"
    assert said[3].startswith("now: 5 leaves, 1.01")
    ax.figure.canvas.draw()
    assert all(float(t.get_text()) == int(float(t.get_text())) for t in ax.get_xticklabels())


def test_given_axes_and_one_size():
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
    ax = plt.figure().add_subplot()
    assert plot_path(model, ax=ax) is ax
    ax.figure.canvas.draw()


def test_not_fitted():
    with pytest.raises(ValueError, match="not fitted"):
        plot_path(ExKMC())
