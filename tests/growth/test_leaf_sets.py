"""Whether leaves can be divided among clusters, against every way to label them."""

from itertools import product

import numpy as np
import pytest

from treemeans.growth.labelling import Requirement, best_labels
from treemeans.growth.leaf_sets import can_divide, leaf_sets


def drawn(rng):
    """Requirements on up to seven leaves: sizes, and shares of a group as differences."""
    n = int(rng.integers(2, 8))
    sizes = rng.integers(1, 30, n)
    members = (sizes * rng.random(n)).astype(int)
    k = int(rng.integers(2, 4))
    total = int(sizes.sum())
    low, high = int(total / k * rng.uniform(0.3, 1.0)), int(total / k * rng.uniform(1.0, 1.9))
    found = [Requirement(tuple(sizes.tolist()), low, high)]
    if rng.random() < 0.6:
        for share, sign in ((3, 1), (7, -1)):
            values = sign * (10 * members - share * sizes)
            found.append(Requirement(tuple(values.tolist()), 0))
    return found, k


def all_labels(requirements, k):
    n = len(requirements[0].values)
    for labels in product(range(k), repeat=n):
        if all(each.is_met(labels, k) for each in requirements):
            yield labels


@pytest.mark.parametrize("seed", range(40))
def test_the_answer_is_that_of_trying_all_labels(seed):
    rng = np.random.default_rng(seed)
    requirements, k = drawn(rng)
    ways = list(all_labels(requirements, k))
    assert can_divide(requirements, k) is bool(ways)
    costs = rng.integers(0, 1000, (len(requirements[0].values), k))
    found = best_labels(costs, requirements)
    assert (found is not None) == bool(ways)
    if ways:
        rows = np.arange(len(costs))
        assert costs[rows, found].sum() == min(costs[rows, list(w)].sum() for w in ways)


def test_both_answers_occur():
    answers = set()
    for seed in range(40):
        answers.add(can_divide(*drawn(np.random.default_rng(seed))))
    assert answers == {True, False}


def test_clusters_may_be_empty_where_nothing_forbids_it():
    sizes = Requirement((10, 10), high=20)
    assert () in leaf_sets([sizes])
    assert can_divide([sizes], 5)
    assert can_divide([Requirement((10, 10), low=1)], 3) is False


def test_too_many_sets_are_no_answer():
    many = Requirement(tuple(range(1, 25)), high=10_000)
    assert leaf_sets([many]) is None
    assert can_divide([many], 3) is None
