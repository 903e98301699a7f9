"""The kernels that pass over a block: sums by stretches of values, and lists of values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.partitioned_cases import ListedPartitions, split_rows
from tests.oracles import partitioned_oracle as oracle
from treemeans import _core
from treemeans.costs import CostTable, Scales
from treemeans.partitioned.partition_costs import CostTableBuilder
from treemeans.partitioned.tree_growth.code_edges import CodeEdges, SumCodes
from treemeans.partitioned.tree_growth.feature_bins import FeatureBins
from treemeans.partitioned.tree_growth.histogram_pass import (
    HistogramRequest,
    HistogramRequests,
    RowRouter,
    RowStats,
    SumHistograms,
    ValueSums,
)
from treemeans.reference import Reference
from treemeans.rows import as_points

LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
}
SPECIAL = np.array([-np.inf, -1e300, -1.0, -0.0, 0.0, 5e-324, 0.5, 1.0, 2.0, 1e300, np.inf])


def some_values(rng, dtype, shape):
    """Few different ones, some of them edges."""
    if np.dtype(dtype).kind != "f":
        return rng.integers(0 if np.dtype(dtype).kind == "u" else -3, 4, shape).astype(dtype)
    special = SPECIAL[1:-1] if dtype == np.float64 else SPECIAL[2:-2]
    return np.where(rng.random(shape) < 0.5, rng.choice(special, shape), rng.normal(size=shape))


def some_edges(rng):
    """Ascending; neighbours may be equal."""
    n = rng.integers(2, 12)
    return np.sort(np.where(rng.random(n) < 0.6, rng.choice(SPECIAL, n), rng.normal(size=n)))


def some_look(rng, group, n_features):
    edges = some_edges(rng)
    wanted = None
    if rng.random() < 0.5:
        wanted = rng.integers(0, 2, len(edges) - 1).astype(np.uint8)
    return HistogramRequest(group, int(rng.integers(n_features)), edges, wanted)


@st.composite
def sights(draw):
    """A table, the groups of its rows, looks at some of them, and the generator."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from([np.float64, np.float32, np.int16, np.uint8]))
    shape = draw(st.sampled_from([0, 1, 2, 30])), draw(st.integers(1, 4))
    X = some_values(rng, dtype, shape).astype(dtype)
    X = LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](X)
    groups = rng.integers(-2, 4, len(X)).astype(np.int32)
    numbers = np.sort(rng.integers(0, 7, draw(st.integers(0, 6))))  # some of groups without rows
    return X, groups, [some_look(rng, int(group), shape[1]) for group in numbers], rng


@examples(250)
@given(sights(), st.integers(1, 20))
def test_sums_by_stretches(sight, width):
    X, groups, requests, rng = sight
    row_stats = rng.integers(-(2**55), 2**55, (len(X), width))
    found = _core.grouped_histogram(
        as_points(X), groups, row_stats, *HistogramRequests.of(requests).arrays
    )
    for ours, expected in zip(found, oracle.survey(X, groups, row_stats, requests), strict=True):
        np.testing.assert_array_equal(ours, expected)


@examples(250)
@given(sights())
def test_lists_of_values(sight):
    X, groups, requests, _ = sight
    bin_, row, value = _core.grouped_values(
        as_points(X), groups, *HistogramRequests.of(requests).arrays
    )
    found = sorted(zip(bin_.tolist(), row.tolist(), value.tolist(), strict=True))
    assert found == oracle.collect(X, groups, requests)


@pytest.mark.parametrize("width", [1, 3, 4, 5, 8, 12, 16, 17])
def test_more_rows_than_are_read_at_a_time(width):
    rng = np.random.default_rng(width)
    X = rng.normal(size=(5000, 2))
    groups = rng.integers(-1, 2, 5000).astype(np.int32)
    row_stats = rng.integers(0, 2**40, (5000, width))
    edges = np.sort(np.concatenate([[-np.inf, 2.0], rng.normal(size=300)]))
    requests = [
        HistogramRequest(0, 1, edges),
        HistogramRequest(1, 0, edges[:4]),
        HistogramRequest(1, 1, edges[-2:]),
    ]
    sums, low, high = _core.grouped_histogram(
        as_points(X), groups, row_stats, *HistogramRequests.of(requests).arrays
    )
    first = 0
    for request in requests:
        rows = np.flatnonzero(groups == request.group)
        values = X[rows, request.feature]
        place = np.searchsorted(request.edges, values)  # as many edges lie below the value
        for at in range(1, len(request.edges)):
            inside = place == at
            np.testing.assert_array_equal(sums[first], row_stats[rows[inside]].sum(axis=0))
            assert low[first] == values[inside].min(initial=np.inf)
            assert high[first] == values[inside].max(initial=-np.inf)
            first += 1
    assert first == len(sums)


