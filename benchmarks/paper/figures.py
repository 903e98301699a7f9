"""The paper's figures, drawn from the results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from benchmarks.paper.claims import MISSING
from benchmarks.paper.plan import LARGE, METHODS, PEERS, SMALL, TIMED, TITLES
from benchmarks.paper.results import Curve, Results
from treemeans.datasets import NAMES, TABLE

# The paper draws its own method in black.
STYLE: dict[str, dict[str, Any]] = {
    "exkmc_imm": {"color": "black", "linewidth": 2.0, "zorder": 5},
    "exkmc": {"color": "#0072b2", "linestyle": "--"},
    "imm": {"color": "black", "marker": "*", "linestyle": "none", "markersize": 11, "zorder": 6},
    "cart": {"color": "#d55e00"},
    "kdtree": {"color": "#009e73"},
    "cltree": {"color": "#999999", "marker": ".", "markersize": 4},
    "cubt": {"color": "#cc79a7", "marker": ".", "markersize": 4},
    "official": {"color": "#56b4e9", "marker": "x", "linestyle": "none"},
    "shallow": {"color": "#e69f00", "marker": "^", "linestyle": "none"},
    "kauri": {"color": "#8c564b", "marker": "v", "linestyle": "none"},
}
# Trees that stop before their budget are the trees of every larger budget too.
STOPS = ("exkmc", "exkmc_imm", "cart")
# Every ratio up to HIGH is shown; higher ones only where a method other than CLTree reaches them,
# and none beyond FAR.
HIGH, FAR = 3.5, 10.0
DPI = 110

Draw = Callable[[Axes, str], bool]


def draw_all(results: Results, folder: Path, names: tuple[str, ...]) -> dict[str, Path]:
    """Draw the figures that are named; return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        for name in names:
            figure = CURVES[name](results)
            paths[name] = folder / f"{name}.png"
            figure.savefig(paths[name], dpi=DPI)
    return paths


def ratios(results: Results) -> Figure:
    """Figure 2: cost ratio against leaves, all methods, all sets."""
    return _grid(NAMES, lambda ax, name: _ratios(ax, results, name), "cost ratio")


def zoomed(results: Results) -> Figure:
    """The small sets, cost ratio from 1.0 to 1.4."""

    def draw(ax: Axes, name: str) -> bool:
        drawn = _ratios(ax, results, name, cut_off=False)
        ax.set_ylim(0.99, 1.4)
        return drawn

    return _grid(SMALL, draw, "cost ratio")


def errors(results: Results) -> Figure:
    """Figure 2 with the deviation over the seeds."""
    return _grid(NAMES, lambda ax, name: _ratios(ax, results, name, bars=True), "cost ratio")


def accuracy(results: Results) -> Figure:
    """Share of rows with their reference label."""

    def draw(ax: Axes, name: str) -> bool:
        most = _most(results, name)
        drawn = [
            _line(ax, results.curve(name, method, "accuracy"), method, most, scale=100.0)
            for method in METHODS
        ]
        if any(drawn):
            ax.axhline(100.0, color="#bbbbbb", linewidth=0.8, zorder=0)
        return any(drawn)

    return _grid(NAMES, draw, "accuracy, %")


def surrogate(results: Results) -> Figure:
    """Surrogate cost (dashed) and k-means cost (full) of ExKMC on IMM, on the large sets."""
    return _grid(LARGE, lambda ax, name: _two_costs(ax, results, name, bars=False), "cost ratio")


def surrogate_errors(results: Results) -> Figure:
    """The same with the deviation over the seeds."""
    return _grid(LARGE, lambda ax, name: _two_costs(ax, results, name, bars=True), "cost ratio")


