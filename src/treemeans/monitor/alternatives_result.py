"""Alternatives: other trees as good as a model's, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from treemeans.columns.number_text import percent
from treemeans.explain.html_table import html_table
from treemeans.explain.to_frame import data_frame


@dataclass(frozen=True)
class Alternative:
    """A tree that could replace the model's.

    Attributes
    ----------
    model : fitted, of the same class, to use in its place
    columns : names of the columns that its tree cuts
    cost_ratio : its cost, divided by that of the model; for labels, 1 plus the additional share of
        rows in a wrong cluster
    agreement : share of the rows that are in the same cluster as in the model
    """

    model: Any
    columns: tuple[str, ...]
    cost_ratio: float
    agreement: float

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of each cluster, in a line."""
        return tuple(" or if ".join(map(str, each)) for each in self.model.rules())


class Alternatives(Sequence[Alternative]):
    """Trees as good as a model's with other columns, as ``model.alternatives(X)`` finds them.

    A sequence; those that differ most come first. ``print`` shows their rules side by side, a
    notebook as a table.

    Parameters
    ----------
    own : the model itself
    others : tuple of Alternative
    within : how much more they may cost, as a share of the cost
    n_fits : trees that were grown to find them
    """

    def __init__(
        self, own: Alternative, others: Sequence[Alternative], within: float, n_fits: int
    ) -> None:
        self.own, self.others = own, tuple(others)
        self.within, self.n_fits = within, n_fits

    @overload
    def __getitem__(self, index: int) -> Alternative: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Alternative, ...]: ...
    def __getitem__(self, index: Any) -> Any:
        return self.others[index]

    def __len__(self) -> int:
        return len(self.others)

    def __iter__(self) -> Iterator[Alternative]:
        return iter(self.others)

    @property
    def sentence(self) -> str:
        """How many there are, in a sentence."""
        more = f"{100 * self.within:g} %"
        if not self.others:
            return f"No tree with other columns costs at most {more} more ({self.n_fits} tried)."
        trees = "1 other tree" if len(self) == 1 else f"{len(self)} other trees"
        return (
            f"{trees} of at most {self.own.model.n_leaves_} leaves, within {more} of the cost and "
            f"with other columns ({self.n_fits} tried)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, numbers and text, ready for JSON; the model comes first."""
        return {
            "within": self.within,
            "n_fits": self.n_fits,
            "trees": [
                {
                    "columns": list(each.columns),
                    "leaves": int(each.model.n_leaves_),
                    "cost_ratio": each.cost_ratio,
                    "agreement": each.agreement,
                    "rules": list(each.rules),
                }
                for each in (self.own, *self.others)
            ],
        }

    def to_frame(self, package: str = "pandas") -> Any:
        """A data frame with a row for each tree, the model's first.

        Parameters
        ----------
        package : {"pandas", "polars"}
        """
        trees = (self.own, *self.others)
        columns = {
            "columns": [", ".join(each.columns) for each in trees],
            "leaves": [int(each.model.n_leaves_) for each in trees],
            "cost_ratio": [each.cost_ratio for each in trees],
            "agreement": [each.agreement for each in trees],
        }
        for i, name in enumerate(self.own.model.cluster_names_):
            columns[f"rules of {i}: {name}"] = [each.rules[i] for each in trees]
        return data_frame(package, columns)

    def __repr__(self) -> str:
        return f"Alternatives({len(self)} trees)"

    def __str__(self) -> str:
        lines = [self.sentence]
        trees = (self.own, *self.others)
        for i, each in enumerate(trees):
            lines += ["", f"{_title(i)}: cuts {', '.join(each.columns)}"]
            if i:
                lines.append(f"  {_figures(each)}")
        names = self.own.model.cluster_names_
        told = [each.rules for each in trees]
        for cluster, name in enumerate(names):
            lines += ["", f"cluster {cluster}: {name}"]
            lines += [f"  {_title(i)}: if {rules[cluster]}" for i, rules in enumerate(told)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        trees = (self.own, *self.others)
        head = ["", *(_title(i) for i in range(len(trees)))]
        rows = [
            ["cuts", *(", ".join(each.columns) for each in trees)],
            ["cost", *(f"{each.cost_ratio:.4f}" for each in trees)],
            ["rows in the same cluster", *(percent(each.agreement) for each in trees)],
        ]
        told = [each.rules for each in trees]
        rows += [
            [f"{i}: {name}", *(rules[i] for rules in told)]
            for i, name in enumerate(self.own.model.cluster_names_)
        ]
        return html_table(self.sentence, head, rows)


def _title(i: int) -> str:
    return f"tree {i}" if i else "this model"


def _figures(each: Alternative) -> str:
    change = 100 * (each.cost_ratio - 1)
    cost = f"{change:+.2f} % cost"
    return f"{each.model.n_leaves_} leaves, {cost}, {percent(each.agreement)} of the rows as before"
