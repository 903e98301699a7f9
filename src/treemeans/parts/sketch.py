"""The first question: how many rows there are, and what their columns look like."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treemeans.exact import as_float, exact_sum
from treemeans.parts.block import Block
from treemeans.parts.question import Question


@dataclass(frozen=True)
class Sketch:
    """What is known of the rows.

    Attributes
    ----------
    rows : of each part, by its number
    weighted : whether rows have weights
    exact_weight : of all rows, an exact sum
    whole : whether all weights are integers
    low, high : (d,), the least and the greatest value of each column
    binary : (d,), whether a column holds nothing but 0 and 1
    sample : (m, d), rows drawn evenly from all of them
    ranks : (m,), ascending: what was drawn for them
    """

    rows: dict[int, int]
    weighted: bool
    exact_weight: int
    whole: bool
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    binary: NDArray[np.bool_]
    sample: NDArray[np.float64]
    ranks: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        return sum(self.rows.values())

    @property
    def weight(self) -> float:
        """Of all rows."""
        return as_float(self.exact_weight)

    def firsts(self, n_parts: int) -> NDArray[np.int64]:
        """Number of each part's first row among all rows."""
        counts = [self.rows.get(number, 0) for number in range(n_parts)]
        return np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)


@dataclass(frozen=True)
class TakeSketch(Question[Sketch]):
    """Look at all rows, and draw ``size`` of them; refuse a block with NaN or infinity."""

    size: int
    seed: int = 0

    def ask(self, block: Block) -> Sketch:
        """The sketch of one block."""
        X = block.X
        if not block.points.all_finite(1):
            _refuse(block)
        rng = np.random.default_rng([self.seed, block.number])
        ranks = rng.random(block.n_rows)
        kept = np.argsort(ranks, kind="stable")[: self.size]
        weights = block.weights
        return Sketch(
            rows={block.number: block.n_rows},
            weighted=weights is not None,
            exact_weight=exact_sum(np.ones(block.n_rows) if weights is None else weights),
            whole=weights is None or bool((weights == np.floor(weights)).all()),
            low=X.min(axis=0).astype(np.float64),
            high=X.max(axis=0).astype(np.float64),
            binary=_binary(X),
            sample=X[kept].astype(np.float64),
            ranks=ranks[kept],
        )

    def merge(self, one: Sketch, other: Sketch) -> Sketch:
        """The sketch of both: of their samples, the rows with the lowest ranks."""
        ranks = np.concatenate([one.ranks, other.ranks])
        kept = np.argsort(ranks, kind="stable")[: self.size]
        return replace(
            one,
            rows=one.rows | other.rows,
            exact_weight=one.exact_weight + other.exact_weight,
            whole=one.whole and other.whole,
            low=np.minimum(one.low, other.low),
            high=np.maximum(one.high, other.high),
            binary=one.binary & other.binary,
            sample=np.concatenate([one.sample, other.sample])[kept],
            ranks=ranks[kept],
        )


def _binary(X: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Columns of 0 and 1; most others show themselves in the first rows."""
    binary = ((X[:100] == 0) | (X[:100] == 1)).all(axis=0)
    for column in np.flatnonzero(binary):
        binary[column] = bool(((X[:, column] == 0) | (X[:, column] == 1)).all())
    return np.asarray(binary, dtype=bool)


def _refuse(block: Block) -> None:
    """Say where the first value is that is no number."""
    row, column = np.argwhere(~np.isfinite(block.X))[0]
    what = "NaN" if np.isnan(block.X[row, column]) else "infinity"
    raise ValueError(
        f"Partition {block.number} contains {what} (row {row}, column {column}); "
        "fill or drop such rows first."
    )
