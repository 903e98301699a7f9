"""What a user waits for: the whole fit with k-means, the tree alone, predict, and the memory."""

from __future__ import annotations

from typing import Any

from benchmarks.measure import measure
from benchmarks.methods import METHODS, dense
from benchmarks.problems import PROBLEMS, input_bytes, reference
from benchmarks.tables import Table, number

HEAD = (
    *("problem", "fit s", "fit, KMeans s", "ratio", "KMeans s", "faiss s", "CART s"),
    *("tree s", "official tree s", "predict s", "CART predict s", "memory"),
    *("inertia / KMeans", "faiss inertia / KMeans"),
)
SHARE_OF_KMEANS_FIT = 0.1
"""Most that a whole fit on a large table may take of one with ``reference="kmeans"``."""
LARGE = ("covtype", "cifar10_10k", "cifar10", "blobs_2m")


def measure_whole(problem: str, repeat: int) -> dict[str, Any]:
    """``ExKMC().fit``: k-means by `FastKMeans`, and the tree, on one thread."""
    from treemeans import ExKMC

    X, k = PROBLEMS[problem].load(), PROBLEMS[problem].k
    ExKMC(k, random_state=0, n_jobs=1).fit(X[: 20 * k])
    run = measure(lambda: ExKMC(k, random_state=0, n_jobs=1).fit(X), repeat)
    return {
        "seconds": run.seconds,
        "cpu_seconds": run.cpu_seconds,
        "peak_bytes": run.peak_bytes,
        "input_bytes": input_bytes(X),
        "inertia_ratio": run.result.reference_inertia_ / reference(problem).inertia,
    }


def measure_faiss(problem: str, repeat: int) -> dict[str, Any]:
    """k-means of faiss in float32, ten starts of 25 rounds (its default), on one thread."""
    import faiss  # type: ignore[import-not-found]
    import numpy as np

    X, k = dense(PROBLEMS[problem].load()).astype(np.float32), PROBLEMS[problem].k
    faiss.omp_set_num_threads(1)

    def fit() -> Any:
        model = faiss.Kmeans(X.shape[1], k, nredo=10, seed=1, max_points_per_centroid=len(X))
        model.train(X)
        return model

    run = measure(fit, repeat)
    distances, _ = run.result.index.search(X, 1)
    inertia = float(np.maximum(distances, 0.0).sum(dtype=np.float64))
    return {
        "seconds": run.seconds,
        "cpu_seconds": run.cpu_seconds,
        "inertia_ratio": inertia / reference(problem).inertia,
    }


def measure_cart(problem: str, repeat: int) -> dict[str, Any]:
    """scikit-learn's tree of 2 k leaves on the labels of k-means."""
    X, known, leaves = PROBLEMS[problem].load(), reference(problem), 2 * PROBLEMS[problem].k
    run = measure(lambda: METHODS["cart"].fit(X, known, leaves, 0), repeat)
    return {"seconds": run.seconds, "cpu_seconds": run.cpu_seconds}


def whole_table(results: dict[str, dict[str, Any]]) -> Table:
    """The one table: whole fit, tree, predict and memory, ours beside the others."""
    return Table(HEAD, [_line(problem, row) for problem, row in results.items()])


def _line(problem: str, row: dict[str, Any]) -> list[str]:
    def cell(kind: str, key: str = "cpu_seconds") -> float | None:
        value: float | None = row.get(kind, {}).get(key)
        return value

    whole, faiss = row.get("whole", {}), row.get("faiss", {})
    memory = share(whole.get("peak_bytes"), whole.get("input_bytes"))
    return [
        problem,
        number(cell("whole")),
        number(fit_with_kmeans(row)),
        number(share(cell("whole"), fit_with_kmeans(row))),
        *(number(cell(kind)) for kind in ("kmeans", "faiss", "cart")),
        *(number(cell(kind)) for kind in ("treemeans_1", "official_1")),
        *(number(cell("predict", key)) for key in ("treemeans", "cart")),
        number(memory),
        *(number(each.get("inertia_ratio"), 5) for each in (whole, faiss)),
    ]


def fit_with_kmeans(row: dict[str, Any]) -> float | None:
    """Processor seconds of a fit with ``reference="kmeans"``: KMeans, and the tree."""
    parts = [row.get(kind, {}).get("cpu_seconds") for kind in ("kmeans", "treemeans_1")]
    return None if None in parts else sum(parts)


def share(one: float | None, other: float | None) -> float | None:
    """One over the other, where both are known."""
    return None if one is None or not other else one / other
