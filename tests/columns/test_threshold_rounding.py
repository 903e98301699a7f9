"""Short thresholds: the shortest number, date or duration in a gap, and none outside it."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemeans.columns.column import Column
from treemeans.columns.dates import to_count
from treemeans.columns.threshold_rounding import (
    round_thresholds,
    shorten_date,
    shorten_duration,
    shorten_number,
    shortest_date,
    shortest_duration,
    shortest_number,
)
from treemeans.tree import ThresholdTree

INF = float("inf")


@pytest.mark.parametrize(
    ("threshold", "below", "above", "short"),
    [
        (1.23456789, 0.0, 2.0, 1.23457),
        (1.2345678, 1.23457 - 2e-16, 2.0, 1.23457),
        (1.234571, 1.23457, 1.234572, 1.23457),  # the lower end belongs to the gap
        (1.23456789, 1.234567, 1.23457, 1.234568),  # the upper one does not
        (0.1 + 0.2, 0.3, 0.1 + 0.2 + 1e-16, 0.3),
        (5.0, 4.0, 6.0, 5.0),
    ],
)
def test_six_digits_or_as_many_as_it_takes(threshold, below, above, short):
    assert shorten_number(threshold, below, above) == short


@pytest.mark.parametrize(
    ("threshold", "below", "above", "short"),
    [
        (502.13, 480.2, 524.06, 500.0),
        (5.7, 4.0, 7.4, 6.0),
        (49.5, -1.0, 100.0, 50.0),  # zero is far from the middle
        (1.0, -9.0, 11.0, 1.0),
        (0.4, -9.0, 9.8, 0.0),
        (0.9, -9.0, 10.8, 0.0),
        (0.1 + 0.2, 0.3, np.nextafter(0.1 + 0.2, 1.0), 0.1 + 0.2),  # which takes 17 digits
        (0.995, 0.99, 1.0, 0.995),  # neither end belongs to the gap
        (7.3, -INF, 7.9, 7.0),  # symmetric about the threshold
        (7.3, 6.9, INF, 7.0),
        (7.3, -INF, INF, 7.3),
    ],
)
def test_shortest_number(threshold, below, above, short):
    assert shortest_number(threshold, below, above) == short


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**4), st.integers(-5, 2))
def test_no_shorter_number_is_in_the_gap(start, width, exponent):
    unit = 10.0**exponent
    below, above = start * unit, (start + width) * unit
    short = shortest_number((below + above) / 2, below, above)
    assert below < short < above
    digits = len(Decimal(repr(short)).normalize().as_tuple().digits)
    if short == 0.0 or digits == 1:
        return
    scale = 10.0 ** np.arange(-8, 10)
    fewer = np.arange(-(10 ** (digits - 1)) + 1, 10 ** (digits - 1)) if digits < 5 else np.zeros(1)
    candidates = (fewer[:, None] * scale).ravel()
    candidates = candidates[candidates != 0.0]
    eps = 1e-9 * unit
    assert not ((candidates > below + eps) & (candidates < above - eps)).any()


DAY, HOUR, MINUTE = 86400.0, 3600.0, 60.0


@pytest.mark.parametrize(
    ("below", "above", "unit", "short"),
    [
        (620.0, 666.0, "s", 660.0),
        (1.5 * DAY, 2.5 * DAY, "s", 2 * DAY),
        (2 * DAY, 2.9 * DAY, "s", 2 * DAY + 10 * HOUR),  # not the lower end
        (0.2 * HOUR, 1.9 * HOUR, "s", 1 * HOUR),
        (61.2, 62.9, "s", 62.0),
        (62.2, 63.9, "s", 63.0),
        (61.2, 61.3, "s", (61.2 + 61.3) / 2),  # no whole second
        (1.5, 2.5, "D", 2.0),
        (620e3, 666e3, "ms", 660e3),
    ],
)
def test_shortest_duration(below, above, unit, short):
    assert shortest_duration((below + above) / 2, below, above, unit) == pytest.approx(short)


@pytest.mark.parametrize(
    ("threshold", "below", "above", "short"),
    [
        (659.4, 600.0, 700.0, 600.0),  # the minute, which the gap begins with
        (659.4, 601.0, 700.0, 659.0),
        (660.0, 600.0, 700.0, 660.0),
        (659.4567, 659.2, 660.0, 659.456),
        (659.4567, 659.4561, 660.0, 659.4567),
    ],
)
def test_a_duration_to_the_minute_or_second(threshold, below, above, short):
    assert shorten_duration(threshold, below, above, "s") == pytest.approx(short, abs=1e-9)


def seconds(*when):
    return to_count(dt.datetime(*when), "s")


@pytest.mark.parametrize(
    ("below", "above", "short"),
    [
        ((2023, 5, 1), (2024, 6, 1), (2024, 1, 1)),
        ((2024, 1, 1), (2024, 6, 15), (2024, 3, 1)),  # not the year that the gap begins with
        ((2024, 1, 20), (2024, 2, 10), (2024, 2, 1)),
        ((2024, 2, 3, 7), (2024, 2, 4, 9), (2024, 2, 4)),
        ((2024, 2, 3, 7, 10), (2024, 2, 3, 8, 30), (2024, 2, 3, 8)),
        ((2024, 2, 3, 7, 10, 40), (2024, 2, 3, 7, 11, 30), (2024, 2, 3, 7, 11)),
        ((2024, 2, 3, 7, 10, 40), (2024, 2, 3, 7, 10, 44), (2024, 2, 3, 7, 10, 42)),
        ((9999, 12, 20), (9999, 12, 31, 12), (9999, 12, 25)),  # nothing follows the last year
    ],
)
def test_shortest_date(below, above, short):
    low, high = seconds(*below), seconds(*above)
    assert shortest_date((low + high) / 2, low, high, "s") == seconds(*short)


def test_a_date_to_the_minute_or_second():
    when, minute = seconds(2024, 2, 3, 7, 10, 42) + 0.25, seconds(2024, 2, 3, 7, 10)
    assert shorten_date(when, minute, when + 1, "s") == minute
    assert shorten_date(when, minute + 1, when + 1, "s") == minute + 42
    assert shorten_date(when, when - 0.1, when + 1, "s") == when
    assert shorten_date(1e18, 0.0, 2e18, "s") == 1e18  # outside the calendar


def test_every_kind_of_column_has_its_own_way():
    tree = ThresholdTree(
        feature=[0, -1, -1], threshold=[660.5, np.nan, np.nan], left=[1, -1, -1],
        right=[2, -1, -1], label=[0, 0, 1], n_features=1, gap=[[650.0, 671.0], [0, 0], [0, 0]],
    )  # fmt: skip
    number = Column("a")
    assert round_thresholds(tree, (number,)).threshold[0] == 660.0
    duration = replace(number, kind="duration", unit="s")
    wider = replace(tree, gap=np.array([[590.0, 731.0], [0, 0], [0, 0]]))
    assert round_thresholds(wider, (duration,)).threshold[0] == 660.0
    assert round_thresholds(wider, (number,)).threshold[0] == 700.0
