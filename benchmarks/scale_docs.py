"""docs/scale.md: what a fit on rows in parts costs, with a fit of 10,000,000,000 rows on paper."""

from __future__ import annotations

import math
from string import Template
from typing import Any

from scale_cells import FILES, KMEANS, Plan, Setting
from scale_example import EXAMPLE, NETWORK, STORAGE, Estimate, n_tasks, work_out
from scale_law import (
    BYTE,
    KINDS,
    LARGEST,
    TERMS,
    Law,
    Measured,
    closer_looks,
    in_files,
    law_of,
    reading_rate,
    room_of,
)
from scale_page import NONE, find, notice, seconds, size, table_of

from treemeans.parts.growth.search import BYTES, COARSE, FINEST, LISTED
from treemeans.parts.sources.dask import FAN_IN

PAGE = Template("""\
<!-- Written by benchmarks/scale.py from benchmarks/scale.json; change benchmarks/scale_docs.py. -->

# What many rows cost

`ExKMC.fit` takes rows in *partitions*: a dask array or data frame, Parquet files, a query; see
{doc}`howto/large`. They stay where they are. What the fit wants to know it asks of every partition,
and what comes back are sums, so the tree is the one that would have been built in memory, bit for
bit, however the rows are cut up. A question that goes to all partitions is a *pass* over the rows.
This page says how many passes there are, what each costs, and what that means for a table far
larger than any that was measured. The measurements are in `benchmarks/SCALE.md`; every number here
is worked out from them by `benchmarks/scale.py`.

$notice

## Passes

$passes

*First look*: every feature of every open node is divided into up to $coarse stretches, and the
sums of each come back. *Closer look*: the stretches that can still hold the best cut are divided
again, into up to $finest, until they hold at most $listed rows, which are then listed. So a
search takes one closer look more whenever the table is about two thousand times larger:

$closer

All open nodes share a pass. IMM goes down level by level, so its rounds are as many as its tree
is deep; the expansion looks ahead, so its rounds are few.

## What travels

The question goes out once to every worker: the centers, the tree so far, the edges of the
stretches. Every partition sends back its sums, of about $bytes at most; workers merge $fan_in
answers at a time, so that one arrives. None of it grows with the rows:

$travels

Small tables send less because their samples and lists hold all of their few rows. What does grow
is the sum over the partitions (*answered*): with partitions of a fixed size there are more of
them on a larger table, and each sends its own. That traffic runs between workers and is spread
over all of them.

![Seconds and bytes of a pass against the number of rows](pictures/scale.png)

## Seconds

What a pass costs on one processor is a sum of a few terms, fitted to the processor times of all
fits in one thread with up to $largest rows (least squares of the relative errors):

$law

So a fit on `w` workers takes, for each kind of pass,

```text
passes x (rows x (a + b features + c features k) + partitions x p + MB of answers x m) / w
```

or, if that is longer, as long as the scheduler takes to hand out the tasks: $task of processor time
for each partition, in the process that asked and scheduled for two workers. How well it does, also
on tables that it was not fitted to:

$check

## Memory

A worker has one partition in memory for each of its threads: the rows, what they cost, and their
sums; and answers that wait to be merged. The peaks that were measured are about $room_base for
Python and its libraries, for each row of a partition $room_row bytes, $room_value for each of its
features and $room_center for each cluster, and $room_answers of the largest answers. The process
that asks holds merged answers only.

$big

## 10,000,000,000 rows on 100 workers

$example

## What was not measured

- A real network. The workers that were measured are processes of one machine with $cores cores;
  what they send each other passes through its memory. $network a second for each worker is
  supposed above.
- Storage. Files were in the page cache of the system after their first pass. $storage a second
  for each worker is supposed above.
- A scheduler with hundreds of workers, or graphs of $n_tasks tasks. What a task costs is taken
  from up to $most_parts partitions on two workers.
- Workers that are slower than others, or lost: a partition whose worker is lost is asked again,
  so a loss costs about the pass that it happens in.
""")


