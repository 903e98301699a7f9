"""Split: which way a row goes at an inner node of a tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.value_set import ValueSet


@dataclass(frozen=True)
class Split:
    """The question an inner node of a tree asks of one column.

    There are two kinds. A threshold sends values up to it left and larger ones right. A set of
    categories sends the codes in it left and all others right, codes that never occurred in
    training among them. Either kind may send missing values (NaN) to one of the sides. A threshold
    of infinity asks only whether there is a value: all values go left and missing ones right, or
    with minus infinity the other way round.

    Parameters
    ----------
    feature : int
        Number of the column.
    threshold : float
        NaN for a set of categories.
    missing_left : bool, optional
        Whether missing values go left; None if the split does not accept them.
    categories : tuple of int
        Category codes that go left, ascending; empty for a threshold.

    Examples
    --------
    >>> Split(0, 2.5, missing_left=True).goes_left(np.array([2.5, 3.0, np.nan])).tolist()
    [True, False, True]
    >>> Split(0, categories=(1, 4)).goes_left(np.array([1.0, 2.0, 99.0])).tolist()
    [True, False, False]
    """

    feature: int
    threshold: float = math.nan
    missing_left: bool | None = None
    categories: tuple[int, ...] = ()

    def goes_left(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """For each value of the column whether it goes left.

        Raises
        ------
        ValueError
            If a value is missing and the split has no side for it.
        """
        if not self.accepts(values).all():
            raise ValueError(f"The split on column {self.feature} has no side for missing values.")
        return self.left.holds(values)

    def accepts(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """For each value of the column whether the split has a side for it."""
        missing = np.isnan(values)
        return ~missing if self.missing_left is None else np.ones(missing.shape, dtype=bool)

    @property
    def is_categorical(self) -> bool:
        """Whether the split asks for a set of categories."""
        return len(self.categories) > 0

    @property
    def left(self) -> ValueSet:
        """The values that go left."""
        missing = self.missing_left is True
        if self.is_categorical:
            return ValueSet(codes=frozenset(self.categories), missing=missing)
        return ValueSet(upto=self.threshold, missing=missing)

    @property
    def right(self) -> ValueSet:
        """The values that go right."""
        missing = self.missing_left is False
        if self.is_categorical:
            return ValueSet(but=frozenset(self.categories), missing=missing)
        return ValueSet(above=self.threshold, missing=missing)


def split_arrays(
    missing_left: Sequence[bool | None], categories: Sequence[tuple[int, ...]]
) -> dict[str, Any]:
    """Sides of missing values and categories of nodes, as the flat arrays of a tree."""
    return {
        "missing_left": np.array([-1 if side is None else int(side) for side in missing_left]),
        "category_first": np.cumsum([0, *(len(codes) for codes in categories)]),
        "category_codes": np.array([code for codes in categories for code in codes], dtype=int),
    }
