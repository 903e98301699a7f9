"""StandardScaler fitted on partitioned rows, in one pass or two."""

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
from treemeans.partitioned.clustering.fixed_point_columns import row_slices, scale_to_fit
from treemeans.partitioned.clustering.row_sampling import RowSample, SampleRows
from treemeans.partitioned.map_reduce import CombinedSteps, MapReduceStep, PartitionedRows
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.row_summary import RowSummary

Floats = NDArray[np.float64]

_LOSS = 1e4  # mean square about the shift over the variance: beyond it too many digits cancel


@dataclass(frozen=True)
class SumMoments(MapReduceStep[NDArray[np.int64]]):
    """Sum the columns and their squares as integers, (2, d). Weights are ignored, as by sklearn.

    Attributes
    ----------
    shift : (d,), subtracted from the columns first
    scale : (2, d), powers of two, of the columns and of their squares
    """

    shift: Floats
    scale: Floats

    @classmethod
    def about(cls, shift: Floats, reach: Floats, squares: Floats, n_rows: int) -> Self:
        """The step for columns within ``reach`` of the shift, with these mean squares about it."""
        bits = [[scale_to_fit(most, n_rows) for most in column] for column in (reach, squares)]
        return cls(shift, np.array(bits))

    @classmethod
    def first(cls, low: Floats, high: Floats, n_rows: int) -> Self:
        """The step for columns of which only the range is known."""
        shift = low / 2 + high / 2
        reach = np.maximum(high - shift, shift - low)
        return cls.about(shift, reach, reach**2, n_rows)

    def map(self, partition: Partition) -> NDArray[np.int64]:
        """Sum one partition, a few thousand rows at a time."""
        sums = np.zeros(self.scale.shape, dtype=np.int64)
        for rows in row_slices(partition.n_rows, 2 * partition.X.shape[1]):
            values = np.empty((len(partition.X[rows]), *self.scale.shape))
            np.subtract(partition.X[rows], self.shift, out=values[:, 0])
            np.square(values[:, 0], out=values[:, 1])
            values *= self.scale
            _core.to_fixed(values.reshape(len(values), -1), None, False, 1.0, 1)
            sums += values.view(np.int64).sum(axis=0)
        return sums

    def moments(self, sums: NDArray[np.int64], n_rows: int) -> tuple[Floats, Floats]:
        """Mean and variance of each column, in exact fractions that are rounded once at the end."""
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
        """The same sums about the mean, if too many digits cancelled in a variance; else None.

        The middle of the range is a bad shift for a column of small numbers and one huge number.
        """
        mean, variance = self.moments(sums, n_rows)
        squares = sums[1] / self.scale[1] / n_rows
        if (squares <= _LOSS * variance).all():
            return None
        # At least the reach for which these scales were made.
        reach = 2.0**61 / n_rows / self.scale[0]
        return self.about(mean, 2 * reach, variance + 2.0**-40 * reach**2, n_rows)


def fit_scaler(
    pipeline: Pipeline, partitions: PartitionedRows, summary: RowSummary, draw: SampleRows
) -> tuple[Pipeline, RowSample]:
    """Fit a pipeline of one StandardScaler on all rows; the same pass draws a sample."""
    moments = SumMoments.first(summary.low, summary.high, summary.n_rows)
    sums, sample = partitions.map_reduce(CombinedSteps((moments, draw)))
    closer = moments.closer(sums, summary.n_rows)
    if closer is not None:
        moments, sums = closer, partitions.map_reduce(closer)
    ((name, scaler),) = pipeline.steps
    mean, variance = moments.moments(sums, summary.n_rows)
    return Pipeline([(name, _fitted(scaler, mean, variance, summary.n_rows))]), sample


def name_columns(pipeline: Pipeline, names: NDArray[np.object_] | None) -> None:
    """Make a pipeline look as if it had been fitted on a data frame with these columns."""
    if names is not None:
        pipeline.steps[0][1].feature_names_in_ = np.asarray(names, dtype=object)


def _fitted(scaler: Any, mean: Floats, variance: Floats, n_rows: int) -> StandardScaler:
    """A clone of the scaler with the attributes that ``fit`` would have set."""
    scaler = clone(scaler)
    scaler.mean_ = scaler.var_ = scaler.scale_ = None
    if scaler.with_mean or scaler.with_std:
        scaler.mean_ = mean
    if scaler.with_std:
        constant = _constant(mean, variance, n_rows)
        scaler.var_, scaler.scale_ = variance, np.where(constant, 1.0, np.sqrt(variance))
    scaler.n_samples_seen_ = np.int64(n_rows)
    scaler.n_features_in_ = len(mean)
    return scaler


def _constant(mean: Floats, variance: Floats, n_rows: int) -> NDArray[np.bool_]:
    """Columns that vary by no more than rounding, by scikit-learn's rule."""
    rounding = n_rows * np.finfo(np.float64).eps
    return np.asarray(variance <= rounding * variance + (rounding * mean) ** 2)
