"""CLTree, as an estimator."""

from typing import Any

import numpy as np

from treemeans.baselines.baseline import (
    Baseline,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    follow_tree,
    rows_and_weights,
)
from treemeans.baselines.cltree_growth import PrunedCLTree, overgrow, touching
from treemeans.baselines.cltree_split import CRITERIA
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.training_data import TrainingData


class CLTree(Baseline):
    """Separate dense from empty regions of the data (Liu, Xia, Yu 2000).

    The data are one class; the other are as many virtual points, uniform in the data's box, which
    are counted and not made. A tree is grown that tells the two apart, and pruned to what is not
    small and not dense throughout. The cuts know nothing of the reference: it only labels the
    leaves, each with the center that is cheapest for its rows, so that k clusters come out.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters, k. None means that of ``reference``, or 8 without one. The number of
        leaves follows from the other parameters.
    min_split : int, default=10
        Least number of points, virtual ones included, on each side of a cut.
    min_y : float, default=1
        Nodes with less than this percentage of the rows are not cut; two such leaves become one.
    min_rd : float, default=10
        Two leaves become one if the rows of each are more than this percentage of its virtual
        points.
    criterion : {"entropy", "p15"}, default="entropy"
        Impurity whose drop is a cut's gain; ``"p15"`` is minus the sum of the classes' shares to
        the power 1.5.
    merge_touching : bool, default=False
        Whether leaves whose rows are more than ``min_rd`` percent of their virtual points, and
        whose boxes touch, get one label together.
    reference : {"fast", "kmeans"}, clusterer, Pipeline, labels or centers, default=None
        The clustering that leaves are labelled by, as in `treemeans.ExKMC`.
    n_jobs, random_state
        As in `treemeans.ExKMC`.

    Attributes
    ----------
    labels_, tree_, n_leaves_, inertia_, surrogate_inertia_, path_, cluster_centers_, \
cluster_profiles_, reference_centers_, reference_labels_, reference_inertia_, feature_importances_
        As in `treemeans.ExKMC`; ``path_`` has one row.

    Notes
    -----
    To try many values of ``min_y`` and ``min_rd``, grow once with
    `treemeans.baselines.cltree_growth.overgrow` and prune what it returns again and again.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans.baselines import CLTree
    >>> model = CLTree(3, min_split=20, min_y=5, min_rd=30, random_state=0)
    >>> model.fit(load_iris().data).n_leaves_
    14
    """

    _reads_sparse = False
    _more_leaves = "lower min_split or min_y, or raise min_rd,"

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        min_split: int = 10,
        min_y: float = 1.0,
        min_rd: float = 10.0,
        criterion: str = "entropy",
        merge_touching: bool = False,
        reference: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, reference=reference, n_jobs=n_jobs, random_state=random_state)
        self.min_split = min_split
        self.min_y = min_y
        self.min_rd = min_rd
        self.criterion = criterion
        self.merge_touching = merge_touching

    def _check(self) -> None:
        super()._check()
        check_integer(self, "min_split")
        check_number(self, "min_y", 0, 100)
        check_number(self, "min_rd", 0, 100)
        check_choice(self, "criterion", tuple(CRITERIA))
        check_flag(self, "merge_touching")

    def _grow_tree(self, data: TrainingData) -> InMemoryTree:
        X, weights = rows_and_weights(data)
        grown = overgrow(
            X, weights, min_split=self.min_split, min_y=self.min_y, criterion=self.criterion
        )
        pruned = grown.prune(self.min_y, self.min_rd)
        growing, place = follow_tree(data, pruned.tree)
        if self.merge_touching:
            _label_together(growing, place, pruned, self.min_rd)
        return growing


def _label_together(
    growing: InMemoryTree, place: dict[int, int], pruned: PrunedCLTree, min_rd: float
) -> None:
    """Label leaves that touch with the center that is cheapest for all of them."""
    leaves = pruned.tree.leaves.tolist()
    groups = touching([pruned.nodes[leaf] for leaf in leaves], min_rd)
    for group in range(int(groups.max()) + 1):
        members = [place[leaf] for leaf, of in zip(leaves, groups, strict=True) if of == group]
        cheapest = int(np.sum([growing.totals[leaf] for leaf in members], axis=0).argmin())
        for leaf in members:
            growing.label[leaf] = cheapest
