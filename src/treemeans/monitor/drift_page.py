"""A drift as a page for a browser: one file, no script, no rows of the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from treemeans.columns.number_text import percent
from treemeans.monitor.drift_result import ColumnDrift, Drift

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --bar: #3b82c4; --alarm: #c2410c; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
.alarm { color: var(--alarm); font-weight: 600; }
td:not(:first-child) { white-space: nowrap; }
.bar { display: inline-block; width: 8rem; height: .7rem; background: var(--line); }
.bar span { display: block; height: 100%; background: var(--bar); }
.bar.high span { background: var(--alarm); }
.scroll { overflow-x: auto; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def drift_page(drift: Drift, title: str) -> str:
    """The page of a drift.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC
    >>> X = load_iris().data
    >>> model = ExKMC(3, random_state=0).fit(X)
    >>> drift_page(model.drift(X), "Irises")[:15]
    '<!doctype html>'
    """
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{drift.n_rows:,} rows, against {drift.n_training_rows:,.0f} in training.</p>",
        _findings(drift),
        "<h2>Clusters</h2>",
        _cluster_table(drift),
        "<h2>Costs</h2>",
        _costs(drift),
        "<h2>Columns</h2>",
        _column_table(drift),
        _unseen(drift),
        f"<h2>Rules (PSI {drift.rules_psi:.3f})</h2>",
        _rule_table(drift),
        f"<p>{escape(_explained(drift))}</p>",
    ]
    body = "\n".join(part for part in parts if part)
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}: drift</title><style>{_STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def _findings(drift: Drift) -> str:
    if not drift.findings:
        return "<p>No drift above the limits.</p>"
    items = "".join(f"<li>{escape(finding)}</li>" for finding in drift.findings)
    return f'<ul class="alarm">{items}</ul>'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    titles = "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><thead><tr>{titles}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _bar(value: float, most: float, *, high: bool = False) -> str:
    """A bar beside a number that says the same."""
    share = min(max(value / most, 0.0), 1.0) if most > 0 else 0.0
    kind = "bar high" if high else "bar"
    return f'<span class="{kind}" aria-hidden="true"><span style="width:{share:.1%}"></span></span>'


def _share(value: float) -> str:
    return f"{value:.1%}".replace("%", " %")


def _interval(interval: tuple[float, float]) -> str:
    return f"{_share(interval[0])} to {_share(interval[1])}"


def _cluster_table(drift: Drift) -> str:
    return _table(
        ["cluster", "then", "now", "95 % interval", ""],
        [
            [
                f"{cluster.cluster}: {escape(cluster.name)}",
                _share(cluster.then),
                _share(cluster.now),
                _interval(cluster.interval),
                _bar(cluster.now, 1.0),
            ]
            for cluster in drift.clusters
        ],
    )


def _costs(drift: Drift) -> str:
    if drift.cost is None:
        unknown = "The model file does not hold the space of the reference, so costs are unknown."
        return f"<p>{unknown}</p>"
    low, high = drift.cost.interval
    return (
        f"<p>A row costs {drift.cost.ratio:.3f} times what it cost in training "
        f"(95 % interval {low:.3f} to {high:.3f}).</p>"
    )


def _column_table(drift: Drift) -> str:
    ordered = sorted(drift.columns, key=lambda column: -column.psi)
    return _table(
        ["column", "PSI", "", "outside range", "unseen", "missing", "missing then"],
        [[*_psi_cells(drift, column), *_share_cells(column)] for column in ordered],
    )


def _psi_cells(drift: Drift, column: ColumnDrift) -> list[str]:
    name, psi = escape(column.name), f"{column.psi:.3f}"
    if drift.is_drifted(column):
        name, psi = (f'<span class="alarm">{text}</span>' for text in (name, f"{psi} drifted"))
    most = max(2 * drift.limits.psi, 0.1)
    return [name, psi, _bar(column.psi, most, high=drift.is_drifted(column))]


def _share_cells(column: ColumnDrift) -> list[str]:
    shares = (column.outside_now, column.unseen_now, column.missing_now, column.missing_then)
    return [percent(share) for share in shares]


def _unseen(drift: Drift) -> str:
    if not drift.unseen:
        return ""
    items = "".join(
        f"<li>{escape(name)}: "
        + escape(", ".join(f"{value} ({count:,})" for value, count in found.items()))
        + "</li>"
        for name, found in drift.unseen.items()
    )
    return f"<h2>Categories that no training row had</h2><ul>{items}</ul>"


def _rule_table(drift: Drift) -> str:
    return _table(
        ["rule", "cluster", "then", "now", "95 % interval", "part of the PSI"],
        [
            [
                escape(rule.rule),
                str(rule.cluster),
                _share(rule.then),
                _share(rule.now),
                _interval(rule.interval),
                f"{rule.psi:.4f}",
            ]
            for rule in drift.rules
        ],
    )


def _explained(drift: Drift) -> str:
    limits = drift.limits
    return (
        f"Drift is a PSI of at least {limits.psi:g}, at least {percent(limits.outside)} of the "
        "rows more than in training outside the range of a column or with a category that no "
        f"training row had, or a cost of {limits.cost_ratio:g} times, where chance does not "
        f"explain it (level {limits.level:g} for all tests together)."
    )
