"""ValueSet: which values of one column lie on a side of a split, or in a box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NO_CODES: frozenset[int] = frozenset()


@dataclass(frozen=True)
class ValueSet:
    """Values of one column: an interval of numbers, a set of category codes, missing or not.

    What a split asks, and any conjunction of such questions, is a set of this form. A column of
    numbers uses the interval alone, a column of categories the codes alone.

    Parameters
    ----------
    above, upto : float
        The numbers x with above < x <= upto.
    codes : frozenset of int, optional
        The category codes that are in the set; by default all are, also codes that never occurred
        in training.
    but : frozenset of int
        The category codes that are not in the set. Empty if ``codes`` is given.
    missing : bool
        Whether missing values (NaN) are in the set.

    Examples
    --------
    >>> 2.5 in ValueSet(upto=2.5), 2.5 in ValueSet(above=2.5)
    (True, False)
    >>> ValueSet(codes=frozenset({0, 3})) & ValueSet(but=frozenset({3}))
    ValueSet(above=-inf, upto=inf, codes=frozenset({0}), but=frozenset(), missing=False)
    """

    above: float = -math.inf
    upto: float = math.inf
    codes: frozenset[int] | None = None
    but: frozenset[int] = _NO_CODES
    missing: bool = False

    def __post_init__(self) -> None:
        if self.codes is not None and self.but:
            # One form for each set, so that equal sets compare equal.
            object.__setattr__(self, "codes", self.codes - self.but)
            object.__setattr__(self, "but", _NO_CODES)

    def __and__(self, other: ValueSet) -> ValueSet:
        codes = self.codes
        if codes is None or other.codes is None:
            codes = other.codes if codes is None else codes
        else:
            codes = codes & other.codes
        return ValueSet(
            max(self.above, other.above),
            min(self.upto, other.upto),
            codes,
            self.but | other.but,
            self.missing and other.missing,
        )

    def __contains__(self, x: float) -> bool:
        return bool(self.holds(np.array([x]))[0])

    def holds(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """For each value whether it is in the set."""
        inside = (self.above < values) & (values <= self.upto)
        if self.codes is not None:
            inside &= np.isin(values, list(self.codes))
        if self.but:
            inside &= ~np.isin(values, list(self.but))
        if self.missing:
            inside |= np.isnan(values)
        return np.asarray(inside)

    @property
    def asks_codes(self) -> bool:
        """Whether the set is given by category codes."""
        return self.codes is not None or bool(self.but)

    @property
    def has_every_value(self) -> bool:
        """Whether every value that is not missing is in the set."""
        return self.above == -math.inf and self.upto == math.inf and not self.asks_codes

    @property
    def has_no_value(self) -> bool:
        """Whether nothing but missing values, if even these, can be in the set."""
        return not self.above < self.upto or self.codes == _NO_CODES

    @property
    def is_all(self) -> bool:
        """Whether every value is in the set, and missing ones too."""
        return self.has_every_value and self.missing

    @property
    def is_empty(self) -> bool:
        """Whether the set is empty."""
        return self.has_no_value and not self.missing

    def covers(self, other: ValueSet) -> bool:
        """Whether every value of ``other`` is in this set."""
        if other.missing and not self.missing:
            return False
        if other.has_no_value:
            return True
        return (
            self.above <= other.above
            and other.upto <= self.upto
            and (self.codes is None or (other.codes is not None and other.codes <= self.codes))
            and (self.but <= other.but if other.codes is None else not self.but & other.codes)
        )


EVERYTHING = ValueSet(missing=True)
