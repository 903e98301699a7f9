"""CART on the reference's labels, as an estimator."""

from typing import Any

import numpy as np

from treemeans.baselines.baseline import Baseline, follow_tree
from treemeans.baselines.baseline_parameters import check_choice, check_integer
from treemeans.growth.cart import cart
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.training_data import TrainingData
from treemeans.validation import check_max_leaves

LEAF_LABELS = ("majority", "cost")


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
