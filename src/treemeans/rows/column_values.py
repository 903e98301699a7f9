"""Values of single columns of a table, as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def column_of(X: Any, i: int) -> NDArray[np.float64]:
    """A column of an array or of a sparse matrix, which is best given by column."""
    values = X[:, [i]].toarray()[:, 0] if sparse.issparse(X) else X[:, i]
    return np.asarray(values, dtype=np.float64)
