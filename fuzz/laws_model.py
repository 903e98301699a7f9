"""Laws of one model: its numbers are those of its rows, and it keeps its limits."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

import numpy as np

from fuzz.law import (
    Trial,
    cost_to,
    has_centers,
    is_grown,
    is_limited,
    is_ordinary,
    kmeans_cost,
    law,
    near,
    squared_distances,
)
from tests.helpers.plain_numpy import leaf_of

DIGITS = 1e-9
LARGEST = float(np.finfo(np.float64).max)


@law("refusal")
def refusal(trial: Trial) -> None:
    """A fit succeeds, or ends in one or two sentences; never for ordinary numbers."""
    error = trial.error
    if error is None:
        return
    place = traceback.extract_tb(error.__traceback__)[-1].filename
    if trial.case.parameters["reference"] in ("scaled", "pca") and "treemeans" not in place:
        return  # the pipeline's own error
    if not isinstance(error, ValueError):
        raise error
    of_sklearn = (
        "at least one non-zero",
        "too large for dtype('float32')",
        "probabilities contain",
    )
    if trial.case.storage == "float32" and any(each in str(error) for each in of_sklearn):
        return  # scikit-learn's k-means takes the weights as float32 too
    message = str(error)
    assert message.endswith("."), message
    assert "\n" not in message, message
    assert len(message) < 400, message
    expected = "but base_tree already has" in message or "n_samples=" in message
    expected |= "No column is left to cluster by" in message
    expected |= trial.case.cost in ("labels", "table") and "compares means of clusters" in message
    if trial.case.parameters.get("protected"):
        expected |= "nothing to cut" in message
    if is_limited(trial.case):
        expected |= "is impossible" in message or "the nearest limits that one meets" in message
        expected |= "no cluster can be both" in message
    if is_ordinary(trial.case) and not expected:
        raise error


@law("labels")
def labels(trial: Trial) -> None:
    """labels_ = predict = label of apply = a walk down the tree, for every size."""
    table = trial.case.table()
    for model in trial.sizes:
        tree = model.tree_
        leaf = model.apply(table)
        assert np.array_equal(leaf, leaf_of(tree, trial.case.X)), "apply"
        assert np.array_equal(model.predict(table), tree.label[leaf]), "predict"
        assert np.array_equal(model.labels_, tree.label[leaf]), "labels_"
        assert tree.n_leaves == model.n_leaves_ == len(tree.leaves)
        assert model.labels_.max() < tree.n_clusters


@law("costs")
def costs(trial: Trial) -> None:
    """Stated costs are the recomputed ones, for every size."""
    X, w = trial.space, trial.case.row_weights
    smallest = trial.smallest
    centers = trial.model._fit_result.centers
    for model in trial.sizes:
        truth = kmeans_cost(X, model.labels_, w)
        smallest += trial.lost_beside_outliers(truth)
        assert near(model.inertia_, truth, DIGITS, smallest), ("inertia_", model.inertia_, truth)
        surrogate = cost_to(X, centers[model.labels_], w)
        stated = model.surrogate_inertia_
        tolerance = smallest + trial.lost_beside_outliers(surrogate) + trial.rounded_means
        assert near(stated, surrogate, DIGITS, tolerance), ("surrogate_inertia_", stated, surrogate)
        assert stated >= model.inertia_ * (1 - DIGITS) - smallest
        row = model.path_[-1]
        assert row["kmeans_cost"] == model.inertia_
        assert row["surrogate_cost"] == stated
        same = w @ (model.labels_ == model.reference_labels_) / w.sum()
        assert near(row["accuracy"], same, 1e-6, 1e-12), ("accuracy", row["accuracy"], same)


@law(
    "reference",
    applies=lambda case: not isinstance(case.parameters["reference"], list) or has_centers(case),
)
def reference(trial: Trial) -> None:
    """reference_labels_ are the nearest centers, reference_inertia_ their cost."""
    X, w, model = trial.space, trial.case.row_weights, trial.model
    centers = model.reference_centers_
    cost = squared_distances(X, centers)
    own = cost[np.arange(len(X)), model.reference_labels_]
    least = cost.min(axis=1)
    scale = (X.astype(np.longdouble) ** 2).sum(axis=1) + (centers.astype(np.longdouble) ** 2).sum(
        axis=1
    ).max()
    assert (own <= least * (1 + 1e-9) + 1e-12 * scale + 1e-300).all(), "reference_labels_"
    total = float(least @ w)
    slack = float(1e-28 * (scale @ w)) + trial.rounding + 1e-300
    assert near(model.reference_inertia_, total, DIGITS, slack), (model.reference_inertia_, total)


@law("path")
def path(trial: Trial) -> None:
    """Every number of leaves, with costs that never rise."""
    model, found = trial.model, trial.model.path_
    assert np.array_equal(np.diff(found["n_leaves"]), np.ones(len(found) - 1)), "n_leaves"
    assert found["n_leaves"][-1] == model.n_leaves_
    which = "surrogate_cost" if is_grown(trial.case) else "kmeans_cost"
    rises = np.diff(found[which])
    slack = DIGITS * found[which].max() + trial.rounding
    assert (rises <= slack).all(), (which, found[which].tolist())
    if model.reference_inertia_ > 0:
        ratio = found["kmeans_cost"] / model.reference_inertia_
        assert np.allclose(found["ratio"], ratio, rtol=1e-12), "ratio"


@law("limits")
def limits(trial: Trial) -> None:
    """Leaves, depth, weights of leaves and features are what the parameters allow."""
    case, model, tree = trial.case, trial.model, trial.model.tree_
    wanted = case.parameters
    k = len(model.reference_centers_)
    assert model.n_leaves_ <= (wanted["max_leaf_nodes"] or 2 * k), "max_leaf_nodes"
    depth = np.zeros(tree.n_nodes, dtype=int)
    for node in np.flatnonzero(tree.feature >= 0):
        depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    if wanted["max_depth"] is not None:
        assert depth.max() <= wanted["max_depth"], "max_depth"
    used = tree.feature[tree.feature >= 0]
    if wanted["allowed_features"] is not None and case.kinds is not None:
        assert {model.columns_[i].name for i in used} <= set(wanted["allowed_features"])
    elif wanted["allowed_features"] is not None:
        assert np.array(wanted["allowed_features"])[used].all(), "allowed_features"
    least, w = float(wanted["min_samples_leaf"]), case.row_weights
    if least < 1:
        least *= w.sum()
    # A limit of one row is none: the base tree may have a leaf for a center without rows.
    if (least > 1 or case.weights is not None) and wanted["min_samples_leaf"] != 1:
        weight = np.bincount(model.apply(case.table()), w, minlength=tree.n_nodes)[tree.leaves]
        unit = w.sum() * 2.0**-58  # weights are whole multiples of about this
        enough = model.n_leaves_ == 1 or weight.min() >= least * (1 - DIGITS) - unit
        assert enough, ("min_samples_leaf", weight.min(), least)


@law("limits on clusters", applies=is_limited)
def limits_on_clusters(trial: Trial) -> None:
    """Every cluster has a weight within the limits, at every size."""
    w, wanted = trial.case.row_weights, trial.case.parameters
    total = float(w.sum())
    low = (wanted.get("min_cluster_size") or 0.0) * total
    high = (wanted.get("max_cluster_size") or 1.0) * total
    for model in trial.sizes:
        size = np.bincount(model.labels_, w, minlength=model.tree_.n_clusters)
        assert size.min() >= low * (1 - DIGITS), size.tolist()
        assert size.max() <= high * (1 + DIGITS), size.tolist()


@law("protected", applies=lambda case: case.parameters.get("protected") is not None)
def protected(trial: Trial) -> None:
    """No split uses a protected column, and what is revealed of it is a share."""
    asked = trial.case.parameters["protected"]
    assert not np.isin(trial.model.tree_.feature, asked).any()
    assert [0.0 <= each.revealed <= 1.0 for each in trial.model.rules().protected] == [True]


@law("thresholds")
def thresholds(trial: Trial) -> None:
    """Finite, and the gap around each holds no value of the node's rows."""
    tree, X, w = trial.model.tree_, trial.case.X, trial.case.row_weights
    inner = np.flatnonzero(tree.feature >= 0)
    assert np.isfinite(tree.threshold[inner]).all()
    paths = tree.paths_to(leaf_of(tree, X)).toarray().astype(bool)
    for node in inner.tolist():
        values = X[paths[:, node] & (w > 0), tree.feature[node]]
        below, above = tree.gap[node]
        threshold = tree.threshold[node]
        assert below <= threshold < above or not np.isfinite([below, above]).all(), "gap"
        assert not ((values > below) & (values < above)).any(), "values in the gap"


