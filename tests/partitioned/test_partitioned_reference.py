"""The reference of partitioned rows: the same argument as in memory."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans, MeanShift, MiniBatchKMeans
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.helpers.examples import examples
from tests.helpers.partitioned_cases import step_names
from tests.partitioned.test_partitioned_kmeans import blobs, counted, inertia, partitioned
from treemeans import _core
from treemeans.costs import CostTable
from treemeans.partitioned.clustering.partitioned_reference import (
    centers_in_columns,
    fit_reference_on,
)
from treemeans.reference import fit_reference
from treemeans.rows import Table

BIG = np.asarray(blobs(n=20_000, k=6) * [1, 100, 0.01, 1] + [0, 1e5, 0, 0])  # more than are drawn
SMALL = blobs(n=500, k=4)


def fitted(X, reference=None, k=None, seed=0, n_partitions=5, weights=None, steps=None):
    partitions, summary = partitioned(X, n_partitions, weights)
    found = fit_reference_on(partitions, summary, reference, k, seed)
    if steps is not None:
        steps += step_names(partitions)
    return found


def same_up_to_order(centers, expected, **tolerances):
    order = ((centers[:, None] - expected) ** 2).sum(axis=2).argmin(axis=0)
    np.testing.assert_allclose(centers[order], expected, **tolerances)


# ---- references that come ready ------------------------------------------------------------------

READY = {
    "centers": lambda: SMALL[:3],
    "kmeans": lambda: KMeans(3, random_state=0).fit(SMALL),
    "pipeline": lambda: make_pipeline(PCA(2), KMeans(3, random_state=0)).fit(SMALL),
    "frozen": lambda: FrozenEstimator(KMeans(3, random_state=0).fit(SMALL)),
}


@pytest.mark.parametrize("kind", READY)
def test_a_ready_reference_is_taken_as_in_memory(kind):
    reference = READY[kind]()
    partitions, summary = partitioned(SMALL, 3)
    ours = fit_reference_on(partitions, summary, reference, None, 0)
    theirs = fit_reference(reference, None, SMALL, SMALL, None, 0)
    np.testing.assert_array_equal(ours.centers, theirs.centers)
    assert ours.given
    assert (ours.pipeline is None) == (theirs.pipeline is None)
    assert partitions.n_passes == 0


# ---- references to be fitted ---------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "reference",
    [None, KMeans(4, n_init=2), MiniBatchKMeans(4), make_pipeline(StandardScaler(), KMeans(4))],
    ids=lambda reference: type(reference).__name__,
)
def test_few_rows_are_clustered_as_in_memory(reference, weighted, one_thread):
    weights = np.arange(len(SMALL)) % 3 + 1.0 if weighted else None
    ours = fitted(SMALL, reference, 4, weights=weights)
    theirs = fit_reference(reference, 4, SMALL, SMALL, weights, 0)
    np.testing.assert_array_equal(ours.centers, theirs.centers)
    assert not ours.given


@pytest.mark.parametrize(
    "reference", [None, KMeans(6), MiniBatchKMeans(6), Pipeline([("k", KMeans(6))])]
)
def test_many_rows_are_clustered_in_passes(reference):
    steps = []
    found = fitted(BIG, reference, 6, steps=steps)
    expected = KMeans(6, n_init=10, tol=0.0, random_state=0).fit(BIG)
    assert inertia(BIG, found.centers) <= 1.001 * expected.inertia_
    assert found.pipeline is None
    assert not found.given
    assert steps[:3] == ["SampleRows", "AssignToCenters*", "AssignToCenters*"]
    assert len(steps) < 12


def test_a_scaler_and_kmeans():
    reference = Pipeline([("scale", StandardScaler()), ("cluster", KMeans(6))])
    steps = []
    found = fitted(BIG, reference, steps=steps)
    scaled = StandardScaler().fit_transform(BIG)
    expected = KMeans(6, n_init=10, tol=0.0, random_state=0).fit(scaled)
    same_up_to_order(found.centers, expected.cluster_centers_, atol=1e-3)
    assert [name for name, _ in found.pipeline.steps] == ["scale"]
    np.testing.assert_allclose(found.space(BIG, BIG), scaled, rtol=1e-9, atol=1e-9)
    assert steps[:2] == ["SumMoments+SampleRows", "AssignToCenters*"]


def test_parts_leave_no_trace_in_a_pipeline():
    weights = np.random.default_rng(0).random(len(BIG))
    reference = make_pipeline(StandardScaler(), KMeans(9))
    found = [fitted(BIG, reference, n_partitions=n, weights=weights) for n in (1, 3, 17)]
    for other in found[1:]:
        np.testing.assert_array_equal(other.centers, found[0].centers)
        for name in ("mean_", "var_", "scale_"):
            ours = getattr(other.pipeline[0], name)
            np.testing.assert_array_equal(ours, getattr(found[0].pipeline[0], name))


def test_the_seed_is_the_references_or_else_the_estimators():
    def centers(own, given):
        return fitted(BIG, KMeans(9, random_state=own), seed=given).centers.tolist()

    assert centers(3, 1) == centers(3, 2) == centers(None, 3)
    assert centers(None, 1) != centers(None, 2)
    state = np.random.RandomState(0)
    assert centers(state, 1) != centers(state, 1)


def test_initial_centers_are_kept_to():
    init = BIG[:6]
    found = fitted(BIG, KMeans(6, init=init, max_iter=1))
    nearest = ((BIG[:, None] - init) ** 2).sum(axis=2).argmin(axis=1)
    means = np.stack([BIG[nearest == center].mean(axis=0) for center in range(6)])
    np.testing.assert_allclose(found.centers, means, rtol=1e-9)


# ---- the scaler ----------------------------------------------------------------------------------


def scaler_of(X, scaler, n_partitions=3):
    """As fitted over partitions, however few the rows."""
    from treemeans.partitioned.clustering.partitioned_kmeans import kmeans

    partitions, summary = partitioned(X, n_partitions)
    return kmeans(partitions, summary, 2, 0, before=Pipeline([("s", scaler)])).pipeline[0]


def assert_same_scaler(ours, theirs, **tolerances):
    assert vars(ours).keys() == vars(theirs).keys()
    assert type(ours) is StandardScaler
    for name in ("mean_", "var_", "scale_", "n_samples_seen_", "n_features_in_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert (mine is None) == (other is None), name
        if other is not None:
            np.testing.assert_allclose(mine, other, err_msg=name, **tolerances)


@pytest.mark.parametrize("with_mean", [True, False])
@pytest.mark.parametrize("with_std", [True, False])
def test_the_scaler_is_scikit_learns(with_mean, with_std):
    X = np.column_stack([BIG, np.full(len(BIG), 0.1), BIG[:, 0] > 0, BIG[:, 0] + 1e9])
    scaler = StandardScaler(with_mean=with_mean, with_std=with_std)
    assert_same_scaler(
        scaler_of(X, scaler), StandardScaler(**scaler.get_params()).fit(X), rtol=1e-9
    )


@examples(25)
@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.integers(-5, 5)), min_size=2, max_size=40))
def test_the_scaler_of_any_table(rows):
    X = np.array(rows, dtype=np.float64)
    ours, theirs = scaler_of(X, StandardScaler()), StandardScaler().fit(X)
    assert_same_scaler(ours, theirs, rtol=1e-7, atol=1e-300)


def test_a_huge_number_among_small_ones_costs_no_digits():
    X = np.random.default_rng(0).normal(size=(50_000, 2))
    X[777] = 1e9, 1e3
    ours, theirs = scaler_of(X, StandardScaler()), StandardScaler().fit(X)
    assert_same_scaler(ours, theirs, rtol=1e-9)


def test_a_scaler_knows_the_names_of_the_columns():
    frame = pd.DataFrame(BIG, columns=list("abcd"))
    for rows in (frame, frame[:200]):
        partitions, summary = counted([rows[:150], rows[150:]])
        partitions.names = np.array(list("abcd"), dtype=object)
        reference = make_pipeline(StandardScaler(), KMeans(3))
        found = fit_reference_on(partitions, summary, reference, None, 0)
        assert found.pipeline[0].feature_names_in_.tolist() == list("abcd")
        expected = StandardScaler().fit(rows).transform(rows)
        np.testing.assert_allclose(found.space(None, rows), expected, rtol=1e-9, atol=1e-9)


# ---- what cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize("X", [SMALL, BIG], ids=["few rows", "many rows"])
@pytest.mark.parametrize(
    ("reference", "names"),
    [
        (make_pipeline(StandardScaler(), PCA(2), KMeans(3)), "StandardScaler, PCA, KMeans"),
        (make_pipeline(PCA(2), KMeans(3)), "PCA, KMeans"),
        (MeanShift(), "MeanShift"),
        (KMeans(3, init=lambda X, k, random_state: X[:k]), "KMeans"),
    ],
    ids=["two steps", "pca", "mean shift", "callable"],
)
def test_what_cannot_be_fitted_in_passes_is_refused(X, reference, names):
    message = f"A reference of {names} cannot be fitted on partitioned rows; fit it on a sample"
    with pytest.raises(ValueError, match=message):
        fitted(X, reference)


@pytest.mark.parametrize("reference", [None, KMeans(600), SMALL[:2].repeat(300, axis=0)])
def test_fewer_rows_than_clusters(reference):
    with pytest.raises(ValueError, match=r"n_samples=500 should be >= n_clusters=600\."):
        fitted(SMALL, reference, 600)


def test_another_number_of_clusters():
    with pytest.raises(ValueError, match="n_clusters=4, but KMeans has 3 clusters"):
        fitted(SMALL, KMeans(3), 4)
    with pytest.raises(ValueError, match="n_clusters=4, but reference has 3 clusters"):
        fitted(SMALL, SMALL[:3], 4)


def test_centers_of_another_space():
    with pytest.raises(ValueError, match="centers have 3 coordinates"):
        fitted(SMALL, SMALL[:5, :3])


def test_weights_that_are_all_zero():
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        fitted(SMALL, None, 3, weights=np.zeros(len(SMALL)))


# ---- centers in columns --------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_centers_in_columns_are_those_in_memory(weighted):
    weights = np.random.default_rng(0).random(len(SMALL)) if weighted else None
    pipeline = make_pipeline(PCA(2), KMeans(3, random_state=0)).fit(SMALL)
    pipeline[-1].cluster_centers_ = np.vstack([pipeline[-1].cluster_centers_, [1e4, 1e4]])
    found = []
    for n_partitions in (1, 4):
        partitions, summary = partitioned(SMALL, n_partitions, weights)
        reference = fit_reference_on(partitions, summary, pipeline, None, 0)
        found.append(centers_in_columns(partitions, reference, summary))
    space = Table.of(reference.space(SMALL, SMALL), 1).points
    costs = CostTable.of(*_core.price(space, reference.centers, 1), weights, 1)
    expected = reference.centers_in_columns(Table.of(SMALL, 1), costs, weights)
    np.testing.assert_allclose(found[0], expected, rtol=1e-9)
    assert np.isnan(found[0][3]).all()
    np.testing.assert_array_equal(*found)


def test_without_a_pipeline_centers_are_in_columns():
    partitions, summary = partitioned(SMALL, 2)
    reference = fit_reference_on(partitions, summary, SMALL[:3], None, 0)
    assert centers_in_columns(partitions, reference, summary) is reference.centers
