"""Colours of clusters, and of text on them.

The first eight differ for readers with any of the three kinds of colour blindness, and dark text
is readable on all of them. Further clusters take darker and lighter shades of the same eight;
there it is rather the number on a label that tells clusters apart.
"""

from __future__ import annotations

BASE = (
    "#72cbfa",  # sky
    "#eda107",  # amber
    "#7ab487",  # sage
    "#bc7ea8",  # mauve
    "#eee67e",  # straw
    "#e46b3d",  # vermilion
    "#9580ec",  # violet
    "#d9f1f6",  # ice
)
DARK, LIGHT = "#111111", "#ffffff"
# For the first eight, the second eight, ...: what is mixed in, and how much.
_SHADES = (
    (DARK, 0.0),
    (DARK, 0.45),
    (LIGHT, 0.5),
    (DARK, 0.25),
    (LIGHT, 0.25),
    (DARK, 0.6),
    (LIGHT, 0.7),
    (DARK, 0.12),
)


def fill(cluster: int) -> str:
    """Colour of a cluster, for areas.

    Examples
    --------
    >>> fill(0), fill(8)
    ('#72cbfa', '#467791')
    """
    shade, hue = divmod(cluster, len(BASE))
    other, share = _SHADES[shade % len(_SHADES)]
    return mixed(BASE[hue], other, share)


def ink(cluster: int) -> str:
    """Darker colour of a cluster, for points and lines on a light ground."""
    return mixed(fill(cluster), DARK, 0.2)


def edge(cluster: int, ground: str) -> str:
    """Colour of the outline of a cluster's areas: at a contrast of 3 at least to the ground.

    Examples
    --------
    >>> edge(0, "#ffffff"), edge(0, "#111111")
    ('#5a9cc0', '#72cbfa')
    """
    other = DARK if contrast(ground, DARK) > contrast(ground, LIGHT) else LIGHT
    shares = [step / 20 for step in range(21)]
    shades = (mixed(fill(cluster), other, share) for share in shares)
    return next(shade for shade in shades if contrast(shade, ground) >= 3)


def text_color_on(color: str) -> str:
    """Dark or light, whichever reads better on ``color``; the contrast is never below 4.2."""
    return max((DARK, LIGHT), key=lambda text: contrast(color, text))


def mixed(color: str, other: str, share: float) -> str:
    """``color`` with ``share`` of ``other`` in it."""
    pairs = zip(_parts(color), _parts(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, from 1 to 21, as the guidelines for web content count it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in _parts(color))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
