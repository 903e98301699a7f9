"""Rows in one memory that stand for all: what a search works on, where rows are in parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.exact import as_float
from treemeans.ground import Ground
from treemeans.grow.base import Task
from treemeans.parts.block import Block
from treemeans.parts.cluster.draws import Draw, Sample
from treemeans.parts.cluster.sums import Columns
from treemeans.parts.growth.field import Field
from treemeans.parts.question import Question
from treemeans.reference import Reference
from treemeans.refine.sample import rows_wanted
from treemeans.tables import Table, as_points

Floats = NDArray[np.float64]

_TURN = 2**20  # no other draw has this number
_MOST = 2**24  # values of the rows that are drawn


@dataclass(frozen=True)
class Drawn:
    """Some rows: number, columns and place in the space; and the space's least and greatest."""

    sample: Sample
    low: Floats
    high: Floats


@dataclass(frozen=True)
class DrawStandIn(Question[Drawn]):
    """Draw rows, half evenly and half by squared distance from the middle (see `search_ground`).

    Attributes
    ----------
    middle : in the space
    per_weight, per_square : share of a row for each unit of its weight, and of that times its
        squared distance from the middle
    """

    draw: Draw
    reference: Reference
    middle: Floats
    per_weight: float
    per_square: float

    def ask(self, block: Block) -> Drawn:
        """Those of one block."""
        space = dense(self.reference.space(block.X, block.raw))
        squares, _, _ = _core.price(as_points(space), self.middle[None, :], 1)
        shares = self.per_weight + squares * self.per_square
        if block.weights is not None:
            shares *= block.weights
        numbers = np.arange(block.n_rows)[:, None]
        found = self.draw.sample(block.first, numbers, shares, block.weights)
        at = found.rows[:, 0].astype(np.intp)
        pieces = [found.rows + block.first, block.X[at]]
        if self.reference.pipeline is not None:
            pieces.append(space[at])
        return Drawn(
            replace(found, rows=np.concatenate(pieces, axis=1, dtype=np.float64)),
            space.min(axis=0).astype(np.float64),
            space.max(axis=0).astype(np.float64),
        )

    def merge(self, one: Drawn, other: Drawn) -> Drawn:
        """Those of both."""
        return Drawn(
            one.sample.merge(other.sample),
            np.minimum(one.low, other.low),
            np.maximum(one.high, other.high),
        )


def dense(rows: Any) -> NDArray[Any]:
    """Rows as an array."""
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


@dataclass(frozen=True)
class StandIn:
    """Rows that stand for all.

    Attributes
    ----------
    X, space : their columns, and where they are in the space of the centers
    weights : how much of all rows each stands for; None where it is one row
    columns : of the space, in fixed point, for all rows
    complete : whether they are all rows
    """

    X: Floats
    space: Floats
    weights: Floats | None
    columns: Columns
    complete: bool

    def task(self, field: Field, seed: int, n_threads: int) -> Task:
        """What a tree on these rows is to explain."""
        table = Table.of(self.X, n_threads, field.allowed)
        assert table is not None  # the rows were checked
        rules = field.rules
        if not self.complete and self.weights is not None:
            rules = rules.for_sample(float(self.weights.sum()) / field.sketch.weight)
        points = as_points(self.space)
        ground = Ground(self.X, table, self.space, points, self.weights, rules, n_threads)
        centers = field.reference.centers
        costs = ground.price(centers)
        ground = replace(ground, reference_cost=costs.cheapest)
        return Task(ground, centers, field.columns, costs, seed=seed)


def draw_stand_in(field: Field, seed: int) -> StandIn:
    """All rows where they are few; otherwise some of them."""
    reference, sketch, d = field.reference, field.sketch, field.n_features
    n_values = d + (0 if reference.pipeline is None else reference.centers.shape[1])
    wanted = max(min(rows_wanted(d), _MOST // n_values), 20 * field.n_clusters)
    complete = sketch.n_rows <= 2 * wanted
    size = sketch.n_rows if complete else wanted
    middle, squares = _middle(field)
    even = squares <= 0.0
    draw = Draw.of(seed, _TURN, size, 1.0, sketch.n_rows)
    question = DrawStandIn(
        draw,
        reference,
        middle,
        (1.0 if even else 0.5) / sketch.weight,
        0.0 if even else 0.5 / squares,
    )
    drawn = field.ask(question)
    rows, weights = drawn.sample.standing_for_all()
    order = np.argsort(rows[:, 0], kind="stable")
    rows, weights = rows[order], weights[order]
    X = np.asfortranarray(rows[:, 1 : d + 1])
    space = rows[:, 1 : d + 1] if reference.pipeline is None else rows[:, d + 1 :]
    return StandIn(
        X,
        np.ascontiguousarray(space),
        None if complete and not sketch.weighted else weights,
        Columns.of(drawn.low, drawn.high, sketch.weight, sketch.whole),
        complete,
    )


def _middle(field: Field) -> tuple[Floats, float]:
    """The mean of the rows' centers, and the squared distances of all rows from it.

    The latter follow from those to the centers, of which the bill has the sums.
    """
    bill, centers = field.bill, field.reference.centers
    part = bill.nearest / bill.nearest.sum()
    middle = part @ centers
    apart = ((centers - middle) ** 2).sum(axis=1)
    return middle, float(part @ (costs_of_all(field) - apart * field.sketch.weight))


def costs_of_all(field: Field) -> Floats:
    """For each center of the reference, what all rows would cost with it."""
    bill = field.bill
    return np.array([as_float(bill.base + regrets) for regrets in bill.regrets])