def cifar(results: Results) -> Figure:
    """CIFAR-10 to 30 k leaves."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    ax = figure.subplots()
    drawn = _ratios(ax, results, "cifar10", most=None, legend=True)
    _finish(ax, "cifar10", drawn, "cost ratio")
    return figure


def peers(results: Results) -> Figure:
    """Other packages on the small sets."""
    methods, same = ("exkmc_imm", *PEERS), results.of_seed(0)

    def draw(ax: Axes, name: str) -> bool:
        most = _most(results, name)
        drawn = [_line(ax, same.curve(name, method), method, most) for method in methods]
        ax.set_ylim(0.99, max(ax.get_ylim()[1], 1.1))
        return any(drawn)

    return _grid(SMALL, draw, "cost ratio")


def runtime(results: Results) -> Figure:
    """Seconds, cumulative, for one process and for more."""
    counts = sorted({int(c.option("threads")) for n in TIMED for c in results.done(n, "time")})
    figure = Figure(figsize=(5.5 * max(len(counts), 1), 3.8), layout="constrained")
    axes = figure.subplots(1, max(len(counts), 1), squeeze=False)[0]
    for ax, count in zip(axes, counts or [1], strict=True):
        drawn = _bars(ax, results, count)
        ax.set_title("one process" if count == 1 else f"{count} processes")
        ax.set_ylabel("seconds, k-means included")
        if not drawn:
            _say_missing(ax)
    handles, labels = axes[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _bars(ax: Axes, results: Results, count: int) -> bool:
    """Draw the bars of the three methods, side by side."""
    kept = {name: results.one(name, "time", f"threads={count}") for name in TIMED}
    known = {name: times for name, times in kept.items() if times is not None}
    if not known:
        return False
    at = np.arange(len(known))
    for place, (label, part, colour) in enumerate(
        (("KMeans", None, "#bbbbbb"), ("IMM", "imm", "#56b4e9"), ("ExKMC", "exkmc", "black"))
    ):
        heights = [times["kmeans"] + (times[part] if part else 0.0) for times in known.values()]
        ax.bar(at + (place - 1) * 0.27, heights, 0.25, label=label, color=colour)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    totals = [times["kmeans"] + times["exkmc"] for times in known.values()]
    parts = [100 * times["exkmc"] / times["kmeans"] for times in known.values()]
    for place, total, part in zip(at, totals, parts, strict=True):
        ax.text(place, 1.06 * total, f"+{part:.2g} %", ha="center", va="bottom", fontsize=8)
    ax.set_ylim(10 ** np.floor(np.log10(min(totals))), 3 * max(totals))
    ax.set_xticks(at, [TITLES[name] for name in known], rotation=30, ha="right")
    return True


def _grid(names: tuple[str, ...], draw: Draw, what: str) -> Figure:
    """Draw a plot for each data set, and one legend."""
    columns = 4 if len(names) > 6 else 3 if len(names) == 6 else len(names)
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(3.1 * columns, 2.5 * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    handles: dict[str, Any] = {}
    for ax, name in zip(axes, names, strict=True):
        _finish(ax, name, draw(ax, name), what)
        found = ax.get_legend_handles_labels()
        handles.update(zip(found[1], found[0], strict=True))
    if handles:
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=2 * columns,
            frameon=False,
        )
    return figure


def _finish(ax: Axes, name: str, drawn: bool, what: str) -> None:
    ax.set_title(TITLES[name], fontsize=10)
    ax.set_xlabel("leaves")
    ax.set_ylabel(what)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    if not drawn:
        _say_missing(ax)


def _say_missing(ax: Axes) -> None:
    ax.text(0.5, 0.5, MISSING, transform=ax.transAxes, ha="center", va="center", color="#888888")
    ax.set(xticks=[], yticks=[])


def _most(results: Results, name: str) -> int:
    """Return the most leaves of the plots: 5 k, or what the fits reach."""
    reached = [case.leaves for case in results.done(name, "exkmc_imm")]
    return min(5 * TABLE[name].k, max(reached, default=0))


def _ratios(
    ax: Axes,
    results: Results,
    name: str,
    *,
    bars: bool = False,
    most: int | None = 0,
    legend: bool = False,
    cut_off: bool = True,
) -> bool:
    """Draw all methods on a data set; ``most``: 0 for the plots' usual range, None for all."""
    most = _most(results, name) if most == 0 else most
    curves = {method: results.curve(name, method) for method in METHODS}
    drawn = [_line(ax, curve, method, most, bars=bars) for method, curve in curves.items()]
    ax.axhline(1.0, color="#bbbbbb", linewidth=0.8, zorder=0, label="k-means")
    if not any(drawn):
        return False
    if cut_off:
        _cut_off(ax, curves)
    if legend:
        ax.legend(frameon=False, loc="upper right", ncols=2)
    return True


def _cut_off(ax: Axes, curves: dict[str, Curve | None]) -> None:
    """Leave out of the picture what would hide all others, and say how far it goes."""
    tops = {method: float(c.median.max()) for method, c in curves.items() if c is not None}
    shown = [
        float(curve.median[curve.median <= FAR].max(initial=1.0))
        for method, curve in curves.items()
        if curve is not None and method != "cltree"
    ]
    limit = max(HIGH, 1.1 * max(shown, default=1.0))
    beyond = [f"{METHODS[m]} to {top:.3g}" for m, top in tops.items() if top > limit]
    if beyond:
        ax.set_ylim(1.0 - 0.05 * (limit - 1.0), limit)
        ax.text(
            0.98, 0.98, ", ".join(beyond), transform=ax.transAxes, ha="right", va="top",
            fontsize=7, color="#888888",
        )  # fmt: skip


def _line(
    ax: Axes,
    curve: Curve | None,
    method: str,
    most: int | None,
    *,
    bars: bool = False,
    scale: float = 1.0,
) -> bool:
    if curve is None:
        return False
    curve = curve.between(0, np.inf if most is None else most)
    leaves, median, deviation = curve.leaves, scale * curve.median, scale * curve.deviation
    if not len(leaves):
        return False
    if most is not None and method in STOPS and leaves[-1] < most:
        leaves, median = np.append(leaves, most), np.append(median, median[-1])
        deviation = np.append(deviation, deviation[-1])
    label = {**METHODS, **PEERS}[method]
    if bars:
        every = max(1, len(leaves) // 12)
        ax.errorbar(
            leaves,
            median,
            deviation,
            errorevery=every,
            capsize=2,
            label=label,
            **STYLE.get(method, {}),
        )
    else:
        ax.plot(leaves, median, label=label, **STYLE.get(method, {}))
    return True


def _two_costs(ax: Axes, results: Results, name: str, *, bars: bool) -> bool:
    most = _most(results, name)
    for what, line, label in (("ratio", "-", "k-means cost"), ("surrogate", "--", "surrogate")):
        curve = results.curve(name, "exkmc_imm", what)
        if curve is None:
            return False
        some = curve.between(0, most)
        spread = some.deviation if bars else None
        every = max(1, len(some.leaves) // 12)
        ax.errorbar(
            some.leaves, some.median, spread, errorevery=every, capsize=2, linestyle=line,
            color="black", label=label,
        )  # fmt: skip
    ax.axhline(1.0, color="#bbbbbb", linewidth=0.8, zorder=0)
    return True


CURVES: dict[str, Callable[[Results], Figure]] = {
    "ratios": ratios,
    "zoomed": zoomed,
    "errors": errors,
    "surrogate": surrogate,
    "surrogate_errors": surrogate_errors,
    "accuracy": accuracy,
    "cifar": cifar,
    "runtime": runtime,
    "peers": peers,
}
