"""Warnings about clusters that people should not rely on, each with what to do.

What is warned of here follows from the tree and the sums of its rows; `monitor.segment_checks` adds
what needs the rows themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treemeans.columns import Columns, Reader
from treemeans.columns.number_text import format_rows
from treemeans.explain.model_facts import Facts
from treemeans.explain.rules import ClusterRules
from treemeans.explain.warning_record import SegmentWarning
from treemeans.tree import ThresholdTree, parents_first
from treemeans.value_set import ValueSet

SMALL = 0.01  # share of the rows below which a cluster is small
_ENOUGH_ROWS = 10  # rows for each cluster from which a cluster of a single row is odd
AGREEMENT = 0.6  # least median adjusted Rand index of starts that agree
_ONE_CATEGORY = ("category", "codes", "flag")


def segment_warnings(facts: Facts, clusters: Sequence[ClusterRules]) -> tuple[SegmentWarning, ...]:
    """What is wrong with clusters: what can be seen without the rows, and what rows have shown.

    ``clusters``: at least those in doubt; those that may be one category with their rules.
    """
    found: list[SegmentWarning] = []
    for each in clusters:
        small = _small(each, facts)
        if small is not None:
            found.append(small)
        column = _only_category(each, facts.columns)
        if column is not None:
            found.append(_one_category(each.cluster, column, str(each.rules[0]), facts))
    shown = facts.warnings
    enough = sum(facts.n_rows) >= _ENOUGH_ROWS * facts.tree.n_clusters
    if (
        enough
        and len(facts.start_agreement) > 1
        and not any(each.kind == "starts" for each in shown)
    ):
        found += starts_disagree(facts.start_agreement)
    return (*found, *shown)


def may_warn(
    tree: ThresholdTree, columns: Columns, n_rows: Sequence[int], start_agreement: Sequence[float]
) -> bool:
    """Whether there may be a warning, for a fraction of the time that rules take to make."""
    if len(start_agreement) > 1 and np.median(np.asarray(start_agreement)) < AGREEMENT:
        return True
    return bool(small_clusters(tree, n_rows) or maybe_one_category(tree, columns))


def small_clusters(tree: ThresholdTree, n_rows: Sequence[int]) -> set[int]:
    """The clusters of a single row, or of less than 1 % of the rows."""
    leaves = tree.leaves
    size = np.bincount(tree.label[leaves], tree.weight[leaves], minlength=tree.n_clusters)
    small = np.flatnonzero((size > 0) & (size < SMALL * size.sum())).tolist()
    return {*small, *(cluster for cluster, n in enumerate(n_rows) if n == 1)}


def maybe_one_category(tree: ThresholdTree, columns: Columns) -> set[int]:
    """The clusters that may be one category of a column.

    Then no other rows have that category, so that all leaves lie below cuts of the column, or of
    the one-hot columns of the same source; only leaves that are empty need not. Rules say whether
    a cluster is one.
    """
    features = tree.feature.tolist()
    sources = {
        each: columns[each].source if columns[each].kind == "category" else each
        for each in set(features)
        if each >= 0 and columns[each].kind in _ONE_CATEGORY
    }
    if not sources:
        return set()
    above: list[set[int | str]] = [set() for _ in features]  # columns of categories cut above
    for node in parents_first(tree.left, tree.right):
        if features[node] >= 0:
            own = {sources[features[node]]} if features[node] in sources else set()
            above[tree.left[node]] = above[tree.right[node]] = above[node] | own
    everywhere = set(sources.values())
    for leaf in np.flatnonzero(tree.is_leaf & (tree.weight > 0)).tolist():
        everywhere &= above[leaf]
    if not everywhere:
        return set()
    common: dict[int, set[int | str]] = {}
    for leaf in tree.leaves.tolist():
        cluster = int(tree.label[leaf])
        common[cluster] = common.get(cluster, everywhere) & above[leaf]
    return {cluster for cluster, sources_above in common.items() if sources_above}


def starts_disagree(agreement: Sequence[float]) -> list[SegmentWarning]:
    """That k-means finds different clusters from different starts, if it does."""
    median = float(np.median(np.asarray(agreement)))
    if not median < AGREEMENT:
        return []
    return [
        SegmentWarning(
            "starts",
            (),
            f"k-means finds other clusters from other starts (their median adjusted Rand index is "
            f"{median:.2f})",
            "try another number of clusters (treemeans choose)",
        )
    ]


def _is_given(facts: Facts) -> bool:
    """Whether the clusters are labels or costs of the user, whose number is not a parameter."""
    return facts.reference.endswith(("labels", "costs"))


def _small(each: ClusterRules, facts: Facts) -> SegmentWarning | None:
    """That a cluster has a single row, or less than 1 % of the rows."""
    if not each.size:
        return None
    total, k = sum(facts.n_rows), len(facts.n_rows)
    if facts.n_rows and facts.n_rows[each.cluster] == 1 and total >= _ENOUGH_ROWS * k:
        return SegmentWarning(
            "single row",
            (each.cluster,),
            f"has only 1 of {format_rows(total)}",
            "it may be an outlier; drop the row, or join the cluster with another"
            if _is_given(facts)
            else 'it may be an outlier; use scale="robust" (--scale robust), drop the row, or ask '
            "for fewer clusters",
            _the_row(each, facts),
        )
    if each.coverage < SMALL:
        return SegmentWarning(
            "small",
            (each.cluster,),
            f"has {100 * each.coverage:.2g} % of the rows",
            "join it with another cluster, or set min_samples_leaf"
            if _is_given(facts)
            else 'use scale="robust" (--scale robust), ask for fewer clusters, or set '
            "min_samples_leaf",
        )
    return None


def _the_row(each: ClusterRules, facts: Facts) -> str:
    """Which row is alone in its cluster, and where it differs most from the others."""
    place = dict(facts.alone).get(each.cluster)
    found = [] if place is None else [f"row {place}, counting from 0"]
    if each.apart:
        reader, first = Reader(facts.tree, facts.columns), each.apart[0]
        here, others = reader.compared(first.feature, first.mean, first.others)
        found.append(f"{reader.title(first.feature)} is {here}, on average {others} elsewhere")
    return "; ".join(found)


def _one_category(cluster: int, column: str, rule: str, facts: Facts) -> SegmentWarning:
    return SegmentWarning(
        "one category",
        (cluster,),
        f"is one category of {column}",
        "it repeats a column that you have; drop the column if it was made from the clusters"
        if _is_given(facts)
        else "it repeats a column that you have; drop the column, or ask for fewer clusters",
        rule,
    )


def _only_category(each: ClusterRules, columns: Columns) -> str | None:
    """The column of which a cluster is one category and nothing else; None if it is more."""
    if len(each.rules) != 1 or len(each.rules[0].box) != 1:
        return None
    ((feature, values),) = each.rules[0].box.items()
    column = columns[feature]
    if column.kind not in _ONE_CATEGORY:
        return None
    if column.kind == "codes" and _n_categories(values, len(column.categories)) != 1:
        return None
    if column.kind == "category" and values.above < 0:
        return None  # all other categories
    return column.source if column.kind == "category" else column.name


def _n_categories(values: ValueSet, n: int) -> int:
    if values.codes is not None:
        return len(values.codes) + values.missing
    return n - len(values.but) + values.missing
