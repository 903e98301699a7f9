"""Ways for a fitted model to leave Python."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from treemeans.columns import Columns
from treemeans.tree import ThresholdTree


class ExportMixin:
    """Exports; they read the tree and its columns."""

    tree_: ThresholdTree
    columns_: Columns

    def _exported(self) -> tuple[ThresholdTree, Columns]:
        check_is_fitted(self)
        return self.tree_, self.columns_
