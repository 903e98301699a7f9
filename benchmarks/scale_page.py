"""SCALE.md and its figure, and docs/scale.md, from the results."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scale_cells import GIVEN, KMEANS, PROCESSES, SYNC, THREADS, Plan, Setting
from scale_law import Measured, measured

FIGURE = "scale.png"
NONE = "-"
HEAD = ("passes", "seconds", "processor", "per pass", "asked", "answered", "returned", "peak")
BESIDE_HEAD = ("in memory", "its peak", "same tree")
SWEEPS = {
    "rows": ("Rows", "rows"),
    "features": ("Features", "features"),
    "k": ("Clusters, with 2 k leaves", "k"),
    "leaves": ("Leaves", "leaves"),
    "parts": ("Partitions", "parts"),
}


def write(results: dict[str, Any], plan: Plan, root: Path) -> list[Path]:
    """Write the pages below a folder; their paths."""
    import scale_docs

    cells = measured(results)
    bench, docs = root / "benchmarks", root / "docs"
    pages = {
        bench / "SCALE.md": page(results, cells, plan),
        docs / "scale.md": scale_docs.page(results, cells, plan),
    }
    for path, text in pages.items():
        text = wrapped(text)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".draft")
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    return [*pages, draw(cells, plan, docs / "pictures" / FIGURE)]


def page(results: dict[str, Any], cells: list[Measured], plan: Plan) -> str:
    """SCALE.md."""
    parts = [_begin(results, plan), _legend()]
    for name, (title, factor) in SWEEPS.items():
        settings = [*plan.sweeps()[name], *([plan.big] if name == "rows" else [])]
        table = sweep_table(cells, settings, factor, beside=name != "parts")
        told = _about_big(plan) if name == "rows" else ""
        parts.append(f"## {title}\n\n{table}\n\n{told}".rstrip())
    parts += [
        f"## Workers\n\n{workers_table(cells, plan)}",
        f"## Where the rows come from\n\n{source_table(cells, plan)}",
        f"## Tasks of a cluster\n\n{_tasks(cells, plan)}",
        f"## The reference found by k-means over the partitions\n\n{reference_table(cells, plan)}",
        f"## A table larger than memory\n\n{big_text(cells, plan)}",
        _machine(results),
    ]
    return "\n\n".join(parts) + "\n"


def wrapped(text: str, width: int = 110) -> str:
    """Paragraphs and items in lines of equal length; tables, code and pictures as they are."""
    blocks = []
    for block in text.rstrip("\n").split("\n\n"):
        if not block.startswith(("|", "#", "```", "![", "<!--", ">")):
            items = re.split(r"\n(?=- )", block)
            indents = ["  " if item.startswith("- ") else "" for item in items]
            block = "\n".join(
                textwrap.fill(
                    " ".join(item.split()),
                    width,
                    subsequent_indent=indent,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
                for item, indent in zip(items, indents, strict=True)
            )
        if block:
            blocks.append(block)
    return "\n\n".join(blocks) + "\n"


# ---- tables --------------------------------------------------------------------------------------


def find(cells: Iterable[Measured], setting: Setting) -> Measured | None:
    """What was measured of a setting."""
    return next((one for one in cells if one.setting == setting), None)


def table_of(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, numbers to the right."""
    rows = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---:|" * len(head), *rows])


def sweep_table(
    cells: list[Measured], settings: Sequence[Setting], factor: str, *, beside: bool
) -> str:
    """One factor and what follows from it."""
    lines = []
    for setting in settings:
        one, other = find(cells, setting), find(cells, setting.in_memory)
        line = [f"{getattr(setting, factor):,}", *line_of(one)]
        lines.append(line + beside_of(one, other) if beside else [*line, same(one, other)])
    return table_of((factor, *HEAD, *(BESIDE_HEAD if beside else BESIDE_HEAD[-1:])), lines)


def line_of(one: Measured | None) -> list[str]:
    """Passes, seconds, bytes and memory of a fit."""
    if one is None:
        return [NONE] * len(HEAD)
    return [
        str(one.passes),
        seconds(one.result["seconds"]),
        seconds(one.result["cpu_seconds"]),
        seconds(one.result["seconds"] / one.passes),
        *(size(one.mean(what)) for what in ("asked", "answered", "returned")),
        size(one.result["peak_bytes"]),
    ]


