"""Trees of other packages, beside ours on the same clusters."""

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.datasets import load_iris

from treemeans import ExKMC
from treemeans.cli.peer_trees import PEERS, GivenClusters, Peer, kauri_labels, shallow_labels
from treemeans.reference import KMedians


@pytest.mark.parametrize("cost", ["kmeans", "kmedians", "cosine"])
def test_figures_are_those_of_a_model(cost):
    X = load_iris().data
    model = ExKMC(3, cost=cost, max_leaf_nodes=4, random_state=0).fit(X)
    given = GivenClusters(X, model.reference_centers_, cost)
    ratio, agreement = given.figures(model.labels_)
    assert ratio == pytest.approx(float(model.path_["ratio"][-1]), rel=1e-9)
    assert agreement == pytest.approx(float(model.path_["accuracy"][-1]))


def test_clusters_that_cost_nothing_have_a_ratio():
    X = np.array([[0.0], [1.0], [5.0]])
    given = GivenClusters(X, X, "kmeans")
    assert given.figures(np.array([0, 1, 2])) == (1.0, 1.0)
    assert given.figures(np.array([0, 0, 2])) == (np.inf, 2 / 3)


def test_a_package_that_is_missing_is_named():
    peer = Peer("Other trees", "no_such_package", kauri_labels)
    assert peer.why_not(10) == "Other trees is left out: `pip install no_such_package` adds it."


def test_kauri_finds_clusters_named_after_the_centers():
    pytest.importorskip("gemclus")
    X = load_iris().data
    centers = KMedians(3, random_state=0).fit(X).cluster_centers_
    given = GivenClusters(X, centers, "kmedians")
    labels, leaves = kauri_labels(given, 6, 0)
    ratio, agreement = given.figures(labels)
    assert 3 <= leaves <= 6
    assert 1.0 <= ratio < 1.2
    assert agreement > 0.8
    (kauri,) = (peer for peer in PEERS if peer.package == "gemclus")
    assert kauri.why_not(100) == ""
    assert "10,000 rows are more than 5,000" in kauri.why_not(10_000)


@pytest.mark.skipif(find_spec("ShallowTree") is None, reason="ShallowTree is not installed")
@pytest.mark.filterwarnings("default")  # the package ExKMC has invalid escape sequences
def test_shallow_tree_has_a_leaf_for_each_center():
    X = np.ascontiguousarray(load_iris().data)
    model = ExKMC(3, random_state=0).fit(X)
    given = GivenClusters(X, model.reference_centers_, "kmeans")
    labels, leaves = shallow_labels(given, 6, 0)
    assert leaves == 3
    assert 1.0 <= given.figures(labels)[0] < 1.2