def page(results: dict[str, Any], cells: list[Measured], plan: Plan) -> str:
    """The page."""
    law, room, estimate = law_of(cells), room_of(cells), work_out(cells)
    tasks = [one.setting.parts for one in cells if one.setting in plan.sweeps()["tasks"]]
    return PAGE.substitute(
        notice=notice(results, cells, plan),
        passes=_passes(cells, plan),
        coarse=COARSE,
        finest=f"{FINEST:,}",
        listed=f"{LISTED:,}",
        closer=_closer(cells, plan),
        bytes=size(BYTES),
        fan_in=FAN_IN,
        travels=_travels(cells, plan),
        largest=f"{LARGEST:,}",
        law=_law(law),
        task=_short_time(estimate.overhead.asking),
        check=_check(law, cells, plan),
        room_base=size(room.base),
        room_row=f"{room.row:.0f}",
        room_value=f"{room.value:.0f}",
        room_center=f"{room.center:.0f}",
        room_answers=f"{room.answers:.1f}",
        big=_big(cells, plan),
        example=_example(estimate, cells),
        cores=results["machine"]["cores"],
        network=size(NETWORK),
        storage=size(STORAGE),
        n_tasks=f"{n_tasks(EXAMPLE.parts):,}",
        most_parts=f"{max(tasks, default=0):,}",
    )


# ---- passes and bytes ----------------------------------------------------------------------------

WHAT = {
    "sketch": ("a look at the rows", "ends of each column, a sample of some thousand rows"),
    "reference": ("k-means, if no centers are given", "sums of each cluster, a sample"),
    "pricing": ("what the rows cost", "k + 1 sums"),
    "base, first": ("base tree (IMM): first looks", "k + 3 numbers of each stretch"),
    "base, closer": ("base tree: closer looks", "k + 3 numbers of each stretch or value"),
    "count": ("what the leaves cost", "k + 1 sums of each leaf"),
    "growth, first": ("expansion: first looks", "k + 3 numbers of each stretch"),
    "growth, closer": ("expansion: closer looks", "k + 3 numbers of each stretch or value"),
    "last": ("the finished tree's costs and means", "a few sums of each leaf"),
}


def _passes(cells: list[Measured], plan: Plan) -> str:
    base = find(cells, plan.base)
    clustered = [one for one in cells if one.setting.reference == KMEANS]
    lines = []
    for kind, (what, returns) in WHAT.items():
        one = (
            max(clustered, key=lambda c: c.setting.rows, default=None)
            if kind == "reference"
            else base
        )
        found = None if one is None else one.kinds.get(kind)
        count, answer = NONE, NONE
        if found is not None:
            count, answer = str(found["passes"]), size(found["returned"] / found["passes"])
        lines.append([what, returns, count, answer])
    head = ("pass", "what returns", "passes", "merged answer")
    depth = NONE if base is None else base.result["depth"]
    p = plan.base
    return (
        f"{_left(table_of(head, lines), 2)}\n\n"
        f"The numbers are those of {p.rows:,} rows, {p.features} features, k = {p.k} and "
        f"{p.leaves} leaves; that tree is {depth} levels deep."
    )


def _closer(cells: list[Measured], plan: Plan) -> str:
    used = _rows(cells, plan)
    lines = []
    for one in used:
        rounds = one.total("passes", KINDS["first look"])
        found = one.total("passes", KINDS["closer look"]) / rounds
        lines.append([f"{one.setting.rows:,}", f"{closer_looks(one.setting.rows)}", f"{found:.1f}"])
    lines.append([f"{EXAMPLE.rows:,}", f"{closer_looks(EXAMPLE.rows)}", NONE])
    return table_of(("rows", "closer looks for a first one", "measured, on average"), lines)


def _travels(cells: list[Measured], plan: Plan) -> str:
    lines = [
        [
            f"{one.setting.rows:,}",
            NONE if one.setting.where == "files" else f"{one.setting.parts:,}",
            *(size(one.mean(what)) for what in ("asked", "answered", "returned")),
        ]
        for one in _rows(cells, plan)
    ]
    return table_of(("rows", "partitions", "asked", "answered", "returned"), lines)


