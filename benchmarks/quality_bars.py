"""What the package promises of its trees' cost, set against what a run measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from bars import Bar
from fits import Fit, fingerprint
from reference import Reference

SEVEN = (
    *("digits", "mice_protein", "anuran", "avila"),
    *("20newsgroups", "covtype", "synthetic_2"),
)
SEARCH_OF_IMM = 0.5
KMEANS_TIMES = 10.0
LEAST_SECONDS = 5.0
LOCAL_OF_FIT = 3.0
# Costs that differ by less are the same but for the order of a sum.
SAME = 1e-9

Place = tuple[str, int, int]
"""Problem, seed and size (in k)."""


@dataclass(frozen=True)
class Results:
    """What was asked for, and what is known of it."""

    problems: tuple[str, ...]
    seeds: tuple[int, ...]
    methods: tuple[str, ...]
    sizes: tuple[int, ...]
    fits: dict[tuple[Place, str], Fit]
    references: dict[tuple[str, int], Reference]

    def excess(self, place: Place, method: str) -> float | None:
        """Return cost / cost of the reference - 1."""
        fit = self.fits.get((place, method))
        return None if fit is None else fit.excess.get(str(place[2]))

    def seconds(self, place: Place, method: str) -> float | None:
        """Return the processor time of the fit, which waiting for a busy machine does not raise."""
        fit = self.fits.get((place, method))
        return None if fit is None else fit.cpu_seconds

    def kmeans_seconds(self, problem: str, seed: int) -> float | None:
        """Return the processor time of the reference."""
        known = self.references.get((problem, seed))
        return None if known is None else known.cpu_seconds

    def places(self, problems: tuple[str, ...] | None = None) -> Iterator[Place]:
        """Yield every problem, seed and size asked for."""
        for problem in self.problems:
            if problems is None or problem in problems:
                yield from ((problem, seed, size) for seed in self.seeds for size in self.sizes)

    def of_another_version(self) -> int:
        """Return how many of the fits come from other code than is installed now."""
        return sum(fit.package != fingerprint() for fit in self.fits.values())


def bars_of(results: Results) -> list[Bar]:
    """Return the promises, with what was measured."""
    ratio = ratio_of_means(results, SEVEN)
    share, slower = largest(results, search_share), largest(results, local_share)
    return [
        Bar("the seven", "search / IMM, ratio of the mean excesses", SEARCH_OF_IMM, False, ratio),
        Bar("all", "cells where search costs more than IMM", 0.0, False, _worse(results, "search")),
        Bar("all", "search s / max(10 KMeans s, 5 s), largest", 1.0, False, share),
        Bar("all", "cells where local costs more than IMM", 0.0, False, _worse(results, "local")),
        Bar("all", "local s / unrefined fit s, largest", LOCAL_OF_FIT, False, slower),
    ]


def ratio_of_means(results: Results, problems: tuple[str, ...]) -> float | None:
    """Return the mean excess of the search over that of IMM, over the cells that have both."""
    search = pairs(results, "search", problems)
    whole = sum(imm for _, imm in search)
    return sum(ours for ours, _ in search) / whole if whole > SAME else None


def mean_of_ratios(results: Results) -> float | None:
    """Return the mean over the cells of search / IMM, where IMM costs more than the reference."""
    ratios = [ours / imm for ours, imm in pairs(results, "search", SEVEN) if imm > SAME]
    return float(np.mean(ratios)) if ratios else None


def missing(results: Results) -> int:
    """Return how many cells that the promises speak of are not known, for what was asked for."""
    wanted = [(place, m) for place in results.places() for m in ("imm", "local", "search")]
    return sum(results.excess(place, method) is None for place, method in wanted)


def pairs(
    results: Results, method: str, problems: tuple[str, ...] | None = None
) -> list[tuple[float, float]]:
    """Return the excess of a method and of IMM, for every cell that has both."""
    both = [(results.excess(p, method), results.excess(p, "imm")) for p in results.places(problems)]
    return [(ours, imm) for ours, imm in both if ours is not None and imm is not None]


def worse_than_imm(results: Results, method: str) -> list[Place]:
    """Return the cells where a method costs more than IMM."""
    found = []
    for place in results.places():
        ours, imm = results.excess(place, method), results.excess(place, "imm")
        if ours is not None and imm is not None and ours > imm + SAME:
            found.append(place)
    return found


def allowed_seconds(results: Results, problem: str, seed: int) -> float | None:
    """Return what the search may take."""
    kmeans = results.kmeans_seconds(problem, seed)
    return None if kmeans is None else max(KMEANS_TIMES * kmeans, LEAST_SECONDS)


def search_share(results: Results, place: Place) -> float | None:
    """Return the time of the search over what it may take."""
    took, allowed = results.seconds(place, "search"), allowed_seconds(results, *place[:2])
    return None if took is None or allowed is None else took / allowed


def local_share(results: Results, place: Place) -> float | None:
    """Return the time of the local refinement's whole fit over that of the unrefined one."""
    took, plain = results.seconds(place, "local"), results.seconds(place, "imm")
    return None if took is None or plain is None else took / plain


def largest(
    results: Results,
    share: Callable[[Results, Place], float | None],
    problems: tuple[str, ...] | None = None,
) -> float | None:
    """Return the largest share of all cells that have one."""
    shares = [share(results, place) for place in results.places(problems)]
    return max((value for value in shares if value is not None), default=None)


def _worse(results: Results, method: str) -> float | None:
    """Count the cells where a method costs more than IMM; None if no cell has both."""
    return float(len(worse_than_imm(results, method))) if pairs(results, method) else None
