"""StandardScaler over rows in parts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from treemeans import _core
from treemeans.parts.block import Block
from treemeans.parts.cluster.draws import DrawRows, Sample
from treemeans.parts.cluster.passes import Passes, Together
from treemeans.parts.cluster.sums import fit_bits, slices
from treemeans.parts.question import Question
from treemeans.parts.sketch import Sketch

Floats = NDArray[np.float64]

_LOSS = 1e4  # mean square about the shift over the variance: digits that cancel


@dataclass(frozen=True)
class TakeMoments(Question[NDArray[np.int64]]):
    """Add up the columns, and their squares, as integers: an answer of 2 x d. Weights do not count.

    Attributes
    ----------
    shift : (d,), subtracted first
    scale : (2, d), powers of two
    """

    shift: Floats
    scale: Floats

    @classmethod
    def about(cls, shift: Floats, reach: Floats, squares: Floats, n_rows: int) -> Self:
        """For columns no further than ``reach`` from the shift, of these mean squares about it."""
        bits = [[fit_bits(most, n_rows) for most in line] for line in (reach, squares)]
        return cls(shift, np.array(bits))

    @classmethod
    def first(cls, low: Floats, high: Floats, n_rows: int) -> Self:
        """For columns of which nothing is known but where they end."""
        shift = low / 2 + high / 2
        reach = np.maximum(high - shift, shift - low)
        return cls.about(shift, reach, reach**2, n_rows)

    def ask(self, block: Block) -> NDArray[np.int64]:
        """The sums of one block."""
        sums = np.zeros(self.scale.shape, dtype=np.int64)
        for rows in slices(block.n_rows):
            values = np.empty((len(block.X[rows]), *self.scale.shape))
            np.subtract(block.X[rows], self.shift, out=values[:, 0])
            np.square(values[:, 0], out=values[:, 1])
            values *= self.scale
            _core.to_fixed(values.reshape(len(values), -1), None, False, 1.0, 1)
            sums += values.view(np.int64).sum(axis=0)
        return sums

    def merge(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sums of both."""
        return one + other

    def moments(self, sums: NDArray[np.int64], n_rows: int) -> tuple[Floats, Floats]:
        """Mean and variance of each column. Nothing is rounded before the end."""
        mean, variance = np.empty(len(self.shift)), np.empty(len(self.shift))
        for column, shift in enumerate(self.shift):
            off, square = (
                Fraction(int(total)) / Fraction(scale) / n_rows
                for total, scale in zip(sums[:, column], self.scale[:, column], strict=True)
            )
            mean[column] = float(Fraction(shift) + off)
            variance[column] = max(float(square - off**2), 0.0)
        return mean, variance

    def closer(self, sums: NDArray[np.int64], n_rows: int) -> Self | None:
        """The same about the mean, where too many digits were lost to find the variance.

        As in a column of small numbers and a huge one, in the middle of which there is nothing.
        """
        mean, variance = self.moments(sums, n_rows)
        squares = sums[1] / self.scale[1] / n_rows
        if (squares <= _LOSS * variance).all():
            return None
        reach = (
            2.0**61 / n_rows / self.scale[0]
        )  # at least that of the numbers that these sums were made for
        return self.about(mean, 2 * reach, variance + 2.0**-40 * reach**2, n_rows)


def fit_scaler(
    pipeline: Pipeline, passes: Passes, sketch: Sketch, draw: DrawRows
) -> tuple[Pipeline, Sample]:
    """A pipeline of a StandardScaler that has seen all rows, and rows drawn in the same pass."""
    moments = TakeMoments.first(sketch.low, sketch.high, sketch.n_rows)
    sums, sample = passes.ask(Together((moments, draw)), "scaling, drawing rows")
    closer = moments.closer(sums, sketch.n_rows)
    if closer is not None:
        moments, sums = closer, passes.ask(closer, "scaling")
    ((name, scaler),) = pipeline.steps
    return Pipeline(
        [(name, _fitted(scaler, *moments.moments(sums, sketch.n_rows), sketch))]
    ), sample


def name_columns(pipeline: Pipeline, names: NDArray[np.object_] | None) -> None:
    """As if the pipeline had been fitted on a data frame with these columns."""
    if names is not None:
        pipeline.steps[0][1].feature_names_in_ = np.asarray(names, dtype=object)


def _fitted(scaler: Any, mean: Floats, variance: Floats, sketch: Sketch) -> StandardScaler:
    """A clone of the scaler, with what it would have found out. Weights do not count there."""
    scaler = clone(scaler)
    scaler.mean_ = scaler.var_ = scaler.scale_ = None
    if scaler.with_mean or scaler.with_std:
        scaler.mean_ = mean
    if scaler.with_std:
        constant = _constant(mean, variance, sketch.n_rows)
        scaler.var_, scaler.scale_ = variance, np.where(constant, 1.0, np.sqrt(variance))
    scaler.n_samples_seen_ = np.int64(sketch.n_rows)
    scaler.n_features_in_ = len(mean)
    return scaler


def _constant(mean: Floats, variance: Floats, n_rows: int) -> NDArray[np.bool_]:
    """Columns that vary no more than by rounding, as scikit-learn has it."""
    rounding = n_rows * np.finfo(np.float64).eps
    return np.asarray(variance <= rounding * variance + (rounding * mean) ** 2)
