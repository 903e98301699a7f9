"""Draw docs/tree.png, the picture in the README, of the model that the README's code fits.

    python docs/draw_tree.py          # needs matplotlib and pandas

The tree as text is kept in the picture, so that a test can compare it with the code.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def readme_model() -> Any:
    """The model of the first example in the README."""
    match = CODE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert match is not None
    names: dict[str, Any] = {}
    os.chdir(ROOT)
    exec(match[1].partition("print(")[0], names)
    return names["model"]


def main() -> None:
    """Fit, draw, write."""
    import matplotlib as mpl

    mpl.use("Agg")
    model = readme_model()
    axes = model.plot(fontsize=11)
    out = ROOT / "docs" / "tree.png"
    axes.figure.savefig(out, dpi=150, metadata={"Description": model.to_text()})


if __name__ == "__main__":
    main()
