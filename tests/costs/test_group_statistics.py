"""Costs of groups of rows and of their unions, against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from treemeans.costs.group_statistics import GroupStatistics


def exact_cost(values, weights):
    pairs = [(Fraction(float(x)), Fraction(float(w))) for x, w in zip(values, weights, strict=True)]
    mean = sum(w * x for x, w in pairs) / sum(w for _, w in pairs)
    return float(sum(w * (x - mean) ** 2 for x, w in pairs))


@pytest.mark.parametrize("away", [0.0, 1e3, -6e10, 1e15])
def test_a_heavy_group_far_away_takes_no_digits_off_the_union_of_the_others(away):
    x, weight = np.array([away, 0.1, 0.7, 1.3]), np.array([9.0, 1.0, 2.0, 1.0])

    def moments(origin):
        D = x[:, None] - origin
        return weight[:, None] * D, weight[:, None] * D**2

    groups = GroupStatistics(weight, weight[:, None] * x[:, None], np.zeros(1)).measured(moments)
    union = groups.merged(np.array([0, 1, 1, 1], dtype=np.int32), 2)
    expected = exact_cost(x[1:], weight[1:])
    assert union.cost == pytest.approx(expected, rel=1e-12)
    assert groups.union_costs([(1, [1, 2, 3])])[0] == pytest.approx(expected, rel=1e-12)