def test_no_looks_at_all():
    points = as_points(np.ones((3, 2)))
    groups, none = np.zeros(3, dtype=np.int32), HistogramRequests.of([])
    sums, low, high = _core.grouped_histogram(
        points, groups, np.ones((3, 5), dtype=np.int64), *none.arrays
    )
    assert (sums.shape, low.shape, high.shape) == ((0, 5), (0,), (0,))
    assert [len(found) for found in _core.grouped_values(points, groups, *none.arrays)] == [0, 0, 0]


def test_places_of_the_stretches_of_a_look():
    requests = HistogramRequests.of([HistogramRequest(0, 0, np.arange(n)) for n in (2, 5, 3)])
    assert [requests.bins(request) for request in range(3)] == [
        slice(0, 1),
        slice(1, 5),
        slice(5, 7),
    ]


# ---- values that are listed ----------------------------------------------------------------------


@examples(100)
@given(st.integers(0, 2**32), st.sampled_from([0, 1, 2, 5, 25]))
def test_equal_values_are_put_together(seed, n):
    rng = np.random.default_rng(seed)
    bin_ = rng.integers(0, 4, n)
    value = rng.choice([-1e308, -1.0, -0.0, 0.0, 5e-324, 1.0, 1e308], n)
    row_stats = np.arange(2 * n).reshape(n, 2)
    found = ValueSums.of(bin_, value, row_stats)
    expected = {}
    for s, v, line in zip(bin_.tolist(), value.tolist(), row_stats, strict=True):
        expected[s, v] = expected.get((s, v), 0) + line
    assert list(zip(found.bin.tolist(), found.value.tolist(), strict=True)) == sorted(expected)
    for key, sums in zip(sorted(expected), found.sums, strict=True):
        np.testing.assert_array_equal(sums, expected[key])


# ---- the question --------------------------------------------------------------------------------


def a_tree():
    """x0 <= 0 is group 1; else x1 <= 0.5 is none, x1 > 0.5 is group 0."""
    return RowRouter(
        np.array([0, -1, 1, -1, -1], dtype=np.int32),
        np.array([0.0, np.nan, 0.5, np.nan, np.nan]),
        np.array([1, -1, 3, -1, -1], dtype=np.int32),
        np.array([2, -1, 4, -1, -1], dtype=np.int32),
        np.array([-1, 1, -1, -1, 0], dtype=np.int32),
    )


def plain_groups(X, weights):
    groups = np.where(X[:, 0] <= 0, 1, np.where(X[:, 1] <= 0.5, -1, 0))
    return groups if weights is None else np.where(weights == 0, -1, groups)


def plain_lines(X, centers, weights, row_stats):
    """As `Lines` describes them, from the cost table of all rows at once."""
    scales = Scales(2.0**20, 2.0**20, None if weights is None else 2.0**20, False)
    costs = CostTable.rounded(*_core.price(as_points(X), centers, 1), weights, scales, 1)
    units = np.ones(len(X), dtype=np.int64) if weights is None else costs.weights.values
    if not row_stats.of_labels:
        numbers = costs.regrets.values
    else:
        numbers = np.where(costs.nearest[:, None] == np.arange(3), units[:, None], 0)
    more = [np.ones(len(X), dtype=np.int64)]
    if row_stats.weighted and weights is not None:
        more.insert(0, np.maximum(units, 1))
    return np.column_stack([numbers, *more])


