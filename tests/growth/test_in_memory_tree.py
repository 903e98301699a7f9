"""InMemoryTree: what it remembers of its nodes follows the costs."""

import numpy as np

from tests.helpers.training_data import data_of
from treemeans.growth.in_memory_tree import InMemoryTree


def test_other_costs_change_the_cheapest_center_and_the_regret():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    data = data_of(X, X[:3])
    tree = InMemoryTree(data)
    tree.split(0, 0, 0.0)
    tree.reprice(data.cost.price(X[[5, 4, 3]]))
    for node in range(tree.n_nodes):
        assert tree.cheapest(node) == tree.totals[node].argmin()
        assert tree.regret(node) == tree.totals[node].min()
    kept = tree.regret(1)
    tree.reprice(data.costs, [2])
    assert tree.regret(1) == kept
    assert tree.regret(2) == tree.totals[2].min()
