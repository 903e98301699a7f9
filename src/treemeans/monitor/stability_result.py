"""Stability: what a comparison with resamples found, as tables, text and pictures."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from treemeans.columns.number_text import aligned, percent
from treemeans.explain.html_table import html_table
from treemeans.explain.to_frame import data_frame

_TABLES = ("clusters", "rules", "cuts", "features")
_GRADES = ((0.85, "very stable"), (0.75, "stable"), (0.6, "doubtful"), (-1.0, "unstable"))
"""Least mean Jaccard index, as Hennig (2007, and the manual of clusterboot) reads it."""


@dataclass(frozen=True)
class ClusterStability:
    """What became of a cluster.

    Attributes
    ----------
    cluster, name : as in the model
    share : of all rows
    jaccard : mean Jaccard index of the cluster and the one it is matched with; NaN without rows
    low, high : interval of 90 % of the resamples
    dissolved : share of resamples with an index below 0.5
    recovered : share of resamples with an index of at least 0.75
    """

    cluster: int
    name: str
    share: float
    jaccard: float
    low: float
    high: float
    dissolved: float
    recovered: float

    @property
    def grade(self) -> str:
        """How stable it is in words: very stable, stable, doubtful or unstable; or "no rows"."""
        if math.isnan(self.jaccard):
            return "no rows"
        return next(word for least, word in _GRADES if self.jaccard >= least)


@dataclass(frozen=True)
class RuleStability:
    """How often all cuts of a rule came back.

    Attributes
    ----------
    cluster : the rule's cluster
    text : the rule, in words
    returned : share of the resamples
    """

    cluster: int
    text: str
    returned: float


@dataclass(frozen=True)
class CutStability:
    """How often a cut came back, and where.

    Attributes
    ----------
    node, feature, threshold : of the model's tree; the threshold of a set of categories is NaN
    text : the condition to go left, in words
    returned : share of the resamples
    low, high : interval of 90 % of its thresholds where it came back; NaN where there is none
    interval : the same, in words
    """

    node: int
    feature: int
    text: str
    threshold: float
    returned: float
    low: float
    high: float
    interval: str


@dataclass(frozen=True)
class FeatureUse:
    """How often trees cut a feature.

    Attributes
    ----------
    feature, name : of the column
    in_model : whether the model's tree cuts it
    used : share of the resamples
    """

    feature: int
    name: str
    in_model: bool
    used: float


@dataclass(frozen=True)
class Stability:
    """How stable the clusters, rules and cuts of a model are, as ``model.stability(X)`` finds.

    ``print`` shows it as text, a notebook as tables, ``plot`` as a picture.

    Attributes
    ----------
    clusters : tuple of ClusterStability
    rules : tuple of RuleStability
    cuts : tuple of CutStability, in the order of the nodes
    features : tuple of FeatureUse, the most used first
    n_resamples : resamples that were fitted
    n_asked : resamples that were asked for; more than ``n_resamples`` if Ctrl-C ended the run
    method : "bootstrap" or "subsample"
    """

    clusters: tuple[ClusterStability, ...]
    rules: tuple[RuleStability, ...]
    cuts: tuple[CutStability, ...]
    features: tuple[FeatureUse, ...]
    n_resamples: int
    n_asked: int
    method: str

    @property
    def jaccard(self) -> float:
        """Mean Jaccard index of all clusters that have rows."""
        known = [each.jaccard for each in self.clusters if not math.isnan(each.jaccard)]
        return float(np.mean(known)) if known else math.nan

    @property
    def lowest(self) -> ClusterStability:
        """The least stable cluster."""
        known = [each for each in self.clusters if not math.isnan(each.jaccard)]
        return min(known or self.clusters, key=lambda each: each.jaccard)

    def to_frame(self, table: str = "clusters", package: str = "pandas") -> Any:
        """One of the tables as a data frame.

        Parameters
        ----------
        table : {"clusters", "rules", "cuts", "features"}
        package : {"pandas", "polars"}

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> X = load_iris().data
        >>> found = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X).stability(X, 20)
        >>> found.to_frame("cuts")[["text", "returned"]]
                 text  returned
        0  x2 <= 2.45      1.00
        1  x2 <= 5.15      0.95
        """
        if table not in _TABLES:
            raise ValueError(f"table must be one of {', '.join(_TABLES)}; got {table!r}.")
        records = self.to_dict()[table]
        names = list(records[0]) if records else []
        return data_frame(package, {name: [each[name] for each in records] for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, numbers and text, ready for JSON; None where there is none."""
        found: dict[str, Any] = {
            "n_resamples": self.n_resamples,
            "n_asked": self.n_asked,
            "method": self.method,
            "jaccard": _known(self.jaccard),
        }
        for table in _TABLES:
            found[table] = [
                {name: _known(value) for name, value in asdict(each).items()}
                | ({"grade": each.grade} if table == "clusters" else {})
                for each in getattr(self, table)
            ]
        return found

    def plot(self, ax: Any = None) -> Any:
        """Draw the Jaccard indices of the clusters and how often cuts come back (matplotlib).

        Parameters
        ----------
        ax : two Axes, optional
            By default a new figure.

        Returns
        -------
        array of two Axes
        """
        from treemeans.plot.stability_plot import plot_stability

        return plot_stability(self, ax)

    def __str__(self) -> str:
        tables = ["\n".join(aligned([head, *rows])) for head, rows in self._tables()]
        return "\n\n".join([self.sentence, *tables])

    def _repr_html_(self) -> str:
        captions = [self.sentence, "", "", ""]
        parts = zip(captions, self._tables(), strict=True)
        return "".join(html_table(caption, head, rows) for caption, (head, rows) in parts)

    @property
    def sentence(self) -> str:
        """The result in a sentence or two."""
        how = "bootstrap resamples" if self.method == "bootstrap" else "halves of the rows"
        words = f"{self.n_resamples} {how}"
        if self.n_resamples < self.n_asked:
            words += f" (stopped; {self.n_asked} were asked for)"
        least = self.lowest
        words += f": mean Jaccard index {self.jaccard:.2f}"
        doubtful = [str(each.cluster) for each in self.clusters if each.jaccard < _GRADES[1][0]]
        if not doubtful:
            return f"{words}, no cluster below {least.jaccard:.2f}. All clusters are stable."
        which = (
            f"cluster {doubtful[0]} is"
            if len(doubtful) == 1
            else (f"clusters {', '.join(doubtful[:-1])} and {doubtful[-1]} are")
        )
        return f"{words}; {which} not stable: try another number of clusters."

    def _tables(self) -> list[tuple[list[str], list[list[str]]]]:
        return [
            (
                ["cluster", "Jaccard", "90 % of resamples", "dissolved", "", "name"],
                [
                    [
                        str(each.cluster),
                        _number(each.jaccard),
                        "" if math.isnan(each.low) else f"{each.low:.2f} to {each.high:.2f}",
                        "" if math.isnan(each.jaccard) else percent(each.dissolved),
                        each.grade,
                        each.name,
                    ]
                    for each in self.clusters
                ],
            ),
            (
                ["rule of cluster", "comes back", "if"],
                [[str(each.cluster), percent(each.returned), each.text] for each in self.rules],
            ),
            (
                ["cut", "comes back", "threshold in 90 %"],
                [[each.text, percent(each.returned), each.interval] for each in self.cuts],
            ),
            (
                ["feature", "used", ""],
                [
                    [each.name, percent(each.used), "" if each.in_model else "not in this tree"]
                    for each in self.features
                ],
            ),
        ]


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"
