"""What KMedians, SphericalKMeans and FastKMeans share: parameters, checks, labels of rows."""

import numpy as np
import pytest
from scipy import sparse

from treemeans import FastKMeans
from treemeans.reference import KMedians, SphericalKMeans

X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat(np.eye(3) * 9, 20, axis=0)
CLUSTERERS = [FastKMeans, KMedians, SphericalKMeans]


@pytest.mark.parametrize("clusterer", CLUSTERERS)
@pytest.mark.parametrize("name", ["n_clusters", "n_init", "max_iter"])
def test_a_number_that_cannot_be_is_refused(clusterer, name):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1; got 0"):
        clusterer().set_params(**{name: 0}).fit(X)


@pytest.mark.parametrize("clusterer", CLUSTERERS)
def test_weights_and_rows_are_checked(clusterer):
    with pytest.raises(ValueError, match="Negative values"):
        clusterer(2).fit(X, sample_weight=-np.ones(60))
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        clusterer(3).fit(X[:2])


@pytest.mark.parametrize("clusterer", CLUSTERERS)
def test_rows_of_the_fit_get_their_labels_again(clusterer):
    model = clusterer(3, random_state=0).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(model.predict(sparse.csr_matrix(X)), model.labels_)
    assert sorted(np.bincount(model.labels_)) == [20, 20, 20]


@pytest.mark.parametrize("clusterer", CLUSTERERS)
def test_entries_stored_in_parts_are_added(clusterer):
    whole = sparse.csr_matrix(X)
    parts = sparse.csr_matrix(
        (
            np.repeat(whole.data / 2, 2),
            np.repeat(whole.indices, 2),
            2 * whole.indptr,
        ),
        shape=whole.shape,
    )
    one, other = (clusterer(3, random_state=0).fit(each) for each in (whole, parts))
    assert np.array_equal(one.cluster_centers_, other.cluster_centers_)
    assert not parts.has_canonical_format  # the user's matrix is left alone
