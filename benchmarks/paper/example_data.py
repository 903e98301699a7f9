"""Data of the paper's two examples: four newsgroups, and points in the plane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.paper.plan import WORDS
from benchmarks.problems import data_folder


def words_file() -> Path | None:
    """The file of the four newsgroups, which treemeans does not download; None without it."""
    folder = data_folder()
    path = None if folder is None else folder / f"{WORDS}.npz"
    return path if path is not None and path.is_file() else None


def load_words() -> tuple[Any, NDArray[np.intp], list[str], list[str]]:
    """tf-idf of the messages, the group of each, the words, and the names of the groups."""
    path = words_file()
    assert path is not None, "the four newsgroups are not there"
    with np.load(path, allow_pickle=False) as file:
        parts = (file["data"], file["indices"].astype(np.int32), file["indptr"])
        counts = sparse.csr_matrix(parts, shape=tuple(file["shape"]))
        names = [[str(name) for name in file[key]] for key in ("feature_names", "target_names")]
        return TfidfTransformer().fit_transform(counts), file["y"].astype(np.intp), *names


def plane(seed: int = 3, n: int = 300) -> NDArray[np.float64]:
    """Three slanted groups of points; the paper does not give the points of its own."""
    rng = np.random.default_rng(seed)
    slant = np.array([[1.6, 1.2], [0.0, 1.0]])
    means = np.array([[-3.0, -3.0], [-1.0, 3.0], [3.5, 0.5]])
    groups = [rng.normal(size=(n // 3, 2)) @ slant + mean for mean in means]
    return np.vstack(groups).round(1)  # so that thresholds are short
