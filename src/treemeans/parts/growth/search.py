"""The search for the best cuts of many nodes at once, in passes over rows that stay where they are.

The first pass adds up coarse stretches. Every next one looks into those that can still hold the
best cut of a node: finer stretches, or the values themselves once few rows are left. It ends when
no stretch is left that could, so the cuts are those that a look at every value would find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemeans.parts.growth.grid import finer, whole
from treemeans.parts.growth.strips import NEVER, Place, Scan, Score, Strips
from treemeans.parts.growth.survey import Look, Looks, Seen

BYTES = 2**25
"""Of the sums that a pass may bring back, about."""
COARSE, FEWEST = 256, 16
"""Stretches of a feature in a first look, and if there is little room."""
FINE, FINEST = 64, 4096
"""Stretches that one is divided into, and if there is much room."""
LISTED = 4096
"""Rows that are listed rather than divided once more."""

Ask = Callable[[Looks, Looks], Seen]
MakeScore = Callable[[NDArray[np.int64]], Score]


@dataclass(eq=False)
class Target:
    """A node that is to be cut.

    Attributes
    ----------
    group : of its rows
    edges : for each feature that may be cut, the upper ends of the first stretches
    score : what is wanted, told by the sums of all its lines
    sums : those sums, once they are known
    """

    group: int
    edges: Callable[[int, int], NDArray[np.float64]]
    make_score: MakeScore
    strips: dict[int, Strips] = field(default_factory=dict)
    scans: dict[int, Scan | None] = field(default_factory=dict)
    score: Score | None = None
    sums: NDArray[np.int64] | None = None

    def begin(self, strips: dict[int, Strips]) -> None:
        """The first look has returned."""
        self.strips = strips
        self.sums = next(iter(strips.values())).sums.sum(axis=0)
        self.score = self.make_score(self.sums)
        self.scans = {feature: self.score.scan(feature, s) for feature, s in strips.items()}

    def look_closer(self, feature: int, finer: dict[int, Strips]) -> None:
        """Some strips of a feature have been divided."""
        assert self.score is not None
        for position, found in finer.items():
            _check_same(self.strips[feature].sums[position], found)
        self.strips[feature] = self.strips[feature].replaced(finer)
        self.scans[feature] = self.score.scan(feature, self.strips[feature])

    @property
    def best(self) -> Place | None:
        """The best cut so far."""
        places = (scan.best(feature) for feature, scan in self.scans.items() if scan is not None)
        return min((place for place in places if place is not None), default=None)

    def suspects(self) -> list[Suspect]:
        """Strips that may hold a better cut, or as good a one that comes before."""
        best = self.best
        found = []
        for feature, scan in self.scans.items():
            if scan is None:
                continue
            if best is None:
                hopeful = scan.bound < NEVER
            else:
                hopeful = scan.bound < best.cost
                if feature <= best.feature:
                    earlier = feature < best.feature or self.strips[feature].low < best.at
                    hopeful |= (scan.bound == best.cost) & earlier
            found += [
                Suspect(int(scan.bound[position]), self, feature, position)
                for position in np.flatnonzero(hopeful).tolist()
            ]
        return found


def _check_same(sums: NDArray[np.int64], found: Strips) -> None:
    """A closer look shows the same rows."""
    if not np.array_equal(found.sums.sum(axis=0), sums):
        raise ValueError(
            "The rows are not the same in every pass over them; keep them still, for example with "
            "X.persist(), or write them to a file first."
        )


@dataclass(frozen=True)
class Suspect:
    """A strip that may hold the best cut of a node; no cut inside costs less than ``bound``."""

    bound: int
    target: Target
    feature: int
    position: int

    @property
    def rows(self) -> int:
        """Rows in it."""
        return int(self.target.strips[self.feature].rows[self.position])

    @property
    def ends(self) -> tuple[float, float]:
        """Its least and greatest value."""
        strips = self.target.strips[self.feature]
        return float(strips.low[self.position]), float(strips.high[self.position])


def find_cuts(targets: list[Target], features: list[int], width: int, ask: Ask) -> None:
    """Find the ``best`` cut of every target.

    ``width``: numbers in a line. Targets are asked about together, as many as there is room for.
    """
    least = len(features) * FEWEST * _bytes_of(width)
    together = max(1, BYTES // max(least, 1))
    for at in range(0, len(targets), together):
        _find_together(targets[at : at + together], features, width, ask)


def _bytes_of(width: int) -> int:
    """A stretch: its sums and its ends."""
    return 8 * (width + 2)


def _find_together(targets: list[Target], features: list[int], width: int, ask: Ask) -> None:
    room = BYTES // (_bytes_of(width) * len(targets) * len(features))
    n_stretches = min(COARSE, max(FEWEST, room))
    looks = [
        Look(target.group, feature, target.edges(feature, n_stretches))
        for target in targets
        for feature in features
    ]
    together = Looks.of(looks)
    cut_out = _stretches(ask(together, Looks.of([])))
    pieces = iter(cut_out(*together.stretches(look)) for look in range(len(looks)))
    for target in targets:
        target.begin({feature: next(pieces) for feature in features})
    while suspects := [suspect for target in targets for suspect in target.suspects()]:
        _look_closer(suspects, width, ask)


def _look_closer(suspects: list[Suspect], width: int, ask: Ask) -> None:
    """Divide the likeliest suspects, as many as there is room for."""
    suspects = _likeliest(suspects, width)
    listed = [suspect for suspect in suspects if suspect.rows <= LISTED]
    divided = [suspect for suspect in suspects if suspect.rows > LISTED]
    room = BYTES // (_bytes_of(width) * max(len(divided), 1))
    n_stretches = min(max(FINE, room), FINEST)
    finely = _Close.at(divided, lambda low, high: finer(low, high, n_stretches))
    singly = _Close.at(listed, whole)
    seen = ask(finely.looks, singly.looks)
    found = finely.strips(_stretches(seen)) + singly.strips(_values(seen))
    for (target, feature), strips in _by_feature(found).items():
        target.look_closer(feature, strips)


def _likeliest(suspects: list[Suspect], width: int) -> list[Suspect]:
    """Those of the lowest bounds that there is room for; in the order of groups and features."""
    suspects = sorted(suspects, key=lambda suspect: suspect.bound)
    sizes = [suspect.rows if suspect.rows <= LISTED else FINE for suspect in suspects]
    fitting = int(np.searchsorted(np.cumsum(sizes), BYTES // _bytes_of(width), side="right"))
    return sorted(
        suspects[: max(fitting, 1)], key=lambda s: (s.target.group, s.feature, s.position)
    )


@dataclass(frozen=True)
class _Close:
    """Looks into suspects: one for all of a node and feature, what lies between them left out.

    ``first``, ``last``: of each suspect's stretches among those of all looks.
    """

    suspects: list[Suspect]
    looks: Looks
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    @classmethod
    def at(
        cls, suspects: list[Suspect], divide: Callable[[float, float], NDArray[np.float64]]
    ) -> Self:
        looks, first, last = list[Look](), list[int](), list[int]()
        n = 0
        for (group, feature), some in groupby(suspects, lambda s: (s.target.group, s.feature)):
            edges = [divide(*suspect.ends) for suspect in some]
            wanted = np.concatenate([np.append(np.ones(len(e) - 1), 0) for e in edges])[:-1]
            looks.append(Look(group, feature, np.concatenate(edges), wanted.astype(np.uint8)))
            for some_edges in edges:
                first.append(n)
                last.append(n + len(some_edges) - 1)
                n += len(some_edges)
            n -= 1
        return cls(suspects, Looks.of(looks), np.array(first), np.array(last))

    def strips(self, cut_out: Callable[[int, int], Strips]) -> list[tuple[Suspect, Strips]]:
        """What was found in each suspect; ``cut_out`` takes it from the answer."""
        places = zip(self.first.tolist(), self.last.tolist(), strict=True)
        return [
            (suspect, cut_out(*place)) for suspect, place in zip(self.suspects, places, strict=True)
        ]


def _by_feature(
    found: list[tuple[Suspect, Strips]],
) -> dict[tuple[Target, int], dict[int, Strips]]:
    """By target and feature, then by the position of the strip that they replace."""
    sorted_out: dict[tuple[Target, int], dict[int, Strips]] = {}
    for suspect, strips in found:
        sorted_out.setdefault((suspect.target, suspect.feature), {})[suspect.position] = strips
    return sorted_out


def _stretches(seen: Seen) -> Callable[[int, int], Strips]:
    """Takes some stretches from what was added up."""
    all_ = seen.stretches
    return lambda a, b: Strips.of(all_.low[a:b], all_.high[a:b], all_.sums[a:b])


def _values(seen: Seen) -> Callable[[int, int], Strips]:
    """Takes the values in some stretches from what was listed."""
    values = seen.values

    def cut_out(first: int, last: int) -> Strips:
        a, b = np.searchsorted(values.stretch, (first, last))
        return Strips(values.value[a:b], values.value[a:b], values.sums[a:b])

    return cut_out
