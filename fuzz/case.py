"""Case: one table with weights and parameters, as plain data that fits in a small JSON file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import ExtraTreeClassifier

from fuzz.frames import FRAMES
from treemeans import ExKMC

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """What is fitted.

    Attributes
    ----------
    X : the table, as float64
    storage : how the estimator gets it, a key of `STORAGES`
    weights : of the rows; None for none
    parameters : of ExKMC, as JSON has them; `reference` and `base_tree` may also be a key of
        `REFERENCES` or `GIVEN_TREES`, or centers
    seed : of what laws draw at random
    law : the law that failed, where one did
    kinds : of the columns, keys of `frames.KINDS`, where the table is a frame of mixed columns;
        the storage is then a key of `frames.FRAMES`
    """

    X: Floats
    storage: str
    weights: Floats | None
    parameters: dict[str, Any]
    seed: int = 0
    law: str = ""
    kinds: list[str] | None = None

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def centers(self) -> Floats | None:
        """The reference's centers, where they are given."""
        reference = self.parameters.get("reference")
        is_centers = isinstance(reference, list) and isinstance(reference[0], list)
        return np.array(reference, dtype=np.float64) if is_centers else None

    @property
    def cost(self) -> str:
        """What rows are priced by."""
        cost = self.parameters.get("cost", "kmeans")
        return "table" if isinstance(cost, list) else cost

    @property
    def row_weights(self) -> Floats:
        return np.ones(self.n_rows) if self.weights is None else self.weights

    def rng(self, salt: int = 0) -> np.random.Generator:
        return np.random.default_rng([self.seed, salt])

    def table(self, storage: str | None = None) -> Any:
        """The table as the estimator gets it."""
        if self.kinds is not None:
            return FRAMES[storage or self.storage](self.X, self.kinds)
        return STORAGES[storage or self.storage](self.X)

    def estimator(self, kind: type[ExKMC] = ExKMC, **changes: Any) -> ExKMC:
        """An unfitted ExKMC. ``changes``: parameters that differ from the case's."""
        parameters = self.parameters | changes
        reference, base_tree = parameters.get("reference"), parameters.get("base_tree")
        if isinstance(reference, str) and reference in REFERENCES:
            k = parameters["n_clusters"]
            parameters["reference"] = REFERENCES[reference](k, self)
        elif isinstance(reference, list):
            parameters["reference"] = np.array(reference)
        if isinstance(parameters.get("cost"), list):
            parameters["cost"] = np.array(parameters["cost"], dtype=np.float64)
        if isinstance(base_tree, str) and base_tree in GIVEN_TREES:
            parameters["base_tree"] = GIVEN_TREES[base_tree](self)
        return kind(**parameters)

    def keep_rows(self, rows: Any) -> Case:
        weights = None if self.weights is None else self.weights[rows]
        parameters = dict(self.parameters)
        if self.centers is None and isinstance(parameters.get("reference"), list):
            parameters["reference"] = np.array(parameters["reference"])[rows].tolist()
        if isinstance(parameters.get("cost"), list):
            parameters["cost"] = np.array(parameters["cost"])[rows].tolist()
        return replace(self, X=self.X[rows], weights=weights, parameters=parameters)

    def to_json(self) -> str:
        document = {
            "law": self.law,
            "storage": self.storage,
            "parameters": self.parameters,
            "seed": self.seed,
            **({} if self.kinds is None else {"kinds": self.kinds}),
            "weights": None if self.weights is None else self.weights.tolist(),
            "X": self.X.tolist(),
        }
        return json.dumps(document, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Case:
        document = json.loads(text)
        X, weights = document.pop("X"), document.pop("weights")
        document["X"] = np.array(X, dtype=np.float64).reshape(len(X), -1)
        document["weights"] = None if weights is None else np.array(weights, dtype=np.float64)
        return cls(**document)

    def save(self, folder: Path) -> Path:
        """Write the case to a file that is named after its law and its content."""
        text = self.to_json()
        name = f"{self.law.replace(' ', '_')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        return folder / name


# ---- how the estimator gets the table ------------------------------------------------------------


def _explicit_zeros(X: Floats) -> sparse.csr_matrix:
    """Every second zero is stored."""
    stored = (X != 0) | (np.indices(X.shape).sum(axis=0) % 2 == 0)
    rows, columns = np.nonzero(stored)
    return sparse.csr_matrix((X[stored], (rows, columns)), shape=X.shape)


def _unsorted(X: Floats) -> sparse.csr_matrix:
    """Columns of a row in descending order."""
    matrix = sparse.csr_matrix(X)
    for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        matrix.indices[start:end] = matrix.indices[start:end][::-1].copy()
        matrix.data[start:end] = matrix.data[start:end][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


STORAGES: dict[str, Callable[[Floats], Any]] = {
    "dense": lambda X: X,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "int64": lambda X: X.astype(np.int64),
    "list": lambda X: X.tolist(),
    "frame": lambda X: pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]),
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "explicit zeros": _explicit_zeros,
    "unsorted": _unsorted,
}
SPARSE = ("csr", "csc", "explicit zeros", "unsorted")

# ---- references and base trees that are not plain data -------------------------------------------

REFERENCES: dict[str, Callable[[int, Case], Any]] = {
    "clusterer": lambda k, case: KMeans(k, n_init=1, max_iter=20),
    "scaled": lambda k, case: make_pipeline(
        StandardScaler(with_mean=case.storage not in SPARSE), KMeans(k, n_init=1)
    ),
    "pca": lambda k, case: make_pipeline(PCA(1), KMeans(k, n_init=1)),
}


def _random_tree(case: Case) -> Any:
    """A decision tree of scikit-learn with random cuts and up to k leaves."""
    with np.errstate(over="ignore"):
        X = np.clip(case.X, -1e30, 1e30).astype(np.float32)
    labels = case.rng(1).integers(0, 4, size=len(X))
    k = case.parameters.get("n_clusters") or len(case.centers)
    return ExtraTreeClassifier(max_leaf_nodes=max(2, k), random_state=0).fit(X, labels)


GIVEN_TREES: dict[str, Callable[[Case], Any]] = {"given": _random_tree}


@dataclass
class Failure:
    """A case that breaks a law."""

    case: Case
    message: str
    number: int = -1
    seed: int = 0
    path: Path | None = field(default=None)
