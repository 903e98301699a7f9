"""plot_tree: drawings of trees with matplotlib."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from sklearn.datasets import load_iris

from tests.helpers.mutable_trees import HOSTILE, SHAPES, chain, grown, scattered
from treemeans import ExKMC, ThresholdTree, plot_tree
from treemeans.tree_layout.colors import fill

NAMES = ["a rather long name of a measurement (cm)", "x", "od280/od315_of_wines", "W" * 90]


@pytest.fixture(autouse=True)
def _close():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the font lacks it, and says so
        yield
    plt.close("all")


def extents(ax):
    ax.figure.canvas.draw()
    found = {}
    for text in ax.texts:
        box = text.get_window_extent()
        found[text] = (box.x0, box.y0, box.x1, box.y1)
    return found


def check(ax, slack=0.5):
    """No two texts overlap, and all are within the figure; ``slack``: of a pixel."""
    boxes = list(extents(ax).values())
    whole = ax.figure.bbox
    for i, (left, bottom, right, top) in enumerate(boxes):
        assert left > whole.x0 - slack
        assert right < whole.x1 + slack
        assert bottom > whole.y0 - slack
        assert top < whole.y1 + slack
        for a, b, c, d in boxes[:i]:
            apart_x = c <= left + slack or right <= a + slack
            assert apart_x or d <= bottom + slack or top <= b + slack


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_leaves", [2, 12, 25])
def test_labels_never_overlap(shape, n_leaves):
    check(plot_tree(shape(n_leaves), feature_names=NAMES))


@pytest.mark.parametrize("shape", [chain, scattered])
def test_labels_of_sixty_leaves_never_overlap(shape):
    check(plot_tree(shape(60, n_clusters=60), feature_names=NAMES))


@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize("start", range(0, len(HOSTILE), 4))
def test_hostile_names_are_written_as_they_are(direction, start):
    names = [name.replace("\x00", "") for name in HOSTILE[start : start + 4]]
    ax = plot_tree(
        scattered(10, n_clusters=4), feature_names=names, cluster_names=names, direction=direction
    )
    check(ax)
    assert not any(text.get_parse_math() or text.get_usetex() for text in ax.texts)


def test_no_formula_is_seen_in_a_name():
    tree = grown(2, lambda n, rng: 0)
    ax = plot_tree(tree, feature_names=["$x^2$"] * 4)
    name = ax.texts[0]
    assert name.get_text() == "$x^2$"
    plain = extents(ax)[name]
    name.set_parse_math(True)
    assert extents(ax)[name] != plain  # as a formula it would look otherwise


@pytest.mark.parametrize("size", [(2.0, 2.0), (4.0, 3.0), (12.0, 9.0)])
def test_fits_axes_of_any_size(size):
    figure = plt.figure(figsize=size, dpi=200)
    ax = figure.add_axes((0.05, 0.05, 0.9, 0.9))
    assert plot_tree(chain(15), ax=ax, feature_names=NAMES) is ax
    check(ax, slack=1.0)
    figure.set_size_inches(5, 4)  # and follows them
    check(ax, slack=1.0)


def test_fits_one_of_several_axes():
    _, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(10, 4), dpi=200)
    left.plot([1, 2])
    plot_tree(scattered(8), ax=right, feature_names=NAMES)
    check(right, slack=1.0)
    assert right.texts[0].get_fontsize() < 9.0


def test_a_small_tree_does_not_grow_without_end():
    figure = plt.figure(figsize=(20, 20))
    ax = plot_tree(chain(2), ax=figure.add_axes((0, 0, 1, 1)))
    figure.canvas.draw()
    assert 9.0 < ax.texts[0].get_fontsize() < 14.0


def test_font_size_and_ink_follow_the_settings():
    with plt.rc_context({"font.size": 20.0, "text.color": "#ff0000"}):
        ax = plot_tree(chain(3))
    assert ax.texts[0].get_fontsize() == pytest.approx(18.0, rel=1e-3)
    assert ax.texts[0].get_color() == "#ff0000"
    ax = plot_tree(chain(3), fontsize=6)
    assert ax.texts[0].get_fontsize() == pytest.approx(6.0, rel=1e-3)
    with pytest.raises(ValueError, match="fontsize must be positive"):
        plot_tree(chain(3), fontsize=0)


def test_a_model_reads_in_its_own_words():
    iris = load_iris(as_frame=True)
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(iris.data)
    ax = plot_tree(model, cluster_names=["A", "B", "C"])
    words = [text.get_text() for text in ax.texts]
    assert words.count("petal length (cm)") == 2
    assert {"A", "B", "C", "50 rows", "≤ 2.45", "> 5.15"} <= set(words)


def test_one_leaf():
    ax = plot_tree(ThresholdTree([-1], [0.0], [-1], [-1], [0], 1))
    check(ax)
    assert [text.get_text() for text in ax.texts] == ["cluster 0"]


def test_a_huge_tree_gets_smaller_letters():
    ax = plot_tree(scattered(70), fontsize=400.0)  # 620 inches
    assert max(ax.figure.get_size_inches()) == pytest.approx(200.0)
    assert ax.texts[0].get_fontsize() < 200.0
    assert len(plot_tree(scattered(70), max_leaves=4).texts) == 3 * 3 + 2 * 4 + 1


def test_colours_of_clusters():
    tree = grown(8, lambda n, rng: 0, n_clusters=8)
    ax = plot_tree(tree, direction="down")
    faces = [to_hex(patch.get_facecolor()) for patch in ax.patches]
    assert [face for node, face in enumerate(faces) if tree.is_leaf[node]] == [
        fill(label) for label in tree.label[tree.leaves]
    ]


def test_figures_can_be_kept():
    figure = plot_tree(chain(4)).figure
    again = pickle.loads(pickle.dumps(figure))
    assert len(again.axes[0].texts) == len(figure.axes[0].texts)


def test_vector_formats(tmp_path):
    ax = plot_tree(chain(5), feature_names=["<&>", "$", "_", "%"])
    for suffix in ("svg", "pdf"):
        ax.figure.savefig(tmp_path / f"tree.{suffix}", bbox_inches="tight")


def test_bad_subjects():
    with pytest.raises(TypeError, match="Expected a fitted model or a ThresholdTree"):
        plot_tree(3)
    with pytest.raises(ValueError, match="4 columns, but 1 names"):
        plot_tree(chain(3), feature_names=["x"])


def test_without_matplotlib(tmp_path):
    code = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import treemeans as t
tree = t.ThresholdTree([-1], [0.0], [-1], [-1], [0], 1)
for call in (lambda: t.plot_tree(tree), lambda: t.plot_path(1), lambda: t.plot_regions(1, [[1]])):
    try:
        call()
    except ImportError as error:
        print(error)
"""
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    said = 'This needs matplotlib; install it with `pip install "treemeans[plot]"`.'
    assert done.stdout.splitlines() == [said] * 3, done.stderr


def test_weights_of_all_rows_in_line_widths():
    tree = scattered(12, seed=3)
    ax = plot_tree(tree, direction="right")
    ax.figure.canvas.draw()
    widths = [line.get_linewidth() for line in ax.lines]
    children = [c for n in np.flatnonzero(~tree.is_leaf) for c in (tree.left[n], tree.right[n])]
    expected = np.maximum(9.0 * 0.4 * tree.weight[children] / tree.weight[0], 0.81)
    np.testing.assert_allclose(widths, expected, rtol=1e-2)
