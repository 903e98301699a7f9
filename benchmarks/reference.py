"""The reference k-means of a problem and seed: computed and timed once, then read from disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).resolve().parent / ".cache"


@dataclass(frozen=True)
class Reference:
    """Centers and labels of a k-means, its cost, and what it took on one thread."""

    centers: NDArray[Any]
    labels: NDArray[Any]
    inertia: float
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def path_of(problem: str, seed: int = 0, n_init: int = 10) -> Path:
    """Return the file that keeps a reference; the speed table's, seed 0, has the plain name."""
    of_seed = f"-seed{seed}" if seed else ""
    of_starts = f"-{n_init}init" if n_init != 10 else ""
    return FOLDER / f"{problem}{of_seed}{of_starts}.npz"


def save(path: Path, reference: Reference) -> None:
    """Write the reference, whole or not at all."""
    path.parent.mkdir(exist_ok=True)
    draft = path.with_suffix(".draft.npz")
    np.savez(draft, **vars(reference))
    draft.replace(path)


def read(problem: str, seed: int = 0, n_init: int = 10) -> Reference:
    """Read a saved reference."""
    with np.load(path_of(problem, seed, n_init)) as file:
        return Reference(
            file["centers"],
            file["labels"],
            float(file["inertia"]),
            float(file["seconds"]),
            float(file["cpu_seconds"]),
            int(file["peak_bytes"]),
        )
