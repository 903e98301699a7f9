"""Words for columns: shares, means that are compared, categories, integers."""

import pytest

from treemeans import ThresholdTree
from treemeans.columns import Column, Reader
from treemeans.columns.number_text import percent
from treemeans.value_set import ValueSet


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0, "0 %"), (1e-12, "0 %"), (0.004, "<1 %"), (0.006, "1 %"), (0.44, "44 %"),
        (0.994, "99 %"), (0.9999, ">99 %"), (1 - 1e-12, "100 %"), (1, "100 %"),
    ],
)  # fmt: skip
def test_shares(share, words):
    assert percent(share) == words


def reader_of(*columns):
    tree = ThresholdTree(
        [0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], len(columns)
    )
    return Reader(tree, columns)


@pytest.mark.parametrize(
    ("column", "x", "y", "words"),
    [
        (Column("x"), 0.04147, 1.3e-06, ("0.0415", "0")),
        (Column("x"), 1013.251, 1013.339, ("1013.251", "1013.339")),
        (Column("x"), 123456.7, -3.2, ("123457", "-3")),
        (Column("x", unit="kg"), 0.0, 0.0, ("0 kg", "0 kg")),
        (Column("x"), 1.234e-9, 5e-10, ("1.23e-09", "5e-10")),
        (
            Column("x", "time", unit="D"),
            18000.25,
            18000.5,
            ("2019-04-14 06:00", "2019-04-14 12:00"),
        ),
        (Column("x", "time", unit="D"), 18000.25, 18001.5, ("2019-04-14", "2019-04-15")),
        (Column("x", "flag"), 0.001, 0.5, ("<1 %", "50 %")),
    ],
)
def test_means_are_compared_to_the_digits_that_matter(column, x, y, words):
    assert reader_of(column).compared(0, x, y) == words


def test_an_interval_between_two_integers_is_written_in_numbers():
    reader = reader_of(Column("visits", "integer"))
    assert reader.condition(0, ValueSet(3.0, 3.5)) == "3 < visits <= 3.5"
    assert reader.condition(0, ValueSet(2.5, 3.5)) == "visits = 3"


@pytest.mark.parametrize(
    ("complete", "excluded", "words"),
    [
        (True, "a", "s != a"),
        (True, "ab", "s not in (a, b)"),
        (True, "abc", "s in (d, e)"),
        (True, "abcd", "s = e"),
        (False, "abcd", "s not in (a, b, c, d)"),
        (False, "a", "s != a"),
    ],
)
def test_categories_left_out(complete, excluded, words):
    columns = [Column(v, "category", source="s", value=v, complete=complete) for v in "abcde"]
    box = {"abcde".index(v): ValueSet(upto=0.5) for v in excluded}
    assert reader_of(*columns).conditions(box) == [words]


def test_two_categories():
    columns = [Column(v, "category", source="s", value=v, complete=True) for v in "ab"]
    assert reader_of(*columns).conditions({0: ValueSet(upto=0.5)}) == ["s = b"]
    assert reader_of(*columns[:1]).conditions({0: ValueSet()}) == []


def test_names_that_look_like_numbers_are_quoted():
    reader = reader_of(Column("150", "integer"), Column("28", "flag"), Column("3d"))
    box = {0: ValueSet(1.5, 5.5), 1: ValueSet(above=0.5), 2: ValueSet(upto=2.5)}
    assert reader.conditions(box) == ['2 <= "150" <= 5', '"28" = 1', "3d <= 2.5"]
    assert [reader.title(i) for i in range(3)] == ['"150"', '"28"', "3d"]
