"""The reference clustering: whatever the user brings, and our own k-means."""

from treemeans.reference.clusterer import check_clusterer, is_fitted, last_step
from treemeans.reference.fast_kmeans import FastKMeans
from treemeans.reference.fitted_reference import Reference
from treemeans.reference.kmedians import KMedians
from treemeans.reference.resolve_reference import centered_reference, fit_reference, kind_of
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
    "kind_of",
    "last_step",
]
