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


def dense_points(X: NDArray[Any], *, accepts_missing: bool = False) -> _core.Points:
    """Wrap X without copying it, unless no kernel reads its number type or layout as they are.

    ``accepts_missing``: NaN is a missing value, which trees refuse only at a split without a side.
    """
    if X.dtype.newbyteorder("=").type not in NUMBER_TYPES:
        X = X.astype(np.float64)
    walkable = (
        X.dtype.isnative
        and X.flags.aligned
        and all(stride % X.itemsize == 0 for stride in X.strides)
    )
    native = X if walkable else np.array(X, dtype=X.dtype.newbyteorder("="))
    return _core.dense_points(native, accepts_missing)
