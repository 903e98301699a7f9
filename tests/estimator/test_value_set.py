"""ValueSet and Split: the laws that everything which spells out a split relies on."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemeans.split import Split
from treemeans.value_set import EVERYTHING, ValueSet

VALUES = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 99.0, math.nan])
ends = st.sampled_from([-math.inf, -0.5, 0.0, 0.5, 2.0, math.inf])
codes = st.frozensets(st.integers(0, 4))
value_sets = st.builds(
    ValueSet,
    above=ends,
    upto=ends,
    codes=st.one_of(st.none(), codes),
    but=codes,
    missing=st.booleans(),
)


@given(value_sets, value_sets)
def test_the_intersection_holds_what_both_hold(one, other):
    assert (one & other).holds(VALUES).tolist() == (
        one.holds(VALUES) & other.holds(VALUES)
    ).tolist()
    assert one & other == other & one
    assert one & EVERYTHING == one


@given(value_sets, value_sets)
def test_a_set_that_covers_another_holds_its_values(one, other):
    if one.covers(other):
        assert not (other.holds(VALUES) & ~one.holds(VALUES)).any()
    assert one.covers(one & other)
    assert EVERYTHING.covers(one)


@given(value_sets)
def test_empty_and_all(one):
    if one.is_empty:
        assert not one.holds(VALUES).any()
    assert one.is_all == (one == EVERYTHING)
    assert one.has_every_value == one.holds(np.array([-1e300, 0.0, 99.0, 1e300])).all()
    assert [x in one for x in VALUES] == one.holds(VALUES).tolist()


@pytest.mark.parametrize("missing_left", [None, False, True])
@pytest.mark.parametrize("asked", [{"threshold": 0.5}, {"categories": (0, 2)}])
def test_every_value_takes_exactly_one_side(asked, missing_left):
    split = Split(0, missing_left=missing_left, **asked)
    values = VALUES[split.accepts(VALUES)]
    assert len(values) == len(VALUES) - (missing_left is None)
    goes_left = split.goes_left(values)
    assert goes_left.tolist() == split.left.holds(values).tolist()
    assert goes_left.tolist() == (~split.right.holds(values)).tolist()
    expected = np.isin(values, (0, 2)) if split.is_categorical else values <= 0.5
    expected = np.where(np.isnan(values), missing_left is True, expected)
    assert goes_left.tolist() == expected.tolist()
    assert (split.left & split.right).is_empty or not split.is_categorical


def test_a_split_without_a_side_refuses_missing_values():
    with pytest.raises(ValueError, match="column 3 has no side for missing values"):
        Split(3, 1.0).goes_left(VALUES)
