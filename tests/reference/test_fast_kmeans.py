"""FastKMeans: as good as k-means with ten starts, and a clusterer like any other."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.helpers.plain_numpy import squared_distances
from treemeans import ExKMC, FastKMeans
from treemeans.reference import cluster_table, lloyd

IRIS = load_iris().data
BLOBS = make_blobs(3000, 6, centers=12, cluster_std=2.0, random_state=0)[0]
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def small_coresets(monkeypatch):
    """Let tables of a thousand rows take the way of large ones."""
    monkeypatch.setattr(cluster_table, "_CORESET_ROWS", 400)
    monkeypatch.setattr(cluster_table, "_ROWS_PER_CLUSTER", 20)
    monkeypatch.setattr(cluster_table, "_PILOT_ROWS", 100)


def inertia(X, centers, weights=None):
    return float(np.average(squared_distances(X, centers).min(axis=1), weights=weights)) * (
        len(X) if weights is None else weights.sum()
    )


# Some checks have fewer distinct rows than clusters, which works, with a warning.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([FastKMeans(), FastKMeans(3, n_init=1)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("X", "k"), [(IRIS, 3), (load_digits().data, 10), (BLOBS, 12)])
def test_inertia_of_small_tables(X, k):
    ours = [FastKMeans(k, random_state=seed).fit(X).inertia_ for seed in range(3)]
    theirs = [KMeans(k, n_init=10, random_state=seed).fit(X).inertia_ for seed in range(3)]
    assert np.mean(ours) <= 1.001 * np.mean(theirs)


@pytest.mark.usefixtures("small_coresets")
def test_inertia_of_large_tables():
    ours = [FastKMeans(12, random_state=seed).fit(BLOBS).inertia_ for seed in range(5)]
    theirs = [KMeans(12, n_init=10, random_state=seed).fit(BLOBS).inertia_ for seed in range(5)]
    assert np.mean(ours) <= 1.001 * np.mean(theirs)


@pytest.mark.usefixtures("small_coresets")
def test_rare_rows_far_away_are_found():
    X = np.vstack([BLOBS, [[1e3] * 6], [[-1e3] * 6]])
    model = FastKMeans(5, random_state=0).fit(X)
    assert {1e3, -1e3} <= set(model.cluster_centers_[:, 0].round(6))


@pytest.mark.usefixtures("small_coresets")
def test_many_columns():
    X = make_blobs(1500, 300, centers=6, cluster_std=8.0, random_state=1)[0]
    model = FastKMeans(6, random_state=0).fit(X)
    assert model.inertia_ <= 1.001 * KMeans(6, n_init=10, random_state=0).fit(X).inertia_


def test_what_a_fit_leaves_behind():
    model = FastKMeans(12, random_state=0).fit(BLOBS)
    nearest = squared_distances(BLOBS, model.cluster_centers_)
    assert model.labels_.tolist() == nearest.argmin(axis=1).tolist()
    assert model.predict(BLOBS).tolist() == model.labels_.tolist()
    assert model.inertia_ == pytest.approx(nearest.min(axis=1).sum())
    assert model.score(BLOBS) == pytest.approx(-model.inertia_)
    np.testing.assert_allclose(model.transform(BLOBS) ** 2, nearest, rtol=1e-6, atol=1e-6)
    sizes = np.bincount(model.labels_)
    assert (np.diff(sizes) <= 0).all(), "the largest cluster comes first"
    assert model.start_inertias_.shape == model.start_agreement_.shape == (10,)
    assert model.start_agreement_.max() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("large", [False, True])
def test_any_number_of_threads_gives_the_same(large, monkeypatch, request):
    if large:
        request.getfixturevalue("small_coresets")
    monkeypatch.setattr("treemeans.reference.center_search._PARALLEL", 1)
    one, two = (FastKMeans(12, random_state=3, n_jobs=n).fit(BLOBS) for n in (1, 2))
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.start_agreement_, two.start_agreement_)


def test_a_row_of_weight_two_is_the_row_twice():
    weights = np.random.default_rng(0).integers(0, 4, len(IRIS))
    weighted = FastKMeans(3, random_state=0).fit(IRIS, sample_weight=weights)
    repeated = FastKMeans(3, random_state=0).fit(np.repeat(IRIS, weights, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    assert len(weighted.labels_) == len(IRIS)


@pytest.mark.usefixtures("small_coresets")
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_weights_of_large_tables(unit):
    weights = np.random.default_rng(1).exponential(size=len(BLOBS)) * (BLOBS[:, 0] > 0) * unit
    model = FastKMeans(8, random_state=0).fit(BLOBS, sample_weight=weights)
    expected = KMeans(8, n_init=10, random_state=0).fit(BLOBS, sample_weight=weights / unit)
    assert model.inertia_ / unit <= 1.005 * expected.inertia_
    assert model.inertia_ == pytest.approx(inertia(BLOBS, model.cluster_centers_, weights))


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    "given",
    [np.asfortranarray, lambda X: X.astype(np.float32), sparse.csr_array, sparse.csc_matrix],
    ids=["by column", "float32", "csr", "csc"],
)
def test_types_of_tables(given, large, request):
    if large:
        request.getfixturevalue("small_coresets")
    plain = FastKMeans(12, random_state=0).fit(BLOBS)
    model = FastKMeans(12, random_state=0).fit(given(BLOBS))
    assert model.inertia_ == pytest.approx(plain.inertia_, rel=1e-3)
    assert adjusted_rand_score(model.labels_, plain.labels_) > 0.99
    assert model.predict(given(BLOBS)).tolist() == pytest.approx(model.labels_.tolist())
    if given is np.asfortranarray:
        assert np.array_equal(model.cluster_centers_, plain.cluster_centers_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix], ids=["dense", "sparse"])
def test_an_offset_costs_no_digits(kind, dtype):
    far = (BLOBS.round(1) + 1e5).astype(dtype)
    near = far.astype(np.float64) - 1e5
    model = FastKMeans(12, random_state=0).fit(kind(far))
    expected = FastKMeans(12, random_state=0).fit(near)
    assert inertia(near, model.cluster_centers_ - 1e5) == pytest.approx(
        expected.inertia_, rel=1e-4 if dtype == np.float64 else 1e-2
    )


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("exponent", [-120, -80, -40, 58, 63, 100])
def test_squares_that_32_bits_do_not_hold(kind, exponent):
    near = BLOBS[:500].round(1).astype(np.float32)
    far = kind(np.ldexp(near, exponent))
    expected = FastKMeans(12, random_state=0).fit(near)
    model = FastKMeans(12, random_state=0).fit(far)
    assert adjusted_rand_score(model.labels_, expected.labels_) > 0.99
    for reference in ("kmeans", "fast"):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            model = ExKMC(12, reference=reference, random_state=0).fit(far)
        found = np.ldexp(model.reference_inertia_, -2 * exponent)
        assert found == pytest.approx(expected.inertia_, rel=0.05)


@pytest.mark.parametrize("n_distinct", [1, 2, 5])
def test_fewer_distinct_rows_than_clusters(n_distinct):
    X = np.repeat(BLOBS[:n_distinct], 20, axis=0)
    with pytest.warns(ConvergenceWarning, match=f"Only {n_distinct} of the 6 centers"):
        model = FastKMeans(6, random_state=0).fit(X)
    assert np.isfinite(model.cluster_centers_).all()
    assert model.inertia_ == pytest.approx(0.0, abs=1e-9)


@pytest.mark.usefixtures("small_coresets")
def test_a_large_table_of_few_distinct_rows():
    X = np.repeat(BLOBS[:3], 1000, axis=0)
    with pytest.warns(ConvergenceWarning):
        model = FastKMeans(6, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-9)


def test_as_many_clusters_as_rows():
    model = FastKMeans(150 - 1, random_state=0).fit(np.unique(IRIS, axis=0))
    assert model.inertia_ == pytest.approx(0.0, abs=1e-9)


def test_one_cluster():
    model = FastKMeans(1, random_state=0).fit(IRIS)
    np.testing.assert_allclose(model.cluster_centers_[0], IRIS.mean(axis=0))


@pytest.mark.parametrize("values", [1e160, 1e300])
def test_values_too_large(values):
    with pytest.raises(ValueError, match="squared distances overflow"):
        FastKMeans(3, random_state=0).fit(IRIS * values)


@pytest.mark.parametrize(
    "parameters",
    [{"n_clusters": 0}, {"n_init": 2.5}, {"max_iter": True}, {"tol": -1.0}, {"tol": np.nan}],
    ids=str,
)
def test_parameters_that_cannot_be(parameters):
    with pytest.raises(ValueError, match=f"{next(iter(parameters))} must be"):
        FastKMeans(**parameters).fit(IRIS)


def test_too_few_rows():
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        FastKMeans(3).fit(IRIS[:2])


def test_the_public_kmeans_leads_to_the_same(monkeypatch):
    rows = lloyd.LloydRows.of(IRIS - IRIS.mean(axis=0), None, 1e-4)
    own = rows.run(rows.X[[0, 60, 120]], 50)
    monkeypatch.setattr(lloyd, "_kmeans_single_lloyd", None)
    public = rows.run(rows.X[[0, 60, 120]], 50)
    np.testing.assert_allclose(own.centers, public.centers, atol=1e-12)
    assert own.labels.tolist() == public.labels.tolist()
    assert own.n_iter == public.n_iter


def test_an_interrupt_ends_the_fit(monkeypatch):
    calls = []

    def interrupted(self, centers, max_iter):
        calls.append(max_iter)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return run(self, centers, max_iter)

    run = lloyd.LloydRows.run
    monkeypatch.setattr(lloyd.LloydRows, "run", interrupted)
    model = FastKMeans(12, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(BLOBS)
    assert not hasattr(model, "cluster_centers_")


def test_progress_is_shown(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("treemeans.progress._PATIENCE", 0.0)
    monkeypatch.setattr("treemeans.progress._REFRESH", 0.0)
    with warnings.catch_warnings():
        FastKMeans(3, random_state=0, verbose=True).fit(IRIS)
    assert "k-means [" in capsys.readouterr().err


def test_entries_that_are_stored_in_parts():
    """Sparse rows whose indices run backwards, every entry in two halves."""
    X = load_iris().data
    whole = sparse.csr_matrix(X)
    order = np.arange(2 * whole.nnz)[::-1].reshape(len(X), -1)[::-1].ravel()
    halves, indices = np.repeat(whole.data, 2) / 2, np.repeat(whole.indices, 2)
    parts = sparse.csr_matrix((halves[order], indices[order], 2 * whole.indptr), shape=X.shape)
    assert not parts.has_canonical_format
    model = FastKMeans(3, random_state=0).fit(parts)
    expected = FastKMeans(3, random_state=0).fit(whole)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.inertia_ == expected.inertia_
    np.testing.assert_array_equal(model.predict(parts), expected.labels_)
    assert not parts.has_canonical_format  # the input is left as it is