@law("refined", applies=lambda case: not is_grown(case))
def refined(trial: Trial) -> None:
    """No refined tree costs more than the one it came from, prices included."""
    plain = trial.fit(refine="none", search_rounds=None)
    prices = trial.case.parameters["feature_costs"]

    def promised(model):  # the cost of the whole tree and of its cuts
        cuts = model.tree_.feature[model.tree_.feature >= 0]
        paid = 0.0 if prices is None else float(np.array(prices)[cuts].sum())
        return model.inertia_ + paid * model.reference_inertia_

    smallest = trial.smallest
    before, after = promised(plain), promised(trial.model)
    smallest += trial.lost_beside_outliers(plain.inertia_)
    assert after <= before * (1 + DIGITS) + smallest, (before, after)
    assert trial.model.n_leaves_ <= max(
        plain.n_leaves_,
        trial.case.parameters["max_leaf_nodes"] or 2 * len(plain.reference_centers_),
    )


@law("certificate", applies=lambda case: case.parameters["refine"] == "optimal")
def certificate(trial: Trial) -> None:
    """The certificate states the cost of the tree, and no other tree found is below its bound."""
    model, case = trial.model, trial.case
    found, prices = model.certificate_, case.parameters["feature_costs"]
    assert found is not None
    if prices is not None:
        return
    slack = trial.smallest + trial.rounding
    by_means = found.kind == "kmeans_cost"
    stated = model.inertia_ if by_means else model.surrogate_inertia_
    assert near(found.cost, stated, 1e-8, slack), (found, stated)
    assert found.lower_bound <= found.cost * (1 + DIGITS) + slack, found
    for base in ("imm", "exgreedy", "emn", "kdtree", "none"):
        for refinement in ("none", "local"):
            other = trial.fit(refine=refinement, search_rounds=None, base_tree=base)
            for size in other.path_["n_leaves"][other.path_["n_leaves"] <= found.n_leaves]:
                known = other.with_leaves(int(size))
                cost = known.inertia_ if by_means else _cost_to_fixed(trial, known)
                enough = cost >= found.lower_bound * (1 - DIGITS) - slack
                assert enough, (base, refinement, int(size), cost, found)


