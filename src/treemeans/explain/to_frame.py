"""Results as a data frame of whichever package the user has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treemeans.optional_imports import need

_PACKAGES = ("pandas", "polars")


def data_frame(package: str, columns: Mapping[str, Any]) -> Any:
    """A data frame of pandas or polars.

    Examples
    --------
    >>> data_frame("polars", {"cluster": [0, 1]}).shape
    (2, 1)
    """
    if package not in _PACKAGES:
        raise ValueError(f'A data frame is one of "pandas" or "polars"; got {package!r}.')
    return need(package, package).DataFrame(dict(columns))
