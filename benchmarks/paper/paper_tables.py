"""Tables of the paper's evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from benchmarks.paper.claims import BETTER, MISSING, PARTLY, SEEN, UNJUDGED, UNSEEN, Claim
from benchmarks.paper.plan import METHODS, PEERS, SMALL, TIMED, TITLES, Plan
from benchmarks.paper.results import Results
from benchmarks.runner import OVER_LIMIT
from benchmarks.tables import Table
from treemeans.datasets import NAMES, TABLE


def sizes(results: Results) -> Table:
    """Return the paper's Table 1, set against the data."""
    rows = []
    for name in NAMES:
        kept = results.one(name, "size")
        found = ["", "", "", MISSING]
        if kept is not None:
            same = (kept["k"], kept["n"], kept["d"]) == tuple(TABLE[name])
            found = [*(f"{kept[key]:,}" for key in "knd"), "the same" if same else "differs"]
        rows.append([TITLES[name], *(f"{value:,}" for value in TABLE[name]), *found])
    return Table(("data set", "k", "n", "d", "k, ours", "n, ours", "d, ours", ""), rows)


def ratios(results: Results, times_k: int) -> Table:
    """Return the cost ratio of every method at so many times k leaves."""
    methods = {m: title for m, title in METHODS.items() if m != "imm" or times_k == 1}
    rows = []
    for name in NAMES:
        cells = [_ratio(results, name, method, times_k) for method in methods]
        curve = results.curve(name, "exkmc_imm")
        rows.append([TITLES[name], str(curve.seeds if curve else 0), *cells])
    return Table(("data set", "seeds", *methods.values()), rows)


def peers(results: Results) -> Table:
    """Return the ratios of other packages, and ours from the same reference, that of seed 0."""
    same, rows = results.of_seed(0), []
    for name in SMALL:
        for times_k in (1, 2, 4):
            cells = [_ratio(same, name, method, times_k) for method in ("exkmc_imm", *PEERS)]
            if any(cells[1:]):
                rows.append([TITLES[name], "k" if times_k == 1 else f"{times_k} k", *cells])
    head = ("data set", "leaves", METHODS["exkmc_imm"], *PEERS.values())
    return Table(head, rows)


def _ratio(results: Results, name: str, method: str, times_k: int) -> str:
    """Return a ratio; of trees that cannot grow to the size, the last one."""
    grows = method in ("exkmc", "exkmc_imm", "cart")
    value = (results.end if grows else results.at)(name, method, times_k)
    if value is not None:
        return f"{value:.3f}"
    if results.count(name, method, OVER_LIMIT):
        return OVER_LIMIT
    return "-" if results.done(name, method) else ""


def times(results: Results) -> Table:
    """Return the seconds of the timed sets."""
    rows = []
    for name in TIMED:
        for case, kept in sorted(results.done(name, "time").items()):
            threads = int(case.option("threads"))
            numbers = [kept["kmeans"], kept["imm"], kept["exkmc"]]
            seconds = [f"{number:.3g}" for number in numbers]
            if not kept.get("again", True):
                seconds[0] += " *"
            part = f"{kept['exkmc'] / kept['kmeans']:.3g}"
            load = "" if kept.get("load") is None else f"{kept['load']:.1f}"
            rows.append([TITLES[name], str(threads), *seconds, part, load])
    head = ("data set", "processes", "KMeans, s", "IMM, s", "ExKMC, s", "ExKMC / KMeans", "load")
    return Table(head, rows)


def statements(results: Results, claims: Iterable[Claim]) -> Table:
    """Return the paper's statements with ours; where they differ, with the reason."""
    rows = []
    for claim in claims:
        finding = claim.check(results)
        ours = finding.ours or "-"
        if claim.why and finding.verdict in (BETTER, PARTLY, UNSEEN):
            ours += f". *Why:* {claim.why}"
        rows.append([claim.place, claim.sentence, claim.reading, f"**{finding.verdict}**", ours])
    head = ("where", "the paper states", "read as", "we see", "our numbers; why, where we differ")
    return Table(head, rows)


def verdicts(results: Results, claims: Iterable[Claim]) -> str:
    """Return how many statements ended how."""
    found = Counter(claim.check(results).verdict for claim in claims)
    order = (SEEN, BETTER, PARTLY, UNSEEN, UNJUDGED, MISSING)
    counts = ", ".join(f"{found[verdict]} {verdict}" for verdict in order if found[verdict])
    return f"{sum(found.values())} statements: {counts}."


def seconds(results: Results) -> Table:
    """Return what the fits took, method by method."""
    rows = []
    for name in NAMES:
        cells = []
        for method in METHODS:
            # Cases of a grid share their growth, whose time stands in each of them.
            shared = method in ("cltree", "cubt")
            took = {
                (case.setting, case.leaves, None if shared else case.seed): kept["seconds"]
                for case, kept in results.done(name, method).items()
            }
            cells.append(f"{sum(took.values()):.3g}" if took else "")
        rows.append([TITLES[name], *cells])
    return Table(("data set", *METHODS.values()), rows)


def missing(results: Results, plan: Plan) -> str:
    """Say what the plan has and the results have not."""
    cases = plan.cases()
    failed = [case for case, kept in results.kept.items() if "error" in kept]
    known = sum(case in results.kept for case in cases)
    lines = [f"{known} of {len(cases)} fits are there, {len(failed)} failed."]
    lines += [f"- failed: {case.task}: {results.kept[case]['error']}" for case in failed]
    return "\n".join(lines)
