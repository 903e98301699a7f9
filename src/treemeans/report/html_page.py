"""Renders the summary of a model as one HTML page that needs no other file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib import resources
from typing import Any

# In the order they run: each uses what is above it.
SCRIPTS = (
    "dom.js",
    "tree.js",
    "histogram.js",
    "tree_layout.js",
    "tree_panel.js",
    "size_panel.js",
    "findings_panel.js",
    "profile_panel.js",
    "names_panel.js",
    "group_panel.js",
    "row_panel.js",
    "rules_panel.js",
    "trust_panel.js",
    "page.js",
)
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def html_page(summary: dict[str, Any]) -> str:
    """The page of a summary. It loads nothing, and runs no script but its own."""
    style = _template("report.css")
    script = page_script()
    parts = {
        "title": html.escape(summary["title"]),
        "policy": _policy(style, script),
        "style": style,
        "data": embedded_json(summary),
        "script": script,
    }
    return _PLACEHOLDER.sub(lambda match: parts[match[1]], _template("report.html"))


def page_script() -> str:
    """The script of the page: all panels, in a scope of their own."""
    return '"use strict";\n(() => {\n' + "\n".join(map(_template, SCRIPTS)) + "})();\n"


def embedded_json(summary: dict[str, Any]) -> str:
    """JSON without <, > and &, so that no text in it can end the script element or be markup."""
    text = json.dumps(summary, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _policy(style: str, script: str) -> str:
    """The content security policy: nothing is loaded, and only this script and style are used."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _template(name: str) -> str:
    folder = resources.files("treemeans.report") / "templates"
    return (folder / name).read_text(encoding="utf-8")
