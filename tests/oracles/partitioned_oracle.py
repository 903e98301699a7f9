"""Passes over partitioned rows, slow and plain: what the compiled kernels are compared with."""

import itertools

import numpy as np

from treemeans.partitioned.tree_growth.feature_bins import FeatureBins


def bins(requests):
    """(look, lower end, upper end, whether it is wanted) of every stretch."""
    for request in requests:
        wanted = np.ones(len(request.edges) - 1) if request.wanted is None else request.wanted
        yield from zip(
            [request] * len(wanted), request.edges[:-1], request.edges[1:], wanted, strict=True
        )


def rows_in(X, groups, request, below, upto):
    """Rows of a look's group that lie in a stretch, and their values."""
    for row in range(len(X)):
        value = float(X[row, request.feature])
        if groups[row] == request.group and below < value <= upto:
            yield row, value


def survey(X, groups, row_stats, requests):
    """Sums, least and greatest values of every stretch, row by row."""
    sums, low, high = [], [], []
    for request, below, upto, wanted in bins(requests):
        total, least, greatest = [0] * row_stats.shape[1], np.inf, -np.inf
        for row, value in rows_in(X, groups, request, below, upto) if wanted else ():
            total = [a + int(b) for a, b in zip(total, row_stats[row], strict=True)]
            least, greatest = min(least, value), max(greatest, value)
        sums.append(total)
        low.append(least)
        high.append(greatest)
    shape = len(sums), row_stats.shape[1]
    return np.array(sums, dtype=np.int64).reshape(shape), np.array(low), np.array(high)


def collect(X, groups, requests):
    """(stretch, row, value) of every row that a look has in one of its stretches, sorted."""
    return sorted(
        (bin_, row, value)
        for bin_, (request, below, upto, wanted) in enumerate(bins(requests))
        if wanted
        for row, value in rows_in(X, groups, request, below, upto)
    )


def strips_of(values, row_stats, edges):
    """The rows of one feature in stretches between ``edges``."""
    low, high, sums = [], [], []
    for below, upto in itertools.pairwise(edges):
        inside = (below < values) & (values <= upto)
        if inside.any():
            low.append(values[inside].min())
            high.append(values[inside].max())
            sums.append(row_stats[inside].sum(axis=0))
    return FeatureBins(
        np.array(low),
        np.array(high),
        np.array(sums, dtype=np.int64).reshape(-1, row_stats.shape[1]),
    )


def surrogate_cuts(values, row_stats, k, min_weight, price):
    """{last value on the left: (cost, next value)} of every cut that leaves room on both sides."""
    cuts = {}
    distinct = np.unique(values)
    for at, beyond in itertools.pairwise(distinct):
        left, right = row_stats[values <= at].sum(axis=0), row_stats[values > at].sum(axis=0)
        if min(left[k], right[k]) >= min_weight:
            cuts[float(at)] = int(left[:k].min() + right[:k].min() + price), float(beyond)
    return cuts


def mistake_cuts(values, row_stats, centers, members, k, least, price, shift):
    """The same for cuts that part a row's center from it; ``centers`` of the members."""
    cuts = {}
    distinct = np.unique(np.concatenate([values, centers]))
    for at, beyond in itertools.pairwise(distinct):
        if not centers.min() <= at < centers.max():
            continue
        left, right = row_stats[values <= at].sum(axis=0), row_stats[values > at].sum(axis=0)
        if min(left[k], right[k]) < least:
            continue
        mistakes = sum(
            int(right[m] if center <= at else left[m])
            for m, center in zip(members, centers, strict=True)
        )
        cuts[float(at)] = (mistakes << shift) + price, float(beyond)
    return cuts
