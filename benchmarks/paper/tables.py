"""Tables of the page, in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from treemeans.datasets import NAMES, TABLE

from .cells import METHODS, PEERS, SMALL, TIMED, TITLES, Plan
from .claims import BETTER, MISSING, PARTLY, SEEN, UNJUDGED, UNSEEN, Claim
from .results import Results
from .run import FAILED, OVER


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the first column is of words, the others of numbers."""
    align = [":--", *["--:"] * (len(head) - 1)]
    lines = [head, align, *rows]
    return "\n".join(f"| {' | '.join(_safe(cell) for cell in line)} |" for line in lines)


def _safe(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


def sizes(results: Results) -> str:
    """Return the paper's Table 1, set against the data."""
    rows = []
    for name in NAMES:
        kept = results.one(name, "size")
        found = ["", "", "", MISSING]
        if kept is not None:
            same = (kept["k"], kept["n"], kept["d"]) == tuple(TABLE[name])
            found = [*(f"{kept[key]:,}" for key in "knd"), "the same" if same else "differs"]
        rows.append([TITLES[name], *(f"{value:,}" for value in TABLE[name]), *found])
    return markdown(("data set", "k", "n", "d", "k, ours", "n, ours", "d, ours", ""), rows)


def ratios(results: Results, times_k: int) -> str:
    """Return the cost ratio of every method at so many times k leaves."""
    methods = {m: title for m, title in METHODS.items() if m != "imm" or times_k == 1}
    rows = []
    for name in NAMES:
        cells = [_ratio(results, name, method, times_k) for method in methods]
        curve = results.curve(name, "exkmc_imm")
        rows.append([TITLES[name], str(curve.seeds if curve else 0), *cells])
    return markdown(("data set", "seeds", *methods.values()), rows)


def peers(results: Results) -> str:
    """Return the ratios of other packages, and ours from the same reference, that of seed 0."""
    same, rows = results.of_seed(0), []
    for name in SMALL:
        for times_k in (1, 2, 4):
            cells = [_ratio(same, name, method, times_k) for method in ("exkmc_imm", *PEERS)]
            if any(cells[1:]):
                rows.append([TITLES[name], "k" if times_k == 1 else f"{times_k} k", *cells])
    head = ("data set", "leaves", METHODS["exkmc_imm"], *PEERS.values())
    return markdown(head, rows) if rows else f"*{MISSING}*"


def _ratio(results: Results, name: str, method: str, times_k: int) -> str:
    """Return a ratio; of trees that cannot grow to the size, the last one."""
    grows = method in ("exkmc", "exkmc_imm", "cart")
    value = (results.end if grows else results.at)(name, method, times_k)
    if value is not None:
        return f"{value:.3f}"
    if results.count(name, method, OVER):
        return OVER
    return "-" if results.done(name, method) else ""


def times(results: Results) -> str:
    """Return the seconds of the timed sets."""
    rows = []
    for name in TIMED:
        for cell, kept in sorted(results.done(name, "time").items()):
            threads = int(cell.option("threads"))
            numbers = [kept["kmeans"], kept["imm"], kept["exkmc"]]
            seconds = [f"{number:.3g}" for number in numbers]
            if not kept.get("again", True):
                seconds[0] += " *"
            part = f"{kept['exkmc'] / kept['kmeans']:.3g}"
            load = "" if kept.get("load") is None else f"{kept['load']:.1f}"
            rows.append([TITLES[name], str(threads), *seconds, part, load])
    head = ("data set", "processes", "KMeans, s", "IMM, s", "ExKMC, s", "ExKMC / KMeans", "load")
    return markdown(head, rows) if rows else f"*{MISSING}*"


def statements(results: Results, claims: Iterable[Claim]) -> str:
    """Return the paper's statements with ours; where they differ, with the reason."""
    rows = []
    for claim in claims:
        finding = claim.check(results)
        ours = finding.ours or "-"
        if claim.why and finding.verdict in (BETTER, PARTLY, UNSEEN):
            ours += f". *Why:* {claim.why}"
        rows.append([claim.place, claim.sentence, claim.reading, f"**{finding.verdict}**", ours])
    head = ("where", "the paper states", "read as", "we see", "our numbers; why, where we differ")
    lines = markdown(head, rows).split("\n")
    return "\n".join([lines[0], "| :-- | :-- | :-- | :-- | :-- |", *lines[2:]])


def verdicts(results: Results, claims: Iterable[Claim]) -> str:
    """Return how many statements ended how."""
    found = Counter(claim.check(results).verdict for claim in claims)
    order = (SEEN, BETTER, PARTLY, UNSEEN, UNJUDGED, MISSING)
    counts = ", ".join(f"{found[verdict]} {verdict}" for verdict in order if found[verdict])
    return f"{sum(found.values())} statements: {counts}."


def seconds(results: Results) -> str:
    """Return what the cells took, method by method."""
    rows = []
    for name in NAMES:
        cells = []
        for method in METHODS:
            # Cells of a grid share their growth, whose time stands in each of them.
            shared = method in ("cltree", "cubt")
            took = {
                (cell.setting, cell.leaves, None if shared else cell.seed): kept["seconds"]
                for cell, kept in results.done(name, method).items()
            }
            cells.append(f"{sum(took.values()):.3g}" if took else "")
        rows.append([TITLES[name], *cells])
    return markdown(("data set", *METHODS.values()), rows)


def missing(results: Results, plan: Plan) -> str:
    """Return what the plan has and the results have not."""
    cells = plan.cells()
    lost = [cell for cell in cells if cell not in results.kept]
    failed = [cell for cell, kept in results.kept.items() if kept["status"] == FAILED]
    lines = [f"{len(cells) - len(lost)} of {len(cells)} cells are there, {len(failed)} failed."]
    lines += [f"- failed: {cell.key}: {results.kept[cell]['message']}" for cell in failed]
    return "\n".join(lines)
