"""Figures on the structure of the code, for the table in CONTRIBUTING.

Run by its path, it measures any commit that is installed in the Python that runs it:

    python benchmarks/structure.py FOLDER

FOLDER is the commit's working tree; by default the one this file is in.
"""

from __future__ import annotations

import io
import statistics
import sys
import tokenize
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from sklearn.datasets import load_iris


def types_of_a_fit() -> tuple[set[str], set[str]]:
    """Types of the package whose methods run in one fit in memory; and those only instantiated."""
    from treemeans import ExKMC

    running: set[str] = set()
    created: set[str] = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_varnames:
            return
        if f"{Path('/treemeans/')}" in code.co_filename:
            owner, _, name = code.co_qualname.split(".<locals>")[0].rpartition(".")
            if owner and name:
                running.add(owner)
        elif code.co_name == "__init__":  # of a dataclass, which has no file
            kind = type(frame.f_locals.get(code.co_varnames[0]))
            if kind.__module__.startswith("treemeans"):
                created.add(kind.__name__)

    X = load_iris().data
    # What clusters is a part of its own, and may be scikit-learn's.
    model = ExKMC(3, reference="kmeans", random_state=0).fit(X)  # imports and caches are filled
    sys.setprofile(watch)
    try:
        model.fit(X)
    finally:
        sys.setprofile(None)
    return running, created - running


def calls_to_the_best_cut() -> list[str]:
    """Python functions from ``fit`` to the kernel that searches leaves, as "file: function"."""
    from treemeans import ExKMC, _core

    found: list[str] = []
    kernel = _core.expand

    def watched(*arguments: Any) -> Any:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            name = frame.f_code.co_filename
            if f"{Path('/treemeans/')}" in name:
                found.append(f"{Path(name).name}: {frame.f_code.co_name}")
            frame = frame.f_back
        return kernel(*arguments)

    _core.expand = watched
    try:
        ExKMC(3, random_state=0).fit(load_iris().data)
    finally:
        _core.expand = kernel
    return found[::-1]


def code_lines(text: str) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    lines: set[int] = set()
    at_start = True  # of a statement: a string there is a docstring
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            continue
        if token.type == tokenize.NEWLINE:
            at_start = True
            continue
        if token.type == tokenize.ENDMARKER or (at_start and token.type == tokenize.STRING):
            continue
        at_start = False
        lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


def cpp_code_lines(text: str) -> int:
    """The same for C++, which has only // comments here."""
    return sum(
        1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//")
    )


def sizes(folder: Path) -> dict[str, int | float]:
    """Lines and modules of a working tree."""
    python = {path: path.read_text("utf-8") for path in (folder / "src").rglob("*.py")}
    cpp = [p.read_text("utf-8") for p in (folder / "cpp").iterdir() if p.suffix in (".cpp", ".hpp")]
    names = Counter(path.stem for path in python if path.stem not in ("__init__", "__main__"))
    return {
        "module names that occur twice": sum(count > 1 for count in names.values()),
        "modules in src/": len(python),
        "lines of src/": sum(len(text.splitlines()) for text in python.values()),
        "code lines of src/": sum(code_lines(text) for text in python.values()),
        "lines of cpp/": sum(len(text.splitlines()) for text in cpp),
        "code lines of cpp/": sum(cpp_code_lines(text) for text in cpp),
        "median file of src/": statistics.median(len(t.splitlines()) for t in python.values()),
    }


def main() -> None:
    """Print all figures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    running, created = types_of_a_fit()
    print(f"types whose methods run in a fit: {len(running)}: {', '.join(sorted(running))}")
    print(f"types that only hold fields: {len(created)}: {', '.join(sorted(created))}")
    calls = calls_to_the_best_cut()
    print(f"Python functions from fit to the best cut: {len(calls)}: {' -> '.join(calls)}")
    for name, value in sizes(folder).items():
        print(f"{name}: {value:,}")


if __name__ == "__main__":
    main()
