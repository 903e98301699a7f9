"""Many fits in one process: the memory it holds does not grow.

``python -m fuzz --soak 10000`` fits, predicts, explains and saves small models of every kind, and
compares the memory resident after the first tenth with that at the end.
"""

from __future__ import annotations

import gc
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

from treemeans import BadSegmentWarning, ExKMC, load

GROWTH = 1.05
"""Times the memory after the first tenth that may be held at the end: allocators differ a little
from one moment to the next."""
WAYS = [
    {},
    {"base_tree": "kauri"},
    {"base_tree": "exgreedy", "n_jobs": 2},
    {"refine": "local"},
    {"refine": "search", "search_rounds": 3},
    {"min_samples_leaf": 5, "round_thresholds": True},
]


def resident() -> int:
    """Memory of this process, in kB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def soak(n: int) -> tuple[int, int]:
    """Memory after the first tenth of ``n`` fits, and after all of them, in kB."""
    rng = np.random.default_rng(0)
    early = 0
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", BadSegmentWarning)  # random tables have no clusters
        for number in range(n):
            X = rng.normal(size=(int(rng.integers(50, 500)), int(rng.integers(1, 9)))).round(2)
            if number % 4 == 3:
                X = sparse.csr_array(np.maximum(X, 0.0))
            model = ExKMC(3, random_state=0, **WAYS[number % len(WAYS)]).fit(X)
            model.save(Path(name) / "model.json")
            again = load(Path(name) / "model.json")
            assert np.array_equal(again.predict(X), model.labels_)
            str(again.rules())
            if number == n // 10:
                early = resident()
    return early, resident()
