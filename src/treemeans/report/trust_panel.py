"""What the report says about stability, and about other trees that are as good."""

from __future__ import annotations

from typing import Any

from treemeans.columns.number_text import percent
from treemeans.report.report_text import with_groups, with_signs
from treemeans.tree_layout.text_fitting import one_line


def trust_entries(stability: Any) -> dict[str, Any] | None:
    """A `Stability` as the page shows it; None if it was not measured.

    Returns
    -------
    dict or None
        ``sentence``; ``groups``: number, mean Jaccard index, interval, share of resamples in which
        it dissolved, grade; ``cuts``: condition, how often it comes back, interval of thresholds;
        ``features``: name and how often it is used.
    """
    if stability is None:
        return None
    return {
        "sentence": with_groups(stability.sentence),
        "groups": [
            [
                each.cluster,
                round(each.jaccard, 3),
                [round(each.low, 3), round(each.high, 3)],
                percent(each.dissolved),
                each.grade,
            ]
            for each in stability.clusters
            if each.grade != "no rows"
        ],
        "cuts": [
            [with_signs(each.text), percent(each.returned), one_line(each.interval)]
            for each in stability.cuts
        ],
        "features": [[one_line(each.name), percent(each.used)] for each in stability.features],
    }


def alternative_entries(alternatives: Any) -> dict[str, Any] | None:
    """`Alternatives` as the page shows them, the model first; None if there are none to show.

    Returns
    -------
    dict or None
        ``sentence``; ``trees``: ``columns``, ``cost`` (beyond the model's), ``agreement`` and
        ``rules``, for each group.
    """
    if alternatives is None:
        return None
    return {
        "sentence": alternatives.sentence,
        "trees": [
            {
                "columns": [one_line(name) for name in each.columns],
                "cost": f"{100 * (each.cost_ratio - 1):+.2f} %",
                "agreement": percent(each.agreement),
                "rules": [with_signs(rule) for rule in each.rules],
            }
            for each in (alternatives.own, *alternatives.others)
        ],
    }
