"""compare_models: who moved from which cluster to which, and which rules are new, gone or moved."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Columns
from treemeans.columns.number_text import aligned, percent
from treemeans.explain.rules import Rule
from treemeans.explain.to_frame import data_frame
from treemeans.monitor.cluster_changes import ClusterChanges, crosstab, match_on_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RuleChange:
    """A rule that differs between two models.

    Attributes
    ----------
    kind : "moved", "new" or "gone"
    cluster : its cluster in the new model, or in the old one if it is gone
    old, new : the rule in words; empty where it is in one model only
    """

    kind: str
    cluster: int
    old: str
    new: str

    def __str__(self) -> str:
        if self.kind == "moved":
            return f"{self.old}  ->  {self.new}"
        return f"{self.kind}: {self.new or self.old}"


@dataclass(frozen=True)
class ModelComparison:
    """What changed from one model to another.

    Attributes
    ----------
    changes : ClusterChanges
        The crosstab of the rows, and what became of each cluster.
    rules : tuple of RuleChange
        Rules that are moved, new or gone.
    n_same : int
        Rules that are the same in both.
    """

    changes: ClusterChanges
    rules: tuple[RuleChange, ...]
    n_same: int

    def plot(self, ax: Any = None) -> Any:
        """Draw how rows moved between clusters, with matplotlib; returns the Axes."""
        from treemeans.plot.flow_plot import plot_flow

        found = self.changes
        return plot_flow(found.crosstab, found.old_names, found.new_names, found.pairs, ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        rules = [asdict(rule) for rule in self.rules]
        return self.changes.to_dict() | {"rules": rules, "n_same_rules": self.n_same}

    def to_frame(self, package: str = "pandas") -> Any:
        """The crosstab as a data frame of pandas or polars, one row for each cell with rows."""
        found = self.changes
        old, new = np.nonzero(found.crosstab)
        return data_frame(
            package,
            {
                "old": old,
                "old_name": [found.old_names[i] for i in old],
                "new": new,
                "new_name": [found.new_names[i] for i in new],
                "rows": found.crosstab[old, new],
            },
        )

    def __str__(self) -> str:
        found = self.changes
        total = float(found.crosstab.sum())
        lines = []
        if total:
            share = percent(found.n_moved / total)
            lines += [
                f"{found.n_moved:,.0f} of {total:,.0f} rows ({share}) changed their cluster",
                "",
            ]
        lines += [*str(found).splitlines(), "", *_crosstab_lines(found), ""]
        if not self.rules:
            lines.append("the rules are the same")
        for cluster in sorted({rule.cluster for rule in self.rules}):
            of_cluster = [rule for rule in self.rules if rule.cluster == cluster]
            lines.append(f"rules of cluster {cluster}")
            lines += [f"  {rule}" for rule in of_cluster]
        return "\n".join(lines).rstrip()


def _crosstab_lines(found: ClusterChanges) -> list[str]:
    """The crosstab as text, old clusters in rows."""
    cells = [["old \\ new", *map(str, range(found.crosstab.shape[1]))]]
    cells += [
        [f"cluster {i}", *(f"{value:,.0f}" for value in row)]
        for i, row in enumerate(found.crosstab)
    ]
    return aligned(cells, right=True)


def compare_models(old: Any, new: Any, X: Any) -> ModelComparison:
    r"""What changed from one model to another, on the same rows.

    Parameters
    ----------
    old, new : fitted models of treemeans
    X : table
        Rows that both models take. Values that were never missing in training go with most rows.

    Returns
    -------
    ModelComparison
        ``print`` it, or use ``changes``, ``rules``, ``plot()``, ``to_dict()`` and ``to_frame()``.

    Examples
    --------
    >>> import numpy as np
    >>> from treemeans import ExKMC, compare_models
    >>> X = np.repeat([[1.0], [2.0], [8.0], [9.0], [20.0]], 10, axis=0)
    >>> old = ExKMC(2, max_leaf_nodes=2, random_state=0).fit(X)
    >>> new = old.refit(X, n_clusters=3)
    >>> print(compare_models(old, new, X))
    20 of 50 rows (40 %) changed their cluster
    <BLANKLINE>
    cluster 0 (low x0) is kept: 40 rows by the old rules, 20 by the new
    cluster 1 (high x0) is kept: 10 rows by the old rules, 10 by the new
    cluster 2 (high x0 (8.5)) is split from cluster 0 (low x0): 100 % of its 20 rows come from there
    <BLANKLINE>
    old \ new   0   1   2
    cluster 0  20   0  20
    cluster 1   0  10   0
    <BLANKLINE>
    rules of cluster 0
      x0 <= 14  ->  x0 <= 5
    rules of cluster 2
      new: 6 <= x0 <= 14
    """
    before, after = (np.asarray(model.with_missing_sides().predict(X)) for model in (old, new))
    table = crosstab(before, after, old.tree_.n_clusters, new.tree_.n_clusters)
    return comparison_of(old, new, table)


def comparison_of(old: Any, new: Any, table: Floats) -> ModelComparison:
    """The comparison of two models whose rows are counted already."""
    names = zip(old.cluster_names_, new.cluster_names_, strict=False)
    pairs = match_on_rows(table, [(i, i) for i, (a, b) in enumerate(names) if a == b])
    changes = ClusterChanges(table, pairs, old.cluster_names_, new.cluster_names_)
    rules, n_same = _rule_changes(old, new, dict(pairs))
    return ModelComparison(changes, rules, n_same)


def _rule_changes(old: Any, new: Any, became: dict[int, int]) -> tuple[tuple[RuleChange, ...], int]:
    """Rules that differ, and how many do not; those of the same cluster are set side by side."""
    before = [
        (became.get(each.cluster, -1), each.cluster, rule) for each in old.rules() for rule in each
    ]
    after = [(each.cluster, rule) for each in new.rules() for rule in each]
    found: list[RuleChange] = []
    left, n_same = [], 0
    for cluster, rule in after:
        twin = next(
            (b for b in before if b[0] == cluster and b[2].conditions == rule.conditions), None
        )
        if twin is None:
            left.append((cluster, rule))
        else:
            before.remove(twin)
            n_same += 1
    for cluster, rule in left:
        asks = _signature(rule, new.columns_)
        twins = [b for b in before if b[0] == cluster and _signature(b[2], old.columns_) == asks]
        if twins:
            twin = min(twins, key=lambda b: _distance(b[2], rule, new._fit_result.spread))
            before.remove(twin)
            found.append(RuleChange("moved", cluster, str(twin[2]), str(rule)))
        else:
            found.append(RuleChange("new", cluster, "", str(rule)))
    found += [RuleChange("gone", cluster, str(rule), "") for _, cluster, rule in before]
    order = {"moved": 0, "new": 1, "gone": 2}
    return tuple(sorted(found, key=lambda change: (change.cluster, order[change.kind]))), n_same


def _signature(rule: Rule, columns: Columns) -> frozenset[tuple[Any, ...]]:
    """What a rule asks, apart from numbers: which columns, and from which side."""
    return frozenset(
        (
            columns[feature].title,
            np.isfinite(values.above),
            np.isfinite(values.upto),
            values.codes is not None or bool(values.but),
        )
        for feature, values in rule.box.items()
    )


def _distance(one: Rule, other: Rule, spread: Floats) -> float:
    """How far the bounds of two rules of the same columns are apart, in standard deviations."""
    total = 0.0
    for feature, values in other.box.items():
        twin = one.box.get(feature)
        unit = spread[feature] if spread[feature] > 0 else 1.0
        for a, b in () if twin is None else ((values.above, twin.above), (values.upto, twin.upto)):
            total += abs(a - b) / unit if np.isfinite(a) and np.isfinite(b) else 0.0
    return total
