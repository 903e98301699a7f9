"""Costs of rows at clusters, and of sets of rows with their best representatives."""

from treemeans.costs.cost import Clusters, Cost
from treemeans.costs.cost_table import SMALLEST, TOO_LARGE, TOO_SMALL, CostTable, Fixed, Scales
from treemeans.costs.group_statistics import GroupStatistics, rounded_mean, shift_near
from treemeans.costs.kmeans_cost import KMeansCost

__all__ = [
    "SMALLEST",
    "TOO_LARGE",
    "TOO_SMALL",
    "Clusters",
    "Cost",
    "CostTable",
    "Fixed",
    "GroupStatistics",
    "KMeansCost",
    "Scales",
    "rounded_mean",
    "shift_near",
]
