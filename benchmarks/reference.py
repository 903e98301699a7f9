"""The reference k-means of a problem: computed and timed once, then read from disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).resolve().parent / ".cache"


@dataclass(frozen=True)
class Reference:
    """Centers and labels of KMeans(n_init=10), its cost, and what it took on one thread."""

    centers: NDArray[Any]
    labels: NDArray[Any]
    inertia: float
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def path_of(problem: str) -> Path:
    """Return the file that keeps the reference of a problem."""
    return FOLDER / f"{problem}.npz"


def save(problem: str, reference: Reference) -> None:
    """Write the reference, whole or not at all."""
    FOLDER.mkdir(exist_ok=True)
    draft = FOLDER / f"{problem}.draft.npz"
    np.savez(draft, **vars(reference))
    draft.replace(path_of(problem))


def read(problem: str) -> Reference:
    """Read a saved reference."""
    with np.load(path_of(problem)) as file:
        return Reference(
            file["centers"],
            file["labels"],
            float(file["inertia"]),
            float(file["seconds"]),
            float(file["cpu_seconds"]),
            int(file["peak_bytes"]),
        )
