"""Models for tests of the report: every kind of column, hostile names, many leaves."""

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from tests.helpers.random_trees import MIXED_COLUMNS, mixed_tree
from treemeans import ExKMC
from treemeans.pruning import Pruning

LONG = "a name of two hundred letters " * 7
HOSTILE = {
    "height": "<img src=x onerror=\"document.title='broken in'\">",
    "width": "a <= b & \"c\" </script><script>document.title='broken in'</script>",
    "visits": LONG[:200],
    "member": "\U0001f98a\u202e member\n\0001\0",
}
CLUSTER_NAMES = ["<b>bold</b>", "</script>", "\U0001f98a", "x" * 200, "plain"]


def mixed_rows(n=500, seed=0):
    """Numbers, whole numbers, a flag, dates, times, categories, and categories with none."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 5, n)
    color = np.where(rng.random(n) < 0.5, group % 3, rng.integers(0, 3, n))
    size = np.where(rng.random(n) < 0.5, group % 4, rng.integers(0, 4, n))
    day = pd.to_timedelta(rng.integers(0, 300, n) + 150 * (group == 3), unit="D")
    second = pd.to_timedelta(rng.integers(0, 300 * 86400, n) + 400 * 86400 * (group == 4), unit="s")
    table = {
        "height": rng.normal(size=n) + 2.5 * (group == 0),
        "width": np.round(rng.normal(size=n) * 10 + 25 * (group == 1), 1),
        "visits": rng.poisson(4 + 8 * (group == 2), n).astype(float),
        "member": (rng.random(n) < 0.1 + 0.8 * (group == 1)).astype(float),
        "since": pd.Timestamp("2024-01-15") + day,
        "seen": pd.Timestamp("2024-01-15") + second,
    }
    for i, value in enumerate(("red", "green", "blue")):
        table[f"color_{value}"] = (color == i).astype(float)
    for i, value in enumerate(("S", "M", "L")):  # some rows have none of them
        table[f"size={value}"] = (size == i).astype(float)
    return pd.DataFrame(table)


def mixed_model(refine="none", names=None):
    """Of a refined tree, a leaf changes its group from one size to the next."""
    X = mixed_rows()
    if names is not None:
        X = X.rename(columns=names)
    reference = make_pipeline(StandardScaler(), KMeans(5, n_init=4, random_state=0))
    model = ExKMC(5, reference=reference, max_leaf_nodes=24, refine=refine, random_state=0)
    if refine != "none":
        model.set_params(base_tree="kdtree", search_rounds=4 if refine == "search" else None)
    unit = (names or {}).get("width", "width")
    return model.fit(X).with_columns(units={unit: "cm"}, categories=["size"]), X


def tied_model():
    """Two leaves of a cluster, equally far from the middle of the other."""
    X = pd.DataFrame({"x": np.arange(0.0, 11.0)})
    middle = FunctionTransformer(lambda X: np.abs(X - 5.0))
    reference = make_pipeline(middle, KMeans(2, n_init=4, random_state=0))
    return ExKMC(2, reference=reference, max_leaf_nodes=3, random_state=0).fit(X), X


def hand_made_model(n_leaves=14, seed=1):
    """A tree with sets of categories and sides for missing values, which no fit grows."""
    rng = np.random.default_rng(seed)
    tree = mixed_tree(rng, n_leaves, missing="all")
    model = ExKMC(5, max_leaf_nodes=n_leaves, random_state=0).fit(rng.normal(size=(300, 4)))
    record = model._fit_result
    model._fit_result = replace(
        record,
        tree=tree,
        sizes={n_leaves: Pruning(~tree.is_leaf, tree.label)},
        known_path=record.path[-1:],
        columns=MIXED_COLUMNS,
        leaf_of_row=None,
        reference_labels=None,
    )
    return model._set_fitted_attributes(n_leaves)


def large_model():
    """Fifty clusters, two hundred leaves."""
    X, _ = make_blobs(4000, 6, centers=50, cluster_std=1.6, random_state=0)
    reference = KMeans(50, n_init=1, init="random", max_iter=10, random_state=0)
    return ExKMC(50, reference=reference, max_leaf_nodes=200, random_state=0).fit(X), X
