"""What the trees cost, method by method: k, 2 k and 4 k leaves, five seeds of the reference."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks import runner
from benchmarks.command_line import names, parser
from benchmarks.measure import measure, once
from benchmarks.methods import METHODS, OTHER_PACKAGES
from benchmarks.pages import Summary, machine, show
from benchmarks.problems import PROBLEMS, SPEED_ONLY, kmeans_cost, reference
from benchmarks.runner import Task
from benchmarks.tables import Table, number
from benchmarks.targets import Target, target_table

NAMES = tuple(name for name in PROBLEMS if name not in SPEED_ONLY)
SIZES = (1, 2, 4)  # numbers of leaves, in k
SEEDS = (0, 1, 2, 3, 4)
LISTED = ("cart", *(name for name in METHODS if name.startswith("exkmc")), "local", "search")
SEVEN = (
    *("digits", "mice_protein", "anuran", "avila"),
    *("20newsgroups", "covtype", "synthetic_2"),
)
BRIEF, REPEATS = 1.0, 5  # a fit below so many seconds is timed as the best of several
SAME = 1e-9  # excesses that differ by less are the same but for the order of a sum
SAME_COST = 1e-6  # stated and recomputed cost add the same squares in another order

Place = tuple[str, int, int]  # problem, seed and size (in k)


def measure_fit(problem: str, method: str, seed: int, sizes: list[int]) -> dict[str, Any]:
    """Time a fit on one thread, and price the labels of its trees of each size."""
    X, known, k = PROBLEMS[problem].load(), reference(problem, seed), PROBLEMS[problem].k
    adapter, leaves = METHODS[method], max(sizes) * PROBLEMS[problem].k

    def fit() -> Any:
        return adapter.fit(X, known, leaves, seed)

    run = once(fit)
    if run.seconds <= BRIEF:
        run = min(run, measure(fit, REPEATS - 1), key=lambda each: each.seconds)
    excess = {}
    for size in sorted(sizes):
        labels = adapter.labels(run.result, X, size * k)
        if labels is not None:
            cost = kmeans_cost(X, labels)
            excess[str(size)] = cost / known.inertia - 1.0
    stated = getattr(run.result, "inertia_", cost)
    if abs(stated - cost) > SAME_COST * max(cost, stated):
        raise ValueError(f"the model states a cost of {stated:.9g}, its labels cost {cost:.9g}")
    return {"cpu_seconds": run.cpu_seconds, "excess": excess}


def tasks(plan: Plan) -> list[Task]:
    """The references, then the fits; a method whose fit holds smaller trees needs only one."""
    found = []
    for problem in plan.problems:
        for seed in plan.seeds:
            arguments: dict[str, Any] = {"name": problem, "seed": seed}
            function = "benchmarks.problems:prepare_reference"
            found.append(Task(f"{problem}/kmeans-seed{seed}", function, arguments))
            for method in plan.methods:
                for sizes in [SIZES] if METHODS[method].nested else [(s,) for s in plan.sizes]:
                    key = f"{problem}/{method}-seed{seed}-{max(sizes)}k"
                    arguments = {"problem": problem, "method": method, "seed": seed}
                    arguments["sizes"] = list(sizes)
                    found.append(Task(key, "benchmarks.quality:measure_fit", arguments))
    return found


@dataclass(frozen=True)
class Plan:
    """What is asked for."""

    problems: tuple[str, ...]
    seeds: tuple[int, ...]
    methods: tuple[str, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Results:
    """What was asked for, and what is known of it."""

    plan: Plan
    kept: dict[str, dict[str, Any]]  # by key of the task

    def fit(self, place: Place, method: str) -> dict[str, Any]:
        """What is known of the fit that has a tree."""
        problem, seed, size = place
        largest = max(SIZES) if METHODS[method].nested else size
        return self.kept.get(f"{problem}/{method}-seed{seed}-{largest}k", {})

    def excess(self, place: Place, method: str) -> float | None:
        """Cost / cost of the reference - 1."""
        return self.fit(place, method).get("excess", {}).get(str(place[2]))

    def seconds(self, place: Place, method: str) -> float | None:
        """Processor time of the fit, which waiting for a busy machine does not raise."""
        return self.fit(place, method).get("cpu_seconds")

    def kmeans_seconds(self, problem: str, seed: int) -> float | None:
        """Processor time of the reference."""
        return self.kept.get(f"{problem}/kmeans-seed{seed}", {}).get("cpu_seconds")

    def allowed_seconds(self, problem: str, seed: int) -> float | None:
        """What the search may take: ten times the k-means, and at least five seconds."""
        kmeans = self.kmeans_seconds(problem, seed)
        return None if kmeans is None else max(10.0 * kmeans, 5.0)

    def search_share(self, place: Place) -> float | None:
        """Time of the search over what it may take."""
        return _ratio(self.seconds(place, "search"), self.allowed_seconds(*place[:2]))

    def local_share(self, place: Place) -> float | None:
        """Time of the local refinement's whole fit over that of the unrefined one."""
        return _ratio(self.seconds(place, "local"), self.seconds(place, "exkmc_imm"))

    def places(self, problems: Iterable[str] | None = None) -> Iterator[Place]:
        """Every problem, seed and size asked for."""
        for problem in self.plan.problems:
            if problems is None or problem in problems:
                for seed in self.plan.seeds:
                    yield from ((problem, seed, size) for size in self.plan.sizes)

    def only(self, **changes: Any) -> Results:
        """The same results, for a part of the plan."""
        return replace(self, plan=replace(self.plan, **changes))

    def over_seeds(self, problem: str, size: int, method: str) -> list[float]:
        """The excess of a method for every seed that has one."""
        found = [self.excess((problem, seed, size), method) for seed in self.plan.seeds]
        return [value for value in found if value is not None]

    def pairs(self, method: str, problems: Sequence[str] | None = None) -> list[tuple[float, ...]]:
        """The excess of a method and of IMM, for every place that has both."""
        places = self.places(problems)
        both = [(self.excess(p, method), self.excess(p, "exkmc_imm")) for p in places]
        return [(ours, imm) for ours, imm in both if ours is not None and imm is not None]

    def ratio_of_means(self, problems: Sequence[str]) -> float | None:
        """Mean excess of the search over that of IMM."""
        pairs = self.pairs("search", problems)
        whole = sum(imm for _, imm in pairs)
        return sum(ours for ours, _ in pairs) / whole if whole > SAME else None

    def worse_than_imm(self, method: str) -> float | None:
        """Number of places where a method costs more than IMM; None if no place has both."""
        pairs = self.pairs(method)
        return float(sum(ours > imm + SAME for ours, imm in pairs)) if pairs else None

    def largest(self, share: Callable[[Place], float | None]) -> float | None:
        """The largest share of all places that have one."""
        shares = [share(place) for place in self.places()]
        return max((value for value in shares if value is not None), default=None)

    def mean_seconds(self, method: str) -> float | None:
        """Mean time of a method over all places."""
        return _mean(self.seconds(place, method) for place in self.places())


