"""Fits on rows that are never in one memory: on a Dask cluster, or in files larger than memory.

The rows are split into *partitions*. A fit is a sequence of *passes*; every pass is one
`MapReduceStep`, a small object that is sent to each partition. ``map`` runs where the rows are and
returns something small; ``reduce`` combines two results, on the way back or on the driver (the
process that called ``fit``). Nearly all results are integers in fixed point, and sums of integers
do not depend on their order: the tree is the same, bit for bit, for any partitions, workers and
threads, and it is the tree of a fit in one memory.

The passes of a fit, in order (`partitioned_fit`):

======================  =============================  ===========================================
pass                    goes out                       comes back
======================  =============================  ===========================================
`SummarizeRows`         sample size                    rows per partition, ranges, a row sample
clustering/ (0 to ~12)  scaling, centers to try        moments, coreset rows, sums by center
`SumCosts`              the reference's centers        exact total costs: they set the fixed point
`EncodeRows`            edges of bins by feature       range of values in each bin
tree_growth/ (2 to 3    a tree; bins to look into,     sums by node, feature and code (the smaller
for each level)         by node and feature            child of a node); values of bins
`MeasureLeaves`         the finished tree              sums by leaf, the gap around each threshold
tree_refinement/        a coreset request, trees       coreset rows, sums by leaf and by bin
======================  =============================  ===========================================

The first pass samples rows because a search starts from bins of about equal weight: their edges are
quantiles of the sample. Edges decide how many passes a search takes, never which cut it finds. What
a pass sends back is bounded (`best_cuts.RESULT_BYTES`), so the driver's memory does not grow with
the number of rows; a worker needs memory for the partitions that its threads work on. What passes
need again and again is kept where the rows are (`partition_cache`): the code of every value, the
costs of every row, the node it is in. It can always be computed again.

``readers/`` holds the engines: Dask, Parquet files, Arrow datasets, DuckDB queries, Spark. A
new engine is a subclass of `PartitionedRows` with one method, ``map_reduce(step)``, and the
attributes listed there; ``readers.open_partitioned.OPENERS`` says which types it opens. It
makes a `Partition` of the rows with `PartitionSchema.partition`, gives the results to
`reduce_in_order`, and raises ValueError for rows that cannot be used. An engine that reads files in
this process subclasses `RereadPartitions` instead and implements ``pieces``.
"""

from treemeans.partitioned.map_reduce import (
    CombinedSteps,
    MapReduceStep,
    PartitionedRows,
    reduce_in_order,
)
from treemeans.partitioned.partition import Partition, PartitionSchema

__all__ = [
    "CombinedSteps",
    "MapReduceStep",
    "Partition",
    "PartitionSchema",
    "PartitionedRows",
    "reduce_in_order",
]
