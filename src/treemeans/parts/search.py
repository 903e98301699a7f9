"""The search for the best cuts of many nodes at once, in passes over rows that stay where they are.

The first pass adds up coarse stretches. Every next one looks into those that can still hold the
best cut of a node: finer stretches, or the values themselves once few rows are left. It ends when
no stretch is left that could, so the cuts are those that a look at every value would find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from treemeans.parts.grid import finer, whole
from treemeans.parts.strips import NEVER, Place, Scan, Score, Strips
from treemeans.parts.survey import Look, Looks, Seen

BYTES = 2**25
"""Of the sums that a pass may bring back, about."""
COARSE, FEWEST = 256, 16
"""Stretches of a feature in a first look, and if there is little room."""
FINE = 64
"""Stretches that one is divided into."""
LISTED = 4096
"""Rows that are listed rather than divided once more."""

Ask = Callable[[Looks, Looks], Seen]
MakeScore = Callable[[NDArray[np.int64]], Score]


@dataclass
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
    seen = ask(Looks.of(looks), Looks.of([]))
    pieces = iter(_divided(Looks.of(looks), seen))
    for target in targets:
        target.begin({feature: next(pieces) for feature in features})
    while suspects := [suspect for target in targets for suspect in target.suspects()]:
        _look_closer(suspects, width, ask)


def _look_closer(suspects: list[Suspect], width: int, ask: Ask) -> None:
    """Divide the likeliest suspects, as many as there is room for."""
    divided, listed = list[Suspect](), list[Suspect]()
    room = BYTES
    for suspect in sorted(suspects, key=lambda suspect: suspect.bound):
        few = suspect.rows <= LISTED
        room -= _bytes_of(width) * (suspect.rows if few else FINE)
        if room < 0 and (divided or listed):
            break
        (listed if few else divided).append(suspect)
    divided.sort(key=lambda suspect: suspect.target.group)
    listed.sort(key=lambda suspect: suspect.target.group)
    looks = Looks.of(_look(suspect, finer(*suspect.ends, FINE)) for suspect in divided)
    lists = Looks.of(_look(suspect, whole(*suspect.ends)) for suspect in listed)
    seen = ask(looks, lists)
    finds: dict[tuple[int, int], dict[int, Strips]] = {}
    owners: dict[tuple[int, int], Target] = {}
    for some, strips in ((divided, _divided(looks, seen)), (listed, _listed(lists, seen))):
        for suspect, found in zip(some, strips, strict=True):
            key = id(suspect.target), suspect.feature
            owners[key] = suspect.target
            finds.setdefault(key, {})[suspect.position] = found
    for key, found_there in finds.items():
        owners[key].look_closer(key[1], found_there)


def _look(suspect: Suspect, edges: NDArray[np.float64]) -> Look:
    return Look(suspect.target.group, suspect.feature, edges)


def _divided(looks: Looks, seen: Seen) -> list[Strips]:
    """The strips of each look that was added up."""
    s = seen.stretches
    places = (looks.stretches(look) for look in range(len(looks.group)))
    return [Strips.of(s.low[place], s.high[place], s.sums[place]) for place in places]


def _listed(lists: Looks, seen: Seen) -> list[Strips]:
    """The values of each look that was listed: a look has one stretch."""
    values = seen.values
    begin = np.searchsorted(values.stretch, np.arange(len(lists.group)))
    end = np.searchsorted(values.stretch, np.arange(len(lists.group)), side="right")
    return [
        Strips(values.value[a:b], values.value[a:b], values.sums[a:b])
        for a, b in zip(begin, end, strict=True)
    ]
