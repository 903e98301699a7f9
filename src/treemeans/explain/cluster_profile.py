"""The columns in which a cluster differs from the other rows: those whose means differ most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Reader
from treemeans.explain.model_facts import Facts

_LOOKED_AT = 50  # columns for each that is reported: many may read the same in both


@dataclass(frozen=True)
class Difference:
    """A column in which a cluster differs from the other rows.

    Attributes
    ----------
    feature : number of the column
    name : what to call it
    mean, others : its mean in the cluster, and in all other rows
    difference : the first less the second, in standard deviations of the column
    text : all that in words
    """

    feature: int
    name: str
    mean: float
    others: float
    difference: float
    text: str

    def __str__(self) -> str:
        return self.text


def differences(
    facts: Facts, reader: Reader, most: int = 3, clusters: Iterable[int] | None = None
) -> list[tuple[Difference, ...]]:
    """For each cluster, up to ``most`` columns, the largest difference first.

    Of the one-hot columns of a source only one is reported: the others largely follow from it.
    """
    others = _means_of_others(facts)
    found = []
    for cluster in range(len(others)) if clusters is None else clusters:
        mean = facts.profiles[cluster]
        steps = (mean - others[cluster]) / facts.scale
        reported: dict[str | int, Difference] = {}
        for feature in _largest(steps, facts.spread, most * _LOOKED_AT):
            column = reader.columns[feature]
            if column.kind == "codes":  # the mean of codes says nothing
                continue
            key = column.source if column.kind == "category" else feature
            words = reader.compared(feature, float(mean[feature]), float(others[cluster, feature]))
            if key in reported or words[0] == words[1]:
                continue
            reported[key] = Difference(
                feature=feature,
                name=column.name,
                mean=float(mean[feature]),
                others=float(others[cluster, feature]),
                difference=float(steps[feature]),
                text=f"{reader.title(feature)} {words[0]} (others {words[1]})",
            )
            if len(reported) == most:
                break
        found.append(tuple(reported.values()))
    return found


def _means_of_others(facts: Facts) -> NDArray[np.float64]:
    """For each cluster, the means of all rows outside it; NaN where there are none."""
    weight = facts.weight
    shares = np.where(np.eye(len(weight), dtype=bool), 0.0, weight)
    total = shares.sum(axis=1, keepdims=True)
    known = np.where(weight[:, None] > 0, facts.profiles, 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray((shares / total) @ known)


def _largest(steps: NDArray[np.float64], spread: NDArray[np.float64], most: int) -> Iterator[int]:
    """Columns by the size of their difference; what is more in the cluster before what is less."""
    size = np.where(spread > 0, np.round(np.abs(np.nan_to_num(steps)), 9), 0.0)
    order = np.lexsort((steps < 0, -size))[:most]
    yield from order[size[order] > 0].tolist()
