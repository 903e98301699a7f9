"""Where stretches of values end."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_SIGN = np.int64(2**63 - 1)


def coarse(
    sample: NDArray[np.float64], n_stretches: int, also: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Edges of about ``n_stretches`` stretches that hold as many values of the sample each.

    They cover every number. ``also``: values that are edges in any case.
    """
    values = np.sort(sample)
    if len(values) > n_stretches:
        values = values[np.linspace(0, len(values), n_stretches, endpoint=False).astype(np.intp)]
    return np.unique(np.concatenate([[-np.inf], values, also, [np.inf]]))


def finer(low: float, high: float, n_stretches: int) -> NDArray[np.float64]:
    """Edges of about ``n_stretches`` stretches that cover ``low`` to ``high``.

    Half of them lie at equal distances, which is quick for most columns. The others divide the
    floats in between, of which there are less than 2**64, into equal numbers: so a few divisions
    come down to a single value, however the values lie.
    """
    half = n_stretches // 2
    share = np.arange(1, half) / half
    begin, end = _rank(low), _rank(high)
    ranks = [begin + (end - begin) * i // half for i in range(1, half)]
    even = low * (1 - share) + high * share
    return np.unique(
        np.concatenate(
            [whole(low, high), [low], even, _of_rank(np.array(ranks, dtype=np.int64))]
        ).clip(None, high)
    )


def whole(low: float, high: float) -> NDArray[np.float64]:
    """Edges of one stretch from ``low`` to ``high``."""
    return np.array([math.nextafter(low, -math.inf), high])


def _rank(value: float) -> int:
    """The number of a float among all of them, in their order."""
    return int(_turned(np.array([value + 0.0]).view(np.int64))[0])


def _of_rank(rank: NDArray[np.int64]) -> NDArray[np.float64]:
    return _turned(rank).view(np.float64)


def _turned(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Negative floats count backwards; the same function turns them back."""
    return np.where(bits < 0, bits ^ _SIGN, bits)
