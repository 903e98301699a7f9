"""Plots with matplotlib, which is imported when the first of them is drawn."""

from treemeans.plot.path_plot import plot_path
from treemeans.plot.profile_plot import plot_profiles
from treemeans.plot.region_plot import plot_regions
from treemeans.plot.tree_plot import plot_tree

__all__ = ["plot_path", "plot_profiles", "plot_regions", "plot_tree"]
