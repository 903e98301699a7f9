"""What each group is, in every size of the tree: versions, and when each begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from treemeans.columns.decimals import percent, rows
from treemeans.explain.describe import describe
from treemeans.explain.profile import Difference
from treemeans.explain.rules import ClusterRules
from treemeans.record import FitRecord
from treemeans.report.sizes import leaves_in
from treemeans.report.wording import Wording

_MOST_APART = 4  # columns in which a group differs


class GroupVersions:
    """Rules and figures of the groups. They change only where a group's leaves do.

    Parameters
    ----------
    record : FitRecord
    wording : Wording
        Of the largest tree.

    Attributes
    ----------
    begins : for each size, pairs of a group and the version that begins there
    telling : Counter, how much each column of X tells groups apart, over all versions
    """

    def __init__(self, record: FitRecord, wording: Wording) -> None:
        self._wording = wording
        self._phrases: dict[str, int] = {}
        self._versions: list[tuple[ClusterRules, dict[str, Any]]] = []
        self.begins: list[list[tuple[int, int]]] = []
        self.telling: Counter[int] = Counter()
        seen: dict[tuple[int, ...], int] = {}  # leaves of a group, whose version
        before: list[int | None] = [None] * record.tree.n_clusters
        for n_leaves in record.path["n_leaves"].tolist():
            owned = _owned(record, n_leaves)
            new = [group for group, leaves in enumerate(owned) if (group, *leaves) not in seen]
            for each in self._described(record, n_leaves, new):
                seen[each.cluster, *owned[each.cluster]] = len(self._versions)
                self._add(each)
            now = [seen[group, *leaves] for group, leaves in enumerate(owned)]
            self.begins.append([(g, v) for g, v in enumerate(now) if v != before[g]])
            before = list(now)

    def _described(self, record: FitRecord, n_leaves: int, groups: list[int]) -> list[ClusterRules]:
        if not groups:
            return []
        facts = record.facts(n_leaves)
        return list(describe(facts, groups, self._wording.reader, _MOST_APART))

    def _add(self, each: ClusterRules) -> None:
        for place, difference in enumerate(each.apart):
            self.telling[difference.feature] += 1 / (1 + place)  # type: ignore[assignment]
        self._versions.append((each, self._version(each)))

    def _version(self, each: ClusterRules) -> dict[str, Any]:
        return {
            "rows": rows(each.size),
            "share": round(each.coverage, 5),
            "percent": percent(each.coverage),
            "same": percent(each.purity) if each.size else "",
            "rules": [
                [rows(rule.size), [self._phrase(words) for words in rule.conditions]]
                for rule in each.rules
            ],
        }

    def _phrase(self, words: str) -> int:
        return self._phrases.setdefault(self._wording.said(words), len(self._phrases))

    @property
    def phrases(self) -> list[str]:
        """The conditions of all rules; each is kept once."""
        return list(self._phrases)

    def versions(self, histogram_of: Mapping[int, int]) -> list[dict[str, Any]]:
        """All versions; ``histogram_of``: where the histogram of a column of X is."""
        return [
            version | {"apart": [self._apart(one, histogram_of) for one in each.apart]}
            for each, version in self._versions
        ]

    def _apart(self, one: Difference, histogram_of: Mapping[int, int]) -> list[Any]:
        """Name, mean in the group, mean elsewhere, and the histogram, -1 if there is none."""
        reader, said = self._wording.reader, self._wording.said
        here, elsewhere = reader.compared(one.feature, one.mean, one.others)
        return [
            said(reader.title(one.feature)),
            said(here),
            said(elsewhere),
            histogram_of.get(one.feature, -1),
        ]


def _owned(record: FitRecord, n_leaves: int) -> list[list[int]]:
    """The leaves of each group in one size, as nodes of the largest tree."""
    owned: list[list[int]] = [[] for _ in range(record.tree.n_clusters)]
    label = record.sizes[n_leaves].label
    for leaf in leaves_in(record, n_leaves).tolist():
        owned[label[leaf]].append(leaf)
    return owned