# Tables


def summary(results: Results, about: str) -> Summary:
    """The tables of the page."""
    search = [ours / imm for ours, imm in results.pairs("search", SEVEN) if imm > SAME]
    # Synthetic II alone has more than two thirds of IMM's mean excess.
    others = tuple(name for name in SEVEN if name != "synthetic_2")
    wanted = [(place, m) for place in results.places() for m in ("exkmc_imm", "local", "search")]
    missing = sum(results.excess(place, method) is None for place, method in wanted)
    notes = [
        f"- Mean over the single fits of search / IMM: {number(_mean(search))}.",
        f"- Ratio of the means without synthetic_2: {number(results.ratio_of_means(others))}.",
        f"- Fits of IMM, local and search not measured: {missing}.",
    ]
    tables = {
        "search": _searches(results),
        "excess": _excesses(results),
        "excess over IMM": _ratios(results),
        "times of the refinements": _refinement_times(results),
        "times": _times(results),
        "targets": target_table(_targets(results)),
    }
    return Summary(tables, {"machine": about, "notes": "\n".join(notes)})


def _titles(methods: Iterable[str]) -> list[str]:
    short = {"exkmc": "none", "exkmc_imm": "IMM"}
    return [short.get(method, METHODS[method].title) for method in methods]


def _lines(results: Results) -> Iterator[tuple[str, int, list[str]]]:
    for problem in results.plan.problems:
        for size in results.plan.sizes:
            yield problem, size, [problem, str(size * PROBLEMS[problem].k)]


def _searches(results: Results) -> Table:
    """IMM and its refinements over the same seeds of the reference."""
    methods, rows = ("exkmc_imm", "local", "search"), []
    for problem, size, begin in _lines(results):
        places = [(problem, seed, size) for seed in results.plan.seeds]
        known = [p for p in places if all(results.excess(p, m) is not None for m in methods)]
        if known:
            seeds = tuple(seed for _, seed, _ in known)
            here = results.only(problems=(problem,), seeds=seeds, sizes=(size,))
            costs = [_spread(here.over_seeds(problem, size, method)) for method in methods]
            last = (_to_imm(here, problem, size, "search"), here.mean_seconds("search"))
            rows.append([*begin, str(len(seeds)), *costs, *map(number, last)])
    head = ("data", "leaves", "seeds", "IMM", "IMM, local", "IMM, search")
    return Table((*head, "search / IMM", "search s"), rows)