def beside_of(one: Measured | None, other: Measured | None) -> list[str]:
    """Seconds and memory of the build in memory, and whether it gives the same tree."""
    if other is None:
        return [NONE] * len(BESIDE_HEAD)
    took = [seconds(other.result["seconds"]), size(other.result["peak_bytes"])]
    return [*took, same(one, other)]


def same(one: Measured | None, other: Measured | None) -> str:
    """Whether two trees are the same."""
    if one is None or other is None:
        return NONE
    return "yes" if one.result["tree"] == other.result["tree"] else "NO"


def workers_table(cells: list[Measured], plan: Plan) -> str:
    """Who asks the parts."""
    words = {
        SYNC: "one thread",
        THREADS: "{} threads",
        PROCESSES: "a cluster, workers: {}",
    }
    lines = []
    for setting in plan.sweeps()["workers"]:
        one = find(cells, setting)
        workers = [] if one is None else one.result.get("worker_bytes", [])
        lines.append([
            words[setting.where].format(setting.workers),
            *line_of(one),
            size(max(workers)) if workers else NONE,
            same(one, find(cells, setting.in_memory)),
        ])  # fmt: skip
    return table_of(("scheduler", *HEAD, "worker's peak", "same tree"), lines)


def source_table(cells: list[Measured], plan: Plan) -> str:
    """What the parts are read from."""
    words = {
        "held": "memory (persisted)",
        "file": "a file of bare numbers",
        "made": "drawn anew in every pass",
        "parquet": "Parquet files, without dask",
    }
    settings = plan.sweeps()["source"]
    lines = [[words[one.source], *line_of(find(cells, one))] for one in settings]
    return table_of(("rows from", *HEAD), lines)


def _tasks(cells: list[Measured], plan: Plan) -> str:
    settings = plan.sweeps()["tasks"]
    head = ("partitions", *HEAD)
    lines = [[f"{one.parts:,}", *line_of(find(cells, one))] for one in settings]
    return (
        f"{settings[0].rows:,} rows, so that there is little to compute, on a cluster of "
        f"{settings[0].workers} processes: what is left is what partitions cost by themselves.\n\n"
        f"{table_of(head, lines)}"
    )


def reference_table(cells: list[Measured], plan: Plan) -> str:
    """Fits that find their centers, and those that are given them."""
    lines = []
    for setting in plan.sweeps()["reference"]:
        one, given = find(cells, setting), find(cells, replace(setting, reference=GIVEN))
        assert setting.reference == KMEANS
        found, took = (NONE, NONE) if one is None else (
            str(int(one.total("passes", ["reference"]))),
            seconds(one.total("seconds", ["reference"])),
        )  # fmt: skip
        lines.append([
            f"{setting.rows:,}",
            *line_of(one),
            found,
            took,
            NONE if given is None else seconds(given.result["seconds"]),
        ])  # fmt: skip
    return table_of(("rows", *HEAD, "k-means passes", "their seconds", "centers given"), lines)


def big_text(cells: list[Measured], plan: Plan) -> str:
    """The fit on files with a limit of memory."""
    one, big = find(cells, plan.big), plan.big
    table = f"{big.rows:,} rows x {big.features} columns of float32 ({size(big.table.n_bytes)})"
    if one is None:
        return f"{table} in Parquet files: not measured in this run."
    said = " ".join(one.result.get("said", [])) or "nothing"
    return (
        f"{table} in Parquet files, in a process that the system allows {size(big.limit)} of "
        f"private memory (`RLIMIT_DATA`), {big.workers} threads: {one.passes} passes, "
        f"{seconds(one.result['seconds'])} s, a peak of {size(one.result['peak_bytes'])} resident. "
        f"After its first pass it said:\n\n> {said}\n"
    ).rstrip()


# ---- words ---------------------------------------------------------------------------------------


def notice(results: dict[str, Any], cells: list[Measured], plan: Plan) -> str:
    """What a reader must know about numbers that are not those of a whole run; often nothing."""
    if results["quick"]:
        return "**These are the numbers of a quick run on small tables: they only show the form.**"
    known = {one.setting for one in cells}
    missing = [setting for setting in plan.settings() if setting not in known]
    if not missing:
        return ""
    if len(missing) <= 3:
        return f"Not measured in this run: {'; '.join(map(str, missing))}."
    return f"**{len(missing)} of {len(plan.settings())} settings have not been measured yet.**"


