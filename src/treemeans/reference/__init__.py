"""The reference clustering: whatever the user brings, and our own k-means."""

from treemeans.reference.fast_kmeans import FastKMeans
from treemeans.reference.kmedians import KMedians
from treemeans.reference.resolve_reference import (
    Reference,
    centered_reference,
    check_clusterer,
    fit_reference,
    is_fitted,
    last_step,
)
from treemeans.reference.spherical_kmeans import SphericalKMeans

__all__ = [
    "FastKMeans",
    "KMedians",
    "Reference",
    "SphericalKMeans",
    "centered_reference",
    "check_clusterer",
    "fit_reference",
    "is_fitted",
    "last_step",
]
