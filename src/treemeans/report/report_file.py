"""report_html and write_report: a page about a fitted model, for any browser."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from sklearn.utils.validation import check_is_fitted

from treemeans.atomic_write import write_whole
from treemeans.export.export_mixin import ExportMixin
from treemeans.report.html_page import html_page
from treemeans.report.summarize import summarize


def report_html(
    model: Any,
    X: Any = None,
    *,
    title: str | None = None,
    cluster_names: Sequence[str] | None = None,
    rows: int = 0,
    stability: Any = None,
    alternatives: Any = None,
) -> str:
    """A page about a fitted model, that needs nothing but a browser.

    It shows the tree, with a slider for its number of leaves; each group in words and
    in histograms; where a row would go, and what would have to change for it to go elsewhere; and
    the rules and SQL to copy.

    Parameters
    ----------
    model : fitted model
        The page shows all sizes of its tree, and its own first.
    X : table of the training rows, optional
        For histograms and medians, and to warn of clusters that are no more compact than in
        shuffled data.
    title : str, optional
    cluster_names : sequence of str, optional
        Names of the groups, in the order of the clusters.
    rows : int
        How many rows of X to put into the page as examples, with their values and, of a data
        frame, their index. By default the page holds no row, no smallest or largest value of a
        column, and no average or histogram of fewer than five rows. A page with rows says that
        it contains them, and its counts are exact.
    stability : Stability, optional
        What ``model.stability(X)`` found, for a panel.
    alternatives : Alternatives, optional
        What ``model.alternatives(X)`` found, for a tab.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC, report_html
    >>> X = load_iris().data
    >>> model = ExKMC(3, max_leaf_nodes=6, random_state=0).fit(X)
    >>> report_html(model, X, title="Irises")[:15]
    '<!doctype html>'
    """
    if not isinstance(model, ExportMixin):
        raise TypeError(f"A report is about a fitted model of treemeans; got {model!r}.")
    check_is_fitted(model)
    _check_rows(rows, X)
    return html_page(
        summarize(
            model,
            X,
            title=title,
            cluster_names=cluster_names,
            rows=int(rows),
            stability=stability,
            alternatives=alternatives,
        )
    )


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    *,
    title: str | None = None,
    cluster_names: Sequence[str] | None = None,
    rows: int = 0,
    stability: Any = None,
    alternatives: Any = None,
) -> None:
    """Write a page about a fitted model to a file, whole or not at all.

    Parameters
    ----------
    path : str or PathLike
        A file that exists is replaced.
    model, X, title, cluster_names, rows, stability, alternatives
        As in :func:`report_html`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC, write_report
    >>> X = load_iris().data
    >>> model = ExKMC(3, max_leaf_nodes=6, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "irises.html")
    ...     write_report(model, path, X, title="Irises")
    ...     path.stat().st_size < 500_000
    True
    """
    page = report_html(
        model,
        X,
        title=title,
        cluster_names=cluster_names,
        rows=rows,
        stability=stability,
        alternatives=alternatives,
    )
    write_whole(path, page)


def _check_rows(rows: Any, X: Any) -> None:
    if isinstance(rows, bool) or not isinstance(rows, Integral) or rows < 0:
        raise ValueError(f"rows must be 0 or a positive whole number; got {rows!r}.")
    if rows and X is None:
        raise ValueError(f"rows={rows} puts rows of X into the report; give X as well.")
