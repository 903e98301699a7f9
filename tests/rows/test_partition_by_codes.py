"""Rows parted, and gaps closed, by the codes of bins: as by the values themselves."""

import numpy as np
import pytest

from tests.helpers.training_data import data_of
from treemeans import _core
from treemeans.growth import grow
from treemeans.limits import Limits
from treemeans.progress import Progress
from treemeans.rows import Table

SILENT = Progress("", None, False)


def _table(rng, n):
    """Seven columns: of few digits and many, whole numbers near and far apart, heavy ties."""
    return np.column_stack(
        [
            rng.normal(size=n),
            np.round(rng.normal(size=n), 1),
            rng.integers(0, 9, n),
            rng.integers(-3000, 3000, n),
            rng.exponential(size=n) ** 3,
            np.where(rng.random(n) < 0.7, 0.0, rng.normal(size=n)),
            rng.integers(0, 400, n) + (rng.random(n) < 0.002) / 2,
        ]
    )


def _with_constant(X):
    """One more column: codes are used from eight on."""
    return np.column_stack([X, np.zeros(len(X))])


@pytest.mark.parametrize("seed", range(3))
def test_a_partition_knows_the_values_at_its_cut(seed):
    rng = np.random.default_rng(seed)
    X = _with_constant(_table(rng, 5000))
    table = Table.of(X, 1)
    for _ in range(60):
        n, feature = int(rng.integers(1024, 5000)), int(rng.integers(7))
        rows = np.sort(rng.choice(len(X), n, replace=False)).astype(np.int32)
        values = X[rows, feature]
        threshold = float(rng.choice(values)) + float(rng.choice([0.0, 1e-9, -1e-9]))
        if rng.random() < 0.2:
            threshold = float(rng.choice([-1e9, 1e9]))
        left = values <= threshold
        parted = rows.copy()
        n_left, margin = _core.partition(table.points, table.bins, parted, feature, threshold, 1)
        assert n_left == left.sum()
        np.testing.assert_array_equal(parted, np.append(rows[left], rows[~left]))
        below = values[left].max(initial=-np.inf)
        above = values[~left].min(initial=np.inf)
        whole = bool((values == np.floor(values)).all())
        assert margin == (below, above, values.min(), values.max(), whole)


@pytest.mark.parametrize("base", ["imm", "emn", "none"])
@pytest.mark.parametrize("limits", [Limits(), Limits(min_samples_leaf=300)], ids=["any", "heavy"])
def test_trees_do_not_depend_on_how_values_are_read(base, limits):
    rng = np.random.default_rng(7)
    X = _table(rng, 6000)
    X = X / X.std(axis=0)
    centers = X[rng.choice(len(X), 6, replace=False)]
    one = grow(data_of(X, centers, rules=limits), base, 14, SILENT)
    two = grow(data_of(_with_constant(X), _with_constant(centers), rules=limits), base, 14, SILENT)
    assert one.feature == two.feature
    np.testing.assert_array_equal(one.threshold, two.threshold)
    assert one.margins == two.margins
    assert one.n_leaves > 6
