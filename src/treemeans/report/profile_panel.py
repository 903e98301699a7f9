"""The panel of the profiles: the means of all groups side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.number_text import percent
from treemeans.report.report_text import ReportText

_MOST = 12  # columns of the table


class ProfileColumns:
    """The columns in which groups differ most, and what the table says of a group in each.

    The one-hot columns of a source make one column. Its cell, and that of a column of categories,
    is the group's most common category.

    Parameters
    ----------
    text : ReportText
        Of the largest tree.
    relevance : how much each column of X differs between groups; the first ones are shown
    histogram_of : number of the histogram of a column of X
    counted : columns of categories whose most common one is known
    """

    def __init__(
        self,
        text: ReportText,
        relevance: Counter[int],
        histogram_of: Mapping[int, int],
        counted: Collection[int],
    ) -> None:
        self._text, self._histogram_of = text, histogram_of
        self._members: list[list[int]] = []
        columns = text.reader.columns
        seen: set[int] = set()
        for feature, _ in relevance.most_common():
            unknown = columns[feature].kind == "codes" and feature not in counted
            if feature in seen or unknown or len(self._members) == _MOST:
                continue
            members = [feature]
            if columns[feature].kind == "category":
                source = columns[feature].source
                members = [i for i, c in enumerate(columns) if c.source == source]
            seen.update(members)
            self._members.append(members)

    def entries(self) -> list[dict[str, Any]]:
        """Name and histogram (-1 if there is none) of each column."""
        return [
            {
                "name": self._text.column_name(members[0]),
                "histogram": self._histogram_of.get(members[0], -1),
            }
            for members in self._members
        ]

    def cells(
        self, means: NDArray[np.float64], common: Mapping[int, tuple[int, float]]
    ) -> list[list[Any]]:
        """For each column what a group has in it, and a number to sort by.

        ``common``: the most common category and its share, of columns of categories.
        """
        return [self._cell(members, means, common) for members in self._members]

    def _cell(
        self,
        members: list[int],
        means: NDArray[np.float64],
        common: Mapping[int, tuple[int, float]],
    ) -> list[Any]:
        reader, printed = self._text.reader, self._text.printed
        first = members[0]
        if reader.columns[first].kind == "codes":  # a mean of codes says nothing
            if first not in common:
                return ["", None]
            code, share = common[first]
            return [f"{printed(reader.columns[first].category(code))} {percent(share)}", None]
        if np.isnan(means[members]).any():
            return ["", None]
        if reader.columns[first].kind != "category":
            mean = float(means[first])
            return [printed(reader.mean(first, mean)), float(f"{mean:.6g}")]
        most = members[int(np.argmax(means[members]))]
        name = printed(reader.columns[most].value)
        return [f"{name} {percent(float(means[most]))}", None]
