"""Baseline: what all trees that ExKMC is compared with have in common."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from treemeans.columns.encode_frame import UnseenValues
from treemeans.columns.encoded_table import EncodedFrame
from treemeans.fit_result import measure
from treemeans.growth.given_tree import follow
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.limits import Limits
from treemeans.partitioned.readers.open_partitioned import as_partitioned
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree
from treemeans.tree_estimator import TreeEstimator
from treemeans.validation import is_integer, is_named_reference, is_number, quoted


class Baseline(TreeEstimator):
    """A tree that is grown in its own way, and priced by the reference as ExKMC's is.

    A subclass grows its tree in ``_grow_tree``.
    """

    _reads_sparse: ClassVar[bool] = True
    _more_leaves: ClassVar[str]  # what a user can do about a tree that is too small

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        reference: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.reference = reference
        self.n_jobs = n_jobs
        self.random_state = random_state

    @abstractmethod
    def _grow_tree(self, data: TrainingData) -> InMemoryTree:
        """The finished tree, its leaves labelled."""

    def _check(self) -> None:
        """Refuse invalid parameters."""
        check_integer(self, "n_clusters", or_none=True)
        is_named_reference(self.reference)  # refuses any other text

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster X and build the tree that explains the clusters.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts as two rows; one of weight 0 as none.

        Returns
        -------
        self

        Examples
        --------
        >>> from treemeans.baselines import IMM
        >>> IMM(2, random_state=0).fit([[1.0], [2.0], [8.0], [9.0]]).labels_.tolist()
        [0, 0, 1, 1]
        """
        self._check()
        if as_partitioned(X, sample_weight) is not None:
            raise ValueError(
                f"{type(self).__name__} needs all rows in one memory; pass an array, for example "
                "of a sample of the rows."
            )
        model = copy.copy(self)  # a fit that fails leaves no attributes
        raw, X = X, model._validate(X, reset=True)
        data, reference = model._prepare(raw, X, sample_weight, Limits())
        model.n_iter_ = 1
        growing = model._grow_tree(data)
        labels = np.array(growing.label, dtype=np.int32)
        result = measure(growing, data.centers, data, reference).of_grown(labels)
        model._finish(result, growing, data, raw)
        self.__dict__ = model.__dict__
        if self.n_leaves_ < reference.n_clusters:
            warnings.warn(
                f"The tree has fewer leaves ({self.n_leaves_}) than clusters are wanted "
                f"({reference.n_clusters}); {self._more_leaves} for more leaves.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _take_in(self, encoded: EncodedFrame) -> NDArray[np.float64]:
        if encoded.sides:
            raise ValueError(
                f"{type(self).__name__} takes numbers without missing values; encode the table "
                "first, for example with skrub.TableVectorizer. ExKMC takes it as it is."
            )
        return super()._take_in(encoded)

    def _validate(self, X: Any, *, reset: bool, unseen: UnseenValues | None = None) -> Any:
        if sparse.issparse(X) and not self._reads_sparse:
            raise TypeError(
                f"{type(self).__name__} does not read sparse matrices; pass X.toarray(), "
                "if that fits in memory."
            )
        return super()._validate(X, reset=reset, unseen=unseen)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._reads_sparse
        return tags


def follow_tree(data: TrainingData, tree: ThresholdTree) -> tuple[InMemoryTree, dict[int, int]]:
    """A tree cut as ``tree`` is, and its node for each node of the tree.

    Thresholds move half way between values, and leaves are labelled by the surrogate cost.
    """
    growing = InMemoryTree(data)
    return growing, follow(growing, tree, recenter=True)


def rows_and_weights(data: TrainingData) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The rows of a dense table in full precision, and their weights."""
    X, weights = np.asarray(data.X, dtype=np.float64), data.weights
    return X, np.ones(len(X)) if weights is None else weights


# ---- what a user may pass; anything else is refused with one sentence ---------------------------


def check_integer(model: Any, name: str, *, or_none: bool = False) -> None:
    """An integer of at least 1."""
    value = getattr(model, name)
    if (value is None and or_none) or (is_integer(value) and value >= 1):
        return
    none = ", or None" if or_none else ""
    raise ValueError(f"{name} must be an integer of at least 1{none}; got {value!r}.")


def check_number(model: Any, name: str, least: float, most: float = float("inf")) -> None:
    """A number from ``least`` to ``most``."""
    value = getattr(model, name)
    if not (is_number(value) and least <= value <= most):
        bounds = f"of at least {least}" if most == float("inf") else f"from {least} to {most}"
        raise ValueError(f"{name} must be a number {bounds}; got {value!r}.")


def check_choice(model: Any, name: str, choices: tuple[str, ...]) -> None:
    """One of several names."""
    value = getattr(model, name)
    if not (isinstance(value, str) and value in choices):
        raise ValueError(f"{name} must be one of {quoted(choices)}; got {value!r}.")


def check_flag(model: Any, name: str) -> None:
    """True or False."""
    value = getattr(model, name)
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False; got {value!r}.")
