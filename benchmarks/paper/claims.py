"""The paper's statements: what it says, how that is read in numbers, and how it is judged.

A statement of words has a bound here that the paper does not give. The same words have the same
bound in every statement, and the page lists them, so that a reader can judge.
All numbers are medians over the seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SEEN, BETTER, PARTLY, UNSEEN = "seen", "better than stated", "in part", "not seen"
MISSING, UNJUDGED = "not run yet", "not judged"

# What words mean here, in cost ratios; RESULTS.md says the same to a reader.
CONVERGED = 1.02  # at most: converges, matches, nearly the same
WELL = 1.05  # at most, at 4 k leaves: performs well, near-optimal
COMPETITIVE = 1.10  # at most, to ExKMC (base: IMM) at 4 k leaves
HIGH, HIGH_FIRST = 1.10, 1.30  # above, at 4 k leaves and at k leaves
SAME = 1e-3  # to this: the same, lowest, matches exactly


@dataclass(frozen=True)
class Finding:
    """Whether a statement holds, and our numbers."""

    verdict: str
    ours: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, how it is read, what looks it up, and why we may differ."""

    place: str
    sentence: str
    reading: str
    check: Callable[..., Finding]
    why: str = ""


NOT_RUN = Finding(MISSING, "")


def by_count(met: dict[str, bool | None], ours: str, *, enough: int | None = None) -> Finding:
    """Judge a statement on several things: seen if enough hold, in part if some do.

    ``met`` has None for what is not known. Nothing is said to be unseen because a fit is missing,
    nor seen before enough are known to hold.
    """
    known = {name: holds for name, holds in met.items() if holds is not None}
    if not known:
        return NOT_RUN
    enough = len(met) if enough is None else enough
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


def half(things: object) -> int:
    """Return how many are at least half."""
    return -(-len(things) // 2)  # type: ignore[arg-type]


def most(things: object) -> int:
    """Return how many are more than half."""
    return len(things) // 2 + 1  # type: ignore[arg-type]


def below(value: float | None, bound: float | None) -> bool | None:
    """Compare, where both are known."""
    return None if value is None or bound is None else value <= bound


def above(value: float | None, bound: float | None) -> bool | None:
    """Compare, where both are known."""
    return None if value is None or bound is None else value > bound


def listed(values: dict[str, float | None], form: str = "{:.3f}") -> str:
    """Return the known values with their names."""
    return ", ".join(f"{name} {form.format(v)}" for name, v in values.items() if v is not None)
