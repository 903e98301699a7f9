"""CUBT, as an estimator."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from treemeans.baselines.baseline import (
    Baseline,
    check_choice,
    check_integer,
    check_number,
    follow_tree,
    rows_and_weights,
)
from treemeans.baselines.cubt_growth import MINDEV_RULES, overgrow
from treemeans.baselines.cubt_pruning import JOINS, Pruner, join
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.training_data import TrainingData
from treemeans.validation import check_max_leaves


class CUBT(Baseline):
    """Clustering with unsupervised binary trees (Fraiman, Ghattas, Svarc 2013).

    A tree is grown by cuts that lower the within-node variance most, siblings that are alike are
    pruned, and then leaves that are alike, siblings or not, are joined until ``n_clusters`` groups
    are left: the clusters. The reference plays no part in it; the clusters are numbered after the
    reference centers so that they cost least.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters, k (``nclass`` in the authors' R package). None means that
        of ``reference``, or 8 without one. Fewer come out if the tree has fewer leaves.
    max_leaf_nodes : int, default=None
        Most leaves after pruning, k' >= k (``nleaves``). None leaves it to ``mindist``, which may
        also leave fewer.
    minsize : int, default=10
        Least number of rows in a leaf.
    mindev : float, default=0.001
        Least gain of a cut; see ``mindev_rule``.
    mindist : float, default=0.3
        Siblings that are no more dissimilar than this are pruned. In the units of X.
    alpha : float, default=0.2
        How dissimilar two leaves are is the mean distance to the other leaf of those rows that are
        nearest to it: this share of a leaf's rows.
    minsplit : int, default=4
        Least number of rows in a node that is cut.
    max_depth : int, default=7
        Most cuts from the root to a leaf (``lp``). None for any number.
    mindev_rule : {"root", "node", "first"}, default="root"
        What must be at least ``mindev``: the drop of the deviance as a share of the root's
        deviance; the deviance of the node that is cut as that share; or, as in the R package, the
        drop as a share of the drop of the first cut, which must be exceeded.
    join : {"deviance", "ratio", "dissimilarity"}, default="deviance"
        Leaves are joined that raise the deviance least; that do so as a share of the deviance of
        both together (as in the R package's ``join``); or that are least dissimilar (``join2``).
    reference : {"fast", "kmeans"}, clusterer, Pipeline, labels or centers, default=None
        The clustering to compare with, as in `treemeans.ExKMC`.
    n_jobs, random_state
        As in `treemeans.ExKMC`.

    Attributes
    ----------
    labels_, tree_, n_leaves_, inertia_, surrogate_inertia_, path_, cluster_centers_, \
cluster_profiles_, reference_centers_, reference_labels_, reference_inertia_, feature_importances_
        As in `treemeans.ExKMC`; ``path_`` has one row.

    Notes
    -----
    To try many parameters, grow once with `treemeans.baselines.cubt_growth.overgrow`, and prune
    the result repeatedly with a `treemeans.baselines.cubt_pruning.Pruner`. The time grows with the
    number of rows times the square of the number of features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans.baselines import CUBT
    >>> model = CUBT(3, max_leaf_nodes=4, random_state=0).fit(load_iris().data)
    >>> model.n_leaves_, len(set(model.labels_.tolist()))
    (4, 3)
    """

    _reads_sparse = False
    _more_leaves = "lower mindist, mindev or minsize"

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        max_leaf_nodes: int | None = None,
        minsize: int = 10,
        mindev: float = 0.001,
        mindist: float = 0.3,
        alpha: float = 0.2,
        minsplit: int = 4,
        max_depth: int | None = 7,
        mindev_rule: str = "root",
        join: str = "deviance",
        reference: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, reference=reference, n_jobs=n_jobs, random_state=random_state)
        self.max_leaf_nodes = max_leaf_nodes
        self.minsize = minsize
        self.mindev = mindev
        self.mindist = mindist
        self.alpha = alpha
        self.minsplit = minsplit
        self.max_depth = max_depth
        self.mindev_rule = mindev_rule
        self.join = join

    def _check(self) -> None:
        super()._check()
        for name in ("minsize", "minsplit"):
            check_integer(self, name)
        for name in ("max_leaf_nodes", "max_depth"):
            check_integer(self, name, or_none=True)
        check_number(self, "mindev", 0, 1)
        check_number(self, "mindist", 0)
        check_number(self, "alpha", 0, 1)
        check_choice(self, "mindev_rule", MINDEV_RULES)
        check_choice(self, "join", tuple(JOINS))

    def _grow_tree(self, data: TrainingData) -> InMemoryTree:
        X, weights = rows_and_weights(data)
        k = len(data.centers)
        if self.max_leaf_nodes is not None:
            check_max_leaves(self.max_leaf_nodes, k, None)
        growth = overgrow(
            X,
            weights,
            minsize=self.minsize,
            mindev=self.mindev,
            minsplit=self.minsplit,
            max_depth=self.max_depth,
            mindev_rule=self.mindev_rule,
        )
        pruned = Pruner(growth).prune(self.mindist, self.alpha, self.max_leaf_nodes)
        groups = join(growth, pruned.leaves, k, self.join, self.alpha)
        growing, place = follow_tree(data, pruned.tree)
        _label_by_group(growing, [place[leaf] for leaf in pruned.tree.leaves.tolist()], groups)
        return growing


def _label_by_group(growing: InMemoryTree, leaves: list[int], groups: list[int]) -> None:
    """Give each group of leaves a center of its own, so that all together cost least."""
    totals = np.zeros((max(groups) + 1, growing.costs.n_clusters))
    np.add.at(totals, groups, [growing.totals[leaf] for leaf in leaves])
    _, center = linear_sum_assignment(totals)
    for leaf, group in zip(leaves, groups, strict=True):
        growing.label[leaf] = int(center[group])
