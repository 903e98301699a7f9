"""Points in a numpy array: any strides, any number type the kernels read as it is."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans import _core

NUMBER_TYPES: tuple[type[np.generic], ...] = (
    np.float64,
    np.float32,
    np.int64,
    np.int32,
    np.int16,
    np.int8,
    np.uint32,
    np.uint16,
    np.uint8,
)


def dense_points(X: NDArray[Any]) -> _core.Points:
    """Wrap X without copying it, unless its layout in memory is one no kernel can step through."""
    walkable = (
        X.dtype.isnative
        and X.flags.aligned
        and all(stride % X.itemsize == 0 for stride in X.strides)
    )
    return _core.dense_points(X if walkable else np.array(X, dtype=X.dtype.newbyteorder("=")))
