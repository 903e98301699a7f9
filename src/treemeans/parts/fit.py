"""A fit on rows in parts: the same four steps as in one memory, each in a few passes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.checks import check_max_leaves, tree_seed, warn_if_empty
from treemeans.columns.detect import detect
from treemeans.grow.expand import expand
from treemeans.grow.separate import separate
from treemeans.limits import Rules
from treemeans.parts.block import Block
from treemeans.parts.cluster.reference import centers_in_columns, fit_reference_on
from treemeans.parts.growth.field import Field
from treemeans.parts.growth.given import follow_far
from treemeans.parts.growth.mistakes import FarMistakes
from treemeans.parts.growth.sapling import FarSapling
from treemeans.parts.growth.stock import take_stock
from treemeans.parts.pricing import AddUp, Pricing
from treemeans.parts.question import Parts, Question
from treemeans.parts.refine.recipe import Refining, refine_far
from treemeans.parts.sketch import Sketch, TakeSketch
from treemeans.parts.sources.pace import Pace
from treemeans.progress import Progress
from treemeans.record import FitRecord, record_grown
from treemeans.reference import is_fitted
from treemeans.tree import ThresholdTree

BASES = ("imm", "none")
"""Base trees that can be grown in passes; a given tree is another."""

_SAMPLED = 2**20  # values of the rows that a sketch draws, about
_FEWEST, _MOST = 2**12, 2**15


@dataclass(frozen=True)
class FarPlan:
    """What the user asked for."""

    n_clusters: int | None
    reference: Any
    base_tree: str | ThresholdTree
    max_leaf_nodes: int | None
    rules: Rules
    allowed: NDArray[np.bool_] | None
    random_state: Any
    verbose: bool
    refining: Refining | None = None


def check_base(base_tree: str | ThresholdTree) -> None:
    """Refuse a base tree that needs all rows in one memory."""
    if isinstance(base_tree, str) and base_tree not in BASES:
        raise ValueError(
            f'base_tree="{base_tree}" needs all rows in one memory; with rows in parts it must be '
            '"imm", "none" or a tree.'
        )


def survey_field(parts: Parts, plan: FarPlan) -> Field:
    """What a tree is to be grown on: a look at the rows, the reference, what they cost by it."""
    size = min(max(_SAMPLED // parts.n_features, _FEWEST), _MOST)
    sketch = parts.ask(TakeSketch(size))
    parts.firsts = sketch.firsts(parts.n_parts)
    parts.expect(_passes_for_reference(plan) + _passes_for_tree(plan))
    reference = fit_reference_on(parts, sketch, plan.reference, plan.n_clusters, plan.random_state)
    bill = parts.ask(AddUp.of(reference, sketch))
    if reference.given:
        occupied = np.repeat(np.arange(reference.n_clusters), bill.nearest > 0)
        warn_if_empty(occupied.astype(np.int32), reference.n_clusters)
    columns = centers_in_columns(parts, reference, sketch)
    parts.expect(_passes_for_tree(plan, reference.n_clusters))
    every = np.ones(parts.n_features, dtype=bool)
    return Field(
        parts,
        sketch,
        Pricing(reference, bill.scales(sketch)),
        columns,
        bill,
        plan.rules,
        every if plan.allowed is None else plan.allowed,
    )


def _passes_for_reference(plan: FarPlan) -> int:
    """About; centers that are there need one, to be priced."""
    return 1 if _is_ready(plan.reference) else 12


def _is_ready(reference: Any) -> bool:
    return reference is not None and (not hasattr(reference, "fit") or is_fitted(reference))


def _passes_for_tree(plan: FarPlan, n_clusters: int | None = None) -> int:
    """About: two or three for each level of the base tree and of the leaves that are added."""
    k = plan.n_clusters or n_clusters or 8
    levels = 2 + math.log2(max(plan.max_leaf_nodes or 2 * k, k) / k)
    if plan.base_tree == "imm":
        levels += 1.5 * math.log2(k) if k > 1 else 0
    passes = 2 + round(2.5 * levels)
    return passes if plan.refining is None else passes + plan.refining.passes(2 * k)


def grow_far(field: Field, plan: FarPlan) -> tuple[FarSapling, NDArray[np.int32]]:
    """The base tree and its expansion; and the labels that the base tree had."""
    max_leaves = check_max_leaves(plan.max_leaf_nodes, field.n_clusters, plan.base_tree)
    sapling = FarSapling(field, max_leaves)
    quiet = Progress("", 1, False)  # passes are what takes time, and they are shown
    if isinstance(plan.base_tree, ThresholdTree):
        follow_far(sapling, plan.base_tree)
    elif plan.base_tree == "imm":
        by_feature = np.ascontiguousarray(field.columns.T)
        separate(sapling, by_feature, FarMistakes(sapling, by_feature), quiet)
    sapling.settle()
    base_labels = np.array(sapling.label, dtype=np.int32)
    expand(sapling, max_leaves, quiet)
    return sapling, base_labels


def fit_parts(parts: Parts, plan: FarPlan, *, short: bool) -> tuple[FitRecord, int]:
    """The record of a tree that is grown on rows in parts, and the rounds of a search.

    ``short``: whether thresholds are as short as their gaps allow.
    """
    if isinstance(parts, Pace):
        return _fit(parts, plan, short=short)
    with Pace(parts, shown=plan.verbose) as paced:
        return _fit(paced, plan, short=short)


def _fit(parts: Parts, plan: FarPlan, *, short: bool) -> tuple[FitRecord, int]:
    field = survey_field(parts, plan)
    sapling, base_labels = grow_far(field, plan)
    if sapling.n_nodes == len(base_labels):
        sapling.label = base_labels.tolist()
    rounds = 0
    if plan.refining is None:
        stock, seen = take_stock(field, sapling, field.pricing)
        record = record_grown(stock, base_labels, field.reference)
    else:
        record, seen, rounds = refine_far(
            field, sapling, plan.refining, tree_seed(plan.random_state), plan.verbose
        )
    rows = FarRows(parts, field.sketch)
    columns = detect(rows, parts.names, parts.dates, record.tree, seen)
    tree = replace(record.tree, gap=seen.gap)
    return replace(record, tree=tree, short=short).read_as(columns), rounds


@dataclass(frozen=True)
class FarRows:
    """Rows in parts, for whoever tells columns apart."""

    parts: Parts
    sketch: Sketch

    def some(self) -> NDArray[Any]:
        """The sample."""
        return self.sketch.sample

    def one_in_every_row(self, features: list[int]) -> bool:
        """Whether every row has a single 1 in these columns, and 0 in the others."""
        return bool(self.sketch.binary[features].all()) and self.parts.ask(OneEach(features))


@dataclass(frozen=True)
class OneEach(Question[bool]):
    """Whether every row has a single 1 in some columns of 0 and 1."""

    features: list[int]

    def ask(self, block: Block) -> bool:
        """In one block."""
        return bool((block.X[:, self.features].sum(axis=1) == 1).all())

    def merge(self, one: bool, other: bool) -> bool:
        """In both."""
        return one and other
