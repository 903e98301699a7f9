"""A page about a fitted model: ``summarize`` makes a plain dict, ``html_page`` renders it."""

from treemeans.report.report_file import report_html, write_report

__all__ = ["report_html", "write_report"]