@examples(60)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["none", "whole", "any"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 2, 7]),
)
def test_a_survey_of_parts_is_one_of_all_rows(seed, kind, weighs, home, n_partitions):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (40, 2)) / 2
    centers = rng.normal(size=(3, 2))
    weights = {
        "none": None,
        "whole": rng.integers(0, 3, 40).astype(float),
        "any": np.where(rng.random(40) < 0.3, 1e-12, rng.random(40)),  # so light that it rounds off
    }[kind]
    row_stats = RowStats(weighs, of_labels=home)
    requests = [
        HistogramRequest(0, 1, np.array([-np.inf, 0.5, 1.0, np.inf])),
        HistogramRequest(1, 0, np.array([-9.0, -1, 0])),
    ]
    value_requests = [
        HistogramRequest(0, 0, np.array([0.0, 1.5])),
        HistogramRequest(1, 1, np.array([-0.5, 2.0])),
    ]
    scales = Scales(2.0**20, 2.0**20, None if weights is None else 2.0**20, False)
    step = SumHistograms(
        CostTableBuilder(Reference(centers, None, given=True), scales),
        a_tree(),
        row_stats,
        HistogramRequests.of(requests),
        HistogramRequests.of(value_requests),
    )
    numbers = split_rows(np.arange(40), n_partitions, seed)
    partitions = ListedPartitions(
        [X[part] for part in numbers],
        None if weights is None else [weights[part] for part in numbers],
    )
    seen = partitions.map_reduce(step)
    groups = plain_groups(X, weights)
    plain = plain_lines(X, centers, weights, row_stats)
    sums, low, high = oracle.survey(X, groups, plain, requests)
    assert_same_bins(seen.bins, FeatureBins(low, high, sums))
    listed = oracle.collect(X, groups, value_requests)
    expected = {}
    for bin_, row, value in listed:
        expected[bin_, value] = expected.get((bin_, value), 0) + plain[row]
    keys = zip(seen.values.bin.tolist(), seen.values.value.tolist(), strict=True)
    assert list(keys) == sorted(expected)
    for key, found in zip(sorted(expected), seen.values.sums, strict=True):
        np.testing.assert_array_equal(found, expected[key])


@examples(60)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["none", "whole", "any"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 2, 7]),
)
def test_sums_by_code_are_those_of_all_rows(seed, kind, weighs, home, n_partitions):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (40, 2)) / 2
    X[rng.random(X.shape) < 0.1] = np.nan if rng.random() < 0.3 else 0.0
    X[:, 0] = np.nan_to_num(X[:, 0])
    centers = rng.normal(size=(3, 2))
    weights = {
        "none": None,
        "whole": rng.integers(0, 3, 40).astype(float),
        "any": np.where(rng.random(40) < 0.3, 1e-12, rng.random(40)),
    }[kind]
    given_ = np.nan_to_num(X)  # costs are those of other columns
    edges = CodeEdges.of([np.unique(rng.integers(-4, 5, int(rng.integers(1, 5))) / 2)] * 2)
    row_stats = RowStats(weighs, of_labels=home)
    scales = Scales(2.0**20, 2.0**20, None if weights is None else 2.0**20, False)
    builder = CostTableBuilder(Reference(centers, None, given=True), scales)
    step = SumCodes(builder, a_tree(), row_stats, edges, np.array([1, 0], dtype=np.int32), 2)
    numbers = split_rows(np.arange(40), n_partitions, seed)
    partitions = ListedPartitions(
        [given_[part] for part in numbers],
        None if weights is None else [weights[part] for part in numbers],
    )
    sums = partitions.map_reduce(step)
    groups = plain_groups(given_, weights)
    plain = plain_lines(given_, centers, weights, row_stats)
    for group in range(2):
        at = 0
        for feature in (1, 0):
            bounds = edges.of_feature(feature)
            code = np.searchsorted(bounds, given_[:, feature])
            for b in range(edges.n_bins(feature)):
                rows = (groups == group) & (code == b)
                np.testing.assert_array_equal(sums[group, at], plain[rows].sum(axis=0))
                at += 1
    codes, low, high = _core.encode(as_points(X), edges.first, edges.edges)
    for feature in range(2):
        missing = np.isnan(X[:, feature])
        assert (codes[feature][missing] == edges.n_bins(feature) - 1).all()
        for b, (least, most) in enumerate(
            zip(low[edges.bins(feature)], high[edges.bins(feature)], strict=True)
        ):
            inside = X[(codes[feature] == b) & ~missing, feature]
            assert least == inside.min(initial=np.inf)
            assert most == inside.max(initial=-np.inf)


def assert_same_bins(bins, expected):
    for name in ("sums", "low", "high"):
        np.testing.assert_array_equal(getattr(bins, name), getattr(expected, name), err_msg=name)
