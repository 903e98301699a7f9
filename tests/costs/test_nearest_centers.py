"""The nearest center of each row, found without keeping the costs of the others."""

import numpy as np
import pytest
from scipy import sparse

from treemeans import _core
from treemeans.rows import as_points

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(300, 7))
TABLES = {
    "float64": DENSE,
    "float32": DENSE.astype(np.float32),
    "by column": np.asfortranarray(DENSE),
    "sparse": sparse.random(300, 7, 0.3, "csr", random_state=0),
}


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("kind", TABLES)
def test_it_is_that_of_the_table_of_costs(kind, absolute):
    points, centers = as_points(TABLES[kind]), RNG.normal(size=(5, 7))
    base, nearest, regret = _core.price(points, centers, 1, absolute)
    for threads in (1, 2):
        cost, center = _core.nearest_centers(points, centers, threads, absolute)
        assert np.array_equal(cost, base)
        assert np.array_equal(center, nearest)
    assert np.array_equal(center, regret.argmin(axis=1))
