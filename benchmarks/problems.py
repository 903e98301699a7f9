"""The data sets of the tables; they know nothing of the methods that are measured on them."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Table: TypeAlias = "NDArray[Any] | sparse.csr_matrix"

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Problem:
    """One data set: its name in the table, its name in the data folder, and what to read of it."""

    name: str
    source: str
    k: int
    parts: tuple[int, ...] | None = None
    sparse: bool = False

    def load(self, *, compact: bool = False) -> Table:
        """Return X as float64, or in the compact type it is stored in."""
        options = {} if self.parts is None else {"parts": self.parts}
        dtype = None if compact else np.float64
        table: Table = _loader().load(self.source, dtype=dtype, **options)[0]
        return table if sparse.issparse(table) else np.ascontiguousarray(table)


_ALL = (
    Problem("iris", "iris", 3),
    Problem("wine", "wine", 3),
    Problem("breast_cancer", "breast_cancer", 2),
    Problem("digits", "digits", 10),
    Problem("mice_protein", "mice_protein", 8),
    Problem("anuran", "anuran", 10),
    Problem("avila", "avila", 12),
    Problem("covtype", "covtype", 7),
    Problem("20newsgroups", "20newsgroups", 20, sparse=True),
    Problem("cifar10_10k", "cifar10", 10, parts=(1,)),
    Problem("cifar10", "cifar10", 10),
    Problem("synthetic_1", "synthetic_1", 3),
    Problem("synthetic_2", "synthetic_2", 30),
)
PROBLEMS = {problem.name: problem for problem in _ALL}


def data_folder() -> Path:
    """Return the folder of the data: TREEMEANS_DATA, else ../shared/data beside the repository."""
    given = os.environ.get("TREEMEANS_DATA")
    return Path(given) if given else ROOT.parent / "shared" / "data"


def input_bytes(X: Table) -> int:
    """Return the size of X as a dense float64 table, or of its non-zeros if it is sparse."""
    if isinstance(X, np.ndarray):
        return int(X.shape[0] * X.shape[1] * 8)
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


def _loader() -> ModuleType:
    """Import load.py of the data folder."""
    path = data_folder() / "load.py"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: set TREEMEANS_DATA to the data folder")
    spec = importlib.util.spec_from_file_location("treemeans_benchmark_data", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
