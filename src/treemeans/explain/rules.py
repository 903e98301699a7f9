"""Rules: what each cluster is, in the fewest plain conditions, with figures."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from treemeans.columns import Columns
from treemeans.columns.number_text import finite_or_none, format_rows, percent
from treemeans.explain.cluster_profile import Difference
from treemeans.explain.group_figures import GroupShare, ProtectedColumn
from treemeans.explain.leaf_boxes import Box
from treemeans.explain.phrases import all_of, in_parentheses
from treemeans.explain.to_frame import data_frame
from treemeans.explain.warning_record import SegmentWarning, on_one_line
from treemeans.value_set import ValueSet

_WIDTH = 100  # of a line of text


@dataclass(frozen=True)
class Rule:
    """A conjunction of conditions: rows that meet all of them are in the cluster.

    Attributes
    ----------
    box : dict of column number to ValueSet, the exact conditions
    conditions : tuple of str, the same in words
    size : weight of the rows counted here: of those in several rules of a cluster, at the first
    coverage : their share of all rows
    purity : the share of them that the reference gives to the same cluster; NaN if there are none
    """

    box: Box
    conditions: tuple[str, ...]
    size: float
    coverage: float
    purity: float

    def __str__(self) -> str:
        return all_of(self.conditions) or "any row"


@dataclass(frozen=True)
class ClusterRules:
    """A cluster: a row is in it if it meets any of the rules.

    Attributes
    ----------
    cluster : its number
    name : what to call it; empty if it goes by its number
    size : weight of its rows
    coverage : their share of all rows
    purity : the share of them that the reference gives to this cluster; NaN if there are none
    cost : its cost: for k-means, the squared distances of its rows to their mean
    cost_share : the share of that in the cost of all clusters
    apart : tuple of Difference, the columns in which it differs most from the other rows
    rules : tuple of Rule, the largest first
    reference : what the reference is called
    comparable : whether costs say anything beside those of the reference
    """

    cluster: int
    name: str
    size: float
    coverage: float
    purity: float
    cost: float
    cost_share: float
    apart: tuple[Difference, ...]
    rules: tuple[Rule, ...]
    reference: str = "k-means"
    comparable: bool = True

    @property
    def summary(self) -> str:
        """The columns in which the cluster differs from the other rows, in one line."""
        if not self.size:
            return "no rows"
        return ", ".join(each.text for each in self.apart)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __str__(self) -> str:
        lines = [f"cluster {self.cluster}: {_figures(self)}"]
        if self.name:
            lines = [f"cluster {self.cluster}: {on_one_line(self.name)}", f"  {_figures(self)}"]
        if self.apart:
            lines += _folded("  differs by: ", [each.text for each in self.apart], end=",")
        for i, rule in enumerate(self.rules):
            conditions = in_parentheses(rule.conditions or [str(rule)])
            if len(self.rules) > 1:
                conditions[-1] += f"  ({format_rows(rule.size)})"
            lines += _folded("  or if " if i else "  if ", conditions, begin="and ")
        return "\n".join(lines)


class Rules(Sequence[ClusterRules]):
    """The rules of all clusters, as ``model.rules()`` returns them.

    A sequence of ``ClusterRules``, in the order of the clusters. ``print`` shows it as text, a
    notebook as a table.

    Parameters
    ----------
    clusters : sequence of ClusterRules
    columns : tuple of Column
    reference_cost : float
        Cost of the reference.
    certificate : str
        What is proven of the tree, in a sentence; empty if nothing.
    reference : str
        What the reference is called.
    comparable : bool
        Whether the cost of the tree relative to that of the reference says anything: labels and
        mixtures cost next to nothing themselves.
    warnings : tuple of SegmentWarning
        What is wrong with clusters, and what to do.
    protected : tuple of ProtectedColumn
        Columns that no rule may use, and how much of them the clusters reveal all the same.
    balanced : tuple of GroupShare
        Shares of groups in the clusters that are limited.
    """

    def __init__(
        self,
        clusters: Sequence[ClusterRules],
        columns: Columns,
        reference_cost: float,
        certificate: str = "",
        reference: str = "k-means",
        comparable: bool = True,
        warnings: Sequence[SegmentWarning] = (),
        protected: tuple[ProtectedColumn, ...] = (),
        balanced: tuple[GroupShare, ...] = (),
    ) -> None:
        self.clusters = tuple(clusters)
        self.columns = columns
        self.reference_cost = reference_cost
        self.certificate = certificate
        self.reference = reference
        self.comparable = comparable
        self.warnings = tuple(warnings)
        self.protected = protected
        self.balanced = balanced

    @overload
    def __getitem__(self, index: int) -> ClusterRules: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ClusterRules, ...]: ...
    def __getitem__(self, index: Any) -> Any:
        return self.clusters[index]

    def __len__(self) -> int:
        return len(self.clusters)

    @property
    def size(self) -> float:
        """Weight of all rows."""
        return math.fsum(each.size for each in self.clusters)

    @property
    def cost(self) -> float:
        """Cost of all clusters."""
        return math.fsum(each.cost for each in self.clusters)

    @property
    def purity(self) -> float:
        """The share of all rows that the reference gives to the same cluster."""
        right = math.fsum(each.size * each.purity for each in self.clusters if each.size)
        return right / self.size if self.size else math.nan

    def __repr__(self) -> str:
        return f"Rules({len(self)} clusters, {_number_of_rules(self)})"

    def __str__(self) -> str:
        head = [_overall(self), *self._notes]
        for each in self.warnings:
            head += textwrap.wrap(on_one_line(f"Warning: {each}"), _WIDTH, subsequent_indent="  ")
        return "\n".join([*head, *("\n" + str(each) for each in self.clusters)])

    @property
    def _notes(self) -> list[str]:
        """What there is to say about the tree beyond its figures, line by line."""
        said = [self.certificate] if self.certificate else []
        return said + [on_one_line(str(each)) for each in (*self.balanced, *self.protected)]

    def _repr_html_(self) -> str:
        head = (
            "cluster",
            "name",
            "rows",
            f"agree with {html.escape(self.reference)}",
            "of the cost",
            "differs by",
            "rules",
        )
        cells = "".join(f"<th>{title}</th>" for title in head)
        body = "".join(_html_row(each) for each in self.clusters)
        warned = [f"Warning: {each}" for each in self.warnings]
        caption = " ".join([_overall(self), *self._notes, *warned])
        return (
            f"<table><caption>{html.escape(caption)}</caption>"
            f"<thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, numbers and text, ready for JSON.

        Bounds are the exact thresholds, ``above < value <= upto``; None where there is none, and
        where a share is of no rows. Where a split asks for categories, ``codes`` has those that
        are in the rule, or ``not_codes`` those that are not; ``missing`` is true where missing
        values are in it, and ``only_missing`` where nothing else is.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
        >>> model.rules().to_dict()["clusters"][1]["rules"][0]["bounds"]
        [{'feature': 2, 'column': 'x2', 'above': None, 'upto': 2.45}]
        """
        return {
            "size": self.size,
            "purity": finite_or_none(self.purity),
            "cost": self.cost,
            "reference_cost": self.reference_cost,
            "reference": self.reference,
            **({"certificate": self.certificate} if self.certificate else {}),
            **(
                {"warnings": [each.to_dict() | {"text": str(each)} for each in self.warnings]}
                if self.warnings
                else {}
            ),
            **self._groups_dict(),
            "clusters": [_cluster_dict(each, self.columns) for each in self.clusters],
        }

    def _groups_dict(self) -> dict[str, Any]:
        """Protected columns and limited shares as plain values, where there are some."""
        named = {
            "protected": [each.to_dict() for each in self.protected],
            "balanced": [each.to_dict() for each in self.balanced],
        }
        return {name: each for name, each in named.items() if each}

    def to_frame(self, package: str = "pandas") -> Any:
        """A data frame with a row for each rule.

        Parameters
        ----------
        package : {"pandas", "polars"}

        Returns
        -------
        DataFrame
            ``cluster``, ``rule`` (numbered within the cluster), ``conditions`` (in words),
            ``size``, ``coverage`` and ``purity`` of the rule; then, the same for all rules of a
            cluster, ``cluster_name``, ``cluster_size``, ``cluster_coverage``,
            ``cluster_purity``, ``cluster_cost``, ``cluster_cost_share`` and ``cluster_apart``. A
            cluster without rules has no row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> rules = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data).rules()
        >>> rules.to_frame()[["cluster", "conditions", "size"]]
           cluster         conditions  size
        0        0  2.45 < x2 <= 5.15  66.0
        1        1         x2 <= 2.45  50.0
        2        2          x2 > 5.15  34.0
        """
        rows = [_frame_row(each, i, rule) for each in self for i, rule in enumerate(each)]
        columns = zip(*rows, strict=True) if rows else ([] for _ in _FRAME)
        return data_frame(package, dict(zip(_FRAME, map(list, columns), strict=True)))


