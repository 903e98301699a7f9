"""A tree as SVG: a picture for notebooks and pages, without scripts or anything to load.

It is written in the colour of the text around it, so that it reads on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from treemeans.tree_layout import draw_tree
from treemeans.tree_layout.shapes import EDGE, MUTED, PANEL, TEXT, Box, Drawing, Line, Text
from treemeans.tree_layout.text_fitting import estimated_width
from treemeans.tree_layout.tree_labels import TreeLabels

_SIZE = 12.0  # of letters, in pixels
_FONT = "system-ui, 'Helvetica Neue', Arial, sans-serif"
_OPACITY = {TEXT: 1.0, MUTED: 0.72, EDGE: 0.36, PANEL: 0.06}


def tree_svg(labels: TreeLabels, title: str = "Tree of clusters") -> str:
    """An ``<svg>`` element with the picture of a tree; shortened text is shown in full on hover."""
    return drawing_svg(draw_tree(labels, estimated_width, _SIZE), title)


def drawing_svg(drawing: Drawing, title: str) -> str:
    """An ``<svg>`` element."""
    width, height = _number(drawing.width), _number(drawing.height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{escape(title)}" '
        f'style="max-width:100%;height:auto;font-family:{_FONT}">\n'
        f"{_lines(drawing.lines)}\n{_joined(map(_box, drawing.boxes))}\n"
        f"{_joined(map(_text, drawing.texts))}\n</svg>"
    )


def _lines(lines: list[Line]) -> str:
    """Grey lines are in one group with one opacity, so that they do not darken where they cross."""
    plain = _joined(_line(line, "") for line in lines if line.color == EDGE)
    others = [line for line in lines if line.color != EDGE]
    coloured = _joined(_line(line, f' stroke="{line.color}"') for line in others)
    return (
        '<g fill="none" stroke-linejoin="round">\n'
        f'<g stroke="currentColor" opacity="{_OPACITY[EDGE]}">\n{plain}\n</g>\n{coloured}\n</g>'
    )


def _line(line: Line, stroke: str) -> str:
    points = " ".join(f"{_number(x)},{_number(y)}" for x, y in line.points)
    return f'<polyline points="{points}" stroke-width="{_number(line.width)}"{stroke}/>'


def _box(box: Box) -> str:
    outline = ' stroke="currentColor" stroke-opacity="0.45" stroke-width="0.8"'
    return (
        f'<rect x="{_number(box.x)}" y="{_number(box.y)}" width="{_number(box.width)}" '
        f'height="{_number(box.height)}" rx="{_number(box.radius)}"{_filled(box.fill)}'
        f"{outline if box.outlined else ''}/>"
    )


def _text(text: Text) -> str:
    weight = ' font-weight="bold"' if text.bold else ""
    hint = f"<title>{escape(text.full)}</title>" if text.full not in ("", text.words) else ""
    return (
        f'<text x="{_number(text.x)}" y="{_number(text.y)}" font-size="{_number(text.size)}" '
        f'text-anchor="{text.anchor}"{weight}{_filled(text.color)}>{hint}{escape(text.words)}</text>'
    )


def _filled(ink: str) -> str:
    if ink not in _OPACITY:
        return f' fill="{ink}"'
    return f' fill="currentColor" fill-opacity="{_OPACITY[ink]}"'


def _number(length: float) -> str:
    return f"{length:.2f}".rstrip("0").rstrip(".")


def _joined(elements: Iterable[str]) -> str:
    return "\n".join(elements)
