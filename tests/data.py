"""Where the tests get data from: the shared folder, scikit-learn, and the paper's recipes.

The folder is ``$TREEMEANS_DATA``, or ``../shared/data`` beside the repository. It is not on a
user's machine: a test that needs it is skipped there.
"""

import importlib.util
import os
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn import datasets
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

BUNDLED = {"iris": 3, "wine": 3, "breast_cancer": 2, "digits": 10}
"""Sets that come with scikit-learn, and the number of clusters the paper gives them."""


def folder() -> Path:
    """The data folder, whether it is there or not."""
    given = os.environ.get("TREEMEANS_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"


@cache
def _loader() -> ModuleType:
    path = folder() / "load.py"
    if not path.is_file():
        pytest.skip(f"needs the data folder: {path} is missing (set TREEMEANS_DATA)")
    spec = importlib.util.spec_from_file_location("treemeans_data_load", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(name: str, dtype=np.float64):
    """X and k of a set; skips the test where the data folder is needed but missing."""
    if name in BUNDLED:
        return getattr(datasets, f"load_{name}")().data.astype(dtype), BUNDLED[name]
    X, _, k, _ = _loader().load(name, dtype)
    return X, k


def kmeans(X, k: int, seed: int = 0, n_init: int = 10) -> KMeans:
    """k-means as in the paper, on one thread: on a busy machine a second one only waits."""
    with threadpool_limits(1):
        return KMeans(k, n_init=n_init, max_iter=300, random_state=seed).fit(X)


def synthetic_1(seed: int, n: int = 5000, d: int = 1000, nu: float = 1000.0, flips: int = 100):
    """The paper's set that misleads CART: two far points, and two noisy bundles."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, d))
    X[2 : n // 2 + 1, 1:] = 1.0
    flipped = rng.random((n - 2, d - 1)).argpartition(flips, axis=1)[:, :flips] + 1
    rows = np.arange(2, n)[:, None]
    X[rows, flipped] = 1.0 - X[rows, flipped]
    X[:2, 0] = nu
    X[0, 1:] = 1.0
    return X


def synthetic_2(seed: int, k: int, d: int):
    """The paper's hard set: k random codewords, each d times, with one feature set to 0."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.choice([-1.0, 1.0], size=(k, d)), d, axis=0)
    X[np.arange(k * d), np.tile(np.arange(d), k)] = 0.0
    return X
