"""Which rows come in parts, told without an import of the package that they come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treemeans.parts.dask import DaskParts
from treemeans.parts.question import Parts

# Package that a type comes from -> what makes parts of it, or None if they are in one memory.
OPENERS: dict[str, Callable[[Any, Any], Parts | None]] = {
    "dask": DaskParts.of,
    "dask_expr": DaskParts.of,
}


def as_parts(X: Any, sample_weight: Any = None) -> Parts | None:
    """X as rows in parts; None if its rows are in one memory.

    Examples
    --------
    >>> import dask.array as da
    >>> as_parts(da.ones((6, 2), chunks=(2, 2))).n_parts
    3
    >>> as_parts([[1.0, 2.0]]) is None
    True
    """
    opener = OPENERS.get(package_of(X))
    return None if opener is None else opener(X, sample_weight)


def package_of(X: Any) -> str:
    """The package that the type of X comes from."""
    return type(X).__module__.split(".")[0]
