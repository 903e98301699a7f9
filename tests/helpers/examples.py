"""How thorough a run of the tests is: with the slow tests and all random examples, or without."""

import os

from hypothesis import settings

SLOW = os.environ.get("TREEMEANS_SLOW") == "1"


def examples(number: int) -> settings:
    """Draw this many random examples in a slow run, and a third of them otherwise."""
    return settings(max_examples=number if SLOW else max(5, number // 3))
