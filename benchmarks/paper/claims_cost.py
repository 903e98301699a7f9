"""What the paper states of costs: of the trees' sizes, the baselines, and the synthetic sets."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from treemeans.datasets import NAMES, TABLE

from .cells import LARGE, METHODS, MOST, REAL, SMALL, TITLES
from .claims import PARTLY, SEEN, UNSEEN, Claim, Finding, above, below, by_count, by_fact, listed
from .results import Results

OURS = "exkmc_imm"
BASELINES = ("cart", "kdtree", "cltree", "cubt")
# What words mean here, in cost ratios.
CONVERGED, WELL, SAME = 1.02, 1.05, 1e-3
ELEVEN = tuple(name for name in NAMES if name != "cifar10")


def _titled(values: dict[str, float | None]) -> str:
    return listed({TITLES[name]: value for name, value in values.items()})


def imm_within(results: Results) -> Finding:
    """IMM against the reference on the real sets but CIFAR-10."""
    values = {name: results.at(name, "imm", 1) for name in REAL if name != "cifar10"}
    return by_count({name: below(v, 1.30) for name, v in values.items()}, _titled(values))


def within_two_percent(results: Results) -> Finding:
    """The least cost from 2 k to 4 k leaves on eleven sets."""
    values = {name: _least(results, name, 2, 4) for name in ELEVEN}
    return by_count({name: below(v, CONVERGED) for name, v in values.items()}, _titled(values))


def cifar_outlier(results: Results) -> Finding:
    """CIFAR-10 at 4 k leaves."""
    value = results.end("cifar10", OURS, 4)
    return by_fact(above(value, CONVERGED), f"{value:.3f} at 4 k leaves" if value else "")


def to_one(results: Results) -> Finding:
    """The ratio at 4 k leaves, to a percent."""
    values = {name: results.end(name, OURS, 4) for name in NAMES}
    met = {name: below(v, 1.01) for name, v in values.items()}
    return by_count(met, _titled(values), enough=len(NAMES) // 2 + 1)


def often_lowest(results: Results) -> Finding:
    """Points of the plots where ours is lowest of all methods that have one."""
    shares = {name: _share_lowest(results, name) for name in NAMES}
    known = [share for share in shares.values() if share is not None]
    if not known:
        return by_fact(None, "")
    percent = {TITLES[n]: None if s is None else 100 * s for n, s in shares.items()}
    met = {n: above(s, 0.5) for n, s in shares.items()}
    return by_count(met, listed(percent, "{:.0f} %"), enough=len(NAMES) // 2 + 1)


def lower_than_baselines(results: Results) -> Finding:
    """For each baseline, the share of points where ours costs less or the same."""
    shares = {method: _share_below(results, method) for method in BASELINES}
    percent = {METHODS[m]: None if s is None else 100 * s for m, s in shares.items()}
    return by_count({m: above(s, 0.5) for m, s in shares.items()}, listed(percent, "{:.0f} %"))


def surrogate_falls(results: Results) -> Finding:
    """Every path of every cell."""
    met: dict[str, bool | None] = {}
    for name in NAMES:
        paths = [path for m in ("exkmc", OURS) for path in results.paths(name, m)]
        steps = [np.diff([row["surrogate"] for row in path]).max(initial=0.0) for path in paths]
        met[name] = max(steps) <= 1e-9 if steps else None
    return by_count(met, "")


def cost_falls(results: Results) -> Finding:
    """Steps of the paths at which the true cost rises."""
    rises, steps, largest = 0, 0, 0.0
    for name in NAMES:
        for path in results.paths(name, OURS):
            change = np.diff([row["ratio"] for row in path])
            rises += int((change > 1e-9).sum())
            steps += len(change)
            largest = max(largest, float(change.max(initial=0.0)))
    if not steps:
        return by_fact(None, "")
    text = f"{rises} of {steps} steps rise, by {largest:.2g} of the reference's cost at most"
    return Finding(SEEN if not rises else PARTLY if largest < 0.01 else UNSEEN, text)


def whole_tree(results: Results) -> Finding:
    """Trees that may have a leaf for each row."""
    kept = {name: results.one(name, "whole") for name in SMALL}
    values = {n: None if k is None else float(k["rows"][-1]["ratio"]) for n, k in kept.items()}
    met = {n: below(v, 1 + 1e-6) for n, v in values.items()}
    needed = {TITLES[n]: float(k["rows"][-1]["leaves"]) for n, k in kept.items() if k}
    return by_count(met, f"leaves that suffice: {listed(needed, '{:.0f}')}")


def cltree_worst(results: Results) -> Finding:
    """The mean ratio of each method over the sizes that CLTree has."""
    worst: dict[str, bool | None] = {}
    means = {}
    for name in SMALL:
        theirs = results.curve(name, "cltree")
        if theirs is None:
            worst[name] = None
            continue
        means[name] = float(theirs.median.mean())
        others = [_mean_at(results, name, m, theirs.leaves) for m in METHODS if m != "cltree"]
        worst[name] = means[name] > max(value for value in others if value is not None)
    return by_count(worst, f"mean ratio {_titled(dict(means))}", enough=4)


def cltree_varies(results: Results) -> Finding:
    """Sizes at which CLTree's best tree costs more than that of the size before."""
    rises = {}
    for name in SMALL:
        curve = results.curve(name, "cltree")
        if curve is not None:
            rises[TITLES[name]] = float((np.diff(curve.median) > SAME).sum())
    some = sum(rises.values()) > 0 if rises else None
    return by_fact(some, f"sizes at which it rises: {listed(dict(rises), '{:.0f}')}")


