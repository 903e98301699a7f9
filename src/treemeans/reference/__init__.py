"""The reference clustering: whatever the user brings, turned into centers; and our own k-means."""

from treemeans.reference.fast_kmeans import FastKMeans
from treemeans.reference.resolve_reference import (
    Reference,
    check_clusterer,
    fit_reference,
    is_fitted,
    last_step,
    ready_reference,
)

__all__ = [
    "FastKMeans",
    "Reference",
    "check_clusterer",
    "fit_reference",
    "is_fitted",
    "last_step",
    "ready_reference",
]
