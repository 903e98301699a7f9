"""A page about a fitted model: summarize (to a plain dict), then html (to a page)."""

from treemeans.report.write import report_html, write_report

__all__ = ["report_html", "write_report"]
