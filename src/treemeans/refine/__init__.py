"""Refinement: a grown tree is changed, at the same number of leaves, to lower its k-means cost."""

from treemeans.refine.refinement import refine
from treemeans.refine.search_budget import Budget

__all__ = ["Budget", "refine"]
