"""Why a row is in its cluster: the way it took, its closest call, and the cluster next to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Reader
from treemeans.explain.boxes import leaf_boxes
from treemeans.explain.directory import Directory
from treemeans.explain.facts import Facts
from treemeans.explain.frames import data_frame
from treemeans.explain.freedom import Freedom
from treemeans.explain.reach import NOWHERE, Reach
from treemeans.explain.words import deviation_words, first_few, span_words, value_words
from treemeans.tree import ThresholdTree, parents_first


@dataclass(frozen=True)
class Step:
    """A cut that a row passed.

    Attributes
    ----------
    node : node number in the tree
    column : name of the column that is cut
    condition : what is true of the row, in words
    value : the row's value
    shown : the value in words
    margin : how far the value is from the threshold
    span : the margin in words; empty for categories and flags
    spreads : the margin in standard deviations of the column
    """

    node: int
    column: str
    condition: str
    value: float
    shown: str
    margin: float
    span: str
    spreads: float

    def to_dict(self) -> dict[str, Any]:
        """Numbers and text, ready for JSON."""
        return dict(vars(self))

    def __str__(self) -> str:
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
    because : the conditions of the leaf in words, one for each column or source of categories
    steps : every cut on the way from the root, with the row's value and its margin
    closest : the step of the smallest margin in standard deviations; None if there is no cut
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
        return " and ".join(self.because)

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

    def __str__(self) -> str:
        if self.closest is None:
            return f"Cluster {self.cluster}: every row is, for the tree has no cut."
        lines = [f"Cluster {self.cluster}, because {self.why}."]
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
        reach = Reach(facts, Freedom.of(Directory(facts.columns)), facts.tree.leaves)
        self._used, self._values = reach.used, reach.values(X)
        self.leaf = facts.tree.apply(X)
        self.cluster = facts.tree.label[self.leaf]
        self.runner_up, self.distance = _runners_up(reach, self._values, self.cluster, facts.tree)
        self._routes = _routes(facts.tree)
        self._closest, self.margin, self.spreads = self._closest_calls()

    def _closest_calls(
        self,
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
        """For each row the node where it was closest, and the margin there."""
        tree, n = self._facts.tree, len(self.leaf)
        node, margin, spreads = (
            np.full(n, NOWHERE, dtype=np.intp),
            np.full(n, np.inf),
            np.full(n, np.inf),
        )
        for leaf, route in self._routes.items():
            rows = np.flatnonzero(self.leaf == leaf)
            if not len(rows) or not len(route):
                continue
            feature = tree.feature[route]
            places = np.searchsorted(self._used, feature)
            away = np.abs(self._values[np.ix_(places, rows)] - tree.threshold[route][:, None])
            scaled = away / self._facts.scale[feature][:, None]
            least = scaled.argmin(axis=0)
            columns = np.arange(len(rows))
            node[rows], margin[rows] = route[least], away[least, columns]
            spreads[rows] = scaled[least, columns]
        return node, margin, spreads

    @cached_property
    def _because(self) -> dict[int, tuple[str, ...]]:
        boxes = leaf_boxes(self._facts.tree)
        return {leaf: tuple(self._reader.conditions(box)) for leaf, box in boxes.items()}

    def _step(self, row: int, node: int, child: int) -> Step:
        tree, facts = self._facts.tree, self._facts
        feature = int(tree.feature[node])
        value = float(self._values[np.searchsorted(self._used, feature), row])
        threshold = float(tree.threshold[node])
        is_right = bool(child == tree.right[node])
        beyond = math.nextafter(threshold, math.inf)
        side = (beyond, math.inf) if is_right else (-math.inf, beyond)
        margin = abs(value - threshold)
        return Step(
            node=node,
            column=facts.columns[feature].name,
            condition=self._reader.sides(node)[is_right],
            value=value,
            shown=value_words(self._reader, feature, value, *side),
            margin=margin,
            span=span_words(facts.columns[feature], margin),
            spreads=margin / float(facts.scale[feature]),
        )

    @overload
    def __getitem__(self, i: int) -> Explanation: ...
    @overload
    def __getitem__(self, i: slice) -> list[Explanation]: ...
    def __getitem__(self, i: int | slice) -> Explanation | list[Explanation]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        row = range(len(self))[i]
        leaf = int(self.leaf[row])
        way = [*self._routes[leaf].tolist(), leaf]
        steps = tuple(self._step(row, *pair) for pair in pairwise(way))
        runner_up = int(self.runner_up[row])
        return Explanation(
            cluster=int(self.cluster[row]),
            leaf=leaf,
            because=self._because[leaf],
            steps=steps,
            closest=next((step for step in steps if step.node == self._closest[row]), None),
            runner_up=None if runner_up == NOWHERE else runner_up,
            distance=None if runner_up == NOWHERE else float(self.distance[row]),
        )

    def __len__(self) -> int:
        return len(self.leaf)

    def to_frame(self, package: str = "pandas") -> Any:
        """A data frame (``"pandas"`` or ``"polars"``) with a row for each row explained.

        ``runner_up`` is -1 and ``distance`` infinite where no other cluster can be reached.
        """
        names = np.array([*(c.name for c in self._facts.columns), ""], dtype=object)
        closest = np.append(self._facts.tree.feature, NOWHERE)[self._closest]
        why = {leaf: " and ".join(because) for leaf, because in self._because.items()}
        return data_frame(
            package,
            {
                "cluster": self.cluster,
                "leaf": self.leaf,
                "why": [why[leaf] for leaf in self.leaf.tolist()],
                "runner_up": self.runner_up,
                "distance": self.distance,
                "closest": names[closest].tolist(),
                "margin": self.margin,
                "spreads": self.spreads,
            },
        )

    def __str__(self) -> str:
        return first_few(self, "\n\n")

    def __repr__(self) -> str:
        return f"Explanations of {len(self)} rows"


def _runners_up(
    reach: Reach,
    values: NDArray[np.float64],
    cluster: NDArray[np.int32],
    tree: ThresholdTree,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """For each row the nearest cluster but its own, and the distance."""
    label = np.append(tree.label[reach.leaves], NOWHERE)
    found = np.full(len(cluster), NOWHERE, dtype=np.int32)
    distance = np.full(len(cluster), np.inf)
    for block in reach.blocks(len(cluster)):
        distances = reach.distances(values[:, block])
        nearest = distances.nearest(label[:-1, None] != cluster[block])
        found[block] = label[nearest]
        squares = distances.squares[nearest, np.arange(len(nearest))]
        distance[block] = np.where(nearest == NOWHERE, np.inf, np.sqrt(squares))
    return found, distance


def _routes(tree: ThresholdTree) -> dict[int, NDArray[np.intp]]:
    """For each leaf, the cuts from the root to it."""
    routes = {0: np.empty(0, dtype=np.intp)}
    for node in parents_first(tree.left, tree.right):
        if not tree.is_leaf[node]:
            route = np.append(routes.pop(node), node)
            routes[int(tree.left[node])] = routes[int(tree.right[node])] = route
    return routes
