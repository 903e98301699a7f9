"""Parameters with a new name: the old name works until it is removed, with a warning."""

from __future__ import annotations

import warnings
from typing import Any

from treemeans.warning_level import depth_in_package

DEPRECATED = "deprecated"  # default of a parameter that is an old name, as in scikit-learn
RENAMED = {"max_iter": "search_rounds", "n_init": "n_random_trees"}  # old name -> new name
_OLD = {new: old for old, new in RENAMED.items()}


def given(model: Any, name: str) -> Any:
    """The value of a parameter; if it was given by its old name, that value."""
    old = getattr(model, _OLD.get(name, ""), DEPRECATED)
    return getattr(model, name) if _is_default(old) else old


def warn_renamed(model: Any) -> None:
    """Warn about parameters that were given by their old names."""
    for old, new in RENAMED.items():
        if not _is_default(getattr(model, old)):
            warnings.warn(
                f"{old} is now called {new}, because in KMeans {old} means something else; "
                f"{old} will be removed in treemeans 0.3.",
                FutureWarning,
                stacklevel=depth_in_package(),
            )


def _is_default(value: Any) -> bool:
    return isinstance(value, str) and value == DEPRECATED
