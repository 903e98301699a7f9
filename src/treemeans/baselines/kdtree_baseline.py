"""The KD-tree of the ExKMC paper's comparison, as an estimator."""

from typing import Any

from treemeans.baselines.baseline import Baseline
from treemeans.baselines.baseline_parameters import check_integer
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.kdtree import kdtree
from treemeans.training_data import TrainingData
from treemeans.validation import check_max_leaves


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
