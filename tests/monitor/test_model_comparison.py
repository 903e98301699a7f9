"""Two models compared: the crosstab, rules that are new, gone or moved, and the picture."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs

from treemeans import ExKMC, compare_models

IRIS = load_iris().data


def test_a_model_and_itself():
    model = ExKMC(3, random_state=0).fit(IRIS)
    found = compare_models(model, model, IRIS)
    assert found.rules == ()
    assert found.n_same == sum(len(cluster) for cluster in model.rules())
    assert found.changes.n_moved == 0
    np.testing.assert_array_equal(found.changes.crosstab, np.diag(np.bincount(model.labels_)))
    assert "the rules are the same" in str(found)


def test_a_threshold_that_moved_is_said_so():
    X = np.repeat([[1.0], [2.0], [8.0], [9.0]], 5, axis=0)
    old = ExKMC(2, max_leaf_nodes=2, random_state=0).fit(X)
    new = old.refit(X + 1)
    found = compare_models(old, new, X)
    assert [(rule.kind, rule.old, rule.new) for rule in found.rules] == [
        ("moved", "x0 <= 5", "x0 <= 6"),
        ("moved", "x0 > 5", "x0 > 6"),
    ] or [rule.kind for rule in found.rules] == ["moved", "moved"]
    assert "->" in str(found)


def test_another_column_is_new_and_gone():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [10.0, 10.0]], 100, axis=0) + rng.normal(size=(200, 2))
    old = ExKMC(2, max_leaf_nodes=2, allowed_features=[0], random_state=0).fit(X)
    new = ExKMC(2, max_leaf_nodes=2, allowed_features=[1], random_state=0).fit(X)
    found = compare_models(old, new, X)
    assert sorted(rule.kind for rule in found.rules) == ["gone", "gone", "new", "new"]
    assert found.changes.n_moved == 0


def test_the_crosstab_counts_every_row_and_numbers_may_differ():
    X = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]
    old = ExKMC(3, random_state=0).fit(X)
    new = ExKMC(3, reference=old.reference_centers_[[2, 0, 1]]).fit(X)
    found = compare_models(old, new, X)
    assert found.changes.crosstab.sum() == 300
    assert found.changes.pairs == ((0, 1), (1, 2), (2, 0))
    assert found.changes.n_moved == 0
    assert found.rules == ()
    assert found.to_frame()["rows"].sum() == 300
    assert json.dumps(found.to_dict())


def test_the_picture_has_a_band_for_each_cell_and_names():
    plt = pytest.importorskip("matplotlib.pyplot")
    X = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]
    old = ExKMC(3, random_state=0).fit(X).with_names(["$a$", "b", "c" * 60])
    found = compare_models(old, old.refit(X, n_clusters=4), X)
    ax = found.plot()
    cells = np.count_nonzero(found.changes.crosstab)
    assert len(ax.collections) == 3 + 4 + cells
    texts = [text.get_text() for text in ax.texts]
    assert len(texts) == 7
    assert texts[0].startswith(r"0: \$a\$")
    plt.close(ax.figure)
