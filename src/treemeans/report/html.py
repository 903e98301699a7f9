"""From the summary of a model to a page that stands by itself."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib import resources
from typing import Any

# In the order they are read: each uses what is above it.
SCRIPTS = (
    "dom.js",
    "state.js",
    "tree.js",
    "changes.js",
    "bars.js",
    "layout.js",
    "picture.js",
    "hint.js",
    "curve.js",
    "groups.js",
    "row.js",
    "words.js",
    "page.js",
)
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def page(summary: dict[str, Any]) -> str:
    """The page. It loads nothing, and runs no script but its own."""
    style = _template("report.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(_template, SCRIPTS)) + "})();\n"
    parts = {
        "title": html.escape(summary["title"]),
        "policy": _policy(style, script),
        "style": style,
        "data": embedded(summary),
        "script": script,
    }
    return _PLACE.sub(lambda match: parts[match[1]], _template("report.html"))


def embedded(summary: dict[str, Any]) -> str:
    """JSON that ends no script element and holds no markup, whatever its texts are."""
    text = json.dumps(summary, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _policy(style: str, script: str) -> str:
    """What the page may load: nothing; what it may run: this script alone."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _template(name: str) -> str:
    folder = resources.files("treemeans.report") / "templates"
    return (folder / name).read_text(encoding="utf-8")