def _begin(results: dict[str, Any], plan: Plan) -> str:
    base = plan.base
    told = notice(results, measured(results), plan)
    return f"""# How cost grows

Fits on rows in partitions: one factor changes at a time around a base of {base.rows:,} rows,
{base.features} features, k = {base.k}, {base.leaves} leaves, {base.parts} partitions, asked one
after the other in one thread. The tables are mixtures of k Gaussians; of five columns, one has
heavy tails and one holds whole numbers; float32. The reference centers are given, so that it is
the tree which is measured. Partitions are read from a file of bare numbers for every pass, as
they would be if they did not fit into memory. What follows from these numbers is in
`docs/scale.md`.

```sh
python benchmarks/scale.py           # 35 minutes on two quiet cores, 12 GB of disk
python benchmarks/scale.py --quick   # small tables, a minute; pages go to benchmarks/.cache
python benchmarks/scale.py --write   # this page and docs/scale.md, from benchmarks/scale.json
```

{told}""".rstrip()


def _about_big(plan: Plan) -> str:
    return (
        f"The last one is not dask's: {plan.big.workers} threads read Parquet files, within a "
        "limit of memory; see below."
    )


def _legend() -> str:
    return """\
Every setting ran once, in a process of its own with one OpenMP thread. *seconds*: of the whole fit;
*processor*: of these, what the process took of the processors, without a cluster's workers; *per
pass*: seconds divided by the passes. *asked*: bytes of the questions in a pass; *answered*:
of the answers that left the partitions; *returned*: of the merged answer that came back; all of
pickled objects, on average over the passes. *peak*: most resident memory of the process that
asks, with the interpreter and all libraries, about 0.2 GB; on a cluster that is client and
scheduler. *in memory*: the same tree built from the table in memory on one thread; *same tree*:
whether it is equal in every cut and label, bit for bit.

![Seconds and bytes of a pass against the number of rows](../docs/pictures/scale.png)"""


def _machine(results: dict[str, Any]) -> str:
    m = results["machine"]
    return (
        f"Machine: {m['cpu']}, {m['cores']} cores; Python {m['python']}, numpy {m['numpy']}, "
        f"scikit-learn {m['scikit-learn']}."
    )


def seconds(value: float) -> str:
    """Three digits."""
    if math.isnan(value):
        return NONE
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def size(n_bytes: float) -> str:
    """A number of bytes in words."""
    if math.isnan(n_bytes) or not n_bytes:
        return NONE
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 999.5:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"


# ---- the figure ----------------------------------------------------------------------------------


def draw(cells: list[Measured], plan: Plan, path: Path) -> Path:
    """Seconds and bytes of a pass against rows."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    from treemeans.drawing.palette import ink

    used = [one for s in plan.sweeps()["rows"] if (one := find(cells, s)) is not None]
    rows = [one.setting.rows for one in used]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    times = [one.result["seconds"] / one.passes for one in used]
    left.loglog(rows, times, "o-", color=ink(0), label="a pass over the partitions, one thread")
    whole = [(o, find(cells, o.setting.in_memory)) for o in used]
    known = [(one.setting.rows, other.result["seconds"]) for one, other in whole if other]
    if known:
        left.loglog(*zip(*known, strict=True), "s--", color=ink(1), label="whole build in memory")
    big = find(cells, plan.big)
    if big is not None:
        label = f"a pass over Parquet files, {big.setting.workers} threads"
        took = big.result["seconds"] / big.passes
        left.loglog([big.setting.rows], [took], "D", color=ink(2), label=label)
    left.set(xlabel="rows", ylabel="seconds")
    left.set_ylim(None, 5 * left.get_ylim()[1])
    words = {"answered": "leave the partitions", "returned": "come back", "asked": "go out"}
    for number, (what, word) in enumerate(words.items()):
        means = [one.mean(what) for one in used]
        right.loglog(rows, means, "o-", color=ink(number), label=word)
    if big is not None:
        right.loglog([big.setting.rows], [big.mean("returned")], "D", color=ink(1))
    right.set(xlabel="rows", ylabel="bytes in a pass")
    right.set_ylim(right.get_ylim()[0] / 3, 10 * right.get_ylim()[1])  # room for the legend
    for ax in (left, right):
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: _plain(value))
            axis.set_minor_formatter(lambda value, _: "")
        ax.legend(frameon=False, fontsize=8, loc="upper left")
        ax.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return path


def _plain(value: float) -> str:
    """A number on an axis."""
    for power, unit in ((9, "G"), (6, "M"), (3, "k")):
        if value >= 10**power:
            return f"{value / 10**power:g}{unit}"
    return f"{value:g}"
