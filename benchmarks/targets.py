"""What the package promises, set against what a run measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.tables import Table, number


@dataclass(frozen=True)
class Target:
    """One promise: what is measured, the limit, and the number measured (None: not in this run)."""

    problem: str
    what: str
    limit: float
    at_least: bool
    measured: float | None

    @property
    def verdict(self) -> str:
        """Met, missed or not measured."""
        if self.measured is None:
            return "not measured"
        met = self.measured >= self.limit if self.at_least else self.measured <= self.limit
        return "met" if met else "missed"


def target_table(targets: Iterable[Target]) -> Table:
    """The promises with their verdicts."""
    rows = [
        [
            target.problem,
            target.what,
            f"{'>=' if target.at_least else '<='} {number(target.limit)}",
            number(target.measured),
            target.verdict,
        ]
        for target in targets
    ]
    return Table(("problem", "target", "limit", "measured", "verdict"), rows)
