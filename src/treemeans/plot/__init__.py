"""Plots with matplotlib, which is imported when the first of them is drawn."""

from treemeans.plot.path import plot_path
from treemeans.plot.regions import plot_regions
from treemeans.plot.tree import plot_tree

__all__ = ["plot_path", "plot_regions", "plot_tree"]
