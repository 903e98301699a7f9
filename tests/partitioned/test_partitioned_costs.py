"""Other costs than k-means on partitioned rows: the same trees as in memory."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treemeans
from treemeans import ExKMC
from treemeans.reference import KMedians, SphericalKMeans

X = load_wine().data
FITTED = {
    "kmedians": KMedians(3, random_state=0).fit(X),
    "cosine": SphericalKMeans(3, random_state=0).fit(X),
}


@pytest.mark.parametrize("cost", FITTED)
@pytest.mark.parametrize("chunk", [178, 60])
@pytest.mark.parametrize("form", ["centers", "clusterer", "pipeline"])
def test_the_same_tree_for_any_partitions(cost, chunk, form):
    reference = FITTED[cost]
    if form == "centers":
        reference = reference.cluster_centers_
    elif form == "pipeline":
        reference = make_pipeline(StandardScaler(), type(reference)(3, random_state=0)).fit(X)
    model = ExKMC(None, reference=reference, cost=cost, max_leaf_nodes=8)
    expected = model.fit(X)
    tree, surrogate = expected.tree_, expected.path_["surrogate_cost"]
    rules = str(expected.rules())
    parts = ExKMC(None, reference=reference, cost=cost, max_leaf_nodes=8)
    parts.fit(da.from_array(X, chunks=(chunk, -1)))
    np.testing.assert_array_equal(parts.tree_.feature, tree.feature)
    np.testing.assert_array_equal(parts.tree_.threshold, tree.threshold)
    np.testing.assert_allclose(parts.path_["surrogate_cost"], surrogate, rtol=1e-12)
    # Medians of clusters are not measured in passes: clusters keep the reference's centers.
    assert parts.inertia_ == pytest.approx(expected.surrogate_inertia_)
    np.testing.assert_array_equal(parts.cluster_centers_, expected.reference_centers_)
    assert rules.splitlines()[0].split(",")[:3] == str(parts.rules()).splitlines()[0].split(",")[:3]


def test_saved_and_loaded(tmp_path):
    model = ExKMC(None, reference=FITTED["kmedians"], cost="kmedians")
    model.fit(da.from_array(X, chunks=(60, -1))).save(tmp_path / "model.json")
    again = treemeans.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert str(again.rules()) == str(model.rules())


FRAME = load_wine(as_frame=True).data
Y = np.array(load_wine().target_names)[load_wine().target]
NOISY = np.where(np.arange(len(Y)) % 7 == 0, None, Y)


@pytest.mark.parametrize(
    ("labels", "noise", "base_tree"),
    [(Y, "ignore", "none"), (NOISY, "ignore", "imm"), (NOISY, "cluster", "imm")],
    ids=["text", "noise ignored", "noise as a cluster"],
)
def test_labels_as_a_column(labels, noise, base_tree):
    parameters = {"cost": "labels", "noise": noise, "base_tree": base_tree, "max_leaf_nodes": 6}
    expected = ExKMC(None, reference=labels, **parameters).fit(FRAME)
    models = []
    for parts in (1, 5):
        frame = dd.from_pandas(FRAME.assign(segment=labels), npartitions=parts)
        rows, segment = frame.drop(columns="segment"), frame["segment"]
        models.append(ExKMC(None, reference=segment, **parameters).fit(rows))
    model = models[-1]
    np.testing.assert_array_equal(models[0].tree_.threshold, model.tree_.threshold)
    np.testing.assert_array_equal(model.tree_.feature, expected.tree_.feature)
    # Means of groups are rounded otherwise in one memory, and IMM compares values with them.
    np.testing.assert_allclose(model.tree_.threshold, expected.tree_.threshold, rtol=1e-12)
    np.testing.assert_array_equal(model.path_, expected.path_)
    assert model.cluster_names_ == expected.cluster_names_
    np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(model.predict(rows).compute(), expected.labels_)


ROWS = da.from_array(X, chunks=(60, -1))
REFUSED = {
    "labels": ({"reference": load_wine().target}, "must be a dask series with the partitions"),
    "cost of labels": ({"reference": FITTED["kmedians"], "cost": "labels"}, "priced by centers"),
    "table": ({"cost": np.ones((178, 3))}, "priced by centers"),
    "no reference": ({"n_clusters": 3, "cost": "kmedians"}, "cannot be fitted on partitioned rows"),
    "refined": (
        {"reference": FITTED["kmedians"], "cost": "kmedians", "refine": "search"},
        "needs all rows in one memory",
    ),
}


@pytest.mark.parametrize(("parameters", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_passes_cannot_do(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        ExKMC(**{"n_clusters": None} | parameters).fit(ROWS)
