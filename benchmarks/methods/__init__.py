"""One adapter per rival; each is imported only in the process that times it.

The k-means that gives the reference stands apart (sklearn_kmeans): it takes no centers.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol, cast

from numpy.typing import NDArray
from problems import Table

ADAPTERS = {
    "treemeans": "methods.treemeans_exkmc",
    "official": "methods.official_exkmc",
    "cart": "methods.sklearn_cart",
}


class Method(Protocol):
    """What the harness asks of an adapter; a module with these three functions will do."""

    def prepare(self, X: Table) -> Table:
        """Return X in the form the method takes (not timed)."""

    def fit(self, X: Table, k: int, centers: NDArray[Any], threads: int) -> Any:
        """Return the fitted model (timed)."""

    def labels(self, model: Any, X: Table) -> NDArray[Any]:
        """Return the cluster of each row of X."""


def get(name: str) -> Method:
    """Return the adapter of a method."""
    return cast(Method, importlib.import_module(ADAPTERS[name]))
