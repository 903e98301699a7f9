"""Other packages, each in an environment of its own, made on the first call.

They get the table and the reference centers as files, and give back the labels of each row; costs
are computed here, as those of every other method.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import rivals

from . import data
from .cells import Cell
from .judge import Judge
from .methods import Result

WORKER = Path(__file__).with_name("peer_worker.py")
GEMCLUS = "gemclus==1.1.1"
SHALLOW = "ShallowTree==0.0.11"


def peer(cells: list[Cell]) -> Iterator[tuple[Cell, Result]]:
    """Yield what a package makes of each cell."""
    python = interpreter(cells[0].method)
    X = data.load(cells[0].data).X.astype(np.float64)
    for cell in cells:
        known = data.known(cell.data, cell.seed)
        labels, said = _ask(python, cell, X, known.centers)
        row = Judge(X, known).row(labels, cell.leaves)
        yield cell, {"rows": [row], "seconds": said["seconds"]}


@cache
def interpreter(method: str) -> Path:
    """Return the interpreter that has the package."""
    if method == "official":
        return rivals.official_python()
    if method == "shallow":  # it is built on the official package
        return _with(rivals.official_python(), "ShallowTree", SHALLOW, "--no-build-isolation")
    folder = rivals._cache_folder() / "gemclus"
    python = folder / "bin" / "python"
    if not python.exists():
        rivals._run([sys.executable, "-m", "venv", str(folder)])
    return _with(python, "gemclus", GEMCLUS)


def _with(python: Path, module: str, package: str, *options: str) -> Path:
    """Install a package if it does not import."""
    if subprocess.run([str(python), "-c", f"import {module}"], capture_output=True).returncode:
        rivals._run([str(python), "-m", "pip", "install", "--quiet", *options, package])
    return python


def _ask(python: Path, cell: Cell, X: Any, centers: Any) -> tuple[Any, dict[str, Any]]:
    """Run the package in its own process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "X.npy", X)
        np.save(folder / "centers.npy", centers)
        job = {"method": cell.method, "leaves": cell.leaves, "seed": cell.seed}
        command = [str(python), str(WORKER), json.dumps(job), name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
            raise rivals.RivalError(lines[-1])
        said = json.loads((folder / "said.json").read_text())
        return np.load(folder / "labels.npy").astype(np.intp), said
