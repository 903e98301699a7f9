"""The argument of exports: a bare tree, or a model that knows how its columns read."""

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from treemeans.columns import Reader, describe_columns, plain_columns
from treemeans.tree import ThresholdTree


def reader_of(model: Any, feature_names: Sequence[str] | None = None) -> Reader:
    """A reader of the tree of a model, or of a bare tree."""
    if isinstance(model, ThresholdTree):
        return Reader(model, plain_columns(model.n_features, feature_names))
    if not hasattr(model, "predict"):
        raise TypeError(f"Expected a fitted model or a ThresholdTree; got {model!r}.")
    check_is_fitted(model, "tree_")
    return Reader(model.tree_, describe_columns(model.columns_, names=feature_names))
