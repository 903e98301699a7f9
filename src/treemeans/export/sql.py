"""A tree as SQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from treemeans.columns import Columns
from treemeans.explain.boxes import Box, leaf_boxes
from treemeans.export.branches import Chain, chain, features_cut, refuse_same_name
from treemeans.export.sql_conditions import Conditions
from treemeans.export.sql_dialects import Expression, dialect_called
from treemeans.tree import ThresholdTree

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
    labels: Mapping[int, str] | None = None,
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
    spoken = dialect_called(dialect)
    features = features_cut(tree)
    refuse_same_name(columns, features, one_hot=one_hot, any_case=spoken.any_case)
    _check_outcomes(tree, labels, null)
    words = Conditions(columns, spoken, one_hot=one_hot, finite=finite)
    writer = _Writer(words, features, labels, null)

    def text(expression: Expression) -> str:
        broken = pretty and words.can_break_lines
        return str(expression.sql(dialect=spoken.name, pretty=broken, copy=False))

    if form == "case":
        case = writer.case(tree)
        return text(case if table is None else writer.select(case, alias, table))
    rules = writer.rules(boxes or cluster_boxes(tree))
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


class _Writer:
    """Puts conditions and outcomes together."""

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
        """A cluster as its number or name; what is no cluster (for rows with NULL) as it is."""
        if self._labels is not None and isinstance(cluster, int):
            cluster = self._labels[cluster]
        if cluster is None:
            return self._exp.Null()
        if isinstance(cluster, str):
            return self._words.text(cluster)
        number = self._exp.Literal.number(str(abs(cluster)))
        return self._exp.Neg(this=number) if cluster < 0 else number

    def case(self, tree: ThresholdTree) -> Expression:
        """The whole tree: rows that lack a value first, then as the tree goes."""
        if not self._features:
            return self._tests(chain(tree))
        missing = self._words.any_of(self._words.missing(self._features))
        return self._tests(chain(tree), self._exp.If(this=missing, true=self.outcome(self._null)))

    def _tests(self, tests: Chain, *first: Expression) -> Expression:
        whens = list(first)
        for branch in tests.branches:
            condition = self._words.all_of(self._words.inside(branch.feature, branch.side))
            whens.append(self._exp.If(this=condition, true=self._tests(branch.then)))
        rest = self.outcome(tests.label)
        return self._exp.Case(ifs=whens, default=rest) if whens else rest

    def rules(self, boxes: Mapping[int, Sequence[Box]]) -> dict[int | str, Expression]:
        """For each cluster, the condition of its rows; and of those that lack a value."""
        rules: dict[int | str, Expression] = {}
        for cluster, members in boxes.items():
            present = self._words.present(self._features)
            rules[cluster] = self._words.all_of(present + self._in_some(members))
        if self._null is not None:
            rules[self._null] = self._words.any_of(self._words.missing(self._features))
        return rules

    def _in_some(self, boxes: Sequence[Box]) -> list[Expression]:
        """Conditions for a row to be in one of the boxes."""
        if len(boxes) == 1:
            return self._words.box(boxes[0])
        return [self._words.any_of([self._words.all_of(self._words.box(box)) for box in boxes])]

    def select(self, what: Expression, alias: str, table: str | Sequence[str]) -> Expression:
        """All columns of the table, and one more."""
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


def _check_outcomes(tree: ThresholdTree, labels: Any, null: Any) -> None:
    clusters = set(tree.label[tree.leaves].tolist())
    if labels is None:
        if not (null is None or isinstance(null, int)) or null in clusters:
            raise ValueError(f"null must be None or a number that is no cluster; got {null!r}.")
        return
    if not isinstance(labels, Mapping) or not all(isinstance(labels.get(c), str) for c in clusters):
        raise ValueError(
            f"labels must map each of the clusters {sorted(clusters)} to a text; got {labels!r}."
        )
    if not (null is None or isinstance(null, str)):
        raise ValueError(f"With labels, null must be None or a text; got {null!r}.")
