"""A tree as SQL."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from treemeans.columns import Columns
from treemeans.explain.leaf_boxes import Box, leaf_boxes, node_boxes
from treemeans.export.flat_branches import Chain, chain, features_cut, refuse_same_name
from treemeans.export.sql_conditions import Conditions
from treemeans.export.sql_dialects import Expression, find_dialect
from treemeans.tree import ThresholdTree
from treemeans.value_set import EVERYTHING, ValueSet

FORMS = ("case", "where")
_MOST_PARTS = 3  # of the name of a table: catalog, schema, table


def to_sql(
    tree: ThresholdTree,
    columns: Columns,
    dialect: str,
    table: str | Sequence[str] | None = None,
    *,
    form: str = "case",
    alias: str = "cluster",
    labels: Mapping[int, str] | str | None = None,
    null: int | str | None = None,
    one_hot: bool = True,
    finite: bool = False,
    pretty: bool = True,
    boxes: Mapping[int, Sequence[Box]] | None = None,
) -> str | dict[int | str, str]:
    """The tree as SQL; ``TreeModel.to_sql`` explains.

    ``boxes`` are the rules of ``form="where"``: for each cluster, boxes that hold its rows and
    no others; by default its leaves.
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(map(repr, FORMS))}; got {form!r}.")
    sql_dialect = find_dialect(dialect)
    features = features_cut(tree)
    refuse_same_name(columns, features, one_hot=one_hot, any_case=sql_dialect.any_case)
    labels = _checked_outcomes(tree, labels, null)
    words = Conditions(columns, sql_dialect, one_hot=one_hot, finite=finite)
    writer = _Writer(words, features, labels, null)

    def text(expression: Expression) -> str:
        broken = pretty and words.can_break_lines
        return str(expression.sql(dialect=sql_dialect.name, pretty=broken, copy=False))

    if form == "case":
        case = writer.case(tree)
        return text(case if table is None else writer.select(case, alias, table))
    rules = writer.rules(tree, boxes or cluster_boxes(tree))
    if table is None:
        return {cluster: text(rule) for cluster, rule in rules.items()}
    return {
        cluster: text(writer.select(writer.outcome(cluster), alias, table).where(rule, copy=False))
        for cluster, rule in rules.items()
    }


def cluster_boxes(tree: ThresholdTree) -> dict[int, list[Box]]:
    """For each cluster that has leaves, their boxes."""
    boxes: dict[int, list[Box]] = defaultdict(list)
    for leaf, box in leaf_boxes(tree).items():
        boxes[int(tree.label[leaf])].append(box)
    return dict(sorted(boxes.items()))


def refused_boxes(tree: ThresholdTree) -> list[Box]:
    """Where some nodes accept missing values, the boxes of the rows that others refuse."""
    if not tree.accepts_missing:
        return []
    boxes = []
    for node, box in node_boxes(tree).items():
        if tree.is_leaf[node] or (split := tree.split(node)).missing_left is not None:
            continue
        if box.get(split.feature, EVERYTHING).missing:
            boxes.append(box | {split.feature: ValueSet(above=math.inf, missing=True)})
    return boxes


