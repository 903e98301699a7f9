"""Text is cut to the room there is, and colours of clusters differ."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.mutable_trees import HOSTILE
from treemeans import ThresholdTree
from treemeans.columns import Column, Reader
from treemeans.plot.matplotlib_canvas import text_measure
from treemeans.tree_layout.colors import DARK, LIGHT, contrast, fill, ink, mixed, text_color_on
from treemeans.tree_layout.text_fitting import (
    ELLIPSIS,
    estimated_width,
    one_line,
    shortened,
    wrapped,
)
from treemeans.tree_layout.tree_labels import label_split

TEXTS = st.one_of(st.text(max_size=80), st.sampled_from(HOSTILE))


@given(TEXTS)
def test_one_line(text):
    line = one_line(text)
    assert not set("\n\r\t\x00\u2028\u2029\u202e") & set(line)
    assert line == line.strip()
    assert one_line(line) == line
    line.encode()  # a lone half of a pair could not be written


def test_one_line_leaves_names_as_they_are():
    for name in ("petal length (cm)", "$x_1^2$", "größe", "温度", "👩\u200d🔬 lab", "é"):
        assert one_line(name) == name


@given(TEXTS.map(one_line), st.floats(20, 300))
def test_shortened_fits_and_keeps_both_ends(text, room):
    short = shortened(text, room, 9.0, estimated_width)
    if estimated_width(text, 9.0) <= room:
        assert short == text
        return
    assert estimated_width(short, 9.0) <= room
    head, _, tail = short.rpartition(ELLIPSIS)
    assert text.startswith(head)
    assert text.endswith(tail)
    longer = len(short) + 6  # no more than spaces beside the ellipsis were lost
    assert estimated_width(text[:longer], 9.0) + estimated_width(ELLIPSIS, 9.0) > room * 0.5


def test_shortened_by_hand():
    def count(words, size, *, bold=False):
        return len(words)

    assert shortened("abcdefghij", 10, 1, count) == "abcdefghij"
    assert shortened("abcdefghij", 7, 1, count) == "abcd…ij"
    assert shortened("abcdefghij", 0, 1, count) == "…"


@given(TEXTS.map(one_line), st.floats(20, 120), st.integers(1, 4))
def test_wrapped_fits(text, room, n_lines):
    lines = wrapped(text, room, n_lines, 9.0, estimated_width)
    assert 1 <= len(lines) <= n_lines
    assert all(estimated_width(line, 9.0) <= room for line in lines)
    if not any(ELLIPSIS in line for line in lines):
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_wrapped_by_hand():
    def count(words, size, *, bold=False):
        return len(words)

    assert wrapped("one two three", 7, 3, 1, count) == ["one two", "three"]
    assert wrapped("sensor_north_max", 8, 2, 1, count) == ["sensor_", "north…ax"]
    assert wrapped("abcdefghijkl", 6, 2, 1, count) == ["abcd…l"]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (Column("a <= b"), ("a <= b", "≤ 0.5", "> 0.5")),
        (Column("n", "integer", "kg"), ("n", "≤ 0 kg", "≥ 1 kg")),
        (Column("smokes", "flag"), ("smokes", "= 0", "= 1")),
        (Column("c_red", "category", source="c", value="red"), ("c", "≠ red", "= red")),
        (Column("day", "date", "D"), ("day", "≤ 1970-01-01", "≥ 1970-01-02")),
        (Column(""), ("", "≤ 0.5", "> 0.5")),
        (Column("two\nlines"), ("two lines", "≤ 0.5", "> 0.5")),
    ],
)
def test_questions(column, words):
    tree = ThresholdTree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1)
    asked = label_split(Reader(tree, (column,)), 0)
    assert (asked.name, asked.left, asked.right) == words


def test_widths_are_those_of_a_wide_font():
    measure = text_measure()
    for words in ("petal length (cm) ≤ 2.45", "WAWA mmm 0123456789", "cluster 12", "größe_é"):
        drawn = measure(words, 10.0) / 1.03
        assert drawn <= estimated_width(words, 10.0) <= 1.1 * drawn
    assert estimated_width("bold", 10.0, bold=True) >= measure("bold", 10.0, bold=True) / 1.03


def linear(colour):
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    to_xyz = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
    xyz = to_xyz @ rgb / np.array([0.95047, 1.0, 1.08883])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


# What people see of linear red, green and blue (Machado, Oliveira and Fernandes 2009).
EYES = {
    "common": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


@pytest.mark.parametrize("eyes", EYES)
def test_the_first_eight_can_be_told_apart(eyes):
    seen = [lab(np.clip(EYES[eyes] @ linear(fill(i)), 0, 1)) for i in range(8)]
    least = min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))
    assert least > 20  # 2.3 is just noticeable


def test_sixty_colours_with_words_that_read():
    assert len({fill(i) for i in range(60)}) == 60
    assert len({ink(i) for i in range(60)}) == 60
    for i in range(64):
        assert contrast(fill(i), text_color_on(fill(i))) >= 4.5
    assert all(text_color_on(fill(i)) == DARK for i in range(8))
    assert fill(10**6).startswith("#")


def test_colours_by_hand():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert mixed("#000000", LIGHT, 0.5) == "#808080"
    assert text_color_on("#000000") == LIGHT
