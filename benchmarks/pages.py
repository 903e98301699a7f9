"""The pages: prose written by hand, with tables that come from a small summary of a run.

A summary is ``results/NAME.json``. Its tables and texts go to the places of the page that are
marked ``<!-- begin NAME -->`` and ``<!-- end NAME -->``; everything else on a page is prose.
"""

from __future__ import annotations

import json
import os
import platform
import re
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.tables import Table

HERE = Path(__file__).resolve().parent
PAGES = {
    "speed": "SPEED.md",
    "quality": "QUALITY.md",
    "scale": "SCALE.md",
    "paper": "RESULTS.md",
    "proofs": "PROOFS.md",
    "rivals": "RIVALS.md",
    "inertia": "INERTIA.md",
}
MARKED = re.compile(r"(<!-- begin ([^>]+) -->\n)(.*?)(<!-- end \2 -->)", re.DOTALL)
PACKAGES = ("treemeans", "numpy", "scipy", "scikit-learn")


@dataclass
class Summary:
    """What a page shows of a run: tables and lines of text by name, and the machine."""

    tables: dict[str, Table] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Summary:
        """Read a summary from its file."""
        content = json.loads(path.read_text(encoding="utf-8"))
        tables = {name: Table(**table) for name, table in content["tables"].items()}
        return cls(tables, content["texts"])

    def write(self, path: Path) -> None:
        """Write the summary, a line for each row of a table so that changes can be read."""
        tables = []
        for name, table in self.tables.items():
            rows = ",\n".join(json.dumps(list(row), ensure_ascii=False) for row in table.rows)
            head = json.dumps(list(table.head), ensure_ascii=False)
            tables.append(f'{json.dumps(name)}: {{"head": {head}, "rows": [\n{rows}\n]}}')
        texts = json.dumps(self.texts, indent=0, ensure_ascii=False)
        body = ",\n".join(tables)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"tables": {{\n{body}\n}},\n"texts": {texts}\n}}\n', encoding="utf-8")

    def blocks(self) -> dict[str, str]:
        """What stands on the page, by name."""
        return {**self.texts, **{name: table.markdown() for name, table in self.tables.items()}}


def fill(page: str, summary: Summary) -> str:
    """The page with the tables of a summary in their places."""
    blocks = summary.blocks()

    def block(found: re.Match[str]) -> str:
        return f"{found[1]}{blocks.get(found[2], 'Not measured in this run.')}\n{found[4]}"

    return MARKED.sub(block, page)


def publish(name: str, summary: Summary, out: Path | None) -> list[Path]:
    """Write summary and page; return their paths.

    Without a folder they go to their places in the repository.
    """
    page = fill((HERE / PAGES[name]).read_text(encoding="utf-8"), summary)
    paths = [(out or HERE) / PAGES[name], (out or HERE / "results") / f"{name}.json"]
    paths[0].parent.mkdir(parents=True, exist_ok=True)
    paths[0].write_text(page, encoding="utf-8")
    summary.write(paths[1])
    return paths


def show(name: str, summary: Summary, out: Path | None) -> None:
    """Print the tables, `publish` them, and print where."""
    print("\n\n".join(table.text() for table in summary.tables.values()))
    print(*publish(name, summary, out), sep="\n")


def machine() -> str:
    """The machine and the versions, in a line."""
    versions = [f"{name} {_version(name)}" for name in PACKAGES]
    python = f"Python {platform.python_version()}"
    return f"{_processor()}, {os.cpu_count()} cores, {', '.join([python, *versions])}."


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _version(name: str) -> Any:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
