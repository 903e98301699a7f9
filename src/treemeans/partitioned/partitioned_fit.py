"""A fit on partitioned rows: reference, costs, base tree and expansion, each in a few passes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from treemeans.columns.detect_columns import detect_columns, detect_more
from treemeans.fit_result import FitResult
from treemeans.growth.expansion import expand
from treemeans.limits import Limits
from treemeans.partitioned.clustering.partitioned_reference import (
    centers_in_columns,
    fit_reference_on,
)
from treemeans.partitioned.column_inference import accept_missing
from treemeans.partitioned.map_reduce import PartitionedRows
from treemeans.partitioned.partition_costs import CostTableBuilder, SumCosts
from treemeans.partitioned.pass_plan import (
    Passes,
    expansion_passes,
    kmeans_passes,
    separation_passes,
    tree_passes,
)
from treemeans.partitioned.readers.pass_timer import PassTimer, bytes_in_words
from treemeans.partitioned.row_summary import SummarizeRows
from treemeans.partitioned.tree_growth.center_places import place_centers
from treemeans.partitioned.tree_growth.code_edges import (
    FEWEST_EDGES,
    MOST_EDGES,
    CodeEdges,
    EncodeRows,
)
from treemeans.partitioned.tree_growth.leaf_statistics import measure_leaves
from treemeans.partitioned.tree_growth.partitioned_base_tree import follow_tree, grow_emn, grow_imm
from treemeans.partitioned.tree_growth.partitioned_data import MixedColumns, PartitionedData
from treemeans.partitioned.tree_growth.partitioned_tree import PASS_BYTES, PartitionedTree
from treemeans.partitioned.tree_refinement.partitioned_refinement import (
    RefineSettings,
    refine_partitioned,
)
from treemeans.progress import Progress
from treemeans.reference import is_fitted
from treemeans.training_histograms import TrainingSample
from treemeans.tree import ThresholdTree
from treemeans.validation import (
    DEFAULT_CLUSTERS,
    check_max_leaves,
    is_named_reference,
    tree_seed,
    warn_if_empty,
)

BASES = ("imm", "emn", "none")
"""Base trees that can be grown in passes, besides a given tree."""

_SAMPLE_VALUES = 2**20  # of the row sample of the first pass, about
_FEWEST_ROWS, _MOST_ROWS = 2**12, 2**15


@dataclass(frozen=True)
class PartitionedFitOptions:
    """The parameters of the estimator, as the user gave them, that matter to a partitioned fit."""

    n_clusters: int | None
    reference: Any
    base_tree: str | ThresholdTree
    max_leaf_nodes: int | None
    limits: Limits
    allowed: NDArray[np.bool_] | None
    random_state: Any
    verbose: bool
    refining: RefineSettings | None = None
    cost: str = "kmeans"
    label_names: tuple[str, ...] = ()
    scale: str = "auto"


def needs_one_memory(what: str, gather_bytes: int, instead: str) -> str:
    """Say that something works on rows in one memory only, and what else is possible.

    ``gather_bytes``: up to which rows would have been gathered there; 0 if none are.
    """
    if gather_bytes == 0:
        return f"{what} needs all rows in one memory; use {instead}."
    return (
        f"{what} needs all rows in one memory, and only rows whose fit takes at most "
        f"{bytes_in_words(gather_bytes)} (and a quarter of the available memory) are gathered "
        f"there; use {instead}, or raise that size: "
        'dask.config.set({"treemeans.gather": "8 GB"}), or gather_bytes of open_parts(...).'
    )


def check_base(base_tree: str | ThresholdTree, gather_bytes: int) -> None:
    """Refuse a base tree that needs all rows in one memory."""
    if isinstance(base_tree, str) and base_tree not in BASES:
        raise ValueError(
            needs_one_memory(
                f'base_tree="{base_tree}"', gather_bytes, '"imm", "emn", "none" or a tree'
            )
        )


def fit_partitioned(
    rows: PartitionedRows, options: PartitionedFitOptions, *, short: bool
) -> tuple[FitResult, int]:
    """Fit a tree on partitioned rows; return its `FitResult` and the rounds of a search.

    ``short``: whether thresholds are rounded as far as their gaps allow.
    """
    try:
        if isinstance(rows, PassTimer):
            return _fit(rows, options, rows.gather_bytes, short=short)
        with PassTimer(rows, shown=options.verbose) as timed:
            return _fit(timed, options, rows.gather_bytes, short=short)
    finally:
        rows.release()


def _fit(
    rows: PartitionedRows, options: PartitionedFitOptions, gather_bytes: int, *, short: bool
) -> tuple[FitResult, int]:
    data = prepare_data(rows, options)
    if options.refining is not None and data.is_mixed:
        _refuse_mixed_refinement(data, gather_bytes)
    tree, base_labels = grow_tree(data, options)
    if tree.n_nodes == len(base_labels):  # nothing was added: the base tree's own labels count
        tree.label = base_labels.tolist()
    n_rounds = 0
    if options.refining is None:
        measured, seen = measure_leaves(data, tree, data.cost_builder)
        record = measured.of_grown(base_labels)
    else:
        record, seen, n_rounds = refine_partitioned(
            data, tree, options.refining, tree_seed(options.random_state), options.verbose
        )
    tree_seen = record.tree
    if rows.columns is None:
        columns = detect_columns(data, rows.names, rows.dates, rows.booleans, tree_seen, seen)
    else:
        columns = detect_more(data, rows.columns, tree_seen, seen)
        tree_seen = replace(tree_seen, has_seen_missing=bool(data.kinds.may_miss.any()))
    # Weights of the sampled rows are not known, so weighted rows have no histograms.
    sample = None if data.summary.weighted else TrainingSample(data.summary.sample, None)
    record = replace(record, tree=tree_seen.with_gap(seen.gap), short=short, histograms=sample)
    return record.read_as(columns), n_rounds


def prepare_data(rows: PartitionedRows, options: PartitionedFitOptions) -> PartitionedData:
    """Make the passes before growth: the summary of the rows, the reference, the total costs."""
    size = min(max(_SAMPLE_VALUES // rows.n_features, _FEWEST_ROWS), _MOST_ROWS)
    accepted = rows.columns is not None or rows.can_infer or isinstance(options.reference, Pipeline)
    step = SummarizeRows(size, accepts_missing=accepted)
    summary = rows.map_reduce(step)
    if summary.n_missing.any() and rows.columns is None:
        accept_missing(rows)
        summary = rows.map_reduce(step)
    rows.first_rows = summary.first_rows(rows.n_partitions)
    rows.expect_passes(_passes_of_reference(options))
    rows.expect_passes(_passes_of_tree(options, options.n_clusters or DEFAULT_CLUSTERS))
    reference = fit_reference_on(
        rows,
        summary,
        options.reference,
        options.n_clusters,
        options.random_state,
        options.cost,
        options.label_names,
        options.scale,
    )
    rows.expect_passes(dict.fromkeys(kmeans_passes(), 0.0))  # they are done
    rows.expect_passes(_passes_of_tree(options, reference.n_clusters))
    sum_costs = SumCosts.of(reference, summary)
    cost_totals = rows.map_reduce(sum_costs)
    if reference.given:
        occupied = np.repeat(np.arange(reference.n_clusters), cost_totals.nearest > 0)
        warn_if_empty(occupied.astype(np.int32), reference.n_clusters)
    scales = cost_totals.scales(summary)
    cost_builder = CostTableBuilder(reference, scales, labels_token=sum_costs.labels_token)
    kinds = MixedColumns.of(rows.columns, summary)
    placed = np.zeros(0, dtype=np.intp)
    if kinds.mixed.any():
        columns, placed = place_centers(rows, cost_builder, kinds.n_codes)
    else:
        columns = centers_in_columns(rows, reference, summary)
    every = np.ones(rows.n_features, dtype=bool)
    edges = CodeEdges.from_sample(
        summary.sample, columns, _n_edges(rows.n_features, reference.n_clusters), kinds.n_codes
    )
    return PartitionedData(
        rows,
        summary,
        cost_builder,
        columns,
        cost_totals,
        edges,
        rows.map_reduce(EncodeRows(edges)),
        options.limits,
        every if options.allowed is None else options.allowed,
        kinds,
        placed,
    )


def _refuse_mixed_refinement(data: PartitionedData, gather_bytes: int) -> None:
    """Refuse to refine trees that cut by sets of categories, or send missing values."""
    columns = data.rows.columns
    assert columns is not None
    names = [columns[i].name for i in np.flatnonzero(data.allowed & data.kinds.mixed)]
    what = f"Refinement where values of {', '.join(map(repr, names[:8]))} are categories or missing"
    raise ValueError(needs_one_memory(what, gather_bytes, 'refine="none"'))


def _n_edges(n_features: int, n_clusters: int) -> int:
    """Edges of a feature, so that a pass returns the sums of as many nodes as clusters at least."""
    room = PASS_BYTES // (8 * (n_clusters + 2) * n_clusters * n_features)
    return min(max(room, FEWEST_EDGES), MOST_EDGES)


def grow_tree(
    data: PartitionedData, options: PartitionedFitOptions
) -> tuple[PartitionedTree, NDArray[np.int32]]:
    """Grow the base tree and expand it; the tree, and the labels of the base tree's nodes."""
    max_leaves = check_max_leaves(options.max_leaf_nodes, data.n_clusters, options.base_tree)
    tree = PartitionedTree(data, max_leaves)
    quiet = Progress("", 1, False)  # the passes take the time, and the timer shows them
    if isinstance(options.base_tree, ThresholdTree):
        follow_tree(tree, options.base_tree)
    elif options.base_tree == "imm":
        grow_imm(tree, quiet)
    elif options.base_tree == "emn":
        grow_emn(tree, quiet)
    data.rows.expect_passes(separation_passes(0) | expansion_passes(max_leaves - tree.n_leaves))
    tree.settle()
    tree.begin_expansion()
    expand(tree, tree.leaves, max_leaves, tree.least_cut)
    data.rows.expect_passes(dict.fromkeys(expansion_passes(0), 0.0))
    assert tree.base_labels is not None  # the expansion has begun
    return tree, tree.base_labels


def _passes_of_reference(options: PartitionedFitOptions) -> Passes:
    """About the passes of the reference; given centers need none."""
    reference = options.reference
    given = not is_named_reference(reference) and (
        not hasattr(reference, "fit") or is_fitted(reference)
    )
    return {} if given else kmeans_passes()


def _passes_of_tree(options: PartitionedFitOptions, n_clusters: int) -> Passes:
    """About the passes behind the reference."""
    most = options.max_leaf_nodes or 2 * n_clusters
    base = options.base_tree if isinstance(options.base_tree, str) else None
    refining = options.refining
    return tree_passes(n_clusters, most, base, 0 if refining is None else refining.passes(most))
