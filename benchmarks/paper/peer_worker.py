"""Fit a package and write its labels: ``python peer_worker.py '{"method": ...}' FOLDER``.

It runs with the package's own interpreter, and imports nothing of ours.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances_argmin


class GivenCenters:
    """The part of a fitted KMeans that the official package reads."""

    def __init__(self, centers: Any) -> None:
        self.cluster_centers_ = centers
        self.n_clusters = len(centers)

    def predict(self, X: Any) -> Any:
        """Return the nearest center of each row."""
        return pairwise_distances_argmin(X, self.cluster_centers_)


def official(X: Any, centers: Any, leaves: int, seed: int) -> Any:
    """ExKMC as its authors published it."""
    from ExKMC.Tree import Tree

    model = Tree(k=len(centers), max_leaves=leaves, random_state=seed)
    return model.fit(X, GivenCenters(centers)).predict(X)


def shallow(X: Any, centers: Any, leaves: int, seed: int) -> Any:
    """ExShallow: a leaf for each center."""
    package = importlib.import_module("ShallowTree.ShallowTree")

    # It sets the centers of a KMeans that was never fitted, which scikit-learn no longer bears.
    package.KMeans = lambda *_, **__: GivenCenters(centers)
    return package.ShallowTree(len(centers), random_state=seed).fit(X, centers).predict(X)


def kauri(X: Any, centers: Any, leaves: int, seed: int) -> Any:
    """Kauri, which takes no reference; its clusters are named after the nearest centers."""
    from gemclus.tree import Kauri
    from scipy.optimize import linear_sum_assignment

    model = Kauri(max_clusters=len(centers), max_leaves=leaves, random_state=seed)
    found = np.unique(model.fit_predict(X), return_inverse=True)[1]
    means = np.stack([X[found == cluster].mean(axis=0) for cluster in range(found.max() + 1)])
    apart = ((means[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    return linear_sum_assignment(apart)[1][found]


def main() -> None:
    """Do the job that is described by the first argument."""
    job, folder = json.loads(sys.argv[1]), Path(sys.argv[2])
    X, centers = np.load(folder / "X.npy"), np.load(folder / "centers.npy")
    fit = {"official": official, "shallow": shallow, "kauri": kauri}[job["method"]]
    start = time.perf_counter()
    labels = fit(X, centers, job["leaves"], job["seed"])
    seconds = time.perf_counter() - start
    np.save(folder / "labels.npy", np.asarray(labels))
    (folder / "said.json").write_text(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
