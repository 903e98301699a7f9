"""Models of every kind, to be saved; and what it means that another is the same."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from tests.helpers.datasets import kmeans
from tests.helpers.plain_numpy import a_tree, random_weights, scaled_pca
from treemeans import ExKMC, ThresholdTree, export_text
from treemeans.columns import Column

IRIS = load_iris().data
EXACT = (
    "inertia_",
    "surrogate_inertia_",
    "reference_inertia_",
    "feature_importances_",
    "cluster_centers_",
    "cluster_profiles_",
    "reference_centers_",
    "n_leaves_",
    "n_iter_",
    "n_features_in_",
    "path_",
)


def shop(n=200, seed=0):
    """Dates, categories, whole numbers and a flag, under names that nobody should print."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            'spend "net"\n': np.round(rng.gamma(2.0, 200.0, n), 2),
            "<img src=x onerror=alert(1)>": rng.poisson(4, n),
            "seit größer": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "\U0001f333": (rng.random(n) < 0.4) * 1,
            "color": rng.choice(["red", "dark green", "blue"], n),
        }
    )
    return pd.get_dummies(frame, columns=["color"], dtype=float)


def _of_iris(**parameters):
    X = parameters.pop("X", IRIS)
    weights = parameters.pop("weights", None)
    parameters = {"reference": kmeans(IRIS, 3), "max_leaf_nodes": 9} | parameters
    return ExKMC(3, **parameters).fit(X, sample_weight=weights), X


def _of_shop(**parameters):
    X = shop()
    reference = make_pipeline(*scaled_pca()[:-1], KMeans(4, n_init=2, random_state=0))
    return ExKMC(4, reference=reference, max_leaf_nodes=12, **parameters).fit(X), X


def _scrambled():
    """Labels of smaller trees that are not those of the whole one."""
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)), 2)
    reference = KMeans(5, n_init=10, random_state=0)
    return ExKMC(5, max_leaf_nodes=30, refine="local", reference=reference).fit(X), X


def _sparse_pipeline():
    X = sparse.random(120, 30, 0.2, "csr", np.float64, np.random.RandomState(0))
    reference = make_pipeline(TruncatedSVD(3, random_state=0), KMeans(3, n_init=2, random_state=0))
    return ExKMC(3, reference=reference, max_leaf_nodes=7).fit(X), X


def mixed_customers(rng, n):
    """Ages and codes of countries, unknown ones too, either of which may be missing; a number."""
    X = np.stack([rng.integers(18, 90, n), rng.integers(0, 6, n), rng.normal(size=n)], axis=1)
    X[rng.random(n) < 0.2, 0] = np.nan
    X[rng.random(n) < 0.2, 1] = np.nan
    return X


def _mixed():
    """A model whose tree has categories and sides for missing values, which is not grown so."""
    rng = np.random.default_rng(0)
    X = np.nan_to_num(mixed_customers(rng, 200))
    base = ThresholdTree(
        [1, 0, 0, -1, -1, -1, -1],
        [1.5, 40.5, 30.5, np.nan, np.nan, np.nan, np.nan],
        [1, 3, 5, -1, -1, -1, -1],
        [2, 4, 6, -1, -1, -1, -1],
        [0, 0, 2, 0, 1, 2, 0],
        3,
    )
    model = ExKMC(3, base_tree=base, max_leaf_nodes=4, random_state=0).fit(X)
    tree = model._fit_result.tree
    assert tree.feature[:3].tolist() == [1, 0, 0]
    tree = replace(
        tree,
        threshold=[np.nan, 40.0, -np.inf, *tree.threshold[3:]],
        gap=None,
        missing_left=[0, 1, 1, -1, -1, -1, -1],
        category_first=[0, 2, 2, 2, 2, 2, 2, 2],
        category_codes=[0, 2],
    )
    columns = (
        Column("age", "integer"),
        Column("country", "codes", categories=("DE", "größer", "it's", "🌳")),
        Column("balance"),
    )
    model._fit_result = replace(model._fit_result, tree=tree, columns=columns)
    return model.with_leaves(4), mixed_customers(rng, 300)


CASES = {
    "mixed": _mixed,
    "grown": lambda: _of_iris(),
    "plain": lambda: _of_iris(reference=None, random_state=0),
    "centers": lambda: _of_iris(reference=IRIS[[0, 70, 140]]),
    "float32": lambda: _of_iris(X=IRIS.astype(np.float32)),
    "weighted": lambda: _of_iris(weights=random_weights(150)),
    "given tree": lambda: _of_iris(base_tree=a_tree()),
    "one leaf": lambda: _of_iris(base_tree="none", max_leaf_nodes=3, min_samples_leaf=150),
    "refined": lambda: _of_iris(refine="local", max_leaf_nodes=15),
    "searched": lambda: _of_iris(refine="search", search_rounds=30),
    "scrambled": _scrambled,
    "limits": lambda: _of_iris(
        allowed_features=np.array([0, 2, 3]), feature_costs={2: 0.01, 0: np.float32(0.5)}, n_jobs=2
    ),
    "smaller": lambda: (_of_iris()[0].with_leaves(5), IRIS),
    "told more": lambda: (
        _of_iris()[0].with_columns(names=list("äbcd"), units={2: "cm"}, dates={"b": "s"}),
        IRIS,
    ),
    "pipeline": lambda: _of_iris(reference=scaled_pca()),
    "names": _of_shop,
    "short": lambda: _of_shop(round_thresholds=True),
    "sparse": lambda: _of_iris(X=sparse.csr_array(IRIS)),
    "sparse pipeline": _sparse_pipeline,
    "medians": lambda: _of_iris(cost="kmedians", reference=None, random_state=0),
    "directions": lambda: _of_iris(cost="cosine", reference=None, random_state=0),
    "labels": lambda: _of_iris(cost="labels", reference=load_iris().target),
}


@cache
def case(name):
    """(model, X)."""
    with threadpool_limits(1):
        return CASES[name]()


def in_pipeline(model):
    return model._fit_result.reference.pipeline is not None


def assert_same(model, other, X):
    """Two models answer alike, to the last bit."""
    assert type(model) is type(other)
    assert other.tree_ == model.tree_
    assert other.columns_ == model.columns_
    for name in EXACT:
        np.testing.assert_array_equal(getattr(other, name), getattr(model, name), err_msg=name)
    names = getattr(model, "feature_names_in_", np.empty(0)).tolist()
    assert getattr(other, "feature_names_in_", np.empty(0)).tolist() == names
    assert other.predict(X).tolist() == model.predict(X).tolist()
    assert other.apply(X).tolist() == model.apply(X).tolist()
    assert (other.decision_path(X) != model.decision_path(X)).nnz == 0
    assert export_text(other) == export_text(model)
    facts, others = model._facts, other._facts
    for name in ("hits", "costs", "reference_cost", "profiles", "spread", "weight"):
        np.testing.assert_array_equal(getattr(others, name), getattr(facts, name), err_msg=name)
