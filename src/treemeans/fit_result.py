"""What a fit leaves behind: enough to make the model of every size it passed through."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.category_counts import CategoryCounts
from treemeans.columns import Columns, plain_columns, round_thresholds
from treemeans.columns.encode_frame import is_encoded
from treemeans.cost_path import PATH_DTYPE, path_of, path_row, reconciled
from treemeans.costs import (
    OWN_COSTS,
    TOO_LARGE,
    TOO_LARGE_WEIGHTED,
    GroupCosts,
    GroupStatistics,
    KMeansCost,
    TableStatistics,
    rounded_mean,
    weights_near_one,
)
from treemeans.explain.cluster_names import automatic_names, checked_names, names_with_numbers
from treemeans.explain.cluster_rules import warnings_of
from treemeans.explain.group_figures import GroupFigures
from treemeans.explain.model_facts import Facts
from treemeans.explain.segment_warnings import may_warn
from treemeans.explain.warning_record import SegmentWarning
from treemeans.growth import InMemoryTree
from treemeans.optimal.certificate import Certificate
from treemeans.pruning import Pruning, prunings
from treemeans.reference import Reference
from treemeans.rows import as_points
from treemeans.training_data import TrainingData
from treemeans.training_histograms import TrainingHistograms, TrainingSample, count_sample
from treemeans.tree import ThresholdTree


@dataclass(frozen=True)
class FitResult:
    """The full tree, where the training rows ended, and what they sum to there.

    Attributes
    ----------
    tree : the full tree
    reference : the clustering that is explained
    reference_cost : its cost
    centers : those the costs in the tree are measured to: the reference's, or refined ones
    leaves : statistics of the rows in the leaves, in the reference's space
    profile : the same in the columns of X, without costs if that is another space
    hits : (n_leaves, n_clusters), weight of the rows in the leaves by their reference label
    spread : standard deviation of each column of X
    leaf_of_row, reference_labels : leaf in the full tree and reference label of each training row;
        None in a model that was loaded, and where rows are not in one memory
    sizes : the tree of each row of the path
    known_path : what every size costs, or a function that tells: it takes a tenth of the fit of a
        small table, and few ask for it
    full_costs : surrogate and k-means cost of the full tree, where the path is not made yet
    columns : how to read the columns of X
    short : whether thresholds are as short as their gaps allow, in the units of the columns
    given_names : names of the clusters that the user gave; empty for automatic ones
    certificate : what is proven of the full tree; None if nothing
    cost : the kind of `Reference.cost`
    called : what the reference is called in words
    histograms : of the training columns, or rows to make them from; None if there are none
    warnings : what a look at the rows showed to be wrong with the clusters (`check_segments`)
    categories : how often the leaves have the categories of each column of codes
    groups : what the clusters of every size say about groups of rows; None if no groups were given
    is_weighted : whether the training rows had weights
    measured_costs : costs of the tree's nodes at ``centers``, where those that it grew by have lost
        digits; only until the path is made
    """

    tree: ThresholdTree
    reference: Reference
    reference_cost: float
    centers: NDArray[np.float64]
    leaves: GroupCosts
    profile: GroupStatistics
    hits: NDArray[np.float64]
    spread: NDArray[np.float64]
    leaf_of_row: NDArray[np.int32] | None = None
    reference_labels: NDArray[np.int32] | None = None
    sizes: Mapping[int, Pruning] = field(default_factory=dict)
    known_path: NDArray[np.void] | Callable[[], NDArray[np.void]] = field(
        default_factory=lambda: np.zeros(0, dtype=np.void)
    )
    full_costs: tuple[float, float] | None = None
    columns: Columns = ()
    short: bool = False
    given_names: tuple[str, ...] = ()
    certificate: Certificate | None = None
    cost: str = "kmeans"
    called: str = "k-means"
    histograms: TrainingHistograms | TrainingSample | None = None
    warnings: tuple[SegmentWarning, ...] = ()
    categories: tuple[CategoryCounts, ...] = ()
    groups: GroupFigures | None = None
    is_weighted: bool = True
    measured_costs: NDArray[np.float64] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A pickle holds counts, not the sample of rows that they are made from.
        return self.__dict__ | {"histograms": self.training_histograms, "known_path": self.path}

    @cached_property
    def path(self) -> NDArray[np.void]:
        """What every size costs, one row for every number of leaves."""
        return self.known_path() if callable(self.known_path) else self.known_path

    def costs_at(self, n_leaves: int) -> tuple[float, float]:
        """Surrogate and k-means cost of the tree of ``n_leaves`` leaves."""
        if self.full_costs is not None and n_leaves == self.tree.n_leaves:
            return self.full_costs
        row = self.path[np.searchsorted(self.path["n_leaves"], n_leaves)]
        return float(row["surrogate_cost"]), float(row["kmeans_cost"])

    @property
    def training_histograms(self) -> TrainingHistograms | None:
        """Counts of the training values of each column; None if nothing is known of them."""
        return self._counted if isinstance(self.histograms, TrainingSample) else self.histograms

    @cached_property
    def _counted(self) -> TrainingHistograms:
        assert isinstance(self.histograms, TrainingSample)
        categorical = np.array([column.kind == "codes" for column in self.columns])
        cut = np.unique(self.tree.feature[~self.tree.is_leaf]).tolist()
        return count_sample(self.histograms, categorical, cut, self.spread)

    @cached_property
    def cluster_names(self) -> tuple[str, ...]:
        """Names of the clusters: those given, or automatic ones.

        They are made from the full tree, so that the trees of all sizes have the same.
        """
        return self.given_names or self._automatic_names

    @cached_property
    def _automatic_names(self) -> tuple[str, ...]:
        return automatic_names(self._facts(self.tree.n_leaves))

    @property
    def shown_names(self) -> tuple[str, ...]:
        """Names as pictures and reports show them: automatic ones after the cluster's number."""
        return names_with_numbers(self.cluster_names, self._automatic_names)

    @property
    def comparable(self) -> bool:
        """Whether the cost ratio means anything: it does not where costs are given."""
        return self.cost not in OWN_COSTS

    @cached_property
    def is_encoded(self) -> bool:
        """Whether rows must be encoded, because a column holds more than numbers and booleans."""
        return is_encoded(self.columns)

    def of_grown(self, base_labels: NDArray[np.int32]) -> FitResult:
        """Add the sizes and path of a tree as it grew, from the base tree on.

        ``base_labels``: of the base tree's nodes, which are the first, as its own method gave them;
        in larger trees leaves are labelled by the surrogate cost.
        """
        tree, smallest = self.tree, (len(base_labels) + 1) // 2
        numbers = np.arange(smallest, tree.n_leaves + 1)
        inner = (tree.growth > 0) & (tree.growth <= numbers[:, None])  # as `ThresholdTree.cut_by`
        sizes = {
            n: Pruning(cut, tree.label) for n, cut in zip(numbers.tolist(), inner, strict=True)
        }
        labels = np.append(base_labels, tree.label[len(base_labels) :])
        sizes[smallest] = Pruning(inner[0], labels)
        costs = self._node_costs
        path = partial(
            path_of, tree, costs, base_labels, self.leaves, self.hits, self.reference_cost
        )
        # Other statistics hold rows. A base tree may be labelled by a method of its own.
        if not isinstance(self.leaves, GroupStatistics) or smallest == tree.n_leaves:
            return self._with_path(tree, sizes, path())
        of_leaf = tree.label[tree.leaves]
        surrogate = float(costs[tree.leaves, of_leaf].sum())
        full = reconciled(surrogate, self.leaves.merged(of_leaf, tree.n_clusters).cost)
        return self._with_path(tree, sizes, path, full)

    def of_refined(self) -> FitResult:
        """Add the sizes and path of a refined tree, by optimal pruning to one leaf per cluster."""
        found, path = prunings(
            self.tree,
            self._node_costs,
            self.leaves,
            self.hits,
            self.reference.n_clusters,
            self.reference_cost,
        )
        sizes = dict(zip(path["n_leaves"].tolist(), found, strict=True))
        return self._with_path(self.tree, sizes, path)

    def of_limited(self, labels: Mapping[int, NDArray[np.int32]], *, refined: bool) -> FitResult:
        """Add the sizes and path of a tree with limits on clusters; labels differ by size.

        ``labels``: of all nodes, by the number of leaves. Of a refined tree the cost of the
        clusters never rises: where labels that cost less by the surrogate would raise it, the
        smaller tree's are kept.
        """
        tree = replace(self.tree, label=labels[self.tree.n_leaves])
        sizes: dict[int, Pruning] = {}
        path = np.zeros(len(labels), dtype=PATH_DTYPE)
        inherited: NDArray[np.int32] | None = None  # of the full tree's leaves
        for i, (n_leaves, label) in enumerate(sorted(labels.items())):
            inner = tree.cut_by(n_leaves)
            ancestor = tree.ancestor_in(inner)
            row = self._path_row(tree, n_leaves, label[ancestor][tree.leaves])
            if i and refined and row[2] > path["kmeans_cost"][i - 1]:
                assert inherited is not None
                label = label.copy()
                label[ancestor[tree.leaves]] = inherited
                row = (n_leaves, *path[i - 1].item()[1:])
            sizes[n_leaves], path[i] = Pruning(inner, label), row
            inherited = label[ancestor][tree.leaves]
        tree = replace(tree, label=sizes[tree.n_leaves].label)
        return self._with_path(tree, sizes, path)

    @property
    def _node_costs(self) -> NDArray[np.float64]:
        return self.tree.costs if self.measured_costs is None else self.measured_costs

    def _with_path(
        self,
        tree: ThresholdTree,
        sizes: Mapping[int, Pruning],
        path: NDArray[np.void] | Callable[[], NDArray[np.void]],
        full_costs: tuple[float, float] | None = None,
    ) -> FitResult:
        """The same with all sizes, and without what was only needed to make them."""
        return self.changed(
            tree=tree,
            sizes=sizes,
            known_path=path,
            full_costs=full_costs,
            columns=plain_columns(tree.n_features),
            leaves=self.leaves.without_rows(),
            measured_costs=None,
        )

    def _path_row(
        self, tree: ThresholdTree, n_leaves: int, labels: NDArray[np.int32]
    ) -> tuple[int, float, float, float, float]:
        """A row of the path; ``labels``: of the full tree's leaves."""
        costs = reconciled(
            float(self._node_costs[tree.leaves, labels].sum()),
            self.leaves.merged(labels, tree.n_clusters).cost,
        )
        right = float(self.hits[np.arange(len(labels)), labels].sum() / self.hits.sum())
        return path_row(n_leaves, *costs, self.reference_cost, right)

    def read_as(self, columns: Columns) -> FitResult:
        """The same result with other columns; a short number may not be a short date."""
        if len(columns) != self.tree.n_features:
            raise ValueError(
                f"The tree has {self.tree.n_features} columns, but {len(columns)} were given."
            )
        tree = round_thresholds(self.tree, columns) if self.short else self.tree
        return self.changed(tree=tree, columns=columns)

    def changed(self, **fields_of: Any) -> FitResult:
        """As `dataclasses.replace`, in a fraction of the time: there is nothing to check."""
        found = object.__new__(FitResult)
        found.__dict__.update({name: self.__dict__[name] for name in _FIELDS} | fields_of)
        return found

    def at(self, n_leaves: int) -> tuple[ThresholdTree, NDArray[np.int32]]:
        """The tree of ``n_leaves`` leaves, and the label each node of the full tree has in it."""
        full, size = self.tree, self.sizes[n_leaves]
        if n_leaves == full.n_leaves and np.array_equal(size.label, full.label):
            return full, full.label
        label = size.label[full.ancestor_in(size.inner)]
        return replace(full, label=size.label).pruned(size.inner), label

    def clusters(self, label: NDArray[np.int32]) -> tuple[GroupCosts, NDArray[np.float64]]:
        """The clusters that labels of the full tree's nodes make, and their means by column."""
        full = self.tree
        clusters = self.leaves.merged(label[full.leaves], full.n_clusters)
        profile = clusters
        if self.profile is not self.leaves:
            profile = self.profile.merged(label[full.leaves], full.n_clusters)
        return clusters, profile.means(np.full((full.n_clusters, full.n_features), np.nan))

    def facts(self, n_leaves: int) -> Facts:
        """What explanations of the tree of ``n_leaves`` leaves are made from."""
        certificate = self.certificate_at(n_leaves)
        return replace(
            self._facts(n_leaves),
            names=self.cluster_names,
            certificate="" if certificate is None else str(certificate),
            warnings=self.warnings,
            **self._row_counts(n_leaves),
            **self._group_facts(n_leaves),
        )

    def _row_counts(self, n_leaves: int) -> dict[str, Any]:
        """Rows of each cluster, the rows that are alone in theirs, and what the starts found.

        Weights that are not whole numbers do not tell how many rows there are.
        """
        tree, label = self.at(n_leaves)
        found: dict[str, Any] = {}
        if self.leaf_of_row is not None:
            leaves, of_leaf = self.tree.leaves, self._rows_of_leaf
            n_rows = np.bincount(label[leaves], of_leaf, minlength=tree.n_clusters)
            alone = leaves[(n_rows[label[leaves]] == 1) & (of_leaf > 0)].tolist()
            found["alone"] = tuple(
                sorted(
                    (int(label[leaf]), int(np.argmax(self.leaf_of_row == leaf))) for leaf in alone
                )
            )
            found["n_rows"] = tuple(int(n) for n in n_rows)
        elif (tree.weight == np.floor(tree.weight)).all():
            leaves = tree.leaves
            n_rows = np.bincount(tree.label[leaves], tree.weight[leaves], tree.n_clusters)
            found["n_rows"] = tuple(int(n) for n in n_rows)
        if self.reference.start_agreement is not None:
            found["start_agreement"] = tuple(self.reference.start_agreement.tolist())
        return found

    @cached_property
    def _rows_of_leaf(self) -> NDArray[np.int64]:
        """Number of the training rows in each leaf of the full tree."""
        if not self.is_weighted:
            return np.asarray(self.hits.sum(axis=1), dtype=np.int64)
        assert self.leaf_of_row is not None
        n_rows = np.bincount(self.leaf_of_row, minlength=self.tree.n_nodes)
        return np.asarray(n_rows[self.tree.leaves])

    def segment_warnings(self) -> tuple[SegmentWarning, ...]:
        """What is wrong with the clusters of the full tree, without making all their rules."""
        n_leaves = self.tree.n_leaves
        counts = self._row_counts(n_leaves)
        n_rows, starts = counts.get("n_rows", ()), counts.get("start_agreement", ())
        if not self.warnings and not may_warn(self.tree, self.columns, n_rows, starts):
            return ()
        return warnings_of(replace(self._facts(n_leaves), warnings=self.warnings, **counts))

    def with_groups(self, groups: GroupFigures) -> FitResult:
        """The same, with what the clusters say about groups of rows."""
        return replace(self, groups=groups)

    def _group_facts(self, n_leaves: int) -> dict[str, Any]:
        """What the clusters of a size say about groups of rows."""
        if self.groups is None:
            return {}
        size = int(np.searchsorted(self.path["n_leaves"], n_leaves))
        return {
            "protected": self.groups.protected_at(size),
            "balanced": self.groups.balanced_at(size),
        }

    def certificate_at(self, n_leaves: int) -> Certificate | None:
        """What is proven of the tree of ``n_leaves`` leaves: only the full tree has a proof."""
        return self.certificate if n_leaves == self.tree.n_leaves else None

    def _facts(self, n_leaves: int) -> Facts:
        full = self.tree
        tree, label = self.at(n_leaves)
        clusters, profiles = self.clusters(label)
        ancestor = full.ancestor_in(self.sizes[n_leaves].inner)
        kept = np.unique(ancestor)  # in the order of the smaller tree's nodes
        hits = np.zeros((tree.n_nodes, tree.n_clusters))
        np.add.at(hits, np.searchsorted(kept, ancestor[full.leaves]), self.hits)
        assert clusters.within is not None
        return Facts(
            tree=tree,
            columns=self.columns,
            hits=hits[tree.leaves],
            costs=clusters.within,
            reference_cost=self.reference_cost,
            profiles=profiles,
            spread=self.spread,
            categories=tuple(
                each.merged(label[full.leaves], full.n_clusters) for each in self.categories
            ),
            reference=self.called,
            comparable=self.comparable,
        )