def cubt_competitive(results: Results) -> Finding:
    """CUBT at most 10 % above ours at 4 k leaves, and not the best, on the other four sets."""
    names = [name for name in SMALL if name not in ("digits", "mice_protein")]
    values = {name: results.end(name, "cubt", 4) for name in names}
    ours = {name: results.end(name, OURS, 4) for name in names}
    met = {n: below(v, 1.10 * (ours[n] or np.inf)) for n, v in values.items()}
    return by_count(met, _titled(values), enough=3)


def cubt_fails(results: Results) -> Finding:
    """CUBT at 4 k leaves on two sets."""
    values = {name: results.end(name, "cubt", 4) for name in ("digits", "mice_protein")}
    return by_count({n: above(v, WELL) for n, v in values.items()}, _titled(values))


def cart_well(results: Results) -> Finding:
    """CART at 4 k leaves on the real sets."""
    values = {name: results.end(name, "cart", 4) for name in REAL}
    return by_count({n: below(v, WELL) for n, v in values.items()}, _titled(values), enough=5)


def cart_high(results: Results) -> Finding:
    """CART at 2 k leaves, set against ours, on two sets."""
    values = {n: results.end(n, "cart", 2) for n in ("avila", "20newsgroups")}
    ours = {n: results.end(n, OURS, 2) for n in values}
    met = {n: above(v, (ours[n] or 0) + 0.02) for n, v in values.items()}
    return by_count(met, f"CART {_titled(values)}; ExKMC {_titled(ours)}")


def kdtree_small(results: Results) -> Finding:
    """The KD-tree at 4 k leaves on the small sets."""
    values = {name: results.end(name, "kdtree", 4) for name in SMALL}
    return by_count({n: below(v, 1.15) for n, v in values.items()}, _titled(values), enough=4)


def kdtree_large(results: Results) -> Finding:
    """The KD-tree at 4 k leaves on the large sets."""
    values = {name: results.end(name, "kdtree", 4) for name in LARGE}
    return by_count({n: above(v, 1.10) for n, v in values.items()}, _titled(values))


def cifar_competitive(results: Results) -> Finding:
    """The fewest leaves from which ours is within 1 % of the best other method."""
    ours, k = results.curve("cifar10", OURS), TABLE["cifar10"].k
    others = [results.curve("cifar10", method) for method in ("cart", "kdtree")]
    if ours is None or any(other is None for other in others):
        return by_fact(None, "")
    for leaves, value in zip(ours.leaves, ours.median, strict=True):
        rivals = [v for other in others if other and (v := other.at(int(leaves))) is not None]
        if rivals and value <= 1.01 * min(rivals):
            return by_fact(2.5 <= leaves / k <= 4.5, f"{leaves / k:.1f} k leaves")
    return by_fact(False, "at no number of leaves")


def cifar_start(results: Results) -> Finding:
    """CIFAR-10 has the highest ratio of the real sets at k leaves, and halves its excess by 4 k."""
    starts = {name: results.at(name, "imm", 1) for name in REAL}
    first, later = starts["cifar10"], results.at("cifar10", OURS, 4)
    if first is None or later is None:
        return by_fact(None, "")
    highest = first >= max(value for value in starts.values() if value is not None)
    return by_fact(highest and later - 1 < (first - 1) / 2, f"{first:.3f}, then {later:.3f} at 4 k")


