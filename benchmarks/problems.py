"""The data sets, and the reference k-means of each: they know nothing of methods."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.measure import once
from benchmarks.runner import CACHE, ROOT

Matrix: TypeAlias = "NDArray[Any] | sparse.csr_matrix"
BLOCK = 4096  # rows that are held in full precision at a time


@dataclass(frozen=True)
class Problem:
    """A data set: its name in the tables and in `treemeans.datasets`, and how much of it is read.

    ``n_init`` is the number of starts of the reference: ten on all images would take nine minutes.
    """

    name: str
    source: str
    k: int
    rows: int | None = None
    sparse: bool = False
    n_init: int = 10

    def load(self, dtype: Any = np.float64) -> Matrix:
        """The table. In an environment without treemeans, a copy that `export` wrote."""
        if self.source == "blobs":
            return _blobs(self.rows or 0, self.k).astype(dtype, copy=False)
        if self.source == "whole":
            return _whole_numbers(self.rows or 0, self.k).astype(dtype, copy=False)
        try:
            from treemeans import datasets
        except ImportError:
            return _read(self._exported)
        X = datasets.load(self.source, dtype, folder=data_folder()).X
        return X if self.rows is None else X[: self.rows]

    def export(self) -> None:
        """Write the table and its references to where every environment can read them."""
        if not self._exported.exists():
            self._exported.parent.mkdir(parents=True, exist_ok=True)
            _write(self._exported, self.load())

    @property
    def _exported(self) -> Path:
        return CACHE / "tables" / f"{self.name}.npz"


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
    Problem("cifar10_10k", "cifar10", 10, rows=10_000),
    Problem("cifar10", "cifar10", 10),
    Problem("synthetic_1", "synthetic_1", 3),
    Problem("synthetic_2", "synthetic_2", 30),
    Problem("blobs_2m", "blobs", 20, rows=2_000_000),
    Problem("whole_20k", "whole", 26, rows=20_000),
    Problem("whole_11k", "whole", 10, rows=11_000),
)
PROBLEMS = {problem.name: problem for problem in _ALL}
SPEED_ONLY = ("cifar10_10k", "blobs_2m", "whole_20k", "whole_11k")  # not sets of the paper


def _blobs(n: int, k: int) -> NDArray[np.float64]:
    """A made table of 20 columns, its clusters close enough to be hard to tell apart."""
    from sklearn.datasets import make_blobs

    X: NDArray[np.float64] = make_blobs(n, 20, centers=k, cluster_std=3.0, random_state=0)[0]
    return X


def _whole_numbers(n: int, k: int) -> NDArray[np.float64]:
    """A made table of 16 columns of whole numbers from 0 to 15, as in handwriting data."""
    from sklearn.datasets import make_blobs

    X: NDArray[np.float64] = make_blobs(n, 16, centers=k, cluster_std=3.0, random_state=0)[0]
    low, high = X.min(axis=0), X.max(axis=0)
    return np.round(15.0 * (X - low) / (high - low))


def data_folder() -> Path | None:
    """TREEMEANS_DATA, else ../shared/data beside the repository, else the package's own."""
    given = os.environ.get("TREEMEANS_DATA")
    path = Path(given) if given else ROOT.parent / "shared" / "data"
    return path if path.is_dir() else None


def input_bytes(X: Matrix) -> int:
    """Size of X as a dense float64 table, or of its non-zeros if it is sparse."""
    if isinstance(X, np.ndarray):
        return int(X.shape[0] * X.shape[1] * 8)
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


# The reference k-means


@dataclass(frozen=True)
class Reference:
    """Centers and labels of a k-means, its cost, and what it took on one thread."""

    centers: NDArray[Any]
    labels: NDArray[Any]
    inertia: float
    seconds: float
    cpu_seconds: float
    peak_bytes: int


@lru_cache(maxsize=8)
def reference(name: str, seed: int = 0) -> Reference:
    """The paper's reference (300 iterations), computed once and kept in a file."""
    path = CACHE / "references" / f"{name}-seed{seed}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(draft, **vars(_cluster(name, seed)))
        draft.replace(path)
    with np.load(path) as file:
        values = {key: file[key] for key in file.files}
    plain = {key: value.item() if value.ndim == 0 else value for key, value in values.items()}
    return Reference(**plain)


def kmeans(X: Matrix, k: int, seed: int = 0, n_init: int = 10) -> Any:
    """scikit-learn's k-means as the paper runs it, on as many threads as the process may use."""
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=n_init, max_iter=300, random_state=seed).fit(X)


def _cluster(name: str, seed: int) -> Reference:
    problem = PROBLEMS[name]
    X = problem.load()
    kmeans(X[: 20 * problem.k], problem.k)  # so that libraries are loaded when the clock starts
    run = once(lambda: kmeans(X, problem.k, seed, problem.n_init))
    model = run.result
    found = (model.cluster_centers_, model.labels_, float(model.inertia_))
    return Reference(*found, run.seconds, run.cpu_seconds, run.peak_bytes or 0)


def prepare_reference(name: str, seed: int) -> dict[str, float]:
    """Compute a reference, as a task of its own."""
    return {"cpu_seconds": reference(name, seed).cpu_seconds}


# What clusterings cost


def kmeans_cost(X: Matrix, labels: NDArray[Any]) -> float:
    """k-means cost of a clustering: all squares, less those of the clusters' sums."""
    n, (clusters, codes) = X.shape[0], np.unique(labels, return_inverse=True)
    member = sparse.csr_matrix((np.ones(n), (codes, np.arange(n))), shape=(len(clusters), n))
    sums = member @ X
    dense = sums.toarray() if sparse.issparse(sums) else sums
    values = stored_values(X)
    squares = np.einsum("i,i->", values, values, dtype=np.float64)
    return float(squares - ((dense**2).sum(axis=1) / np.bincount(codes)).sum())


def stored_values(X: Matrix) -> NDArray[Any]:
    """All stored values of X in a row."""
    values: NDArray[Any] = X.ravel() if isinstance(X, np.ndarray) else X.data
    return values


def _write(path: Path, X: Matrix) -> None:
    if isinstance(X, np.ndarray):
        np.savez(path, X=X)
    else:
        np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape)


def _read(path: Path) -> Matrix:
    with np.load(path) as file:
        if "X" in file.files:
            X: Matrix = file["X"]
            return X
        parts = (file["data"], file["indices"], file["indptr"])
        return sparse.csr_matrix(parts, shape=tuple(file["shape"]))
