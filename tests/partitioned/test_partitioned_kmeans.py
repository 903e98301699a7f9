"""k-means over partitioned rows: sums without rounding, draws by row, few passes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs

from tests.helpers.examples import examples
from tests.helpers.partitioned_cases import ListedPartitions, split_rows, step_names
from treemeans.partitioned.clustering.center_statistics import AssignToCenters
from treemeans.partitioned.clustering.fixed_point_columns import FixedPointColumns, sum_by_group
from treemeans.partitioned.clustering.partitioned_kmeans import coreset_size, kmeans, sample_size
from treemeans.partitioned.clustering.row_sampling import RowSampler, SampleRows, uniforms
from treemeans.partitioned.row_summary import SummarizeRows
from treemeans.reference import Reference

MODERATE = st.floats(-1e6, 1e6)


def counted(arrays, weights=None):
    """Rows that know where each begins, and their sketch."""
    partitions = ListedPartitions(arrays, weights)
    summary = partitions.map_reduce(SummarizeRows(10))
    partitions.first_rows = summary.first_rows(partitions.n_partitions)
    partitions.steps.clear()
    return partitions, summary


def partitioned(X, n_partitions, weights=None, seed=0):
    return counted(
        split_rows(X, n_partitions, seed),
        None if weights is None else split_rows(weights, n_partitions, seed),
    )


def inertia(X, centers):
    return ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()


def blobs(n=3000, k=5, d=4, seed=0, offset=0.0):
    X, _ = make_blobs(n, d, centers=k, cluster_std=0.5, center_box=(-20, 20), random_state=seed)
    return X + offset


# ---- sums ----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(MODERATE, MODERATE, st.integers(0, 3)), min_size=1, max_size=40))
def test_sums_by_group_are_means(rows):
    X, copies = np.array([row[:2] for row in rows]), np.array([row[2] for row in rows], float)
    groups = (np.arange(len(X)) % 3).astype(np.int32)
    for weights, whole in ((None, True), (copies, True), (copies / 3, False)):
        own = np.ones(len(X)) if weights is None else weights
        columns = FixedPointColumns.of(X.min(axis=0), X.max(axis=0), own.sum(), whole)
        sums = sum_by_group(columns.row_stats(X, weights), groups, 4)
        assert abs(sums).max() < 2**62
        for group in range(4):
            mine, at = own[groups == group], X[groups == group]
            np.testing.assert_allclose(columns.weights(sums)[group], mine.sum(), rtol=1e-12)
            mean = columns.means(sums)[group]
            if mine.sum() == 0:
                assert np.isnan(mean).all()
            else:
                expected = np.average(at, axis=0, weights=mine)
                # Fixed point ends at 2**-1000: subnormal numbers are zero to it.
                near = 1e-12 * np.ptp(X) + 2.0**-990
                np.testing.assert_allclose(mean, expected, rtol=1e-12, atol=near)


def test_an_offset_costs_no_digits():
    small = np.random.default_rng(0).integers(0, 1000, size=(1000, 2)) / 1024
    X = small + 2.0**40
    columns = FixedPointColumns.of(X.min(axis=0), X.max(axis=0), len(X), True)
    sums = sum_by_group(columns.row_stats(X, None), np.zeros(len(X), np.int32), 1)
    np.testing.assert_allclose(columns.means(sums)[0] - 2.0**40, small.mean(axis=0), rtol=1e-3)
    np.testing.assert_array_equal(columns.means(sums)[0], small.mean(axis=0) + 2.0**40)


def test_a_row_of_weight_two_is_the_row_twice():
    X = np.random.default_rng(0).normal(size=(50, 3))
    weights = np.arange(50) % 3
    columns = FixedPointColumns.of(X.min(axis=0), X.max(axis=0), weights.sum(), True)
    zeros = np.zeros(200, np.int32)
    twice = sum_by_group(
        columns.row_stats(np.repeat(X, weights, axis=0), None), zeros[: weights.sum()], 1
    )
    once = sum_by_group(columns.row_stats(X, weights.astype(float)), zeros[: len(X)], 1)
    np.testing.assert_array_equal(once, twice)


# ---- draws ---------------------------------------------------------------------------------------


@given(st.integers(0, 2**63), st.integers(0, 9), st.integers(0, 10**12), st.integers(0, 50))
def test_what_a_row_draws_depends_on_its_number(seed, turn, first, skipped):
    drawn = uniforms(seed, turn, first, 60)
    np.testing.assert_array_equal(
        drawn[skipped:], uniforms(seed, turn, first + skipped, 60 - skipped)
    )
    assert ((drawn > 0) & (drawn < 1)).all()
    assert (drawn != uniforms(seed, turn + 1, first, 60)).all()
    assert (drawn != uniforms(seed + 1, turn, first, 60)).all()


def test_draws_are_even_and_independent():
    drawn = np.stack([uniforms(3, 0, 0, 200_000), uniforms(3, 1, 0, 200_000)])
    counts = np.histogram2d(*drawn, bins=20, range=[[0, 1], [0, 1]])[0]
    assert abs(counts - 500).max() < 5.5 * math.sqrt(500)
    assert abs(np.corrcoef(drawn[0][:-1], drawn[0][1:])[0, 1]) < 0.01


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_stands_for_all_rows(weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2)) + 3
    weights = rng.exponential(size=len(X)) ** 3 if weighted else None
    own = np.ones(len(X)) if weights is None else weights
    estimates = []
    for seed in range(20):
        partitions, summary = partitioned(X, 4, weights)
        step = SampleRows(RowSampler.of(seed, 0, 500, summary.weight, summary.n_rows))
        rows, stands_for = partitions.map_reduce(step).weighted_rows()
        assert len(rows) == 500
        estimates.append([stands_for.sum(), stands_for @ rows[:, 0]])
    expected = np.array([own.sum(), own @ X[:, 0]])
    np.testing.assert_allclose(np.mean(estimates, axis=0), expected, rtol=0.03)
    np.testing.assert_allclose(estimates, np.tile(expected, (20, 1)), rtol=0.2)


def test_parts_send_few_rows():
    X = np.random.default_rng(0).normal(size=(100_000, 2))
    partitions, summary = partitioned(X, 10)
    step = SampleRows(RowSampler.of(0, 0, 500, summary.weight, summary.n_rows))
    sent = [
        ListedPartitions([a], first_rows=[f]).map_reduce(step)
        for a, f in zip(partitions.arrays, partitions.first_rows, strict=True)
    ]
    assert 501 <= sum(len(sample.keys) for sample in sent) <= 2000


# ---- one pass ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_center_statistics_are_the_cost_and_the_means(weighted):
    X = blobs()
    weights = np.random.default_rng(1).random(len(X)) if weighted else None
    own = np.ones(len(X)) if weights is None else weights
    partitions, summary = partitioned(X, 7, weights)
    columns = FixedPointColumns.of(
        summary.low, summary.high, summary.weight, summary.integer_weights
    )
    centers = X[:6].copy()
    statistics = partitions.map_reduce(AssignToCenters(Reference(centers, None, False), columns))
    squared = ((X[:, None] - centers) ** 2).sum(axis=2)
    nearest = squared.argmin(axis=1)
    np.testing.assert_allclose(statistics.cost, squared.min(axis=1) @ own)
    for center, mean in enumerate(columns.means(statistics.sums)):
        mine = nearest == center
        np.testing.assert_allclose(mean, np.average(X[mine], axis=0, weights=own[mine]))


# ---- k-means -------------------------------------------------------------------------------------


def same_centers(X, weights=None, **options):
    """Centers of 1, 3 and 17 partitions, and of the latter without the empty ones."""
    found = []
    for n_partitions in (1, 3, 17):
        partitions, summary = partitioned(X, n_partitions, weights, seed=n_partitions)
        found.append(kmeans(partitions, summary, **options).centers)
    kept = [number for number, array in enumerate(partitions.arrays) if len(array)]
    partitions, summary = counted(
        [partitions.arrays[number] for number in kept],
        None if weights is None else [partitions.weights[number] for number in kept],
    )
    found.append(kmeans(partitions, summary, **options).centers)
    for centers in found[1:]:
        np.testing.assert_array_equal(centers, found[0])
    return found[0]


WEIGHTS = {
    "none": lambda n: None,
    "whole": lambda n: np.random.default_rng(0).integers(0, 4, n).astype(float),
    "real": lambda n: np.random.default_rng(0).exponential(size=n),
    "of sum 1": lambda n: (weights := np.random.default_rng(0).random(n)) / weights.sum(),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_parts_leave_no_trace(kind):
    X = load_digits().data[:, :20]
    centers = same_centers(X, WEIGHTS[kind](len(X)), n_clusters=6, seed=3, size=300, tol=0.0)
    assert np.isfinite(centers).all()


@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_parts_of_other_numbers_leave_no_trace(dtype):
    X = (blobs(k=4) * 100).astype(dtype)
    centers = same_centers(X, n_clusters=7, seed=1, size=200)
    assert (
        inertia(X.astype(float), centers)
        <= 1.05 * KMeans(7, n_init=10, random_state=0).fit(X).inertia_
    )


@examples(10)
@given(st.data())
def test_small_tables_leave_no_trace_either(data):
    n, k = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 6))
    X = np.array(data.draw(st.lists(st.tuples(MODERATE, MODERATE), min_size=n, max_size=n)))
    weights = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 0.3, 1.0]), min_size=n, max_size=n))
    )
    size = data.draw(st.integers(k, 12))
    if not weights.any():
        weights = None
    found = []
    for n_partitions in (1, 4):
        partitions, summary = partitioned(X, n_partitions, weights)
        found.append(kmeans(partitions, summary, k, 0, size=size).centers)
    np.testing.assert_array_equal(*found)
    assert found[0].shape == (k, 2)
    assert np.isfinite(found[0]).all()


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_well_separated_clusters_are_found(offset):
    X = blobs(n=20_000, k=8, offset=offset)
    partitions, summary = partitioned(X, 5)
    centers = kmeans(partitions, summary, 8, 0, size=500, tol=0.0).centers
    expected = KMeans(8, n_init=10, tol=0.0, random_state=0).fit(X).cluster_centers_
    order = ((centers[:, None] - expected) ** 2).sum(axis=2).argmin(axis=0)
    np.testing.assert_allclose(centers[order], expected, rtol=0, atol=1e-12 * (1 + offset))


def test_a_far_cluster_that_no_sample_knows_is_found():
    X = np.concatenate([blobs(n=30_000, k=3, d=2), np.full((3, 2), 1e5) + np.eye(3, 2)])
    partitions, summary = partitioned(X, 6)
    centers = kmeans(partitions, summary, 4, 0, size=100).centers
    assert (np.abs(centers - [1e5 + 1 / 3] * 2) < 1e-6).all(axis=1).any()


def test_it_is_about_as_good_as_ten_starts():
    X = load_digits().data
    ratios = []
    for seed in range(3):
        partitions, summary = partitioned(X, 5)
        centers = kmeans(partitions, summary, 10, seed, size=500).centers
        expected = KMeans(10, n_init=10, random_state=seed).fit(X)
        ratios.append(inertia(X, centers) / expected.inertia_)
        assert partitions.n_passes <= 15
    assert np.mean(ratios) < 1.01


def test_lloyds_rounds_end_where_no_round_moves():
    X = load_digits().data[:, ::3]
    partitions, summary = partitioned(X, 3)
    centers = kmeans(partitions, summary, 10, 0, size=300, tol=0.0).centers
    nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    means = np.stack([X[nearest == center].mean(axis=0) for center in range(10)])
    np.testing.assert_allclose(centers, means, rtol=1e-9, atol=1e-9)


def test_weights_count_as_copies():
    X = blobs(n=4000, k=3)
    weights = np.where(X[:, 0] > np.median(X[:, 0]), 5.0, 1.0)
    partitions, summary = partitioned(X, 3, weights)
    centers = kmeans(partitions, summary, 5, 0, size=1000).centers
    expected = KMeans(5, n_init=10, random_state=0).fit(X, sample_weight=weights).inertia_
    cost = ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1) @ weights
    assert cost <= 1.02 * expected


def test_rows_without_weight_do_not_count():
    X = np.concatenate([blobs(n=2000, k=3), blobs(n=500, k=1) + 1000])
    weights = (np.arange(len(X)) < 2000).astype(float)
    partitions, summary = partitioned(X, 4, weights)
    centers = kmeans(partitions, summary, 3, 0, size=100).centers
    assert (centers < 100).all()


def test_a_center_without_rows_finds_some():
    X = blobs(n=5000, k=3)
    init = np.concatenate([X[:2], np.full((1, 4), 1e4)])  # nearest to none
    partitions, summary = partitioned(X, 3)
    centers = kmeans(partitions, summary, 3, 0, init=init, size=200).centers
    assert inertia(X, centers) < 1.001 * KMeans(3, n_init=10, random_state=0).fit(X).inertia_


def test_fewer_distinct_rows_than_centers():
    X = np.repeat(np.eye(3), 100, axis=0)
    centers = same_centers(X, n_clusters=5, seed=0, size=50)
    assert {tuple(row) for row in np.eye(3)} <= {tuple(center) for center in centers}


def test_one_round_is_one_pass():
    partitions, summary = partitioned(blobs(), 3)
    kmeans(partitions, summary, 7, 0, size=200, max_iter=1)
    first, *others = step_names(partitions)
    assert first == "SampleRows"
    assert set(others) == {"AssignToCenters*"}


def test_initial_centers_of_another_shape_are_refused():
    partitions, summary = partitioned(blobs(), 3)
    with pytest.raises(ValueError, match=r"shape \(2, 4\); they must be 3 rows of 4"):
        kmeans(partitions, summary, 3, 0, init=np.zeros((2, 4)))


def test_huge_numbers_are_refused():
    partitions, summary = partitioned(blobs() * 1e160, 3)
    with pytest.raises(ValueError, match="overflow"):
        kmeans(partitions, summary, 3, 0)
    partitions, summary = partitioned(blobs(), 3)
    with pytest.raises(ValueError, match="overflow"):
        kmeans(partitions, summary, 3, 0, init=np.full((3, 4), 1e200), size=100)


def test_samples_have_a_size_that_does_not_depend_on_the_rows():
    assert sample_size(25, 10) == 8192
    assert sample_size(25, 100) == 20_000
    assert sample_size(10_000, 10) == 419
    assert sample_size(10_000, 100) == 2000
    assert coreset_size(8192, 25, 10**5) == 8192
    assert coreset_size(8192, 25, 10**6) == 15_625
    assert coreset_size(8192, 25, 10**8) == coreset_size(8192, 25, 10**10) == 65_536
    assert coreset_size(419, 10_000, 10**8) == 838