def cifar_never(results: Results) -> Finding:
    """All methods at 30 k leaves."""
    methods = ("exkmc", OURS, "cart", "kdtree")
    values = {METHODS[m]: results.at("cifar10", m, 30) for m in methods}
    return by_count({m: above(v, CONVERGED) for m, v in values.items()}, listed(values))


def cifar_overtakes(results: Results) -> Finding:
    """IMM highest at k leaves, ours lowest beyond 10 k."""
    methods = ("exkmc", "cart", "kdtree")
    late = {m: results.at("cifar10", m, 30) for m in (*methods, OURS)}
    early = {m: results.at("cifar10", m, 1) for m in (*methods, "imm")}
    if None in late.values() or None in early.values():
        return by_fact(None, "")
    worst = early["imm"] >= max(early.values())  # type: ignore[type-var,operator]
    lowest = late[OURS] <= min(late.values()) + SAME  # type: ignore[type-var,operator]
    text = f"k: {listed({METHODS[m]: v for m, v in early.items()})}"
    text += f"; 30 k: {listed({METHODS[m]: v for m, v in late.items()})}"
    return by_count({"worst at k": worst, "lowest at 30 k": lowest}, text)


def base_helps(results: Results) -> Finding:
    """ExKMC from an empty tree costs the same or more, on average over k to 4 k leaves."""
    values: dict[str, float | None] = {}
    for name in NAMES:
        bare, ours = results.curve(name, "exkmc"), results.curve(name, OURS)
        values[name] = None
        if bare is not None and ours is not None:
            bare = bare.between(0, 4 * TABLE[name].k)
            with_base = _mean_at(results, name, OURS, bare.leaves)
            values[name] = None if with_base is None else float(bare.median.mean()) - with_base
    met = {n: above(v, -SAME) for n, v in values.items()}
    text = listed({TITLES[n]: v for n, v in values.items()}, "{:+.3f}")
    return by_count(met, f"mean difference {text}", enough=len(NAMES) // 2 + 1)


def expansion_helps(results: Results) -> Finding:
    """The ratio at 2 k leaves is below that of IMM, or IMM has no excess."""
    met: dict[str, bool | None] = {}
    values: dict[str, float | None] = {}
    for name in NAMES:
        first, then = results.at(name, "imm", 1), results.end(name, OURS, 2)
        known = first is not None and then is not None
        values[name] = first - then if known else None
        met[name] = (then < first or first <= 1 + SAME) if known else None
    return by_count(met, f"lower by {_titled(values)}")


def synthetic_cart(results: Results) -> Finding:
    """CART at every size on Synthetic I."""
    curve = results.curve("synthetic_1", "cart")
    if curve is None:
        return by_fact(None, "")
    least, most = float(curve.median.min()), float(curve.median.max())
    return by_fact(least > 5, f"{least:.2f} to {most:.2f}")


def synthetic_others(results: Results) -> Finding:
    """The other methods where the plots end on Synthetic I."""
    methods = ("exkmc", OURS, "kdtree")
    values = {METHODS[m]: results.at("synthetic_1", m, MOST) for m in methods}
    return by_count({m: below(v, WELL) for m, v in values.items()}, listed(values))


def synthetic_hard(results: Results) -> Finding:
    """IMM on Synthetic II, and ours at 4 k leaves."""
    first, later = results.at("synthetic_2", "imm", 1), results.end("synthetic_2", OURS, 4)
    if first is None or later is None:
        return by_fact(None, "")
    met = {"starts high": first > 1.3, "goes down": later <= WELL}
    return by_count(met, f"{first:.3f} at k leaves, {later:.3f} at 4 k")


def separated(results: Results) -> Finding:
    """Sets where, at 3 k leaves, methods differ by more than their deviations, or not at all."""
    met: dict[str, bool | None] = {}
    for name in NAMES:
        curves = [results.curve(name, m) for m in ("exkmc", OURS, "cart", "kdtree")]
        spots = [_spot(curve, 3 * TABLE[name].k) for curve in curves if curve and curve.seeds > 1]
        known = [spot for spot in spots if spot is not None]
        gaps = [
            (abs(one - other), max(spread, further))
            for (one, spread), (other, further) in combinations(known, 2)
        ]
        met[name] = all(gap < SAME or gap > spread for gap, spread in gaps) if gaps else None
    return by_count(met, ", ".join(TITLES[n] for n, apart in met.items() if apart), enough=9)


def _spot(curve: object, leaves: int) -> tuple[float, float] | None:
    place = np.flatnonzero(curve.leaves == leaves)  # type: ignore[attr-defined]
    if not len(place):
        return None
    return float(curve.median[place[0]]), float(curve.deviation[place[0]])  # type: ignore[attr-defined]


def negligible(results: Results) -> Finding:
    """The largest deviation over the seeds from 2 k leaves on, of our cost."""
    values: dict[str, float | None] = {}
    for name in NAMES:
        curve = results.curve(name, OURS)
        if curve is None or curve.seeds < 2:
            values[name] = None
            continue
        late = curve.between(2 * TABLE[name].k, np.inf)
        values[name] = float(late.deviation.max(initial=0.0))
    met = {n: below(v, 0.01) for n, v in values.items()}
    return by_count(met, _titled(values), enough=len(NAMES) // 2 + 1)


def _least(results: Results, name: str, low: int, high: int) -> float | None:
    """Return the least ratio in a range; of a tree that stopped before it, the last."""
    curve, k = results.curve(name, OURS), TABLE[name].k
    if curve is None:
        return None
    some = curve.between(low * k, high * k)
    return float(some.median.min()) if len(some.leaves) else results.end(name, OURS, low)


def _mean_at(results: Results, name: str, method: str, leaves: object) -> float | None:
    """Return the mean ratio at some sizes; of a tree that stopped, with its last value."""
    curve = results.curve(name, method)
    if curve is None:
        return None
    found = [some.median[-1] for s in leaves if len((some := curve.between(0, s)).leaves)]  # type: ignore[attr-defined]
    return float(np.mean(found)) if found else None


def _share_lowest(results: Results, name: str) -> float | None:
    """Return the share of the sizes at which no other method is below ours."""
    rivals = [c for m in BASELINES if (c := results.curve(name, m)) is not None]
    sizes = sorted({int(s) for c in rivals for s in c.leaves})
    pairs = [(_mean_at(results, name, OURS, [s]), [c.at(s) for c in rivals]) for s in sizes]
    lowest = [
        ours <= min(v for v in values if v is not None) + SAME
        for ours, values in pairs
        if ours is not None
    ]
    return float(np.mean(lowest)) if lowest else None


def _share_below(results: Results, method: str) -> float | None:
    """Return the share of a method's points, over all sets, at which ours costs no more."""
    lower = []
    for name in NAMES:
        curve = results.curve(name, method)
        for size, value in zip(curve.leaves, curve.median, strict=True) if curve else ():
            ours = _mean_at(results, name, OURS, [size])
            if ours is not None:
                lower.append(ours <= value + SAME)
    return float(np.mean(lower)) if lower else None


COSTS = (
    Claim(
        "Introduction",
        "IMM achieves clustering cost within 5-30 % of the cost of standard k-means algorithms.",
        "IMM at k leaves costs at most 1.30 on every real set but CIFAR-10",
        imm_within,
    ),
    Claim(
        "Introduction",
        "On eleven datasets, trees with between 2k and 4k leaves suffice to get within 1-2 % of "
        "the cost of a standard k-means implementation.",
        f"the least ratio from 2 k to 4 k leaves is at most {CONVERGED}, on all eleven",
        within_two_percent,
    ),
    Claim(
        "Introduction",
        "The only outlier is CIFAR-10.",
        f"its ratio at 4 k leaves is above {CONVERGED}",
        cifar_outlier,
    ),
    Claim(
        "Introduction",
        "Increasing the tree size should lead to monotonically decreasing the clustering cost "
        "(a hypothesis).",
        "no step of any path raises the k-means cost; in part, if none does so by a percent",
        cost_falls,
    ),
    Claim(
        "Contributions",
        "On many datasets the cost ratio goes to 1.0 as the number of leaves goes from k to 4k.",
        "at most 1.01 at 4 k leaves on most sets",
        to_one,
    ),
    Claim(
        "Contributions",
        "The surrogate cost is non-increasing throughout the execution of ExKMC.",
        "no step of any path raises it",
        surrogate_falls,
    ),
    Claim(
        "Introduction",
        "When k' = n, the k-means cost matches that of the reference clustering.",
        "at most 1 to six digits on the small sets (means cost less than centers that still move)",
        whole_tree,
    ),
    Claim(
        "Contributions",
        "Often a lower k-means cost for a given number of leaves compared to four baselines.",
        "ours costs no more at over half of each baseline's points",
        lower_than_baselines,
    ),
    Claim(
        "Real datasets",
        "CLTree performs the worst in most cases.",
        "highest mean ratio over its own sizes, on at least four of six sets",
        cltree_worst,
    ),
    Claim(
        "Real datasets",
        "The CLTree cost varies as a function of the number of leaves, and can increase.",
        "it rises at some size",
        cltree_varies,
    ),
    Claim(
        "Real datasets",
        "On most datasets CUBT is competitive.",
        "within 10 % of ExKMC at 4 k leaves on three of the other four small sets",
        cubt_competitive,
    ),
    Claim(
        "Real datasets",
        "On Digits and Mice Protein, CUBT fails to converge to a good clustering.",
        f"above {WELL} at 4 k leaves on both",
        cubt_fails,
    ),
    Claim(
        "Real datasets",
        "CART performs well on many of the datasets.",
        f"at most {WELL} at 4 k leaves on at least half of the real sets",
        cart_well,
    ),
    Claim(
        "Real datasets",
        "On Avila and 20newsgroups, CART has a fairly high cost.",
        "at 2 k leaves its ratio is more than 0.02 above ExKMC's",
        cart_high,
    ),
    Claim(
        "Real datasets",
        "For the small datasets, KDTree performs competitively.",
        "at most 1.15 at 4 k leaves on at least four of six",
        kdtree_small,
    ),
    Claim(
        "Real datasets",
        "On large datasets, the cost of KDTree remains high.",
        "above 1.10 at 4 k leaves on all four",
        kdtree_large,
    ),
    Claim(
        "Real datasets",
        "ExKMC often has the lowest cost throughout.",
        "lowest, or the same to 0.001, at over half of the sizes on most sets",
        often_lowest,
    ),
    Claim(
        "Real datasets",
        "On CIFAR-10 it requires around 3.5 k leaves to be competitive.",
        "within 1 % of the best baseline from between 2.5 k and 4.5 k leaves on",
        cifar_competitive,
    ),
    Claim(
        "Real datasets",
        "On CIFAR-10 the cost is very high at k leaves, and then quickly decreases.",
        "highest IMM ratio of the real sets, its excess more than halved at 4 k leaves",
        cifar_start,
    ),
    Claim(
        "Real datasets",
        "Starting with an empty tree, the cost is worse or the same as ExKMC with IMM.",
        "no lower on average over k to 4 k leaves, on most sets",
        base_helps,
    ),
    Claim(
        "Synthetic datasets",
        "On Synthetic I, CART has cost ratio above five.",
        "above 5 at every size",
        synthetic_cart,
    ),
    Claim(
        "Synthetic datasets",
        "On Synthetic I, other methods converge to a near-optimal cost.",
        f"at most {WELL} at {MOST} k leaves",
        synthetic_others,
    ),
    Claim(
        "Synthetic datasets",
        "On Synthetic II, IMM starts with a high k-means cost; with more leaves the cost quickly "
        "goes down.",
        f"IMM above 1.3, ExKMC at most {WELL} at 4 k leaves",
        synthetic_hard,
    ),
    Claim(
        "Discussion",
        "Using ExKMC to expand the tree consistently leads to a lower cost clustering than IMM.",
        "lower at 2 k leaves on every set, unless IMM is at 1 already",
        expansion_helps,
    ),
    Claim(
        "Appendix",
        "On CIFAR-10 the algorithms fail to converge to a cost ratio of 1.0.",
        f"all above {CONVERGED} at 30 k leaves",
        cifar_never,
    ),
    Claim(
        "Appendix",
        "On CIFAR-10, IMM starts with the worst performance, but when expanded using ExKMC "
        "eventually outperforms the competitors (for k' > 10 k).",
        "IMM highest at k leaves, ExKMC (base: IMM) lowest at 30 k",
        cifar_overtakes,
    ),
    Claim(
        "Appendix",
        "In many datasets, the deviations over five executions of KMeans are negligible.",
        "standard deviation of our ratio at most 0.01 from 2 k leaves on, on most sets",
        negligible,
    ),
    Claim(
        "Appendix",
        "When the number of leaves surpasses 2k the results of all algorithms remain separated "
        "in the presence of deviations.",
        "at 3 k leaves, any two are further apart than the larger deviation, or the same to "
        "0.001, on nine sets",
        separated,
    ),
)
