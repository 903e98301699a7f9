"""The line that a warning points to: the user's, not one of this package."""

import sys


def depth_in_package() -> int:
    """The stack level, seen from the caller, of the first frame that is not the package's."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].split(".")[0] == "treemeans":
        level, frame = level + 1, frame.f_back
    return level
