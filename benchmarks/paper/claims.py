"""The paper's statements: what it says, how that is read in numbers, and how it is judged.

A statement of words has a bound here that the paper does not give. The same words have the same
bound in every statement (``WORDS_MEAN``), and the page prints them, so that a reader can judge.
All numbers are medians over the seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SEEN, BETTER, PARTLY, UNSEEN = "seen", "better than stated", "in part", "not seen"
MISSING, UNJUDGED = "not run yet", "not judged"

# What words mean here, in cost ratios.
CONVERGED, WELL, COMPETITIVE, HIGH, HIGH_FIRST, SAME = 1.02, 1.05, 1.10, 1.10, 1.30, 1e-3
WORDS_MEAN = (
    (f"converges, matches, nearly the same, goes to 1.0, 1-2 %: a ratio of at most {CONVERGED}"),
    (f"performs well, near-optimal: at most {WELL} at 4 k leaves"),
    ("competitive: at most 10 % above ExKMC (base: IMM) at 4 k leaves; on CIFAR-10, see below"),
    (f"high: above {HIGH} at 4 k leaves; at k leaves, above {HIGH_FIRST}"),
    ("quickly decreases: the excess over the reference at 4 k leaves is below half of that at k"),
    (f"the same, lowest, matches exactly: to {SAME}"),
    ("some: at least two; often, many: at least half; most, usually, in general: more than half"),
)


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
