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


def names_of(model: Any, cluster_names: Sequence[str] | str | None = None) -> list[str] | None:
    """Names of the clusters in a text: those asked for, or those that people gave the model.

    ``"automatic"`` asks for the model's own names, ``"numbers"`` for none. None: the clusters go
    by their numbers.
    """
    if cluster_names == "numbers":
        return None
    if cluster_names == "automatic":
        if not hasattr(model, "cluster_names_"):
            raise ValueError('cluster_names="automatic" needs a fitted model, not a bare tree.')
        return [f"{i}: {name}" for i, name in enumerate(model.cluster_names_)]
    if cluster_names is not None:
        if isinstance(cluster_names, str):
            raise ValueError(
                'cluster_names must be a list of names, "automatic" or "numbers"; '
                f"got {cluster_names!r}."
            )
        return list(cluster_names)
    record = getattr(model, "_fit_result", None)
    return list(record.given_names) or None if record is not None else None


def picture_names(model: Any, cluster_names: Sequence[str] | str | None = None) -> list[str] | None:
    """Names of the clusters in a picture: those asked for, or else the model's own names."""
    record = getattr(model, "_fit_result", None)
    if cluster_names is None and record is not None:
        return list(record.shown_names)
    return names_of(model, cluster_names)
