"""The values of one column between two thresholds."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Interval:
    """The values x with above < x <= upto."""

    above: float = -math.inf
    upto: float = math.inf

    def __and__(self, other: Interval) -> Interval:
        return Interval(max(self.above, other.above), min(self.upto, other.upto))

    def __contains__(self, x: float) -> bool:
        return self.above < x <= self.upto

    @property
    def is_empty(self) -> bool:
        """Whether no value is in it."""
        return not self.above < self.upto

    @property
    def is_all(self) -> bool:
        """Whether every value is in it."""
        return self.above == -math.inf and self.upto == math.inf

    def covers(self, other: Interval) -> bool:
        """Whether every value of ``other`` is in it."""
        return self.above <= other.above and other.upto <= self.upto


EVERYTHING = Interval()
