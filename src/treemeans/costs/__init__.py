"""Costs of rows at clusters, and of sets of rows with their best representatives."""

from treemeans.costs.centered_prices import centered_cost, centered_prices, cheapest_centers
from treemeans.costs.cosine_cost import CosineCost, DirectionStatistics
from treemeans.costs.cost import COST_KINDS, OWN_COSTS, Clusters, Cost, GroupCosts
from treemeans.costs.cost_table import (
    SMALLEST,
    TOO_LARGE,
    TOO_LARGE_WEIGHTED,
    TOO_SMALL,
    CostTable,
    Fixed,
    Scales,
    node_costs,
)
from treemeans.costs.group_statistics import (
    GroupStatistics,
    rounded_mean,
    shift_near,
    weights_near_one,
)
from treemeans.costs.kmeans_cost import KMeansCost
from treemeans.costs.kmedians_cost import KMediansCost, Union, UnionStatistics
from treemeans.costs.priced_cost import PricedCost
from treemeans.costs.table_cost import TableCost, TableStatistics

__all__ = [
    "COST_KINDS",
    "OWN_COSTS",
    "SMALLEST",
    "TOO_LARGE",
    "TOO_LARGE_WEIGHTED",
    "TOO_SMALL",
    "Clusters",
    "CosineCost",
    "Cost",
    "CostTable",
    "DirectionStatistics",
    "Fixed",
    "GroupCosts",
    "GroupStatistics",
    "KMeansCost",
    "KMediansCost",
    "PricedCost",
    "Scales",
    "TableCost",
    "TableStatistics",
    "Union",
    "UnionStatistics",
    "centered_cost",
    "centered_prices",
    "cheapest_centers",
    "node_costs",
    "rounded_mean",
    "shift_near",
    "weights_near_one",
]
