"""Labels of leaves by sets of leaves, against every way to label them."""

from itertools import combinations, product

import numpy as np
import pytest

from treemeans.growth.labelling import Requirement, best_labels
from treemeans.growth.leaf_sets import _Partitioning, labels_by_sets, leaf_sets


def drawn(rng):
    """Requirements on up to seven leaves: sizes, and shares of a group as differences.

    A third of them ask for a least size and nothing else.
    """
    n = int(rng.integers(2, 8))
    sizes = rng.integers(1, 30, n)
    members = (sizes * rng.random(n)).astype(int)
    k = int(rng.integers(2, 4))
    total = int(sizes.sum())
    low, high = int(total / k * rng.uniform(0.3, 1.0)), int(total / k * rng.uniform(1.0, 1.9))
    found = [Requirement(tuple(sizes.tolist()), low, high)]
    if rng.random() < 0.33:
        return [Requirement(tuple(sizes.tolist()), low)], k
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


@pytest.mark.parametrize("seed", range(60))
def test_the_labels_are_the_cheapest_of_all(seed):
    rng = np.random.default_rng(seed)
    requirements, k = drawn(rng)
    ways = list(all_labels(requirements, k))
    costs = rng.integers(0, 1000, (len(requirements[0].values), k))
    found = labels_by_sets(costs.astype(float), requirements)
    labels = best_labels(costs, requirements)
    assert (labels is not None) == bool(ways)
    for each in [labels] if found is None else [labels, found.labels]:
        assert (each is not None) == bool(ways)
        if each is not None:
            rows = np.arange(len(costs))
            assert costs[rows, each].sum() == min(costs[rows, list(w)].sum() for w in ways)


def test_the_linear_program_mostly_decides():
    answers = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        requirements, k = drawn(rng)
        costs = rng.integers(0, 1000, (len(requirements[0].values), k)).astype(float)
        found = labels_by_sets(costs, requirements)
        answers.append("open" if found is None else "none" if found.labels is None else "some")
    assert answers.count("open") <= 4
    assert {"none", "some"} <= set(answers)


@pytest.mark.parametrize("seed", range(20))
def test_a_solution_in_whole_numbers_among_few_columns(monkeypatch, seed):
    """Three columns at first, so that more are needed; the answer is the cheapest all the same."""
    monkeypatch.setattr("treemeans.growth.leaf_sets._FEW_COLUMNS", 3)
    rng = np.random.default_rng(seed)
    requirements, k = drawn(rng)
    sets = [
        each
        for n in range(len(requirements[0].values) + 1)
        for each in combinations(range(len(requirements[0].values)), n)
        if all(r.is_met([0] * len(each), 1) for r in some_leaves(requirements, each))
    ]
    costs = rng.integers(0, 1000, (len(requirements[0].values), k)).astype(float)
    holds = np.array([[float(leaf in each) for leaf in range(len(costs))] for each in sets])
    ways, rows = list(all_labels(requirements, k)), np.arange(len(costs))
    if len(sets):
        solver = _Partitioning(holds, len(sets), costs)
        # Prices of nothing are a bound as well: no labels cost less than 0.
        found = solver._in_whole_numbers(holds @ costs, 0.0)
        assert (found.labels is not None) == bool(ways)
        if ways:
            least = min(costs[rows, list(way)].sum() for way in ways)
            assert costs[rows, found.labels].sum() == least


def some_leaves(requirements, leaves):
    for each in requirements:
        yield Requirement(tuple(each.values[leaf] for leaf in leaves), each.low, each.high)


def test_clusters_may_be_empty_where_nothing_forbids_it():
    sizes = Requirement((10, 10), high=20)
    assert () in leaf_sets([sizes])
    assert labels_by_sets(np.eye(2, 5), [sizes]).labels is not None
    assert labels_by_sets(np.eye(2, 3), [Requirement((10, 10), low=1)]).labels is None


def test_too_many_sets_are_no_answer():
    many = Requirement(tuple(range(1, 25)), high=10_000)
    assert leaf_sets([many]) is None
    assert labels_by_sets(np.zeros((24, 3)), [many]) is None
