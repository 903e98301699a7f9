"""Labels of leaves within limits are the cheapest there are: compared with all labellings."""

import numpy as np
import pytest

from tests.oracles.labelling_oracle import best_cost
from treemeans.growth import labelling
from treemeans.growth.labelling import (
    Requirement,
    best_labels,
    is_impossible,
    nearest_labels,
)


def draw(rng, scale=1):
    """Costs and requirements of a few leaves: tight or loose, often without any labels."""
    n_leaves, k = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    costs = rng.integers(0, 100, size=(n_leaves, k)) * scale
    weight = rng.integers(1, 20, size=n_leaves)
    members = np.array([rng.integers(0, w + 1) for w in weight])
    total = int(weight.sum())
    requirements = []
    if rng.random() < 0.7:
        low = int(rng.integers(0, total // k + 1)) if rng.random() < 0.7 else None
        high = int(rng.integers(-(-total // k), total + 1)) if rng.random() < 0.7 else None
        requirements.append(Requirement(tuple(weight.tolist()), low, high))
    if rng.random() < 0.6:
        p, q = int(rng.integers(0, 8)), 10
        requirements.append(Requirement(tuple((q * members - p * weight).tolist()), 0))
    return costs, requirements


@pytest.fixture(params=["sets of leaves", "branch and bound"])
def method(request, monkeypatch):
    """Few leaves are labelled by their sets; HiGHS is for those that have too many sets."""
    if request.param == "branch and bound":
        monkeypatch.setattr(labelling, "labels_by_sets", lambda *_: None)
    return request.param


@pytest.mark.parametrize("scale", [1, 2**50])
def test_the_labels_are_the_cheapest_of_all_that_meet_the_requirements(scale, method):
    rng = np.random.default_rng(scale % 1000)
    seen = {True: 0, False: 0}
    for _ in range(300 if method == "sets of leaves" else 120):
        costs, requirements = draw(rng, scale)
        labels = best_labels(costs, requirements)
        expected = best_cost(costs, requirements)
        seen[expected is None] += 1
        if expected is None:
            assert labels is None
        else:
            assert all(each.is_met(labels.tolist(), costs.shape[1]) for each in requirements)
            assert int(costs[np.arange(len(labels)), labels].sum()) == expected
    assert min(seen.values()) > 20  # both kinds occurred


def test_the_proof_that_there_are_no_labels_is_never_wrong():
    rng = np.random.default_rng(1)
    proven = 0
    for _ in range(300):
        costs, requirements = draw(rng)
        if requirements and is_impossible(requirements, costs.shape[1]):
            proven += 1
            assert best_cost(costs, requirements) is None
    assert proven > 20


def test_without_steps_nothing_is_proven():
    heavy = [Requirement((5, 5), low=6)]
    assert is_impossible(heavy, 2)
    assert not is_impossible(heavy, 2, most_steps=0)


def test_weights_that_floats_do_not_tell_apart_are_met_exactly(method):
    # 2**60 and 2**60 + 1 are the same float; only one of the two leaves fits.
    values = (2**60, 2**60 + 1, 1)
    labels = best_labels(np.array([[9, 0], [0, 9], [0, 9]]), [Requirement(values, high=2**60 + 1)])
    assert labels.tolist() in ([0, 1, 0], [1, 0, 1])
    assert [Requirement(values, high=2**60 + 1).is_met(labels.tolist(), 2)] == [True]


def test_a_solution_that_only_floats_accept_is_forbidden(method):
    """The cheapest labels are one row too heavy, which is below the tolerance of HiGHS."""
    values = (2**40, 2**40 + 1, 2**40)
    requirement = Requirement(values, high=2**41)
    labels = best_labels(np.array([[0, 9], [0, 8], [0, 7]]), [requirement])
    assert labels.tolist() == [0, 1, 0]
    costs = np.array([[0, 9], [0, 9], [9, 0]])
    assert best_labels(costs, [requirement]).tolist() == [1, 0, 1]


def test_no_labels_are_found_where_there_are_none(method, monkeypatch):
    monkeypatch.setattr(labelling, "is_impossible", lambda *_: False)
    assert best_labels(np.array([[0, 1], [0, 1]]), [Requirement((5, 5), low=6)]) is None
    # One label is left, and floats take it for one that meets the requirement.
    heavy = Requirement((2**60 + 1,), high=2**60)
    assert best_labels(np.array([[0]]), [heavy]) is None


def test_the_nearest_labels_miss_the_least():
    # 3 leaves of 4, 5 and 9 rows: the largest least size of two clusters is 9.
    labels = nearest_labels([Requirement((4, 5, 9), low=10)], 2)
    sizes = np.bincount(labels, weights=[4, 5, 9], minlength=2)
    assert sizes.min() == 9