def _rows(cells: list[Measured], plan: Plan) -> list[Measured]:
    """Fits of different numbers of rows."""
    settings = [*plan.sweeps()["rows"], plan.big]
    return [one for setting in settings if (one := find(cells, setting)) is not None]


def _left(table: str, n: int) -> str:
    """The first columns to the left."""
    return table.replace("|---:" * n, "|:---" * n, 1)


# ---- seconds -------------------------------------------------------------------------------------


def _law(law: Law) -> str:
    heads = (
        "row (a)",
        "row, feature (b)",
        "row, feature, center (c)",
        "partition (p)",
        "MB of answers (m)",
    )
    scales = (1e9, 1e9, 1e9, 1e3, 1e9)
    units = ("ns", "ns", "ns", "ms", "ms")
    lines = []
    for kind, found in law.constants.items():
        numbers = [found[name] for name in (*TERMS, BYTE)]
        texts = [
            f"{number * scale:.3g} {unit}" if number else NONE
            for number, scale, unit in zip(numbers, scales, units, strict=True)
        ]
        lines.append([kind, *texts])
    return _left(table_of(("pass", *heads), lines), 1)


def _check(law: Law, cells: list[Measured], plan: Plan) -> str:
    """Beside what was measured, in processor seconds of the passes."""
    sweeps = plan.sweeps()
    ends = [sweeps[name][-1] for name in ("features", "k", "leaves", "parts")]
    settings = dict.fromkeys([*sweeps["rows"], plan.big, *ends])
    found = [find(cells, setting) for setting in settings]
    lines = []
    for one in found:
        if one is not None:
            took, told = one.total("cpu_seconds"), law.passes_seconds(one)
            if one.setting.where == FILES:
                told += one.passes * one.setting.table.n_bytes / reading_rate(cells)
            fitted = "yes" if _is_fitted(one) else "no"
            ratio = f"{told / took:.2f}"
            lines.append([_named(one.setting), fitted, seconds(told), seconds(took), ratio])
    head = ("fit", "fitted to", "worked out, s", "measured, s", "ratio")
    return _left(table_of(head, lines), 1)


def _is_fitted(one: Measured) -> bool:
    return one.setting.where != FILES and one.setting.rows <= LARGEST


def _named(s: Setting) -> str:
    table = f"{s.rows:,} rows, {s.features} features, k = {s.k}"
    if s.where == FILES:
        return f"{table}, {s.leaves} leaves, Parquet files"
    return f"{table}, {s.leaves} leaves, {s.parts} partitions"


def _big(cells: list[Measured], plan: Plan) -> str:
    one = in_files(cells)
    if one is None:
        return ""
    s = one.setting
    limit = f", with {size(s.limit)} allowed by the system" if s.limit else ""
    said = " ".join(one.result.get("said", []))
    return (
        f"A table of {size(s.table.n_bytes)} in Parquet files ({s.rows:,} rows of {s.features} "
        f"columns) was fitted by {s.workers} thread(s) of one process in "
        f"{_time(one.result['seconds'])}, {one.passes} passes, with a peak of "
        f"{size(one.result['peak_bytes'])}{limit}."
        + (f" After the first pass it said: *{said}*" if said else "")
    )


# ---- the example ---------------------------------------------------------------------------------


