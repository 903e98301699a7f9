"""Trees to explain: random ones on columns of every kind, with rows and limits; a fitted one."""

import math

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.oracles.explain_oracle import Limits
from treemeans import ExKMC, ThresholdTree
from treemeans.columns import Column
from treemeans.explain.allowed_changes import AllowedChanges
from treemeans.explain.column_lookup import ColumnLookup
from treemeans.explain.model_facts import Facts


def facts_of(tree, columns, spread):
    """Facts with what explanations of rows read, and nothing else."""
    k = tree.n_clusters
    return Facts(
        tree=tree,
        columns=tuple(columns),
        hits=np.zeros((tree.n_leaves, k)),
        costs=np.zeros(k),
        reference_cost=0.0,
        profiles=np.zeros((k, tree.n_features)),
        spread=np.asarray(spread, dtype=float),
    )


def tree_of(*cuts, n_features=1, n_clusters=None):
    """A chain of cuts (feature, threshold): leaf i lies left of cut i, the last right of all."""
    n = len(cuts)
    feature, threshold, left, right = [], [], [], []
    for i, (f, t) in enumerate(cuts):
        feature += [f, -1]
        threshold += [t, 0.0]
        left += [2 * i + 1, -1]
        right += [2 * i + 2, -1]
    label = [i // 2 for i in range(2 * n + 1)]
    costs = None if n_clusters is None else np.zeros((2 * n + 1, n_clusters))
    return ThresholdTree(
        [*feature, -1], [*threshold, 0.0], [*left, -1], [*right, -1], label, n_features, costs=costs
    )


def fitted_customers():
    """A fitted model of columns of every kind, all of them cut, and its table."""
    rng = np.random.default_rng(3)
    group, color = rng.integers(3, size=300), rng.integers(2, size=300)
    days = rng.integers(0, 200, 300) + 400 * color
    minutes = rng.integers(0, 60 * 24 * 90, 300) + 200000 * group
    table = pd.DataFrame(
        {
            "spend": np.round(rng.gamma(3, 40, 300) + 300 * (group == 1), 2),
            "visits": rng.poisson(4, 300) + 10 * (group == 2),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(minutes, unit="min"),
            "member": rng.integers(2, size=300),
            "color_red": 1 - color,
            "color_blue": color,
        }
    )
    cuts = [(2, 18500.5), (3, 19800.3), (0, 250.0), (5, 0.5), (1, 9.5), (4, 0.5)]
    model = ExKMC(
        4,
        base_tree=tree_of(*cuts, n_features=7),
        reference=make_pipeline(StandardScaler(), KMeans(4, n_init=3, random_state=0)),
        random_state=0,
    ).fit(table)
    return model.with_columns(units={"spend": "EUR"}), table


def some_columns(rng):
    """Up to three single columns and up to two sources of categories, shuffled."""
    kinds = ["number", "number", "integer", "flag", "date", "time"]
    columns = []
    for i in range(rng.integers(0, 4)):
        kind = str(rng.choice(kinds))
        columns.append(Column(f"c{i}", kind, "D" if kind in ("date", "time") else ""))
    for source in ("color", "size")[: rng.integers(0, 3)]:
        complete = bool(rng.integers(2))
        columns += [
            Column(f"{source}_{value}", "category", "", source, value, complete=complete)
            for value in "abc"[: rng.integers(1 + complete, 4)]
        ]
    columns = columns or [Column("only")]
    return [columns[i] for i in rng.permutation(len(columns))]


def some_threshold(rng, column):
    if column.kind in ("flag", "category"):
        return float(rng.choice([0.5, 0.25]))
    if column.kind in ("integer", "date"):
        return float(rng.integers(-4, 5)) + float(rng.choice([0.5, 0.0, 0.3]))
    return float(rng.choice([rng.integers(-8, 9) / 4, rng.normal()]))


def some_tree(rng, columns, n_cuts, n_clusters):
    """Any leaf is cut at any place: boxes may be empty, or ask for two categories at once."""
    feature, threshold, left, right = [-1], [0.0], [-1], [-1]
    for _ in range(n_cuts):
        node = int(rng.choice([i for i, f in enumerate(feature) if f < 0]))
        feature[node] = int(rng.integers(len(columns)))
        threshold[node] = some_threshold(rng, columns[feature[node]])
        left[node], right[node] = len(feature), len(feature) + 1
        for known, leaf in ((feature, -1), (threshold, 0.0), (left, -1), (right, -1)):
            known.extend([leaf, leaf])
    label = rng.integers(n_clusters, size=len(feature))
    costs = np.zeros((len(feature), n_clusters))
    return ThresholdTree(feature, threshold, left, right, label, len(columns), costs=costs)


def some_row(rng, columns, tree):
    """Values on both sides of the thresholds and on them; one in ten that is not one-hot."""
    x = np.empty(len(columns))
    for i, column in enumerate(columns):
        if column.kind in ("integer", "date"):
            x[i] = rng.integers(-5, 6)
        elif column.kind == "flag":
            x[i] = rng.integers(2)
        else:
            x[i] = rng.choice([np.round(rng.normal(scale=2), rng.integers(0, 4)), rng.normal()])
            cuts = tree.threshold[tree.feature == i]
            if len(cuts) and rng.random() < 0.2:
                x[i] = rng.choice(cuts)
    for source in {c.source for c in columns if c.kind == "category"}:
        members = [i for i, c in enumerate(columns) if c.source == source]
        x[members] = rng.integers(2, size=len(members)) if rng.random() < 0.1 else 0.0
        if x[members].sum() == 0 and (columns[members[0]].complete or rng.random() < 0.5):
            x[rng.choice(members)] = 1.0
    return x


def some_limits(rng, columns):
    """The same limits for the oracle and as a user says them."""
    limits = Limits.none(columns)
    said = {"allowed": None, "frozen": None, "bounds": {}, "step": {}}
    if rng.random() < 0.4:
        said["allowed"] = np.flatnonzero(rng.random(len(columns)) < 0.7).tolist()
        limits.free = [i in said["allowed"] for i in range(len(columns))]
    if rng.random() < 0.4:
        said["frozen"] = [columns[i].name for i in np.flatnonzero(rng.random(len(columns)) < 0.3)]
        limits.free = [
            free and c.name not in said["frozen"]
            for free, c in zip(limits.free, columns, strict=True)
        ]
    for i, column in enumerate(columns):
        if rng.random() < 0.4:
            low, high = np.sort(np.round(rng.normal(scale=2, size=2), 1)).tolist()
            low, high = (None if rng.random() < 0.3 else end for end in (low, high))
            said["bounds"][column.name] = (low, high)
            limits.low[i] = -math.inf if low is None else low
            limits.high[i] = math.inf if high is None else high
        if column.kind not in ("flag", "category") and rng.random() < 0.4:
            limits.step[i] = said["step"][i] = float(rng.choice([0.1, 0.25, 0.7, 1, 3]))
    return limits, AllowedChanges.of(ColumnLookup(tuple(columns)), **said), said


@st.composite
def cases(draw, limited=True):
    """(facts, limits, allowed_changes, rows)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = some_columns(rng)
    tree = some_tree(rng, columns, draw(st.integers(0, 6)), int(rng.integers(1, 5)))
    facts = facts_of(tree, columns, rng.choice([0.0, 0.3, 1.0, 2.5], size=len(columns)))
    limits, allowed_changes = Limits.none(columns), AllowedChanges.of(ColumnLookup(tuple(columns)))
    if limited:
        limits, allowed_changes, _ = some_limits(rng, columns)
    rows = np.array([some_row(rng, columns, tree) for _ in range(3)])
    return facts, limits, allowed_changes, rows
