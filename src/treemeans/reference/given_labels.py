"""Labels as a reference: one for each row, of any kind; -1, NaN and None are noise."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_NOISE_NAME = "noise"


class GivenLabels(NamedTuple):
    """The cluster of each row, and what the clusters are called.

    Attributes
    ----------
    codes : (n_rows,), number of each row's cluster; -1 for a row that is left out as noise
    names : of the clusters, in the order of their numbers
    """

    codes: NDArray[np.int32]
    names: tuple[str, ...]


def is_labels(reference: Any) -> bool:
    """Whether a reference is one label for each row: a list, array or series of one dimension."""
    if reference is None or isinstance(reference, str | bytes) or hasattr(reference, "fit"):
        return False
    if isinstance(reference, type):
        return False
    shape = getattr(reference, "shape", None)
    if shape is not None:
        return len(shape) == 1
    if not isinstance(reference, list | tuple | range) and not hasattr(reference, "__array__"):
        return False
    values = list(reference)
    return not any(map(_is_nested, values)) or _are_labels_of_parts(values)


def _is_nested(value: Any) -> bool:
    """Whether a value of a list has parts, so that it may be a center."""
    return hasattr(value, "__len__") and not isinstance(value, str | bytes | frozenset)


def _are_labels_of_parts(values: list[Any]) -> bool:
    """Whether tuples in a list are labels: some occur twice, or they hold more than numbers."""
    if not all(isinstance(value, tuple) for value in values if _is_nested(value)):
        return False
    try:
        repeated = len(set(values)) < len(values)
    except TypeError:  # a tuple of lists
        return False
    parts = (part for value in values if isinstance(value, tuple) for part in value)
    return repeated or not all(isinstance(part, Real) for part in parts)


def check_index(values: Any, X: Any, name: str) -> None:
    """Refuse a series or frame of pandas whose index has the rows of X in another order.

    Rows are matched by their order, as everywhere in scikit-learn: another order of the same rows
    is a mistake that nothing else would show.
    """
    ours: Any = getattr(X, "index", None)  # a list has a method of that name
    theirs: Any = getattr(values, "index", None)
    if not hasattr(ours, "equals") or not hasattr(theirs, "equals") or len(ours) != len(theirs):
        return
    if ours.equals(theirs) or not ours.is_unique:
        return
    if theirs.is_unique and ours.isin(theirs).all():
        raise ValueError(
            f"The index of {name} has the rows of X in another order; pass {name}.loc[X.index]."
        )


def read_labels(labels: Any, n_rows: int, noise: str, name: str = "reference") -> GivenLabels:
    """Number the labels, in the order of their values.

    Parameters
    ----------
    noise : ``"ignore"`` leaves out rows that are labelled -1, NaN or None; ``"cluster"`` makes
        them the last cluster
    name : what the labels are called in messages

    Examples
    --------
    >>> read_labels(["b", "a", None, "b"], 4, "ignore")
    GivenLabels(codes=array([ 1,  0, -1,  1], dtype=int32), names=('a', 'b'))
    """
    values = plain_values(labels)
    if len(values) != n_rows:
        raise ValueError(
            f"{name} has {len(values)} labels, but X has {n_rows} rows; there must be one for each "
            "row, in their order."
        )
    distinct, names = number_labels(set(values), noise, name)
    codes = label_codes(values, distinct, noise)
    if len(names) > n_rows // 2 and len(names) > 50:
        raise ValueError(
            f"{name} has {len(names)} different labels for {n_rows} rows; pass a column of "
            "groups that rows share."
        )
    return GivenLabels(codes, names)


def number_labels(
    values: set[Any], noise: str, name: str = "reference"
) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """The labels among some values, in the order of their numbers, and the names of clusters."""
    with_noise = noise == "cluster" and any(map(is_noise, values))
    distinct = _sorted([value for value in values if not is_noise(value)])
    if len(distinct) + with_noise < 2:
        what = f"is {distinct[0]!r} for every row" if distinct else "has noise (-1 or NaN) only"
        raise ValueError(f"{name} {what}; there must be at least two different labels.")
    names = _names(distinct)
    if with_noise:
        names = (*names, _NOISE_NAME if _NOISE_NAME not in names else f"{_NOISE_NAME} (-1)")
    return tuple(distinct), names


def label_codes(values: list[Any], distinct: tuple[Any, ...], noise: str) -> NDArray[np.int32]:
    """Number of each label; noise is -1, or the number after the last."""
    number = {value: i for i, value in enumerate(distinct)}
    other = len(distinct) if noise == "cluster" else -1
    found = (other if is_noise(value) else number[value] for value in values)
    return np.fromiter(found, dtype=np.int32, count=len(values))


def plain_values(labels: Any) -> list[Any]:
    """The labels as Python values, which are equal and hash alike whatever they came in."""
    if hasattr(labels, "to_list"):  # series of pandas and polars: missing values stay what they are
        values = labels.to_list()
    elif hasattr(labels, "to_pylist"):
        values = labels.to_pylist()
    elif isinstance(labels, np.ma.MaskedArray):
        values = labels.tolist()  # None where masked
    else:
        values = list(labels)
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    for value in values:
        try:
            hash(value)
        except TypeError:
            raise ValueError(
                f"A label must be a number, a text or another hashable value; got {value!r}."
            ) from None
    return values


def is_noise(value: Any) -> bool:
    """Whether a label stands for no cluster."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, int | float) and (value == -1 or value != value)


def _sorted(values: list[Any]) -> list[Any]:
    """The distinct values, in their own order where they have one, else by type and text."""
    distinct = list(dict.fromkeys(values))
    try:
        return sorted(distinct)
    except TypeError:
        return sorted(distinct, key=lambda value: (type(value).__name__, str(value)))


def _names(values: list[Any]) -> tuple[str, ...]:
    """Texts of the labels: whole numbers without a point, and no two alike."""
    texts = [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        for value in values
    ]
    texts = [" ".join(text.split())[:200] or "(empty)" for text in texts]
    texts = [text if text.isprintable() else ascii(text) for text in texts]
    if len(set(texts)) < len(texts):
        texts = [f"{text} ({i})" for i, text in enumerate(texts)]
    return tuple(texts)
