"""The paper's statements, each with what it says in numbers, and what we see.

A statement of words has a bound here that the paper does not give; the page prints it, so that a
reader can judge. All numbers are medians over the seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SEEN, PARTLY, UNSEEN, MISSING = "seen", "in part", "not seen", "not run yet"


@dataclass(frozen=True)
class Finding:
    """Whether a statement holds, and our numbers."""

    verdict: str
    ours: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, how it is read, and what looks it up in the results."""

    place: str
    sentence: str
    reading: str
    check: Callable[..., Finding]


NOT_RUN = Finding(MISSING, "")


def by_count(
    met: dict[str, bool | None], ours: str, *, enough: int | None = None, of: int | None = None
) -> Finding:
    """Judge a statement on several things: seen if enough hold, in part if some do.

    ``met`` has None for what is not known. Nothing is said to be unseen because a cell is missing,
    nor seen before enough are known to hold.
    """
    known = {name: holds for name, holds in met.items() if holds is not None}
    if not known:
        return NOT_RUN
    total = len(met) if of is None else of
    enough = total if enough is None else enough
    held, unknown = sum(known.values()), len(met) - len(known)
    text = f"{held} of {len(known)}" + (f" ({unknown} not run yet)" if unknown else "")
    text = f"{text}: {ours}" if ours else text
    if held >= enough:
        return Finding(SEEN, text)
    if held + unknown >= enough:
        return Finding(MISSING, text)
    return Finding(PARTLY if held else MISSING if unknown else UNSEEN, text)


def by_fact(holds: bool | None, ours: str) -> Finding:
    """Judge a statement on one thing."""
    if holds is None:
        return NOT_RUN
    return Finding(SEEN if holds else UNSEEN, ours)


def below(value: float | None, bound: float) -> bool | None:
    """Compare, where the value is known."""
    return None if value is None else value <= bound


def above(value: float | None, bound: float) -> bool | None:
    """Compare, where the value is known."""
    return None if value is None else value > bound


def listed(values: dict[str, float | None], form: str = "{:.3f}") -> str:
    """Return the known values with their names."""
    return ", ".join(f"{name} {form.format(v)}" for name, v in values.items() if v is not None)
