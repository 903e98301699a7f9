"""Why rows are in their clusters, worded once for each leaf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Column, Columns, Reader
from treemeans.columns.condition_text import MOST_LISTED
from treemeans.columns.frame_values import UNSEEN
from treemeans.explain.leaf_boxes import leaf_boxes
from treemeans.explain.phrases import all_of
from treemeans.explain.unseen_categories import UnseenCategories
from treemeans.tree import ThresholdTree
from treemeans.value_set import ValueSet


class LeafReasons:
    """The conditions of each leaf in words; all rows of a leaf share them.

    Two kinds of rows have words of their own: those with a value that was not seen in training (a
    category, or a whole number beyond all others), and those whose category is in a set too long to
    be listed in full, where the words include the row's own category.

    Parameters
    ----------
    tree : ThresholdTree
    columns : tuple of Column

    Examples
    --------
    >>> from treemeans.columns import Column
    >>> tree = ThresholdTree([0, -1, -1], [2.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 2)
    >>> reasons = LeafReasons(tree, (Column("spend"), Column("visits")))
    >>> number, texts = reasons.of_rows(np.array([[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]]))
    >>> [texts[i] for i in number]
    ['spend <= 2.5', 'spend > 2.5', 'spend <= 2.5']
    """

    def __init__(self, tree: ThresholdTree, columns: Columns) -> None:
        self._tree, self._columns = tree, columns
        self._reader = Reader(tree, columns)
        self._boxes = leaf_boxes(tree)
        self._of_leaf = {
            leaf: tuple(self._reader.conditions(box)) for leaf, box in self._boxes.items()
        }
        self._number = np.zeros(tree.n_nodes, dtype=np.intp)
        self._number[tree.leaves] = np.arange(tree.n_leaves)
        self._texts = [all_of(self._of_leaf[leaf]) for leaf in tree.leaves.tolist()]

    def text(self, leaf: int) -> str:
        """The conditions of a leaf in words; empty for the only leaf of a tree."""
        return self._texts[int(self._number[leaf])]

    def because(
        self,
        leaf: int,
        row: int,
        unseen: UnseenCategories,
        values: Mapping[int, float] | None = None,
    ) -> tuple[str, ...]:
        """The conditions that are true of a row in its leaf.

        ``values``: of the row, by feature; its categories are then among those that are listed.
        """
        sources, beyond = unseen.sources_of(row), unseen.beyond(row)
        if not sources and not beyond:
            if values is None:
                return self._of_leaf[leaf]
            return tuple(self._reader.for_values(values).conditions(self._boxes[leaf]))
        # "plan = pro" stands for "not basic", which is all that is true of a third plan.
        box = self._boxes[leaf]
        source = {f: self._columns[f].source or self._columns[f].name for f in box}
        known = {f: box[f] for f in box if source[f] not in sources}
        asked = dict.fromkeys(source[f] for f in sorted(box) if f not in known)
        reader = self._reader.without_ranges(beyond)
        return (*reader.conditions(known), *(unseen.words(s, row) for s in asked))

    def of_rows(
        self,
        X: Any,
        leaf: NDArray[np.int32] | None = None,
        names: Mapping[str, Mapping[int, str]] | None = None,
    ) -> tuple[NDArray[np.intp], list[str]]:
        """For each row of X the number of its reason, and the reasons.

        ``leaf``: the leaf of each row, if it is known. ``names``: for each source of categories,
        the unseen category of each row that has one.
        """
        leaf = self._tree.apply(X) if leaf is None else leaf
        unseen = UnseenCategories(self._tree, self._columns, X).named(names or {})
        return self.words_of(leaf, unseen, self._own_categories(X, leaf))

    def _own_categories(self, X: Any, leaf: NDArray[np.int32]) -> dict[str, NDArray[np.intp]]:
        """Reasons that list the own categories of rows, where sets are long; and these rows."""
        found: dict[str, NDArray[np.intp]] = {}
        for node, box in self._boxes.items():
            long = [f for f, values in box.items() if _is_shortened(self._columns[f], values)]
            rows = np.flatnonzero(leaf == node) if long else np.empty(0, dtype=np.intp)
            if not len(rows):
                continue
            codes, which = np.unique(
                np.nan_to_num(X[rows][:, long], nan=UNSEEN), axis=0, return_inverse=True
            )
            for i, values in enumerate(codes.tolist()):
                own = {f: code for f, code in zip(long, values, strict=True) if code != UNSEEN}
                text = all_of(self._reader.for_values(own).conditions(box))
                found[text] = rows[which.ravel() == i]
        return found

    def words_of(
        self,
        leaf: NDArray[np.int32],
        unseen: UnseenCategories,
        own: Mapping[str, NDArray[np.intp]] | None = None,
    ) -> tuple[NDArray[np.intp], list[str]]:
        """For each row the number of its reason, and the reasons.

        ``own``: reasons of some rows that are not those of their leaves.
        """
        number, texts = self._number[leaf], list(self._texts)
        for text, some in (own or {}).items():
            number[some] = len(texts)
            texts.append(text)
        rows = unseen.rows()
        known: dict[str, int] = {}
        for row in rows.tolist():
            text = all_of(self.because(int(leaf[row]), row, unseen))
            number[row] = known.setdefault(text, len(texts))
            if number[row] == len(texts):
                texts.append(text)
        return number, texts


def _is_shortened(column: Column, values: ValueSet) -> bool:
    """Whether a set of categories that a row must have is too long to be listed."""
    return not column.lists_all and len(values.codes or ()) > MOST_LISTED + 1