class _Writer:
    """Writes expressions and queries from conditions and outcomes."""

    def __init__(
        self,
        words: Conditions,
        features: list[int],
        labels: Mapping[int, str] | None,
        null: int | str | None,
    ) -> None:
        self._exp = words.exp
        self._words = words
        self._features = features
        self._labels = labels
        self._null = null

    def outcome(self, cluster: int | str | None) -> Expression:
        """A cluster by its number or name; the outcome of refused rows as it was given."""
        if self._labels is not None and isinstance(cluster, int):
            cluster = self._labels[cluster]
        if cluster is None:
            return self._exp.Null()
        if isinstance(cluster, str):
            return self._words.text(cluster)
        number = self._exp.Literal.number(str(abs(cluster)))
        return self._exp.Neg(this=number) if cluster < 0 else number

    def case(self, tree: ThresholdTree) -> Expression:
        """The tree as one CASE expression: first the rows that it refuses, then its splits."""
        refused = self._refused(tree)
        if not refused:
            return self._tests(chain(tree))
        null = self.outcome(self._null)
        return self._tests(chain(tree), self._exp.If(this=self._words.any_of(refused), true=null))

    def _refused(self, tree: ThresholdTree) -> list[Expression]:
        """Conditions of rows that are refused before any split is asked.

        If no split accepts missing values, these are all rows that lack one. Else it depends on
        the way of a row through the tree, and ``chain`` has a test where it matters.
        """
        if tree.accepts_missing:
            return self._words.infinite(self._features)
        return self._words.missing(self._features)

    def _tests(self, tests: Chain, *first: Expression) -> Expression:
        whens = list(first)
        for branch in tests.branches:
            condition = self._words.all_of(self._words.inside(branch.feature, branch.side))
            whens.append(self._exp.If(this=condition, true=self._tests(branch.then)))
        rest = self.outcome(self._null if tests.label is None else tests.label)
        return self._exp.Case(ifs=whens, default=rest) if whens else rest

    def rules(
        self, tree: ThresholdTree, boxes: Mapping[int, Sequence[Box]]
    ) -> dict[int | str, Expression]:
        """For each cluster, the condition of its rows; and of those that are refused."""
        rules: dict[int | str, Expression] = {}
        for cluster, members in boxes.items():
            accepted = (
                self._words.finite_or_missing(self._features)
                if tree.accepts_missing
                else self._words.present(self._features)
            )
            rules[cluster] = self._words.all_of(accepted + self._in_some(members))
        if self._null is not None:
            refused = self._refused(tree)
            refused += [self._words.all_of(self._words.box(box)) for box in refused_boxes(tree)]
            rules[self._null] = self._words.any_of(refused)
        return rules

    def _in_some(self, boxes: Sequence[Box]) -> list[Expression]:
        """Conditions for a row to be in one of the boxes."""
        if len(boxes) == 1:
            return self._words.box(boxes[0])
        return [self._words.any_of([self._words.all_of(self._words.box(box)) for box in boxes])]

    def select(self, what: Expression, alias: str, table: str | Sequence[str]) -> Expression:
        """A query for all columns of the table and the cluster."""
        name = self._words.identifier
        more = self._exp.Alias(this=what, alias=name(alias))
        parts = [name(part) for part in _parts(table)]
        source = self._exp.Table(**dict(zip(("this", "db", "catalog"), parts[::-1], strict=False)))
        return (
            self._exp.Select().select(self._exp.Star(), more, copy=False).from_(source, copy=False)
        )


def _parts(table: Any) -> list[str]:
    parts = table.split(".") if isinstance(table, str) else list(table)
    if not 1 <= len(parts) <= _MOST_PARTS or not all(isinstance(p, str) and p for p in parts):
        raise ValueError(
            f"table must be a name such as 'customers' or 'shop.customers', or a list of such "
            f"parts for names with dots in them; got {table!r}."
        )
    return parts


def _checked_outcomes(tree: ThresholdTree, labels: Any, null: Any) -> Mapping[int, str] | None:
    clusters = set(tree.label[tree.leaves].tolist())
    if labels is None:
        if not (null is None or isinstance(null, int)) or null in clusters:
            raise ValueError(f"null must be None or a number that is no cluster; got {null!r}.")
        return None
    if not isinstance(labels, Mapping) or not all(isinstance(labels.get(c), str) for c in clusters):
        raise ValueError(
            f"labels must map each of the clusters {sorted(clusters)} to a text; got {labels!r}."
        )
    if not (null is None or isinstance(null, str)):
        raise ValueError(f"With labels, null must be None or a text; got {null!r}.")
    return labels
