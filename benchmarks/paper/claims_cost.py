"""What the paper states of ExKMC and IMM: their distance from the reference, and how they grow."""

from __future__ import annotations

import numpy as np

from benchmarks.paper.claim_numbers import (
    BASELINES,
    OURS,
    duels,
    ends,
    least,
    mean_at,
    minus,
    titled,
)
from benchmarks.paper.claims import (
    CONVERGED,
    HIGH_FIRST,
    SAME,
    WELL,
    Claim,
    Finding,
    above,
    below,
    by_count,
    by_fact,
    half,
    listed,
    most,
)
from benchmarks.paper.plan import METHODS, PLANE, REAL, SMALL, TITLES
from benchmarks.paper.results import Results
from treemeans.datasets import NAMES, TABLE

NINE = tuple(name for name in REAL if name != "cifar10")
ELEVEN = tuple(name for name in NAMES if name != "cifar10")


def imm_within(results: Results) -> Finding:
    """IMM against the reference on the real sets."""
    values = {name: results.at(name, "imm", 1) for name in REAL}
    small = sum(value is not None and value < 1.05 for value in values.values())
    text = f"{titled(values)}; {small} of them below 5 %"
    return by_count({name: below(v, HIGH_FIRST) for name, v in values.items()}, text)


def imm_low(results: Results) -> Finding:
    """The same without CIFAR-10."""
    values = {name: results.at(name, "imm", 1) for name in NINE}
    return by_count({name: below(v, HIGH_FIRST) for name, v in values.items()}, titled(values))


def within_two_percent(results: Results) -> Finding:
    """The least cost from 2 k to 4 k leaves on eleven sets."""
    values = {name: least(results, name, 2, 4) for name in ELEVEN}
    return by_count({name: below(v, CONVERGED) for name, v in values.items()}, titled(values))


def cifar_outlier(results: Results) -> Finding:
    """CIFAR-10 does not get there, and all others do."""
    values = {name: least(results, name, 2, 4) for name in NAMES}
    far = [name for name, value in values.items() if value is not None and value > CONVERGED]
    known = None not in values.values()
    met = {
        "CIFAR-10 is one": above(values["cifar10"], CONVERGED),
        "no other is": far in ([], ["cifar10"]) if known else None,
    }
    return by_count(met, f"above it {titled({name: values[name] for name in far})}")


def cost_falls(results: Results) -> Finding:
    """Sets on which no step of any path raises the true cost."""
    met: dict[str, bool | None] = {}
    rises, steps, largest = 0, 0, 0.0
    for name in NAMES:
        changes = [np.diff([r["ratio"] for r in p]) for p in results.paths(name, OURS)]
        up = sum(int((change > 1e-9).sum()) for change in changes)
        met[name] = not up if changes else None
        rises, steps = rises + up, steps + sum(map(len, changes))
        largest = max([largest, *(float(c.max(initial=0.0)) for c in changes)])
    text = f"{rises} of all {steps} steps rise, by {largest:.2g} of the reference's cost at most"
    held = ", ".join(TITLES[name] for name, falls in met.items() if falls)
    return by_count(met, f"{held}; {text}" if held else text)


def surrogate_falls(results: Results) -> Finding:
    """Every path of every case."""
    met: dict[str, bool | None] = {}
    for name in NAMES:
        paths = [path for m in ("exkmc", OURS) for path in results.paths(name, m)]
        steps = [np.diff([row["surrogate"] for row in path]).max(initial=0.0) for path in paths]
        met[name] = max(steps) <= 1e-9 if steps else None
    return by_count(met, "")


def whole_tree(results: Results) -> Finding:
    """Trees that may have a leaf for each row."""
    kept = {name: results.one(name, "whole") for name in SMALL}
    last = {n: None if k is None else float(k["rows"][-1]["ratio"]) for n, k in kept.items()}
    met = {n: below(None if v is None else abs(v - 1), SAME) for n, v in last.items()}
    needed = {TITLES[n]: float(k["rows"][-1]["leaves"]) for n, k in kept.items() if k}
    return by_count(met, f"leaves that suffice: {listed(dict(needed), '{:.0f}')}")


