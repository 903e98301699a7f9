"""Refining a tree of fixed size: its splits chosen again, its centers moved, parts regrown."""

from treemeans.refine.budget import Budget
from treemeans.refine.recipe import Refined, refine

__all__ = ["Budget", "Refined", "refine"]