_FIELDS = tuple(each.name for each in fields(FitResult))


def measure(
    growing: InMemoryTree, centers: NDArray[np.float64], data: TrainingData, reference: Reference
) -> FitResult:
    """What the rows of a finished tree sum to; sizes and path are added by `FitResult`.

    ``centers``: those the tree's costs are measured to, which refinement moves.
    """
    table, weights, n_threads = data.table, data.weights, data.n_threads
    leaf_of_row = growing.leaf_of_row()
    tree = growing.freeze(leaf_of_row)
    if data.costs.n_rows < table.n_rows:  # rows without weight took no part, but have a leaf
        nodes = np.arange(tree.n_nodes, dtype=np.int32)
        all_rows = tree.outcome(table.points, nodes, n_threads)
        assert all_rows is not None  # the table was checked
        leaf_of_row = all_rows
    place = np.zeros(tree.n_nodes, dtype=np.int32)
    place[tree.leaves] = np.arange(tree.n_leaves)
    groups = place[leaf_of_row]
    hits = hits_of(tree.n_leaves, tree.n_clusters, groups, data.costs.nearest, weights)
    weight, spread = hits.sum(axis=1), np.zeros(table.n_features)
    one_space = reference.pipeline is None and isinstance(data.cost, KMeansCost)
    costs, rounding = tree.costs[tree.leaves], growing.costs.rounding
    leaves = data.cost.statistics(
        groups, weight, costs, centers, rounding, spread if one_space else None
    )
    if isinstance(leaves, GroupStatistics) and one_space:
        profile = leaves
    else:
        X, points = data.X, table.points
        if table.dense and np.isnan(X).any():
            X = _means_for_missing(X, groups, weights)
            points = as_points(X)
        origin = rounded_mean(X) if table.dense else np.zeros(table.n_features)
        squares = np.zeros(table.n_features)
        sums = _core.group_sums(points, groups, tree.n_leaves, weights, origin, squares, n_threads)
        profile = GroupStatistics(weight, sums, origin)
        spread = profile.spread(squares)
        if not np.isfinite(spread).all():
            raise ValueError(TOO_LARGE if weights is None else TOO_LARGE_WEIGHTED)
    return FitResult(
        tree=tree,
        reference=reference.without_rows(),
        reference_cost=data.costs.reference,
        centers=centers,
        leaves=leaves,
        profile=profile,
        hits=hits,
        spread=spread,
        leaf_of_row=leaf_of_row,
        reference_labels=data.costs.nearest if reference.labels is None else reference.labels,
        cost=reference.cost,
        called=reference.called,
        given_names=checked_names(reference.names, reference.names) if reference.names else (),
        is_weighted=weights is not None,
        measured_costs=measured_costs(tree, leaves, centers, rounding),
    )


