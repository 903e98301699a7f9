"""The data sets and their reference clusterings, each read or computed once in a process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import problems
import reference
from measure import once
from methods import sklearn_kmeans
from numpy.typing import NDArray
from reference import Reference
from sklearn.metrics import pairwise_distances

from treemeans import datasets
from treemeans.datasets import Dataset

from .cells import WORDS

_BLOCK = 4096  # rows that are held in full precision at a time


@lru_cache(maxsize=1)
def load(name: str) -> Dataset:
    """Return a data set in the smallest type that is exact."""
    return datasets.load(name, None, folder=folder())


def folder() -> Path | None:
    """Return the data folder if there is one; None leaves it to the package."""
    given = problems.data_folder()
    return given if given.is_dir() else None


def has_words() -> bool:
    """Say whether the four newsgroups are there: the package does not download them."""
    return (problems.data_folder() / f"{WORDS}.npz").is_file()


def load_words() -> tuple[Any, NDArray[np.intp], Sequence[str]]:
    """Return the four newsgroups: tf-idf, the group of each message, and the words."""
    X, y, _, words = problems._loader().load(WORDS)
    return X, y, words


def group_names() -> list[str]:
    """Return what the four newsgroups are called, in the order of their numbers."""
    with np.load(problems.data_folder() / f"{WORDS}.npz", allow_pickle=False) as file:
        return [str(name) for name in file["target_names"]]


def plane(seed: int = 3, n: int = 300) -> NDArray[np.float64]:
    """Return three slanted bundles in the plane; the paper does not give the points of its own."""
    rng = np.random.default_rng(seed)
    slant = np.array([[1.6, 1.2], [0.0, 1.0]])
    means = np.array([[-3.0, -3.0], [-1.0, 3.0], [3.5, 0.5]])
    bundles = [rng.normal(size=(n // 3, 2)) @ slant + mean for mean in means]
    return np.vstack(bundles).round(1)  # so that thresholds are short


@lru_cache(maxsize=8)
def known(name: str, seed: int) -> Reference:
    """Return the paper's reference: 10 starts, 300 iterations. Other tables share its file."""
    path = reference.path_of(name, seed)
    if not path.exists():
        data = load(name)
        X = data.X.astype(np.float64)
        run = once(lambda: sklearn_kmeans.fit(X, data.k, 1, seed))
        found = run.result.cluster_centers_, run.result.labels_, float(run.result.inertia_)
        took = run.seconds, run.cpu_seconds, run.peak_bytes or 0
        reference.FOLDER.mkdir(parents=True, exist_ok=True)
        reference.save(path, Reference(*found, *took))
    return reference.read(name, seed)


def blocks(X: Any, *others: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield some rows after the other, in full precision, with the same rows of other arrays."""
    for at in range(0, X.shape[0], _BLOCK):
        some = slice(at, at + _BLOCK)
        yield X[some].astype(np.float64), *(other[some] for other in others)


def distances(X: Any, centers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the squared distance of each row to each center."""
    return np.vstack([pairwise_distances(rows, centers) ** 2 for (rows,) in blocks(X)])
