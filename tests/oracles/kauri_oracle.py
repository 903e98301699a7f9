"""Kauri, slow and plain: every move of every cut is tried, and its clusters are summed anew."""

from itertools import pairwise

import numpy as np

from tests.oracles.search_oracle import OracleTree, between, counted_rows

SLACK = 1e-12  # of the whole; gains this close are equal, and the first counts


def worth(space, weights, clusters):
    """What the clusters take off the cost: squared length of each one's sum by its weight."""
    total = 0.0
    for q in np.unique(clusters[clusters >= 0]):
        rows = clusters == q
        total += ((weights[rows] @ space[rows]) ** 2).sum() / weights[rows].sum()
    return total


def kmeans_cost(space, weights, clusters):
    """Squared distances to the clusters' means."""
    total = 0.0
    for q in np.unique(clusters[clusters >= 0]):
        rows = clusters == q
        mean = np.average(space[rows], axis=0, weights=weights[rows])
        total += weights[rows] @ ((space[rows] - mean) ** 2).sum(axis=1)
    return total


def moves(cluster, is_whole, n_clusters, max_clusters):
    """Where the left and right side of a leaf may go, in the order in which equals count."""
    others = [q for q in range(n_clusters) if q != cluster]
    room = max_clusters - n_clusters
    if room >= 2 and not is_whole:
        yield n_clusters, n_clusters + 1
    if room >= 1:
        yield cluster, n_clusters
        yield n_clusters, cluster
    yield from ((q, cluster) for q in others)
    yield from ((cluster, q) for q in others)
    if not is_whole:
        yield from ((p, q) for p in others for q in others if p != q)


def kauri_tree(
    X,
    space,
    weights,
    max_clusters,
    n_leaves,
    *,
    features=None,
    min_weight=0.0,
    max_depth=None,
    prices=None,
):
    """The tree, labelled with clusters; and the gain of each of its cuts.

    Parameters
    ----------
    features : those that may be cut
    prices : of a cut on each feature, in units of the cost
    """
    counted = counted_rows(len(X), weights)
    weights = np.ones(len(X)) if weights is None else weights
    space = space - np.average(space, axis=0, weights=weights)
    slack = SLACK * (weights @ (space**2).sum(axis=1))
    tree = OracleTree.one_leaf(counted)
    clusters = np.full(len(X), -1)
    clusters[counted] = 0
    depth, gains = {0: 0}, []
    while tree.n_leaves < n_leaves:
        before = worth(space, weights, clusters)
        found = []
        for leaf in tree.leaves:
            if max_depth is not None and depth[leaf] >= max_depth:
                continue
            for feature in range(X.shape[1]) if features is None else features:
                price = 0.0 if prices is None else prices[feature]
                for threshold, *sides in cuts(X, weights, tree.rows[leaf], feature, min_weight):
                    is_whole = (clusters == tree.label[leaf]).sum() == len(tree.rows[leaf])
                    for to in moves(tree.label[leaf], is_whole, clusters.max() + 1, max_clusters):
                        after = clusters.copy()
                        after[sides[0]], after[sides[1]] = to
                        gain = worth(space, weights, after) - before
                        found.append((gain - price, gain, leaf, feature, threshold, to))
        best = max((candidate[0] for candidate in found), default=0.0)
        if best <= slack:
            break
        _, gain, leaf, feature, threshold, to = next(c for c in found if c[0] >= best - slack)
        for child, cluster in zip(tree.split(X, leaf, feature, threshold), to, strict=True):
            depth[child] = depth[leaf] + 1
            tree.label[child] = cluster
            clusters[tree.rows[child]] = cluster
        gains.append(gain)
    return tree, gains


def cuts(X, weights, rows, feature, min_weight):
    """Every cut of some rows: the threshold, and the rows on either side."""
    values = np.unique(X[rows, feature])
    for low, high in pairwise(values):
        left, right = rows[X[rows, feature] <= low], rows[X[rows, feature] > low]
        if min(weights[left].sum(), weights[right].sum()) >= min_weight:
            yield between(low, high), left, right
