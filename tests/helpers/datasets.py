"""Where the tests get data from: the data folder, scikit-learn, and the paper's recipes.

The folder is ``$TREEMEANS_DATA``, or ``../shared/data`` beside the repository. It is not on a
user's machine: a test that needs it is skipped there. Nothing is downloaded.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from treemeans import datasets
from treemeans.datasets.sources import SOURCES


def folder() -> Path:
    """The data folder, whether it is there or not."""
    given = os.environ.get("TREEMEANS_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[3] / "shared" / "data"


def load_set(name: str, dtype=np.float64) -> datasets.Dataset:
    """A set with all that is known of it; skips the test where the folder is missing."""
    if name in SOURCES and not folder().is_dir():
        pytest.skip(f"needs the data folder: {folder()} is missing (set TREEMEANS_DATA)")
    return datasets.load(name, dtype, folder=folder(), download=False)


@cache
def stored(name: str) -> datasets.Dataset:
    """A set in its smallest type, kept for the next test, so none may change it."""
    return load_set(name, None)


def load(name: str, dtype=np.float64):
    """X and k of a set."""
    data = load_set(name, dtype)
    return data.X, data.k


def kmeans(X, k: int, seed: int = 0, n_init: int = 10) -> KMeans:
    """k-means as in the paper, on one thread: on a busy machine a second one only waits."""
    with threadpool_limits(1):
        return KMeans(k, n_init=n_init, max_iter=300, random_state=seed).fit(X)


def synthetic_1(seed: int):
    """The paper's set that misleads CART."""
    return datasets.synthetic_1(seed)[0]


def synthetic_2(seed: int, k: int, d: int):
    """The paper's hard set, of any size."""
    return datasets.synthetic_2(seed, k, d)[0].astype(np.float64)