def first_figure(results: Results) -> Finding:
    """Cost and accuracy of the trees of Figure 1, on our own points."""
    kept = results.one(PLANE, "regions")
    if kept is None:
        return by_fact(None, "")
    few, some, all_of = kept["trees"]
    met = {
        "cost": few["ratio"] > some["ratio"] > all_of["ratio"] - SAME,
        "likeness": few["accuracy"] < some["accuracy"] <= all_of["accuracy"],
        "perfect": all_of["accuracy"] == 1.0,
    }
    texts = [
        f"{tree['leaves']:.0f} leaves: {tree['ratio']:.3f}, accuracy {tree['accuracy']:.3f}"
        for tree in kept["trees"]
    ]
    return by_count(met, "; ".join(texts))


def to_one(results: Results) -> Finding:
    """The ratio at 4 k leaves, on at least half of the sets."""
    values = ends(results, NAMES, OURS, 4)
    met = {name: below(v, CONVERGED) for name, v in values.items()}
    return by_count(met, titled(values), enough=half(NAMES))


def usually_matches(results: Results) -> Finding:
    """The same, on most."""
    values = ends(results, NAMES, OURS, 4)
    met = {name: below(v, CONVERGED) for name, v in values.items()}
    return by_count(met, titled(values), enough=most(NAMES))


def performs_well(results: Results) -> Finding:
    """The same with more room, on all."""
    values = ends(results, NAMES, OURS, 4)
    return by_count({name: below(v, WELL) for name, v in values.items()}, titled(values))


def outperforms(results: Results) -> Finding:
    """For each baseline, the sets where ours costs no more at 2 k leaves."""
    met: dict[str, bool | None] = {}
    texts = []
    for method in BASELINES:
        gaps = [minus(results.end(n, method, 2), results.end(n, OURS, 2)) for n in NAMES]
        known = [gap for gap in gaps if gap is not None]
        held = sum(gap >= -SAME for gap in known)
        met[method] = held >= most(known) if known else None
        texts.append(f"{METHODS[method]} on {held} of {len(known)}")
    return by_count(met, ", ".join(texts))


def lower_than_baselines(results: Results) -> Finding:
    """For each baseline, the share of its points where ours costs less."""
    met: dict[str, bool | None] = {}
    texts = []
    for method in BASELINES:
        counts = duels(results, method)
        met[method] = counts[0] >= sum(counts) / 2 if sum(counts) else None
        shares = [f"{100 * count / max(sum(counts), 1):.0f}" for count in counts]
        texts.append(f"{METHODS[method]} {' / '.join(shares)}")
    return by_count(met, f"% of points lower / same / higher than {', '.join(texts)}")


def base_helps(results: Results) -> Finding:
    """ExKMC from an empty tree costs the same or more, on average over k to 4 k leaves."""
    values: dict[str, float | None] = {}
    for name in NAMES:
        bare = results.curve(name, "exkmc")
        sizes = range(TABLE[name].k, 4 * TABLE[name].k + 1) if bare is not None else ()
        values[name] = minus(
            mean_at(results, name, "exkmc", sizes), mean_at(results, name, OURS, sizes)
        )
    met = {n: above(v, -SAME) for n, v in values.items()}
    text = f"mean difference {titled(values, '{:+.3f}')}"
    return by_count(met, text, enough=most(NAMES))


def expansion_helps(results: Results) -> Finding:
    """The ratio at 2 k leaves is below that of IMM, or IMM has no excess."""
    met: dict[str, bool | None] = {}
    values: dict[str, float | None] = {}
    for name in NAMES:
        first, then = results.at(name, "imm", 1), results.end(name, OURS, 2)
        values[name] = minus(first, then)
        known = first is not None and then is not None
        met[name] = (then < first or first <= 1 + SAME) if known else None  # type: ignore[operator]
    return by_count(met, f"lower by {titled(values)}")