def _excesses(results: Results) -> Table:
    methods = results.plan.methods
    rows = [
        [*begin, *(_spread(results.over_seeds(problem, size, m)) for m in methods)]
        for problem, size, begin in _lines(results)
    ]
    seven = [name for name in SEVEN if name in results.plan.problems]
    for size in results.plan.sizes if len(seven) > 1 else ():
        means = [_mean_of_means(results, seven, size, method) for method in methods]
        rows.append([f"mean of {len(seven)}", f"{size} k", *means])
    return Table(("data", "leaves", *_titles(methods)), rows)


def _ratios(results: Results) -> Table:
    others = [method for method in results.plan.methods if method != "exkmc_imm"]
    rows = [
        [*begin, *(number(_to_imm(results, problem, size, m)) for m in others)]
        for problem, size, begin in _lines(results)
    ]
    return Table(("data", "leaves", *_titles(others)), rows)


def _refinement_times(results: Results) -> Table:
    rows, seeds = [], results.plan.seeds
    for problem, size, begin in _lines(results):
        here = results.only(problems=(problem,), sizes=(size,))
        search, imm, local = map(here.mean_seconds, ("search", "exkmc_imm", "local"))
        numbers = (
            _mean(results.kmeans_seconds(problem, seed) for seed in seeds),
            _mean(results.allowed_seconds(problem, seed) for seed in seeds),
            *(search, here.largest(here.search_share), imm, local, here.largest(here.local_share)),
        )
        rows.append([*begin, *map(number, numbers)])
    head = ("data", "leaves", "KMeans s", "allowed s", "search s", "largest share")
    return Table((*head, "IMM fit s", "local fit s", "largest ratio"), rows)


def _times(results: Results) -> Table:
    here = results.only(sizes=(max(results.plan.sizes),))
    rows = []
    for problem, _, begin in _lines(here):
        only = here.only(problems=(problem,))
        rows.append([*begin, *(number(only.mean_seconds(m)) for m in here.plan.methods)])
    return Table(("data", "leaves", *_titles(here.plan.methods)), rows)


def _targets(results: Results) -> list[Target]:
    ratio, worse = results.ratio_of_means(SEVEN), results.worse_than_imm
    share, slower = results.largest(results.search_share), results.largest(results.local_share)
    return [
        Target("the seven", "search / IMM, ratio of the mean excesses", 0.5, False, ratio),
        Target("all", "fits where search costs more than IMM", 0.0, False, worse("search")),
        Target("all", "search s / max(10 KMeans s, 5 s), largest", 1.0, False, share),
        Target("all", "fits where local costs more than IMM", 0.0, False, worse("local")),
        Target("all", "local s / unrefined fit s, largest", 3.0, False, slower),
    ]


def _to_imm(results: Results, problem: str, size: int, method: str) -> float | None:
    """Mean excess of a method over that of IMM, where IMM has one to speak of."""
    ours, imm = (_mean(results.over_seeds(problem, size, m)) for m in (method, "exkmc_imm"))
    return None if imm is None or imm < 1e-6 else _ratio(ours, imm)


def _mean_of_means(results: Results, problems: list[str], size: int, method: str) -> str:
    """Mean over problems of the mean over seeds; a dash if a problem has none."""
    means = [_mean(results.over_seeds(problem, size, method)) for problem in problems]
    mean = None if None in means else _mean(means)
    return "-" if mean is None else _excess(mean)


def _ratio(one: float | None, other: float | None) -> float | None:
    return None if one is None or not other else one / other


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _spread(values: Sequence[float]) -> str:
    """The mean and, of several values, the standard deviation."""
    if not values:
        return "-"
    spread = f" ±{np.std(values, ddof=1):.3f}".replace("±0.", "±.") if len(values) > 1 else ""
    return _excess(float(np.mean(values))) + spread


def _excess(value: float) -> str:
    """Three places; zero has no sign."""
    return f"{round(value, 3) + 0.0:.3f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the tables, and write the page."""
    options = _options(arguments)
    few = ("iris", "wine", "digits") if options.quick else NAMES
    seeds = tuple(int(seed) for seed in options.seeds) or (SEEDS[:2] if options.quick else SEEDS)
    plan = Plan(options.only or few, seeds, options.methods or LISTED, SIZES)
    results = Results(plan, runner.run(tasks(plan), options.results, fresh=options.fresh))
    show("quality", summary(results, machine()), options.out)
    runner.fail_if_any(results.kept)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    about = "Cost of the trees over that of the reference k-means, and what their fits take."
    add = (reader := parser("quality", about, quick="three sets, two seeds")).add_argument
    methods = tuple(name for name in METHODS if name not in OTHER_PACKAGES)
    add("--only", type=names(NAMES), default=(), metavar="A,B", help=", ".join(NAMES))
    add("--methods", type=names(methods), default=(), metavar="A,B", help=", ".join(methods))
    seeds = tuple(map(str, range(100)))
    add("--seeds", type=names(seeds), default=(), metavar="0,1", help="of the reference")
    return reader.parse_args(arguments)
