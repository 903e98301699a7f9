"""What is exported: a bare tree, or a model that knows how its columns read."""

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from treemeans.columns import Reader, described, plain_columns
from treemeans.tree import ThresholdTree


def subject_of(model: Any, feature_names: Sequence[str] | None = None) -> Reader:
    """The tree of a model, or a tree, with the words for it."""
    if isinstance(model, ThresholdTree):
        return Reader(model, plain_columns(model.n_features, feature_names))
    if not hasattr(model, "predict"):
        raise TypeError(f"Expected a fitted model or a ThresholdTree; got {model!r}.")
    check_is_fitted(model, "tree_")
    return Reader(model.tree_, described(model.columns_, names=feature_names))
