"""A data set ready for use, with its checksum: what parsers return and files hold."""

import hashlib
import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.datasets.dataset_info import Matrix, Size

_BLOCK = 1 << 14  # rows hashed at a time


@dataclass(frozen=True, eq=False)
class Prepared:
    """The table in its smallest exact type, the classes from 0, and the names of both."""

    X: Matrix
    y: NDArray[np.intp]
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]


def by_class(labels: list[str]) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Number the classes from 0 in the order of their names."""
    names = tuple(sorted(set(labels)))
    number = {name: i for i, name in enumerate(names)}
    return np.array([number[label] for label in labels], dtype=np.intp), names


def digest(data: Prepared) -> str:
    """SHA-256 of the table, the classes and the names.

    It depends on the values and their type, not on how they lie in memory or in which order of
    bytes, so it is the same on every machine.
    """
    total = hashlib.sha256()
    if isinstance(data.X, np.ndarray):
        total.update(_head(data.X))
        for start in range(0, len(data.X), _BLOCK):
            total.update(_little(data.X[start : start + _BLOCK]).tobytes())
    else:
        X = data.X.copy()
        X.sort_indices()
        total.update(_head(X.data) + json.dumps([int(size) for size in X.shape]).encode())
        for part in (X.indptr.astype("<i4"), X.indices.astype("<i4"), _little(X.data)):
            total.update(part.tobytes())
    total.update(data.y.astype("<i4").tobytes())
    total.update(json.dumps([data.feature_names, data.target_names]).encode())
    return total.hexdigest()


def _head(array: NDArray[np.generic]) -> bytes:
    kind = array.dtype.newbyteorder("<").str
    return json.dumps([kind, list(array.shape)]).encode()


def _little(array: NDArray[np.generic]) -> NDArray[np.generic]:
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


def check_size(data: Prepared, size: Size, name: str) -> None:
    """Refuse a table that is not the one of the paper."""
    n, d = data.X.shape
    if (n, d) != (size.n, size.d):
        raise ValueError(f"{name} must have {size.n} rows and {size.d} columns; got {n} and {d}.")
    if len(data.feature_names) != d or len(set(data.feature_names)) != d:
        raise ValueError(f"{name} must have {d} different names of columns.")
    if data.y.shape != (n,) or not np.array_equal(np.unique(data.y), np.arange(size.k)):
        raise ValueError(f"{name} must have a class from 0 to {size.k - 1} for each of its rows.")
    if len(data.target_names) != size.k:
        raise ValueError(f"{name} must have {size.k} names of classes.")
    values = data.X if isinstance(data.X, np.ndarray) else data.X.data
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{name} must not have missing or infinite values.")
