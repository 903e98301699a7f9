"""What explanations are made from: a tree, how to read its columns, and what its rows were like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.category_counts import CategoryCounts
from treemeans.columns import Columns
from treemeans.explain.group_figures import GroupShare, ProtectedColumn
from treemeans.explain.warning_record import SegmentWarning
from treemeans.tree import ThresholdTree


@dataclass(frozen=True)
class Facts:
    """A tree of one size, with statistics of the training rows in it.

    Attributes
    ----------
    tree : ThresholdTree
    columns : how to read the columns of X
    hits : (n_leaves, n_clusters), weight of the rows of each of ``tree.leaves`` by reference label
    costs : (n_clusters,), cost of each cluster
    reference_cost : of the reference
    profiles : (n_clusters, n_features), cluster means in the columns of X; NaN for an empty one
    spread : (n_features,), standard deviation of each column of X
    categories : how often the clusters have the categories of each column of codes
    names : of the clusters; empty while they are being made
    certificate : what is proven of the tree, in a sentence; empty if nothing
    reference : what the reference is called
    comparable : whether the cost of a tree relative to the reference's says anything: labels and
        mixtures cost next to nothing themselves
    warnings : what the rows themselves showed to be wrong with the clusters
    n_rows : rows of each cluster; empty if it is not known
    alone : clusters of a single row, with the position of that row in the training table
    start_agreement : of the starts of k-means, adjusted Rand index with the clustering chosen
    protected : columns that no split may use, and how much of them the clusters reveal
    balanced : shares of groups in the clusters that are limited
    """

    tree: ThresholdTree
    columns: Columns
    hits: NDArray[np.float64]
    costs: NDArray[np.float64]
    reference_cost: float
    profiles: NDArray[np.float64]
    spread: NDArray[np.float64]
    categories: tuple[CategoryCounts, ...] = ()
    names: tuple[str, ...] = ()
    certificate: str = ""
    reference: str = "k-means"
    comparable: bool = True
    warnings: tuple[SegmentWarning, ...] = ()
    n_rows: tuple[int, ...] = ()
    alone: tuple[tuple[int, int], ...] = ()
    start_agreement: tuple[float, ...] = ()
    protected: tuple[ProtectedColumn, ...] = ()
    balanced: tuple[GroupShare, ...] = ()

    @property
    def weight(self) -> NDArray[np.float64]:
        """Weight of the rows of each cluster."""
        leaves = self.tree.leaves
        return np.bincount(
            self.tree.label[leaves], self.tree.weight[leaves], minlength=self.tree.n_clusters
        ).astype(np.float64)

    @property
    def scale(self) -> NDArray[np.float64]:
        """Unit of a change of each column: its standard deviation, or 1 where that is 0."""
        return np.where(self.spread > 0, self.spread, 1.0)
