"""Baseline: what all trees that ExKMC is compared with have in common."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from treemeans.baselines.baseline_parameters import check_integer
from treemeans.fit_result import FitResult, result_of_grown, take_stock
from treemeans.growth.base_tree import Task
from treemeans.growth.given_tree import follow
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.reference import Reference
from treemeans.tree import ThresholdTree
from treemeans.tree_estimator import TreeEstimator


class Baseline(TreeEstimator):
    """A tree that is grown in its own way, and priced by the reference as ExKMC's is.

    A subclass grows its tree in ``_growing``.
    """

    _reads_sparse: ClassVar[bool] = True
    _more_leaves: ClassVar[str]  # what a user can do about a tree that is too small

    @abstractmethod
    def _grow_tree(self, task: Task) -> InMemoryTree:
        """The finished tree, its leaves labelled."""

    def _check(self) -> None:
        check_integer(self, "n_clusters", or_none=True)
        if self.n_clusters is None and self.reference is None:
            raise ValueError("n_clusters=None takes the number from a reference; pass either.")

    def _grow(self, task: Task, reference: Reference, plan: None) -> FitResult:
        growing = self._grow_tree(task)
        labels = np.array(growing.label, dtype=np.int32)
        stock = take_stock(growing, reference.centers, task.ground, reference, task.costs)
        return result_of_grown(stock, labels, reference)

    def _fit(self, X: Any, sample_weight: Any) -> None:
        super()._fit(X, sample_weight)
        wanted = self._fit_result.reference.n_clusters
        if self.n_leaves_ < wanted:
            warnings.warn(
                f"The tree has fewer leaves ({self.n_leaves_}) than clusters are wanted "
                f"({wanted}); {self._more_leaves} for more leaves.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _validate(self, X: Any, *, reset: bool) -> Any:
        if sparse.issparse(X) and not self._reads_sparse:
            raise TypeError(
                f"{type(self).__name__} does not read sparse matrices; pass X.toarray(), "
                "if that fits in memory."
            )
        return super()._validate(X, reset=reset)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._reads_sparse
        return tags


def follow_tree(task: Task, tree: ThresholdTree) -> tuple[InMemoryTree, dict[int, int]]:
    """A tree cut as ``tree`` is, and its node for each node of the tree.

    Thresholds move half way between values, and leaves are labelled by the surrogate cost.
    """
    growing = task.new_tree()
    return growing, follow(growing, tree, recenter=True)


def rows_and_weights(task: Task) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The rows of a dense table in full precision, and their weights."""
    X, weights = np.asarray(task.ground.X, dtype=np.float64), task.ground.weights
    return X, np.ones(len(X)) if weights is None else weights