EXAMPLE_TEXT = Template("""\
$rows rows of $features float32 columns are $bytes. Cut into partitions of $part_rows rows
($part_bytes) they are $parts, which is $parts_each for each of $workers workers with one thread
each. k = $k, $leaves leaves, centers given; the tree is as deep as the one that was measured.
Seconds of one pass, in which every worker computes, reads (decodes) and merges, while the scheduler
hands out tasks, storage delivers and the network carries; as these go on at the same time, the
slowest counts:

$table

That makes $passes passes and **$total**. $kmeans In detail:

- *Scheduler*: $tasks tasks in a pass; each partition takes $task of it, merges included, and $work
  of its worker beside what its rows take.
- *Between workers*: about $moved of answers in a pass, $moved_each for each worker, in a tree of
  merges of $fan_in answers each. *Into the process that asks*: one answer a pass, about $answer.
- *Memory*: $memory for each worker: a partition with its costs, and answers to merge; $most more
  if all answers of its partitions had to wait for that.
- *Sums*: costs are rounded so that their total stays below 2⁶¹. The number of rows takes $bits bits
  of that, and $left are left for what a row costs on average: $digits decimal digits.

Over the whole fit, most is asked of $order. What comes first would break first, or be worth having
more of. Fewer and larger partitions ask less of the scheduler and of the network, and more memory
of the workers. Rows that the workers persist are not read again, if $each fit into the memory of
each.
""")


def _example(e: Estimate, cells: list[Measured]) -> str:
    s, n_bytes = e.setting, e.setting.table.n_bytes
    answer = max(one.answer for one in e.passes)
    bits = math.ceil(math.log2(s.rows))
    return EXAMPLE_TEXT.substitute(
        rows=f"{s.rows:,}",
        features=s.features,
        bytes=size(n_bytes),
        part_rows=f"{s.rows // s.parts:,}",
        part_bytes=size(n_bytes / s.parts),
        parts=f"{s.parts:,}",
        parts_each=s.parts // s.workers,
        workers=s.workers,
        k=s.k,
        leaves=s.leaves,
        table=_example_table(e),
        passes=e.n_passes,
        total=_time(e.total("seconds")),
        kmeans=_kmeans(e, cells),
        tasks=f"{n_tasks(s.parts):,}",
        task=_short_time(e.overhead.asking),
        work=_short_time(e.overhead.working),
        moved=size(s.parts * answer),
        moved_each=size(s.parts * answer / s.workers),
        fan_in=FAN_IN,
        answer=size(answer),
        memory=size(e.worker_bytes),
        most=size(s.parts / s.workers * answer),
        bits=bits,
        left=61 - bits,
        digits=int((61 - bits) * math.log10(2)),
        order=_order(e),
        each=size(n_bytes / s.workers),
    )


def _example_table(e: Estimate) -> str:
    names = ("compute", "reading", "merging", "scheduler", "storage", "network", "seconds")
    head = ("pass", "passes", "answer", "compute", "read", "merge", *names[3:])
    lines = [
        [one.kind, str(one.n), size(one.answer), *(seconds(getattr(one, name)) for name in names)]
        for one in e.passes
    ]
    return _left(table_of(head, lines), 1)


def _order(e: Estimate) -> str:
    """What is busy, the longest first."""
    words = {
        "workers": "the workers' processors",
        "scheduler": "the scheduler",
        "storage": "storage",
        "network": "the network",
    }
    totals = {words[name]: e.total(name) for name in words}
    known = sorted((name for name in totals if totals[name] >= 0), key=lambda name: -totals[name])
    return ", then ".join(f"{name} ({_time(totals[name])})" for name in known)


def _kmeans(e: Estimate, cells: list[Measured]) -> str:
    """What it takes to find the centers first."""
    found = [one for one in cells if one.setting.reference == KMEANS]
    price = next((p for p in e.passes if p.kind == "price"), None)
    if not found or price is None:
        return ""
    one = max(found, key=lambda c: c.setting.rows)
    n = int(one.total("passes", ["reference"]))
    ratio = one.mean("cpu_seconds", ["reference"]) / one.mean("cpu_seconds", KINDS["price"])
    more = n * max(price.seconds, ratio * price.compute + price.reading + price.merging)
    return (
        f"To find the centers by k-means first took {n} passes more on {one.setting.rows:,} rows, "
        f"each {ratio:.1f} times what pricing takes: {_time(more)} here."
    )


def _time(value: float) -> str:
    """In words."""
    if math.isnan(value):
        return NONE
    if value < 100:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} minutes" if value < 6000 else f"{value / 3600:.1f} hours"


def _short_time(value: float) -> str:
    return NONE if math.isnan(value) else f"{value * 1e3:.2g} ms"