def measured_costs(
    tree: ThresholdTree, leaves: GroupCosts, centers: NDArray[np.float64], rounding: float
) -> NDArray[np.float64] | None:
    """Costs of a tree's nodes at the centers, where fixed point is off by more than ten digits.

    It is where a center is so far from all rows, or a cost is infinite, that few digits are left
    for the others.

    ``rounding``: most that the tree's cost may be off by.
    """
    if rounding <= 1e-10 * tree.surrogate_cost:
        return None
    if not isinstance(leaves, GroupStatistics | TableStatistics):
        return None  # medians and directions: no center is far away
    costs = leaves.costs_to(centers)
    if isinstance(leaves, TableStatistics):
        return tree.sums_over_leaves(costs)  # an infinite cost is one that was given
    with np.errstate(over="ignore"):
        costs = tree.sums_over_leaves(costs)
    return np.minimum(costs, np.finfo(np.float64).max)  # as in `node_costs`


def group_means(
    X: Any, groups: NDArray[np.int32], n_groups: int, weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Means of the rows of each group, over the values that are there; of all, for an empty group.

    A column without any value has the mean 0.
    """
    weights = weights_near_one(weights)
    if not sparse.issparse(X) and np.isnan(X).any():
        X = _means_for_missing(np.asarray(X, dtype=np.float64), groups, weights)
    dense = not sparse.issparse(X)
    origin = rounded_mean(X) if dense else np.zeros(X.shape[1])
    weight = np.bincount(groups, weights, minlength=n_groups).astype(np.float64)
    sums = _core.group_sums(as_points(X), groups, n_groups, weights, origin, None, 1)
    found = GroupStatistics(weight, sums, origin)
    return found.means(origin + sums.sum(axis=0) / weight.sum())


def _means_for_missing(
    X: NDArray[np.float64], groups: NDArray[np.int32], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """X with the mean of a row's group for each missing value; of all rows, if the group has none.

    The means of groups are then those of the values that are there.
    """
    filled = np.array(X)
    for i in np.flatnonzero(np.isnan(X).any(axis=0)):
        there = ~np.isnan(X[:, i])
        weight = there.astype(np.float64) if weights is None else weights * there
        values = np.where(there, X[:, i], 0.0)
        total = np.bincount(groups, weight)
        sums = np.bincount(groups, weight * values)
        overall = sums.sum() / total.sum() if total.any() else 0.0
        means = np.divide(sums, total, out=np.full(len(total), overall), where=total > 0)
        filled[~there, i] = means[groups[~there]]
    return filled


def hits_of(
    n_leaves: int,
    n_clusters: int,
    leaf: NDArray[np.int32],
    label: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Weight of the rows by leaf and reference label."""
    label = np.ascontiguousarray(label, dtype=np.int32)
    return _core.count_pairs(leaf, label, weights, n_leaves, n_clusters)
