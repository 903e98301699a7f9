"""The panel of the groups: what each group is, in every size of the tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.number_text import format_rows, percent
from treemeans.explain.cluster_profile import Difference, words_of
from treemeans.explain.cluster_rules import describe
from treemeans.explain.model_facts import Facts
from treemeans.explain.rules import ClusterRules
from treemeans.fit_result import FitResult
from treemeans.report.profile_panel import ProfileColumns
from treemeans.report.report_text import ReportText
from treemeans.report.size_panel import leaves_in

_MOST_DIFFERENCES = 4  # columns in which a group differs that are shown


class GroupDescriptions:
    """Rules, sizes and differences of the groups.

    From one size of the tree to the next, the description of a group changes only if its leaves
    do. So each description is kept once, and each size tells which groups change theirs.

    Parameters
    ----------
    record : FitResult
    text : ReportText
        Of the largest tree.
    n_rows : array, rows that come to each node of the largest tree; None if that is not known
    least : int
        The averages of fewer rows are left out: they would tell of single rows.

    Attributes
    ----------
    changes : for each size, pairs of a group and its new description
    relevance : Counter, how much each column of X differs between groups, over all sizes
    """

    def __init__(
        self, record: FitResult, text: ReportText, n_rows: NDArray[np.float64] | None, least: int
    ) -> None:
        self._text = text
        self._condition_texts: dict[str, int] = {}
        self._entries: list[tuple[ClusterRules, dict[str, Any]]] = []
        self._means: list[NDArray[np.float64]] = []
        self._commonest: list[dict[int, tuple[int, float]]] = []  # category and share, by column
        self.changes: list[list[tuple[int, int]]] = []
        self.relevance: Counter[int] = Counter()
        seen: dict[tuple[int, ...], int] = {}  # from a group and its leaves to the description
        before: list[int | None] = [None] * record.tree.n_clusters
        for n_leaves in record.path["n_leaves"].tolist():
            owned = _owned(record, n_leaves)
            new = [group for group, leaves in enumerate(owned) if (group, *leaves) not in seen]
            facts = record.facts(n_leaves) if new else None
            for each in self._described(record, n_leaves, new):
                seen[each.cluster, *owned[each.cluster]] = len(self._entries)
                leaves = owned[each.cluster]
                few = n_rows is not None and 0 < n_rows[leaves].sum() < least
                assert facts is not None
                self._commonest.append(commonest(facts, each.cluster))
                self._add(each, facts.profiles[each.cluster], few=bool(few))
            now = [seen[group, *leaves] for group, leaves in enumerate(owned)]
            self.changes.append([(g, d) for g, d in enumerate(now) if d != before[g]])
            before = list(now)

    def _described(self, record: FitResult, n_leaves: int, groups: list[int]) -> list[ClusterRules]:
        if not groups:
            return []
        facts = record.facts(n_leaves)
        return list(describe(facts, groups, self._text.reader, _MOST_DIFFERENCES))

    def _add(self, each: ClusterRules, means: NDArray[np.float64], *, few: bool) -> None:
        for rank, difference in enumerate(each.apart):
            self.relevance[difference.feature] += 1 / (1 + rank)  # type: ignore[assignment]
        self._means.append(means)
        self._entries.append((each, self._entry(each) | {"too_few": few}))

    def _entry(self, each: ClusterRules) -> dict[str, Any]:
        return {
            "rows": format_rows(each.size),
            "share": round(each.coverage, 5),
            "percent": percent(each.coverage),
            "agreement": percent(each.purity) if each.size else "",
            "rules": [
                [format_rows(rule.size), [self._condition_text(words) for words in rule.conditions]]
                for rule in each.rules
            ],
        }

    def _condition_text(self, words: str) -> int:
        known = self._condition_texts
        return known.setdefault(self._text.printed(words), len(known))

    @property
    def condition_texts(self) -> list[str]:
        """The conditions of all rules; each is listed once."""
        return list(self._condition_texts)

    def entries(
        self, histogram_of: Mapping[int, int], profiles: ProfileColumns
    ) -> list[dict[str, Any]]:
        """All descriptions; ``histogram_of``: number of the histogram of a column of X."""
        found = []
        told = zip(self._entries, self._means, self._commonest, strict=True)
        for (each, entry), means, common in told:
            shown = () if entry["too_few"] else each.apart
            differences = [self._difference(one, histogram_of) for one in shown]
            cells = [] if entry["too_few"] else profiles.cells(means, common)
            found.append(entry | {"differences": differences, "profile": cells})
        return found

    def _difference(self, one: Difference, histogram_of: Mapping[int, int]) -> list[Any]:
        """Name, mean in the group, mean elsewhere, and the histogram, -1 if there is none."""
        reader, printed = self._text.reader, self._text.printed
        words = words_of(reader, one.feature, one.mean, one.others, one.category)
        title, (here, elsewhere) = words
        return [
            printed(title),
            printed(here),
            printed(elsewhere),
            histogram_of.get(one.feature, -1),
        ]


def _owned(record: FitResult, n_leaves: int) -> list[list[int]]:
    """The leaves of each group in one size, as nodes of the largest tree."""
    owned: list[list[int]] = [[] for _ in range(record.tree.n_clusters)]
    label = record.sizes[n_leaves].label
    for leaf in leaves_in(record, n_leaves).tolist():
        owned[label[leaf]].append(leaf)
    return owned


def commonest(facts: Facts, group: int) -> dict[int, tuple[int, float]]:
    """By column of categories, the most common one of a group, and its share."""
    weight, found = facts.weight[group], {}
    for each in facts.categories:
        if weight > 0:
            most = int(np.argmax(each.weight[group]))
            found[each.feature] = (int(each.codes[most]), float(each.weight[group, most] / weight))
    return found
