"""Rows drawn at random, whatever part they are in: a row's number decides what it draws."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treemeans.parts.block import Block
from treemeans.parts.cluster.sums import power, power_above
from treemeans.parts.question import Question

_STEP = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio, and the two factors of splitmix64
_FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_SPARE = 2.5  # of the rows wanted, 1.25 to 2.5 times as many pass the limit of the keys


def uniforms(seed: int, turn: int, first: int, n: int) -> NDArray[np.float64]:
    """Numbers between 0 and 1, both excluded, for rows ``first`` to ``first + n``.

    Examples
    --------
    >>> bool((uniforms(7, 0, 0, 9)[4:] == uniforms(7, 0, 4, 5)).all())
    True
    """
    start = _mixed(np.array([seed % 2**64], dtype=np.uint64)) + np.uint64(turn)
    rows = np.arange(first, first + n, dtype=np.uint64)
    drawn = _mixed(_mixed(start) + rows * np.uint64(_STEP))
    return ((drawn >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Splitmix64, by Steele, Lea and Flood: every bit depends on every bit."""
    state = state + np.uint64(_STEP)
    for shift, factor in zip((30, 27), _FACTORS, strict=True):
        state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(state ^ (state >> np.uint64(31)))


@dataclass(frozen=True)
class Sample:
    """The rows with the lowest keys, one more than wanted, in ascending order of the keys.

    A row's key is a number drawn evenly from 0 to 1, over the row's share. So the rows with the
    larger shares are drawn, and their own weights say how much of all rows each stands for
    (priority sampling: Duffield, Lund and Thorup 2007).

    Attributes
    ----------
    keys, shares, weights : (m,)
    rows : (m, d)
    size : how many are wanted
    limit : a row with a key above it was never considered
    """

    keys: NDArray[np.float64]
    shares: NDArray[np.float64]
    weights: NDArray[np.float64]
    rows: NDArray[np.float64]
    size: int
    limit: float

    def merge(self, other: Sample) -> Sample:
        """Of both samples, the rows with the lowest keys; among equals, those that come first."""
        keys = np.concatenate([self.keys, other.keys])
        kept = np.argsort(keys, kind="stable")[: self.size + 1]
        return replace(
            self,
            keys=keys[kept],
            shares=np.concatenate([self.shares, other.shares])[kept],
            weights=np.concatenate([self.weights, other.weights])[kept],
            rows=np.concatenate([self.rows, other.rows])[kept],
        )

    def standing_for_all(
        self, size: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The sample's rows, and how much each weighs for all rows; ``size`` of them, or all."""
        size = self.size if size is None else min(size, self.size)
        threshold = self.keys[size] if len(self.keys) > size else self.limit
        chance = np.minimum(1.0, self.shares[:size] * threshold)
        return self.rows[:size], self.weights[:size] / chance


@dataclass(frozen=True)
class Draw:
    """How to draw ``size`` rows.

    Attributes
    ----------
    seed, turn : of what is drawn
    limit : rows with keys above it are left out at once, so that parts send few rows
    """

    seed: int
    turn: int
    size: int
    limit: float

    @classmethod
    def of(cls, seed: int, turn: int, size: int, total: float, n_rows: int) -> Draw:
        """For shares of about ``total`` together."""
        enough = _SPARE * (size + 64) * power(-power_above(total))
        return cls(seed, turn, size, np.inf if n_rows <= size else enough)

    def sample(
        self,
        first: int,
        X: NDArray[np.generic],
        shares: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
    ) -> Sample:
        """Of rows from number ``first`` on."""
        with np.errstate(divide="ignore", over="ignore"):
            keys = uniforms(self.seed, self.turn, first, len(shares)) / shares
        at = np.flatnonzero((keys <= self.limit) & (shares > 0))
        at = at[np.argsort(keys[at], kind="stable")[: self.size + 1]]
        return Sample(
            keys=keys[at],
            shares=shares[at],
            weights=np.ones(len(at)) if weights is None else weights[at],
            rows=X[at].astype(np.float64),
            size=self.size,
            limit=self.limit,
        )


@dataclass(frozen=True)
class DrawRows(Question[Sample]):
    """Draw rows by their weights."""

    draw: Draw

    def ask(self, block: Block) -> Sample:
        """The sample of one block."""
        shares = np.ones(block.n_rows) if block.weights is None else block.weights
        return self.draw.sample(block.first, block.X, shares, block.weights)

    def merge(self, one: Sample, other: Sample) -> Sample:
        """The sample of both."""
        return one.merge(other)
