"""What is fitted: the data sets, the methods, their grids, and the cases of them all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from benchmarks.methods import METHODS as ALL_METHODS
from benchmarks.methods import OTHER_PACKAGES
from benchmarks.problems import PROBLEMS, SPEED_ONLY

# No import of treemeans here: processes of other packages read this file too.
NAMES = tuple(name for name in PROBLEMS if name not in SPEED_ONLY)
SMALL = ("iris", "wine", "breast_cancer", "digits", "mice_protein", "anuran")
LARGE = ("avila", "covtype", "20newsgroups", "cifar10")
REAL = (*SMALL, *LARGE)
# The paper could run CLTree and CUBT on its small sets alone; ours go on to the next larger one.
GRIDDED = (*SMALL, "avila")
# The paper times "seven real datasets" and does not name them: these are the largest.
TIMED = ("digits", "mice_protein", "anuran", *LARGE)
# Examples of the paper that are no rows of its table: the trees of four newsgroups, and its
# Figure 1 in the plane.
WORDS, PLANE = "20newsgroups4", "plane"
QUICK = ("iris", "wine", "breast_cancer", "digits", "mice_protein", "avila", "synthetic_1")

TITLES = {
    "iris": "Iris",
    "wine": "Wine",
    "breast_cancer": "Breast Cancer",
    "digits": "Digits",
    "mice_protein": "Mice Protein",
    "anuran": "Anuran",
    "avila": "Avila",
    "covtype": "Covtype",
    "20newsgroups": "20newsgroups",
    "cifar10": "CIFAR-10",
    "synthetic_1": "Synthetic I",
    "synthetic_2": "Synthetic II",
    WORDS: "four newsgroups",
    PLANE: "the plane",
}
METHODS = {
    name: ALL_METHODS[name].title
    for name in ("imm", "exkmc", "exkmc_imm", "cart", "kdtree", "cltree", "cubt")
}
PEERS = {name: ALL_METHODS[name].title for name in OTHER_PACKAGES}
# Other ways in which CUBT may join its leaves; no lines of the plots.
JOINS = {"cubt_ratio": "CUBT (join: ratio)", "cubt_dissimilarity": "CUBT (join: dissimilarity)"}
# What is no line of the plots: sizes, times, a tree of n leaves, the examples, other joinings.
EXTRAS = ("size", "time", "whole", "words", "regions", *JOINS)
# Methods that look at the number of leaves from the start: a case for each.
EACH_SIZE = ("kdtree",)

# The grids of the paper's appendix.
MIN_SPLIT = (10, 20, 30, 50, 100, 200, 500, 1000, 1500, 2000)
MIN_Y = (0.1, 0.2, 0.3, 0.4, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)
MIN_RD = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 50)
MINSIZE = (5, 10, 15)
MINDEV = (0.001, 0.7, 0.9)
MINDIST = (0.3, 0.5)
ALPHA = (0.2, 0.4, 0.6)

SEEDS = (0, 1, 2, 3, 4)
# Leaves of the largest tree, in k: beyond the paper's 4 k, and 30 k for CIFAR-10.
MOST, MOST_QUICK = 5, 4
FURTHER = {"cifar10": 30}
# The times are those of trees with 2 k leaves.
TIMED_SIZE = 2


@dataclass(frozen=True, order=True)
class Case:
    """One result.

    ``leaves`` is the most leaves of the tree; where one fit holds the smaller trees too, the case
    has a row for each of them.
    """

    data: str
    method: str
    setting: str
    seed: int
    leaves: int

    @property
    def task(self) -> str:
        """What the cases that one process fits have in common; the name of their file."""
        return "/".join((self.data, self.method, self.setting or "fits"))

    def option(self, name: str) -> float:
        """Return a number of the setting, as in ``min_split=10``."""
        return float(dict(part.split("=") for part in self.setting.split(","))[name])


EXAMPLES = (Case(WORDS, "words", "", 0, 8), Case(PLANE, "regions", "", 0, 300))


@dataclass(frozen=True)
class Plan:
    """What a run is asked for."""

    data: tuple[str, ...] = (*NAMES, WORDS, PLANE)
    methods: tuple[str, ...] = (*METHODS, *EXTRAS)
    seeds: tuple[int, ...] = SEEDS
    quick: bool = False

    def most(self, data: str) -> int:
        """Return the leaves of the largest tree on a data set."""
        k = PROBLEMS[data].k
        return k * (MOST_QUICK if self.quick else FURTHER.get(data, MOST))

    def cases(self) -> list[Case]:
        """Return all cases, data set by data set, quick ones first in each."""
        return [case for data in self.data for case in self._cases_of(data)]

    def _cases_of(self, data: str) -> Iterator[Case]:
        for example in EXAMPLES:
            if example.data == data and example.method in self.methods:
                yield example
        if data not in NAMES:
            return
        for method in self.methods:
            for setting in self._settings(data, method):
                for seed in self._seeds(method):
                    for leaves in self._leaves(data, method):
                        yield Case(data, method, setting, seed, leaves)

    def _seeds(self, method: str) -> tuple[int, ...]:
        if method in ("size", "time", "whole"):
            return (0,)
        return self.seeds[:1] if method in PEERS else self.seeds

    def _settings(self, data: str, method: str) -> Iterator[str]:
        if method in ("words", "regions") or (method in JOINS and self.quick):
            return
        if method in ("whole", *JOINS, *PEERS) and data not in SMALL:
            return
        if method in ("cltree", "cubt") and data not in (SMALL if self.quick else GRIDDED):
            return
        if method == "cltree":
            yield from (f"min_split={value}" for value in _some(MIN_SPLIT, self.quick, 3))
        elif method in ("cubt", *JOINS):
            for minsize, mindev in product(MINSIZE, MINDEV):
                if not self.quick or (minsize, mindev) in ((5, 0.001), (15, 0.001), (5, 0.7)):
                    yield f"minsize={minsize},mindev={mindev}"
        elif method == "time":
            if data in TIMED:
                yield from (f"threads={threads}" for threads in processes())
        else:
            yield ""

    def _leaves(self, data: str, method: str) -> tuple[int, ...]:
        k = PROBLEMS[data].k
        if method == "size":
            return (0,)
        if method == "time":
            return (TIMED_SIZE * k,)
        if method == "whole":
            from treemeans.datasets import TABLE

            return (TABLE[data].n,)
        if method in ("imm", "shallow"):  # a leaf for each center
            return (k,)
        if method in (*EACH_SIZE, *PEERS):
            coarse = self.quick or method in PEERS
            return coarse_sizes(k) if coarse else sizes(k, self.most(data))
        return (self.most(data),)


def processes() -> tuple[int, ...]:
    """Return the numbers of processes that are timed: one, and as many as there are, up to four."""
    cores = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, 4)
    return (1, cores) if cores > 1 else (1,)


def sizes(k: int, most: int) -> tuple[int, ...]:
    """Return numbers of leaves from k to most: all up to 2 k, then steps of k / 5, then of 2 k."""
    fine = range(k, 2 * k + 1)
    middle = range(2 * k, 5 * k + 1, max(1, k // 5))
    far = range(5 * k, most + 1, 2 * k)
    told = (2 * k, 3 * k, round(3.5 * k), 4 * k, 5 * k, most)
    return tuple(sorted(size for size in {*fine, *middle, *far, *told} if k <= size <= most))


def coarse_sizes(k: int) -> tuple[int, ...]:
    """Return the few numbers of leaves of a quick run."""
    return tuple(sorted({k, round(1.5 * k), 2 * k, 3 * k, 4 * k}))


def _some(values: tuple[int, ...], few: bool, step: int) -> tuple[int, ...]:
    return values[::step] if few else values
