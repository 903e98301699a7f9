"""Drawings of trees: no text overlaps a text or a line, whatever the tree and the names."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.mutable_trees import HOSTILE, SHAPES, balanced, chain, scattered
from treemeans import ThresholdTree
from treemeans.columns import Reader, plain_columns
from treemeans.columns.number_text import format_number
from treemeans.tree_layout import draw_tree
from treemeans.tree_layout.shapes import ABOVE, BELOW
from treemeans.tree_layout.text_fitting import estimated_width
from treemeans.tree_layout.top_down import horizontal_positions
from treemeans.tree_layout.tree_labels import in_order, label_tree

LONG = ["a rather long name of a measurement (cm)", "x", "sensor_7_temperature_north", "b" * 90]


def drawing_of(tree, names=LONG, direction=None, **options):
    reader = Reader(tree, plain_columns(tree.n_features, names))
    return draw_tree(label_tree(reader, **options), estimated_width, 9.0, direction)


def extent(text):
    """Left, top, right, bottom."""
    width = estimated_width(text.words, text.size, bold=text.bold)
    left = text.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor] * width
    return left, text.y - ABOVE * text.size, left + width, text.y + BELOW * text.size


def meet(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def pieces(line):
    """The straight pieces of a line as rectangles."""
    half = line.width / 2
    for (x, y), (u, v) in zip(line.points, line.points[1:], strict=False):
        assert x == u or y == v
        yield min(x, u) - half, min(y, v) - half, max(x, u) + half, max(y, v) + half


def check(drawing):
    texts = [extent(text) for text in drawing.texts]
    for i, one in enumerate(texts):
        assert min(one) >= 0
        assert one[2] <= drawing.width
        assert one[3] <= drawing.height
        for other in texts[:i]:
            assert not meet(one, other)
    tight = [(a, b + 0.15 * (d - b), c, d - 0.15 * (d - b)) for a, b, c, d in texts]
    for line in drawing.lines:
        for piece in pieces(line):
            assert not any(meet(piece, text) for text in tight), line
    boxes = [(b.x, b.y, b.x + b.width, b.y + b.height) for b in drawing.boxes]
    for i, box in enumerate(boxes):
        assert not any(meet(box, other) for other in boxes[:i])
        for text in texts:
            inside = box[0] <= text[0] and text[2] <= box[2]
            assert inside or not meet(box, text)


@examples(60)
@given(
    st.sampled_from(SHAPES),
    st.integers(1, 60),
    st.sampled_from(["down", "right", None]),
    st.booleans(),
    st.integers(0, 2**20),
)
def test_nothing_overlaps(shape, n_leaves, direction, weighted, seed):
    check(drawing_of(shape(n_leaves, weighted=weighted, seed=seed), direction=direction))


@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize(
    "number", [-1.2345678901234567e-06, -1.7976931348623157e308, 1 / 3, -2e15 / 3]
)
def test_numbers_are_never_shortened(direction, number):
    tree = replace(scattered(6), threshold=np.full(11, number), gap=None)
    drawing = drawing_of(tree, ["n" * 200] * 4, direction)
    check(drawing)
    assert sum(f"≤ {format_number(number)}" in text.words for text in drawing.texts) == 5


@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize("start", range(0, len(HOSTILE), 4))
def test_any_names(direction, start):
    names = HOSTILE[start : start + 4]
    tree = scattered(14, n_clusters=4)
    drawing = drawing_of(tree, names, direction, cluster_names=names)
    check(drawing)
    assert all(text.words.isprintable() for text in drawing.texts)


def test_a_very_deep_tree():
    drawing = drawing_of(chain(250), ["x", "y", "z", "w"])
    check(drawing)
    assert drawing.width < 1000


def test_direction_by_size():
    few, many = drawing_of(balanced(4)), drawing_of(balanced(30))
    assert few.height < few.width
    assert many.height > 30 * 9.0
    assert drawing_of(balanced(4), direction="right").height != few.height
    with pytest.raises(ValueError, match="direction must be 'down', 'right' or None; got 'up'"):
        drawing_of(balanced(4), direction="up")


def test_lines_are_as_wide_as_rows_are_many():
    tree = ThresholdTree(
        [0, -1, -1], [0.0] * 3, [1, -1, -1], [2, -1, -1], [0, 0, 1], 1, weight=[100.0, 75.0, 25.0]
    )
    for direction in ("down", "right"):
        wide, narrow = drawing_of(tree, ["x"], direction).lines
        assert wide.width == pytest.approx(3 * narrow.width)
    bars = drawing_of(tree, ["x"], "right").boxes[-2:]
    assert bars[0].width == pytest.approx(3 * bars[1].width)


def test_words_of_a_picture():
    tree = ThresholdTree(
        [0, -1, -1], [2.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 1, 0], 1, weight=[7.0, 6.0, 1.0]
    )
    down = [text.words for text in drawing_of(tree, ["size"], "down").texts]
    assert down == ["size", "≤ 2.5", "> 2.5", "cluster 1", "6 rows", "cluster 0", "1 row"]
    right = [text.words for text in drawing_of(tree, ["size"], "right").texts]
    assert right[:5] == ["size ≤ 2.5", "cluster 1", "6 rows", "cluster 0", "1 row"]
    assert " ".join(right[5:]).startswith("Upper branch: the condition holds.")


def test_only_the_first_leaves():
    tree = scattered(20)
    drawing = drawing_of(tree, max_leaves=5, direction="right")
    assert len(drawing.lines) == 8
    assert any("first 5 of 20 leaves" in text.full for text in drawing.texts)
    assert len(drawing_of(tree, max_leaves=50, direction="right").lines) == 38
    with pytest.raises(ValueError, match="at least 1"):
        drawing_of(tree, max_leaves=0)


def test_names_of_clusters():
    names = ["red", "blue", "green", "grey", ""]
    words = {text.words for text in drawing_of(scattered(30), cluster_names=names).texts}
    assert {"red", "blue", "green", "grey", "cluster 4"} <= words
    for bad in (names[:4], "abcde"):
        with pytest.raises(ValueError, match="5 names, one for each cluster"):
            drawing_of(scattered(30), cluster_names=bad)


@examples(30)
@given(st.sampled_from(SHAPES), st.integers(1, 40), st.integers(0, 99))
def test_orders(shape, n_leaves, seed):
    tree = shape(n_leaves, seed=seed)

    def plain(node):
        if tree.is_leaf[node]:
            return [node]
        return [*plain(tree.left[node]), node, *plain(tree.right[node])]

    order = in_order(tree)
    assert order == plain(0)
    assert [bool(tree.is_leaf[node]) for node in order] == [i % 2 == 0 for i in range(len(order))]
    place = horizontal_positions(tree)
    leaves = [node for node in order if tree.is_leaf[node]]
    assert [place[leaf] for leaf in leaves] == list(range(n_leaves))
    for node in np.flatnonzero(~tree.is_leaf):
        assert place[node] == (place[tree.left[node]] + place[tree.right[node]]) / 2
