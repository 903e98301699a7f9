"""Draw the pictures of docs/gallery.md, from the code on that page.

python docs/draw_gallery.py       # needs matplotlib and pandas
"""

from __future__ import annotations

import doctest
import io
import os
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent


def gallery() -> dict[str, Any]:
    """The names that the code of the page defines."""
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    os.chdir(DOCS.parent)
    for example in doctest.DocTestParser().get_examples(text):
        exec(example.source, names)
    return names


def main() -> None:
    """Run the page, draw, write."""
    import matplotlib as mpl
    from PIL import Image

    mpl.use("Agg")
    from sklearn.datasets import load_digits, load_wine

    from treemeans import plot_profiles, plot_regions, plot_tree

    names = gallery()
    wines = load_wine(as_frame=True).data
    axes = {
        "wines": plot_tree(names["wines"], X=wines, distributions=True),
        "digits": plot_regions(names["digits"], load_digits().data),
        "customers": plot_profiles(names["explained"](names["customers"], 4, 4)),
    }
    for name, ax in axes.items():
        file = io.BytesIO()
        ax.figure.savefig(file, dpi=100, bbox_inches="tight")
        few = Image.open(file).convert("RGB").quantize(96)
        few.save(DOCS / "pictures" / f"gallery_{name}.png", optimize=True)


if __name__ == "__main__":
    main()
