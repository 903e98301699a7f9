"""The columns in which a cluster differs from the other rows: in their means, or in a category."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.category_counts import CategoryCounts
from treemeans.columns import Column, Reader
from treemeans.columns.number_text import percent
from treemeans.explain.model_facts import Facts

_LOOKED_AT = 50  # columns for each that is reported: many may read the same in both
_LEAST_STEP = 0.1  # standard deviations; a category whose share differs by less is not reported


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
    category : whose share ``mean`` is, of a column of categories
    """

    feature: int
    name: str
    mean: float
    others: float
    difference: float
    text: str
    category: str = ""

    def __str__(self) -> str:
        return self.text


def differences(
    facts: Facts, reader: Reader, most: int = 3, clusters: Iterable[int] | None = None
) -> list[tuple[Difference, ...]]:
    """For each cluster, up to ``most`` columns, the largest difference first.

    Of the categories of a column, or the one-hot columns of a source, only one is reported: the
    others largely follow from it.
    """
    others = _means_of_others(facts)
    counted = [_CategoryShares.of(facts, each) for each in facts.categories]
    found: list[tuple[Difference, ...]] = []
    for cluster in range(len(others)) if clusters is None else clusters:
        if not facts.weight[cluster]:  # no rows, so nothing in which they differ
            found.append(())
            continue
        mean = facts.profiles[cluster]
        steps = (mean - others[cluster]) / facts.scale
        # The mean of codes says nothing.
        coded = [column.kind == "codes" for column in reader.columns]
        candidates = [
            _Candidate(
                float(steps[feature]),
                feature,
                float(mean[feature]),
                float(others[cluster, feature]),
            )
            for feature in _largest(steps, facts.spread, most * _LOOKED_AT)
            if not coded[feature]
        ]
        candidates += [one for shares in counted for one in shares.candidates(cluster)]
        reported: dict[str | int, Difference] = {}
        for one in sorted(candidates, key=lambda each: each.rank):
            column = reader.columns[one.feature]
            key = column.source if column.kind == "category" else one.feature
            title, words = words_of(reader, one.feature, one.mean, one.others, one.category(column))
            if key in reported or words[0] == words[1]:
                continue
            reported[key] = Difference(
                feature=one.feature,
                name=column.name,
                mean=one.mean,
                others=one.others,
                difference=one.step,
                text=f"{title} {words[0]} (others {words[1]})",
                category=one.category(column),
            )
            if len(reported) == most:
                break
        found.append(tuple(reported.values()))
    return found


def words_of(
    reader: Reader, feature: int, mean: float, others: float, category: str
) -> tuple[str, tuple[str, str]]:
    """What a difference is called, and both means, or shares of a category, in words."""
    if category:
        return f"{reader.title(feature)} = {category}", (percent(mean), percent(others))
    return reader.title(feature), reader.compared(feature, mean, others)


@dataclass(frozen=True)
class _Candidate:
    """A difference that may be reported; ``code`` is that of a category."""

    step: float
    feature: int
    mean: float
    others: float
    code: int = -1

    @property
    def rank(self) -> tuple[float, bool]:
        """Large differences first; what is more in the cluster before what is less."""
        return -round(abs(self.step), 9), self.step < 0

    def category(self, column: Column) -> str:
        """Name of the category; empty for a mean."""
        return "" if self.code < 0 else column.category(self.code)


@dataclass(frozen=True)
class _CategoryShares:
    """Shares of the categories of a column in each cluster, and in all other rows.

    Attributes
    ----------
    spread : standard deviation of a column that is 1 where a row has the category and 0 elsewhere
    """

    feature: int
    codes: list[int]
    here: NDArray[np.float64]
    others: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of(cls, facts: Facts, counts: CategoryCounts) -> _CategoryShares:
        weight, total = facts.weight[:, None], float(facts.weight.sum())
        all_rows = counts.weight.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            here = np.nan_to_num(counts.weight / weight)
            others = np.nan_to_num((all_rows - counts.weight) / (total - weight))
            share = all_rows / total
        spread = np.sqrt(np.clip(share * (1.0 - share), 0.0, None))
        return cls(counts.feature, counts.codes.tolist(), here, others, spread)

    def candidates(self, cluster: int) -> Iterator[_Candidate]:
        """The differences of a cluster, of categories that some rows have and others have not."""
        here, others = self.here[cluster].tolist(), self.others[cluster].tolist()
        for i, spread in enumerate(self.spread.tolist()):
            step = (here[i] - others[i]) / spread if spread > 1e-9 else 0.0
            if abs(step) >= _LEAST_STEP:
                yield _Candidate(step, self.feature, here[i], others[i], self.codes[i])


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