_FRAME = (
    *("cluster", "rule", "conditions", "size", "coverage", "purity", "cluster_name"),
    *("cluster_size", "cluster_coverage", "cluster_purity", "cluster_cost", "cluster_cost_share"),
    "cluster_apart",
)


def _frame_row(each: ClusterRules, i: int, rule: Rule) -> tuple[Any, ...]:
    """The columns of the data frame for one rule of a cluster, its ``i``-th."""
    of_rule = (each.cluster, i, str(rule), rule.size, rule.coverage, rule.purity, each.name)
    of_cluster = (each.size, each.coverage, each.purity, each.cost, each.cost_share)
    return *of_rule, *of_cluster, each.summary


def _cluster_dict(each: ClusterRules, columns: Columns) -> dict[str, Any]:
    return {
        "cluster": each.cluster,
        "name": each.name,
        "size": each.size,
        "coverage": each.coverage,
        "purity": finite_or_none(each.purity),
        "cost": each.cost,
        "cost_share": each.cost_share,
        "summary": each.summary,
        "apart": [
            {
                "feature": one.feature,
                "column": one.name,
                "mean": one.mean,
                "others": one.others,
                "difference": one.difference,
                "text": one.text,
            }
            for one in each.apart
        ],
        "rules": [_rule_dict(rule, columns) for rule in each],
    }


