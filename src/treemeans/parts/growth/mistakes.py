"""IMM's search on rows in parts: every open node's cut in one round of passes."""

import math

import numpy as np
from numpy.typing import NDArray

from treemeans.grow.mistakes import SHIFT
from treemeans.grow.sprout import Cut
from treemeans.parts.growth.sapling import FarSapling
from treemeans.parts.growth.search import MakeScore
from treemeans.parts.growth.strips import MistakeScore, Place, Score
from treemeans.parts.growth.survey import HomeLines


class FarMistakes:
    """The cut with the fewest mistakes, of rows that had not parted from their center before.

    Parameters
    ----------
    by_feature : (n_features, k), the centers
    """

    def __init__(self, sapling: FarSapling, by_feature: NDArray[np.float64]) -> None:
        self._sapling = sapling
        self._by_feature = by_feature
        self._open = {0: np.flatnonzero(np.isfinite(by_feature).all(axis=0))}
        self._found: dict[int, Place | None] = {}

    def cut(self, node: int, members: NDArray[np.intp]) -> Cut | None:
        """The best cut with one of the ``members`` on each side; None if there is none."""
        if node not in self._found:
            self._search()
        place = self._found[node]
        return None if place is None else (place.cost, place.feature, place.at, place.next)

    def carried_out(self, node: int, left: int, goes_left: NDArray[np.bool_]) -> None:
        """Both sides are open now, each with its centers."""
        members = self._open.pop(node)
        self._open[left] = members[goes_left[members]]
        self._open[left + 1] = members[~goes_left[members]]

    def _search(self) -> None:
        """Of all open nodes that are to be cut and have not been searched yet."""
        sapling, field = self._sapling, self._sapling.field
        nodes = [
            node
            for node, members in self._open.items()
            if len(members) > 1 and node not in self._found and sapling.may_cut(node)
        ]
        members = np.zeros((len(nodes), field.n_clusters), dtype=bool)
        for group, node in enumerate(nodes):
            members[group, self._open[node]] = True
        places = sapling.search_cuts(
            [sapling.node(node) for node in nodes],
            HomeLines(field.weighs, members),
            [self._score_of(self._open[node]) for node in nodes],
            [self._by_feature[:, self._open[node]] for node in nodes],
        )
        self._found.update(zip(nodes, (place for place, _ in places), strict=True))

    def _score_of(self, members: NDArray[np.intp]) -> MakeScore:
        field, limits = self._sapling.field, self._sapling.limits
        shift = 0 if field.weighted else SHIFT
        prices = limits.slot_prices(
            range(field.n_features), math.ldexp(float(field.total_weight), shift)
        )
        least = limits.min_weight if limits.min_weight > 1 else 0
        k, centers = field.n_clusters, self._by_feature[:, members]

        def score(sums: NDArray[np.int64]) -> Score:
            weight = int(sums[k])
            return MistakeScore(centers, members, sums[members], k, weight, least, prices, shift)

        return score