def _cost_to_fixed(trial: Trial, other: Any) -> float:
    """Cost of another tree to the centers of this one, every leaf with its cheapest."""
    X, w = trial.space, trial.case.row_weights
    leaf = other.apply(trial.case.table())
    total = 0.0
    for each in np.unique(leaf):
        rows = leaf == each
        total += min(cost_to(X[rows], c, w[rows]) for c in trial.model._fit_result.centers)
    return total


@law("sizes", share=0.6, applies=lambda case: is_grown(case))
def sizes(trial: Trial) -> None:
    """with_leaves(n) is the tree of a fit to n leaves."""
    if trial.case.parameters["base_tree"] == "best":  # another base tree may be best for n leaves
        return
    n = trial.model.path_["n_leaves"]
    k = len(trial.model.reference_centers_)
    wanted = int(n[len(n) // 2])
    if wanted < k or trial.case.parameters["base_tree"] == "given":  # which may have more leaves
        return
    other = trial.fit(max_leaf_nodes=wanted)
    small = trial.model.with_leaves(wanted)
    assert small.tree_ == other.tree_
    assert np.array_equal(small.labels_, other.labels_)
    assert near(small.inertia_, other.inertia_, DIGITS, 1e-300), (small.inertia_, other.inertia_)


@law("rounded thresholds", share=0.5, applies=lambda case: case.parameters["round_thresholds"])
def rounded_thresholds(trial: Trial) -> None:
    """Rounding changes no row's side."""
    plain = trial.fit(round_thresholds=False)
    assert np.array_equal(plain.labels_, trial.model.labels_)
    assert np.array_equal(plain.tree_.feature, trial.model.tree_.feature)
    assert plain.inertia_ == trial.model.inertia_


@law("score", share=0.2)
def score(trial: Trial) -> None:
    """-score = inertia_; transform = distances to the cluster means."""
    case, model = trial.case, trial.model
    X, w = trial.space, case.row_weights
    smallest = trial.smallest
    found = -model.score(case.table(), sample_weight=case.weights)
    truth = cost_to(X, model.cluster_centers_[model.labels_], w)
    assert near(found, truth, DIGITS, smallest), (found, truth)
    # Means are floats, and rounded; inertia_ is measured about the means before that.
    rounded = smallest * 100 + trial.rounded_means
    assert near(found, model.inertia_, 1e-8, rounded), (found, model.inertia_)
    distance = model.transform(case.table())
    centers = model.cluster_centers_
    truth = np.sqrt(squared_distances(X, centers)).astype(np.float64)
    scale = np.abs(X).max() + np.abs(centers).max(axis=1)
    # The square root of a rounded difference has half the digits.
    assert (np.abs(distance - truth) <= 1e-7 * truth + 3e-8 * scale).all(), "transform"


@law("again", share=0.3)
def again(trial: Trial) -> None:
    """The same fit gives the same tree."""
    other = trial.fit()
    assert other.tree_ == trial.model.tree_
    assert other.inertia_ == trial.model.inertia_


@law("pickled", share=0.02)
def pickled(trial: Trial) -> None:
    """A copy of the model is the model."""
    copied = pickle.loads(pickle.dumps(trial.model))
    assert copied.tree_ == trial.model.tree_
    assert np.array_equal(copied.predict(trial.case.table()), trial.model.labels_)


@law("warnings", share=0.1)
def warned(trial: Trial) -> None:
    """What is wrong with the clusters is said in sentences."""
    for each in trial.model.warnings_:
        assert str(each).endswith("."), str(each)
        assert "\n" not in str(each), str(each)
