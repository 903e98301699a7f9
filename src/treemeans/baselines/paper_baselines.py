"""The trees of the ExKMC paper's comparison, as estimators: IMM, a KD-tree and CART."""

from __future__ import annotations

from typing import Any

import numpy as np

from treemeans.baselines.baseline import Baseline, check_choice, check_integer, follow_tree
from treemeans.growth.cart import cart
from treemeans.growth.imm import imm
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.kdtree import kdtree
from treemeans.progress import Progress
from treemeans.training_data import TrainingData
from treemeans.validation import check_max_leaves

LEAF_LABELS = ("majority", "cost")


class IMM(Baseline):
    """A tree with one leaf for each reference center (Dasgupta et al. 2020).

    Each cut parts the fewest rows from their center. It is what `treemeans.ExKMC` expands; the
    same tree is ``ExKMC(k, max_leaf_nodes=k)``.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters and of leaves, k. None means that of ``reference``, or 8 without one.
    reference : {"fast", "kmeans"}, clusterer, Pipeline, labels or centers, default=None
        The clustering to explain, as in `treemeans.ExKMC`.
    n_jobs, random_state
        As in `treemeans.ExKMC`.

    Attributes
    ----------
    labels_, tree_, n_leaves_, inertia_, surrogate_inertia_, path_, cluster_centers_, \
cluster_profiles_, reference_centers_, reference_labels_, reference_inertia_, feature_importances_
        As in `treemeans.ExKMC`; ``path_`` has one row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans.baselines import IMM
    >>> model = IMM(3, random_state=0).fit(load_iris().data)
    >>> model.n_leaves_, round(model.inertia_ / model.reference_inertia_, 3)
    (3, 1.037)
    """

    _more_leaves = "use a reference whose centers differ"

    def _grow_tree(self, data: TrainingData) -> InMemoryTree:
        growing = InMemoryTree(data)
        imm(growing, data.center_columns, Progress("", 1, False))
        return growing


class KDTree(Baseline):
    """Cut the feature that varies most at its median, level by level.

    A node is cut if it has rows for two leaves of a tree of ``max_leaf_nodes`` equal ones. A leaf
    gets the label of the reference center that is cheapest for its rows; the cuts know nothing of
    the reference.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters, k. None means that of ``reference``, or 8 without one.
    max_leaf_nodes : int, default=None
        Most leaves, k' >= k. None means 2 k. Often there are fewer: nodes are halved, and two
        halves with too few rows are not made.
    reference : {"fast", "kmeans"}, clusterer, Pipeline, labels or centers, default=None
        The clustering that leaves are labelled by, as in `treemeans.ExKMC`.
    n_jobs, random_state
        As in `treemeans.ExKMC`.

    Attributes
    ----------
    labels_, tree_, n_leaves_, inertia_, surrogate_inertia_, path_, cluster_centers_, \
cluster_profiles_, reference_centers_, reference_labels_, reference_inertia_, feature_importances_
        As in `treemeans.ExKMC`; ``path_`` has one row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans.baselines import KDTree
    >>> model = KDTree(3, max_leaf_nodes=8, random_state=0).fit(load_iris().data)
    >>> model.n_leaves_, model.path_["ratio"].round(3).tolist()
    (6, [1.687])
    """

    _more_leaves = "raise max_leaf_nodes"

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        max_leaf_nodes: int | None = None,
        reference: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, reference=reference, n_jobs=n_jobs, random_state=random_state)
        self.max_leaf_nodes = max_leaf_nodes

    def _check(self) -> None:
        super()._check()
        check_integer(self, "max_leaf_nodes", or_none=True)

    def _grow_tree(self, data: TrainingData) -> InMemoryTree:
        growing = InMemoryTree(data)
        kdtree(growing, check_max_leaves(self.max_leaf_nodes, len(data.centers), None))
        return growing


class CART(Baseline):
    """A decision tree that predicts the reference's labels.

    The tree is scikit-learn's, with the Gini impurity: it wants few rows with a wrong label, and
    does not ask what they cost.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters, k. None means that of ``reference``, or 8 without one.
    max_leaf_nodes : int, default=None
        Most leaves, k' >= k. None means 2 k.
    leaf_label : {"majority", "cost"}, default="majority"
        The label of a leaf: that of most of its rows, as a decision tree predicts, or the center
        that is cheapest for them.
    reference : {"fast", "kmeans"}, clusterer, Pipeline, labels or centers, default=None
        The clustering to predict, as in `treemeans.ExKMC`.
    n_jobs, random_state
        As in `treemeans.ExKMC`.

    Attributes
    ----------
    labels_, tree_, n_leaves_, inertia_, surrogate_inertia_, path_, cluster_centers_, \
cluster_profiles_, reference_centers_, reference_labels_, reference_inertia_, feature_importances_
        As in `treemeans.ExKMC`; ``path_`` has one row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans.baselines import CART
    >>> model = CART(3, max_leaf_nodes=4, random_state=0).fit(load_iris().data)
    >>> model.n_leaves_, model.path_["ratio"].round(3).tolist()
    (4, [1.037])
    """

    _more_leaves = "raise max_leaf_nodes"

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        max_leaf_nodes: int | None = None,
        leaf_label: str = "majority",
        reference: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, reference=reference, n_jobs=n_jobs, random_state=random_state)
        self.max_leaf_nodes = max_leaf_nodes
        self.leaf_label = leaf_label

    def _check(self) -> None:
        super()._check()
        check_integer(self, "max_leaf_nodes", or_none=True)
        check_choice(self, "leaf_label", LEAF_LABELS)

    def _grow_tree(self, data: TrainingData) -> InMemoryTree:
        n_leaves = check_max_leaves(self.max_leaf_nodes, len(data.centers), None)
        limits = data.limits.for_rows(data.costs)
        tree = cart(data.X, data.costs, data.weights, n_leaves, limits, data.table.allowed)
        growing, _ = follow_tree(data, tree)
        if self.leaf_label == "majority":
            _label_by_majority(growing)
        return growing


def _label_by_majority(growing: InMemoryTree) -> None:
    """Label each leaf as most of its rows are in the reference; of equals, the lowest label."""
    weights = growing.costs.weights
    for leaf in growing.leaves:
        rows = growing.rows(leaf)
        votes = np.bincount(
            growing.costs.nearest[rows], None if weights is None else weights.values[rows]
        )
        growing.label[leaf] = int(votes.argmax())
