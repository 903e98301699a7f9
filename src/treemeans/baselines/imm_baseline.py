"""Iterative Mistake Minimization, as an estimator."""

from treemeans.baselines.baseline import Baseline
from treemeans.growth.imm import imm
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.progress import Progress
from treemeans.training_data import TrainingData


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
