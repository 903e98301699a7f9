"""What a fitted model says about its clusters and about single rows."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from treemeans.explain.facts import Facts


class ExplainMixin:
    """Explanations; a model that has them can tell its ``Facts``."""

    @property
    def _facts(self) -> Facts:
        raise NotImplementedError

    def _known(self) -> Facts:
        check_is_fitted(self)
        return self._facts
