"""Random tables, ready to be refined on, and costs from scratch to compare with."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from tests.helpers.plain_numpy import cluster_means, cost_to
from treemeans.costs import KMeansCost
from treemeans.growth import grow
from treemeans.limits import Limits
from treemeans.progress import Progress
from treemeans.refine.centered_tree import CenteredTree
from treemeans.rows import Table, as_points
from treemeans.training_data import TrainingData

QUIET = Progress("", 1, False)


def price_rows(X, centers, weights=None, n_threads=1):
    """The cost table of squared distances."""
    return KMeansCost(X, as_points(X), weights, n_threads).price(np.asarray(centers, dtype=float))


def data_of(
    X, centers=None, *, weights=None, rules=None, allowed=None, n_threads=1, costs=None, seed=0
):
    """Rows to grow a tree on; where centers do not matter, the origin is the only one."""
    table = Table.of(X, n_threads, allowed)
    cost = KMeansCost(X, table.points, weights, n_threads)
    centers = np.zeros((1, X.shape[1])) if centers is None else centers
    rules = Limits() if rules is None else rules
    return TrainingData.of(X, table, cost, rules, centers, costs=costs, seed=seed)


def with_reference(data, centers, seed=0):
    """The same rows and limits, priced by other centers."""
    return TrainingData.of(data.X, data.table, data.cost, data.limits, centers, seed=seed)


def grown_tree(data, base_tree, n_leaves):
    return grow(data, base_tree, n_leaves, QUIET).freeze()


def centered_tree_of(data, centers, n_leaves, base_tree="imm"):
    """The centered tree of a grown tree."""
    data = with_reference(data, centers)
    return CenteredTree.replay(data, grown_tree(data, base_tree, n_leaves), centers, data.costs)


def blobs(rng, n, d, k):
    """Blobs that overlap, at slopes to the axes, of numbers with few digits; and k of their rows.

    With few digits the costs of a sparse table are those of the same table dense, bit by bit.
    """
    X = (
        rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
        + 3 * rng.normal(size=(k, d))[rng.integers(k, size=n)]
    )
    X = np.round(X * 32) / 32
    X[rng.random(X.shape) < rng.choice([0.0, 0.5])] = 0.0
    return X, X[rng.choice(n, k, replace=False)] + 0.5


@st.composite
def problems(draw, sizes=(12, 40, 150, 600), limited=False):
    """(data, centers, n_leaves)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d, k = draw(st.sampled_from(sizes)), draw(st.integers(1, 5)), draw(st.integers(2, 6))
    X, centers = blobs(rng, n, d, k)
    weights = draw(st.sampled_from([None, "whole", "any"]))
    if weights is not None:
        weights = rng.integers(0, 3, n) / 1.0 if weights == "whole" else rng.random(n)
        weights[:k] = 1.0
    allowed = None
    rules = Limits()
    if limited:
        rules = Limits(draw(st.sampled_from([1, 3, 0.1])), draw(st.sampled_from([None, 2, 3])))
        allowed = rng.random(d) < 0.7
        allowed[rng.integers(d)] = True
    as_table = draw(st.sampled_from([np.asarray, sparse.csr_array]))
    data = data_of(as_table(X), weights=weights, rules=rules, allowed=allowed)
    return data, centers, k + draw(st.integers(0, 6))


def rows_of(data):
    """The rows as an array, and their weights."""
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    return X, np.ones(len(X)) if data.weights is None else data.weights


def surrogate_cost(centered):
    """Of a centered's labels to its centers, from scratch."""
    X, weights = rows_of(centered.data)
    return cost_to(X, centered.tree.labels(), centered.centers, weights)


def kmeans_cost(centered):
    """Of a centered's labels to the means of its clusters, from scratch."""
    X, weights = rows_of(centered.data)
    labels = centered.tree.labels()
    return cost_to(X, labels, cluster_means(X, labels, weights, centered.centers), weights)


def price_of_cuts(centered):
    """What the features of a centered's cuts cost."""
    prices = centered.data.limits.feature_costs
    features = [node.feature for node in centered.tree.nodes() if not node.is_leaf]
    return 0.0 if prices is None else float(prices[features].sum()) * centered.costs.cheapest
