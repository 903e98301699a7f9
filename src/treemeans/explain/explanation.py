"""Why a row is in its cluster: its path, the split it passed most narrowly, the next cluster."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Reader
from treemeans.explain.allowed_changes import AllowedChanges
from treemeans.explain.column_lookup import ColumnLookup
from treemeans.explain.html_table import MOST_ROWS, html_table, more_rows
from treemeans.explain.leaf_distances import NONE_REACHED, LeafDistances
from treemeans.explain.leaf_reasons import LeafReasons
from treemeans.explain.model_facts import Facts
from treemeans.explain.phrases import all_of, deviation_words, first_few, span_words, value_words
from treemeans.explain.to_frame import data_frame
from treemeans.explain.unseen_categories import UnseenCategories
from treemeans.tree import ThresholdTree, parents_first


@dataclass(frozen=True)
class Step:
    """A split on the path of a row.

    Attributes
    ----------
    node : node number in the tree
    column : name of the column that is split
    condition : what is true of the row, in words
    value : the row's value
    shown : the value in words
    margin : how far the value is from the threshold; None if the value is missing, or the split
        asks for categories
    span : the margin in words; empty for categories and flags
    spreads : the margin in standard deviations of the column; None as the margin is
    """

    node: int
    column: str
    condition: str
    value: float
    shown: str
    margin: float | None
    span: str
    spreads: float | None

    def to_dict(self) -> dict[str, Any]:
        """Numbers and text, ready for JSON."""
        return dict(vars(self))

    def __str__(self) -> str:
        if self.spreads is None:
            return f"{self.condition}: the row has {self.shown}"
        deviations = deviation_words(self.spreads)
        if not self.span:
            return f"{self.condition}, a margin of {deviations}"
        return f"{self.condition}: the row has {self.shown}, a margin of {self.span} ({deviations})"


@dataclass(frozen=True)
class Explanation:
    """Why a row is in its cluster.

    Attributes
    ----------
    cluster : where the row is
    leaf : node number of its leaf
    because : the conditions of the leaf in words, one for each column or source of categories; of
        a category that was not seen in training, that it was not
    steps : every split on the way from the root, with the row's value and its margin
    closest : the step of the smallest margin in standard deviations; None if no step has one
    runner_up : the other cluster that the smallest change leads to; None if none can be reached
    distance : that change, in standard deviations (the root of the summed squares over columns)
    """

    cluster: int
    leaf: int
    because: tuple[str, ...]
    steps: tuple[Step, ...]
    closest: Step | None
    runner_up: int | None
    distance: float | None

    @property
    def why(self) -> str:
        """The conditions in one phrase."""
        return all_of(self.because)

    def to_dict(self) -> dict[str, Any]:
        """Numbers, text, lists and dicts, ready for JSON."""
        return {
            "cluster": self.cluster,
            "leaf": self.leaf,
            "because": list(self.because),
            "steps": [step.to_dict() for step in self.steps],
            "closest": None if self.closest is None else self.closest.to_dict(),
            "runner_up": self.runner_up,
            "distance": self.distance,
        }

    def _repr_html_(self) -> str:
        first, *rest = str(self).split("\n")
        rows = [
            [step.condition, step.shown, step.span or "", _deviations(step.spreads)]
            for step in self.steps
        ]
        head = ["condition", "the row has", "margin", "standard deviations"]
        return html_table(first, head, rows, " ".join(rest))

    def __str__(self) -> str:
        if not self.steps:
            return f"Cluster {self.cluster}, as every row: the tree has no split."
        lines = [f"Cluster {self.cluster}, because {self.why}."]
        if self.closest is not None:
            lines.append(f"The closest call was {self.closest}.")
        if self.distance is None:
            lines.append("No other cluster can be reached.")
        else:
            lines.append(
                f"The nearest other cluster is {self.runner_up}, "
                f"a change of {deviation_words(self.distance)} away."
            )
        return "\n".join(lines)


class Explanations(Sequence[Explanation]):
    """Why rows are in their clusters: an ``Explanation`` for each, and what they say as arrays.

    Attributes
    ----------
    cluster, leaf : arrays of int
    runner_up : array of int, the nearest other cluster; -1 where none can be reached
    distance : array of float, how far that is, in standard deviations; infinite where there is none
    margin, spreads : arrays of float, the smallest margin of each row in units of its column, and
        in standard deviations
    """

    def __init__(self, facts: Facts, X: Any) -> None:
        self._facts = facts
        self._reader = Reader(facts.tree, facts.columns)
        leaf_distances = LeafDistances(
            facts, AllowedChanges.of(ColumnLookup(facts.columns)), facts.tree.leaves
        )
        self._used, self._values = leaf_distances.used, leaf_distances.values(X)
        self.leaf = facts.tree.apply(X)
        self.cluster = facts.tree.label[self.leaf]
        self.runner_up, self.distance = _runners_up(
            leaf_distances, self._values, self.cluster, facts.tree
        )
        self._paths = _paths(facts.tree)
        self._unseen = UnseenCategories(facts.tree, facts.columns, X)
        self._closest, self.margin, self.spreads = self._closest_calls()

    def _closest_calls(
        self,
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
        """For each row the node where it was closest, and the margin there."""
        tree, n = self._facts.tree, len(self.leaf)
        node, margin, spreads = (
            np.full(n, NONE_REACHED, dtype=np.intp),
            np.full(n, np.inf),
            np.full(n, np.inf),
        )
        for leaf, path in self._paths.items():
            rows = np.flatnonzero(self.leaf == leaf)
            if not len(rows) or not len(path):
                continue
            feature = tree.feature[path]
            places = np.searchsorted(self._used, feature)
            values, threshold = self._values[np.ix_(places, rows)], tree.threshold[path][:, None]
            has_margin = np.isfinite(threshold) & ~np.isnan(values)
            away = np.where(has_margin, np.abs(values - threshold), np.inf)
            scaled = away / self._facts.scale[feature][:, None]
            least = scaled.argmin(axis=0)
            columns = np.arange(len(rows))
            node[rows] = np.where(has_margin[least, columns], path[least], NONE_REACHED)
            margin[rows], spreads[rows] = away[least, columns], scaled[least, columns]
        return node, margin, spreads

    def with_unseen_values(self, values: Mapping[str, Mapping[int, str]]) -> Explanations:
        """The same explanations, which name the categories that were not seen in training.

        ``values``: for each source of categories, what the rows that have an unseen category, by
        number, have in it.
        """
        named = copy.copy(self)
        named._unseen = self._unseen.named(values)
        return named

    @cached_property
    def _reasons(self) -> LeafReasons:
        return LeafReasons(self._facts.tree, self._facts.columns)

    def _step(self, row: int, node: int, child: int) -> Step:
        tree, facts = self._facts.tree, self._facts
        feature = int(tree.feature[node])
        value = float(self._values[np.searchsorted(self._used, feature), row])
        threshold = float(tree.threshold[node])
        is_right = bool(child == tree.right[node])
        beyond = math.nextafter(threshold, math.inf)
        side = (beyond, math.inf) if is_right else (-math.inf, beyond)
        margin = abs(value - threshold)
        has_margin = math.isfinite(threshold) and not math.isnan(value)
        return Step(
            node=node,
            column=facts.columns[feature].name,
            condition=self._condition(row, node, is_right=is_right),
            value=value,
            shown=value_words(self._reader, feature, value, *side),
            margin=margin if has_margin else None,
            span=span_words(facts.columns[feature], margin) if has_margin else "",
            spreads=margin / float(facts.scale[feature]) if has_margin else None,
        )

    def _row_values(self, row: int) -> dict[int, float]:
        """Values of the columns that the tree splits."""
        return dict(zip(self._used.tolist(), self._values[:, row].tolist(), strict=True))

    def _condition(self, row: int, node: int, *, is_right: bool) -> str:
        feature = int(self._facts.tree.feature[node])
        column = self._facts.columns[feature]
        if column.source in self._unseen.sources_of(row):
            return f"{column.source} != {column.value}"
        reader = self._reader.without_ranges(self._unseen.beyond(row))
        reader = reader.for_values(self._row_values(row))
        return reader.sides(node)[is_right]

    @overload
    def __getitem__(self, i: int) -> Explanation: ...
    @overload
    def __getitem__(self, i: slice) -> list[Explanation]: ...
    def __getitem__(self, i: int | slice) -> Explanation | list[Explanation]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        row = range(len(self))[i]
        leaf = int(self.leaf[row])
        way = [*self._paths[leaf].tolist(), leaf]
        steps = tuple(self._step(row, *pair) for pair in pairwise(way))
        runner_up = int(self.runner_up[row])
        return Explanation(
            cluster=int(self.cluster[row]),
            leaf=leaf,
            because=self._reasons.because(leaf, row, self._unseen, self._row_values(row)),
            steps=steps,
            closest=next((step for step in steps if step.node == self._closest[row]), None),
            runner_up=None if runner_up == NONE_REACHED else runner_up,
            distance=None if runner_up == NONE_REACHED else float(self.distance[row]),
        )

    def __len__(self) -> int:
        return len(self.leaf)

    def _whys(self) -> list[str]:
        """The reason of each row in one phrase."""
        number, texts = self._reasons.words_of(self.leaf, self._unseen)
        return [texts[i] for i in number.tolist()]

    def to_frame(self, package: str = "pandas") -> Any:
        """A data frame (``"pandas"`` or ``"polars"``) with a row for each row explained.

        ``runner_up`` is -1 and ``distance`` infinite where no other cluster can be reached.
        """
        names = np.array([*(c.name for c in self._facts.columns), ""], dtype=object)
        closest = np.append(self._facts.tree.feature, NONE_REACHED)[self._closest]
        return data_frame(
            package,
            {
                "cluster": self.cluster,
                "leaf": self.leaf,
                "why": self._whys(),
                "runner_up": self.runner_up,
                "distance": self.distance,
                "closest": names[closest].tolist(),
                "margin": self.margin,
                "spreads": self.spreads,
            },
        )

    def __str__(self) -> str:
        return first_few(self, "\n\n")

    def _repr_html_(self) -> str:
        number, texts = self._reasons.words_of(self.leaf[:MOST_ROWS], self._unseen.first(MOST_ROWS))
        rows = []
        for row, reason in enumerate(number.tolist()):
            other = int(self.runner_up[row])
            reached = [other, _deviations(float(self.distance[row]))]
            nearest = ["none", ""] if other == NONE_REACHED else reached
            rows.append([row, self.cluster[row], texts[reason], *nearest])
        head = ["row", "cluster", "because", "nearest other", "standard deviations away"]
        return html_table(repr(self), head, rows, more_rows(len(self)))

    def __repr__(self) -> str:
        return f"Explanations of {len(self)} rows"


def _deviations(spreads: float | None) -> str:
    return "" if spreads is None else f"{spreads:.2f}"


def _runners_up(
    leaf_distances: LeafDistances,
    values: NDArray[np.float64],
    cluster: NDArray[np.int32],
    tree: ThresholdTree,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """For each row the nearest cluster but its own, and the distance."""
    label = np.append(tree.label[leaf_distances.leaves], NONE_REACHED)
    found = np.full(len(cluster), NONE_REACHED, dtype=np.int32)
    distance = np.full(len(cluster), np.inf)
    for block in leaf_distances.blocks(len(cluster)):
        distances = leaf_distances.distances(values[:, block])
        nearest = distances.nearest(label[:-1, None] != cluster[block])
        found[block] = label[nearest]
        squares = distances.squares[nearest, np.arange(len(nearest))]
        distance[block] = np.where(nearest == NONE_REACHED, np.inf, np.sqrt(squares))
    return found, distance


def _paths(tree: ThresholdTree) -> dict[int, NDArray[np.intp]]:
    """For each leaf, the inner nodes from the root to it."""
    paths = {0: np.empty(0, dtype=np.intp)}
    for node in parents_first(tree.left, tree.right):
        if not tree.is_leaf[node]:
            path = np.append(paths.pop(node), node)
            paths[int(tree.left[node])] = paths[int(tree.right[node])] = path
    return paths
