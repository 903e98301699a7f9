"""All labellings of a few leaves, one after the other."""

from itertools import product


def best_cost(costs, requirements):
    """Least cost of labels that meet the requirements; None if there are none."""
    n_leaves, k = costs.shape
    found = None
    for labels in product(range(k), repeat=n_leaves):
        if all(_is_met(each, labels, k) for each in requirements):
            cost = sum(int(costs[leaf, label]) for leaf, label in enumerate(labels))
            found = cost if found is None else min(found, cost)
    return found


def _is_met(requirement, labels, k):
    for cluster in range(k):
        total = sum(
            value
            for value, label in zip(requirement.values, labels, strict=True)
            if label == cluster
        )
        if requirement.low is not None and total < requirement.low:
            return False
        if requirement.high is not None and total > requirement.high:
            return False
    return True