def _rule_dict(rule: Rule, columns: Columns) -> dict[str, Any]:
    return {
        "size": rule.size,
        "coverage": rule.coverage,
        "purity": finite_or_none(rule.purity),
        "conditions": list(rule.conditions),
        "bounds": [
            {"feature": feature, "column": columns[feature].name} | _bounds(values)
            for feature, values in rule.box.items()
        ],
    }


def _bounds(values: ValueSet) -> dict[str, Any]:
    """A set of values as plain numbers; codes and missing values only where they matter."""
    found: dict[str, Any] = {
        "above": finite_or_none(values.above),
        "upto": finite_or_none(values.upto),
    }
    if values.codes is not None:
        found["codes"] = sorted(values.codes)
    if values.but:
        found["not_codes"] = sorted(values.but)
    if values.missing or values.has_every_value:
        found["missing"] = values.missing
    if values.has_no_value and values.missing:
        found["only_missing"] = True
    return found


# ---- words ---------------------------------------------------------------------------------------


def _number_of_rules(rules: Rules) -> str:
    number = sum(len(each) for each in rules)
    return f"{number} rule{'' if number == 1 else 's'}"


def _overall(rules: Rules) -> str:
    """The figures of all rules together, in one line."""
    clusters = f"{len(rules)} cluster{'' if len(rules) == 1 else 's'}"
    words = f"{clusters}, {format_rows(rules.size)}, {_number_of_rules(rules)}"
    if rules.size:
        words += f": {percent(rules.purity)} agree with {rules.reference}"
    # A tree that costs nothing has what rounding leaves of the reference beside it.
    if rules.size and rules.comparable and rules.cost > 0 and rules.reference_cost > 0:
        whose = "their" if rules.reference.endswith("labels") else "its"
        words += f", {rules.cost / rules.reference_cost:.3f} times {whose} cost"
    return words


def _figures(each: ClusterRules) -> str:
    if not each.size:
        return "no rows" if each.rules else "no rows, and no rule leads to it"
    figures = (
        f"{format_rows(each.size)} ({percent(each.coverage)}), {percent(each.purity)} agree with "
        f"{each.reference}"
    )
    return f"{figures}, {percent(each.cost_share)} of the cost" if each.comparable else figures


def _folded(start: str, phrases: Sequence[str], end: str = "", begin: str = "") -> list[str]:
    """Phrases in one line, or in several of about ``_WIDTH`` letters, broken between phrases."""
    lines = [start]
    for i, phrase in enumerate(map(on_one_line, phrases)):
        more = f"{end} {begin}{phrase}" if i else phrase
        if i and len(lines[-1]) + len(more) > _WIDTH:
            lines[-1] += end
            lines.append(f"      {begin}{phrase}")
        else:
            lines[-1] += more
    return lines


def _html_row(each: ClusterRules) -> str:
    with_rows = each.size > 0
    cells = [
        str(each.cluster),
        each.name,
        f"{format_rows(each.size)} ({percent(each.coverage)})" if with_rows else "no rows",
        percent(each.purity) if with_rows else "",
        percent(each.cost_share) if with_rows else "",
    ]
    parts = [html.escape(text) for text in cells]
    parts.append("<br>".join(html.escape(one.text) for one in each.apart))
    several = len(each.rules) > 1
    said = [f"{rule} ({format_rows(rule.size)})" if several else str(rule) for rule in each]
    parts.append("<br>or ".join(html.escape(text) for text in said))
    return "<tr>" + "".join(f"<td>{part}</td>" for part in parts) + "</tr>"