COST_CLAIMS = (
    Claim(
        "Abstract",
        "ExKMC produces a low cost clustering, outperforming both standard decision tree methods "
        "and other algorithms for explainable clustering.",
        "at 2 k leaves it costs no more than each of the four on most sets that one was run on",
        outperforms,
    ),
    Claim(
        "Introduction",
        "We hypothesize that increasing the tree size should lead to monotonically decreasing the "
        "clustering cost.",
        "set by set: no step of any path, whatever the seed, raises the k-means cost",
        cost_falls,
        "What a step cannot raise is the surrogate cost (see below). The mean of a cluster moves "
        "when a leaf changes its label, so the k-means cost can rise a little, and does.",
    ),
    Claim(
        "Introduction",
        "When k' = n, then the k-means cost matches that of the reference clustering.",
        f"on the small sets, to {SAME}",
        whole_tree,
    ),
    Claim(
        "Introduction, Figure 1",
        "IMM with k = 3 leaves leads to a large deviation from the reference clustering; 2k = 6 "
        "leaves lead to a lower-cost result that better approximates it; trees with an arbitrary "
        "number of leaves can perfectly fit it.",
        "on three slanted bundles of our own: cost falls, accuracy rises, to exactly 1",
        first_figure,
    ),
    Claim(
        "Introduction",
        "IMM achieves clustering cost within 5-30 % of the cost of standard k-means algorithms.",
        f"at k leaves at most {HIGH_FIRST} on all ten real sets",
        imm_within,
        "Where it is above, the published package gives the same.",
    ),
    Claim(
        "Introduction",
        "On eleven datasets, threshold trees with between 2k and 4k leaves suffice to get within "
        "1-2 % of the cost of a standard k-means implementation.",
        f"the least ratio from 2 k to 4 k leaves is at most {CONVERGED}, on all eleven",
        within_two_percent,
        "The rest needs more leaves than 4 k. It is not our growth: on the small sets the "
        "published package, given the same centers, ends at the same costs but for Iris (table of "
        "other packages), and at 2 k leaves on the large ones too (SPEED.md). The paper prints no "
        "numbers to set ours against. Trees that are refined get nearer at the same "
        "size (QUALITY.md).",
    ),
    Claim(
        "Introduction",
        "The only outlier is CIFAR-10.",
        f"the only set whose least ratio from 2 k to 4 k leaves is above {CONVERGED}",
        cifar_outlier,
        "It is the farthest but not the only one, as the statement before says.",
    ),
    Claim(
        "Contributions",
        "ExKMC quickly converges to the reference clustering: on many datasets, the cost ratio "
        "goes to 1.0 as the number of leaves goes from k to 4k.",
        f"at most {CONVERGED} at 4 k leaves on at least half of the sets",
        to_one,
        "The others are on the way, most of them within 5 %; see the statement on 2k to 4k.",
    ),
    Claim(
        "Contributions",
        "The surrogate cost is non-increasing throughout the execution of ExKMC.",
        "no step of any path raises it",
        surrogate_falls,
    ),
    Claim(
        "Contributions",
        "On a dozen datasets, our algorithm often achieves a lower k-means cost for a given number "
        "of leaves compared to four baselines.",
        f"lower by more than {SAME} at at least half of each baseline's points",
        lower_than_baselines,
    ),
    Claim(
        "Figure 2; Real datasets",
        "Our algorithm (black line) consistently performs well. On all of the datasets, our "
        "method ExKMC performs well.",
        f"at most {WELL} at 4 k leaves on all sets",
        performs_well,
        "On CIFAR-10 no method converges, as the paper says elsewhere; the other three still fall "
        "at 4 k leaves.",
    ),
    Claim(
        "Real datasets",
        "When the number of leaves is exactly k, we can see that IMM's cost is quite low.",
        f"at most {HIGH_FIRST}, the end of its 5-30 %, on the real sets but CIFAR-10",
        imm_low,
    ),
    Claim(
        "Real datasets",
        "Starting with an empty tree, in general, the cost is worse or the same as ExKMC with IMM.",
        "no lower on average over k to 4 k leaves, on most sets",
        base_helps,
    ),
    Claim(
        "Discussion",
        "Using ExKMC to expand the threshold tree consistently leads to a lower cost clustering "
        "than IMM.",
        "lower at 2 k leaves on every set, unless IMM is at 1 already",
        expansion_helps,
    ),
    Claim(
        "Discussion",
        "Expanding the tree to between 2k and 4k leaves often results in nearly the same cost as "
        "the reference clustering.",
        f"at most {CONVERGED} at 4 k leaves on at least half of the sets",
        to_one,
        "As above.",
    ),
    Claim(
        "Conclusion",
        "ExKMC usually matches the reference clustering cost with only 4k leaves.",
        f"at most {CONVERGED} at 4 k leaves on most sets",
        usually_matches,
        "As above.",
    ),
)
