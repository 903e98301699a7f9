"""Makes the rules of clusters from what a fitted model knows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Reader
from treemeans.explain.cluster_profile import differences
from treemeans.explain.leaf_boxes import Box
from treemeans.explain.leaf_grid import Grid, GridBox, Leaves
from treemeans.explain.merge_boxes import merged
from treemeans.explain.model_facts import Facts
from treemeans.explain.rules import ClusterRules, Rule, Rules
from treemeans.explain.segment_warnings import (
    maybe_one_category,
    segment_warnings,
    small_clusters,
)
from treemeans.explain.warning_record import SegmentWarning


def describe(
    facts: Facts,
    clusters: Sequence[int] | None = None,
    reader: Reader | None = None,
    most: int = 3,
    ruled: Set[int] | None = None,
) -> Rules:
    """The rules of all clusters, or of some, in the words of a reader.

    Parameters
    ----------
    most : the largest number of columns that are reported to differ in a cluster
    ruled : the clusters whose rules are made, which takes the most time; None for all
    """
    tree = facts.tree
    reader = reader or Reader(tree, facts.columns)
    grid = None if ruled is not None and not ruled else Grid(tree, facts.columns)
    chosen = range(tree.n_clusters) if clusters is None else clusters
    label, weight = tree.label[tree.leaves], facts.weight
    total, cost = float(weight.sum()), float(facts.costs.sum())
    told = differences(facts, reader, most, chosen)
    found = []
    for cluster, apart in zip(chosen, told, strict=True):
        size = float(weight[cluster])
        found.append(
            ClusterRules(
                cluster=cluster,
                name=facts.names[cluster] if facts.names else "",
                size=size,
                coverage=_share(size, total),
                purity=_purity(facts.hits[label == cluster, cluster], size),
                cost=float(facts.costs[cluster]),
                cost_share=_share(float(facts.costs[cluster]), cost),
                apart=apart,
                rules=tuple(_rules(facts, reader, grid, cluster, total))
                if grid is not None and (ruled is None or cluster in ruled)
                else (),
                reference=facts.reference,
                comparable=facts.comparable,
            )
        )
    return Rules(
        found,
        facts.columns,
        facts.reference_cost,
        facts.certificate,
        facts.reference,
        facts.comparable,
        segment_warnings(facts, found) if clusters is None else (),
        facts.protected,
        facts.balanced,
    )


def warnings_of(facts: Facts) -> tuple[SegmentWarning, ...]:
    """What ``describe(facts).warnings`` says, for the time that the clusters in doubt take."""
    tree = facts.tree
    ruled = maybe_one_category(tree, facts.columns)
    doubtful = sorted(ruled | small_clusters(tree, facts.n_rows))
    return segment_warnings(facts, describe(facts, doubtful, most=1, ruled=ruled))


def _rules(facts: Facts, reader: Reader, grid: Grid, cluster: int, total: float) -> list[Rule]:
    """The rules of one cluster, the largest first."""
    tree = facts.tree
    own = grid.leaves(set(np.flatnonzero(tree.is_leaf & (tree.label == cluster)).tolist()))
    weight = tree.weight[grid.nodes]
    hits = facts.hits[np.searchsorted(tree.leaves, grid.nodes), cluster]
    rules = []
    for box, counted in _counted(grid, merged(grid, own), own, weight):
        here = _places(counted)
        size = math.fsum(weight[here])
        exact = grid.values(_telling_first(grid, box, weight))
        rules.append(
            Rule(
                box=exact,
                conditions=tuple(_conditions(reader, exact)),
                size=size,
                coverage=_share(size, total),
                purity=_purity(hits[here], size),
            )
        )
    return rules


def _counted(
    grid: Grid, boxes: list[GridBox], own: Leaves, weight: NDArray[np.float64]
) -> list[tuple[GridBox, Leaves]]:
    """The boxes, the largest first, with the leaves counted at each: those not counted before.

    A box counts leaves that lie wholly in it, and, if they lie wholly in none, that it meets.
    """
    held = [grid.held(box) & own for box in boxes]
    nowhere = own
    for leaves in held:
        nowhere &= ~leaves
    left = {i: leaves | (grid.met(boxes[i]) & nowhere) for i, leaves in enumerate(held)}
    prices = [grid.price(box) for box in boxes]
    sizes = [math.fsum(weight[_places(left[i])]) for i in left]
    found = []
    while left:
        largest = min(left, key=lambda i: (-sizes[i], prices[i], i))
        counted = left.pop(largest)
        found.append((boxes[largest], counted))
        for i in left:
            if left[i] & counted:
                left[i] &= ~counted
                sizes[i] = math.fsum(weight[_places(left[i])])
    return found


def _telling_first(grid: Grid, box: GridBox, weight: NDArray[np.float64]) -> GridBox:
    """The box with the axis first that leaves out most rows: it says most."""

    def left_out(axis: int) -> float:
        return math.fsum(weight[_places(grid.all & ~grid.meeting(axis, box[axis]))])

    return {axis: box[axis] for axis in sorted(box, key=lambda axis: (-left_out(axis), axis))}


def _conditions(reader: Reader, box: Box) -> Iterator[str]:
    """In the order of the box; what concerns one source of categories is said at once."""
    together: dict[str | int, Box] = {}
    for feature, values in box.items():
        column = reader.columns[feature]
        key = column.source if column.kind == "category" else feature
        together.setdefault(key, {})[feature] = values
    for part in together.values():
        yield from reader.conditions(part)


def _places(leaves: Leaves) -> NDArray[np.intp]:
    """Numbers of the leaves in a set."""
    octets = leaves.to_bytes(leaves.bit_length() // 8 + 1, "little")
    return np.flatnonzero(np.unpackbits(np.frombuffer(octets, np.uint8), bitorder="little"))


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _purity(hits: NDArray[np.float64], size: float) -> float:
    return min(math.fsum(hits) / size, 1.0) if size > 0 else math.nan
