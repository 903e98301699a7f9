"""``python -m benchmarks choices``: what `choose` suggests where the number of clusters is known.

Made clusters are drawn from seeds of their own, which were not looked at when the constants of
`choose` were set.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from treemeans import BadSegmentWarning, ExKMC
from treemeans.cli.choose_command import measured, suggested_clusters

Table = NDArray[np.float64]
ROWS = 300
MADE = (  # clusters, columns, deviations between the two nearest centers
    *((2, 2, 5.0), (2, 3, 8.0), (2, 8, 4.0), (3, 2, 6.0), (3, 10, 5.0), (4, 4, 5.0)),
    *((5, 2, 6.0), (6, 8, 5.0), (7, 3, 6.0), (9, 5, 5.0), (10, 12, 5.0), (12, 4, 6.0)),
)


def made(k: int, n_columns: int, apart: float, seed: int) -> Table:
    """Round clusters of unit variance around random centers, none much nearer than the others."""
    rng = np.random.default_rng(seed)
    while True:
        centers = rng.normal(size=(k, n_columns))
        distances = np.linalg.norm(centers[:, None] - centers[None, :], axis=2)
        distances = distances[np.triu_indices(k, 1)]
        if distances.min() > 0.3 * np.median(distances):
            break
    centers *= apart / distances.min()
    return centers[rng.integers(k, size=ROWS)] + rng.normal(size=(ROWS, n_columns))


def tables(seed: int) -> Iterator[tuple[str, set[int], Table]]:
    """Name, right numbers of clusters, rows."""
    for k, n_columns, apart in MADE:
        yield f"made, {n_columns} columns, {apart:g} apart", {k}, made(k, n_columns, apart, seed)
    yield "Iris", {2, 3}, load_iris().data
    yield "Wine", {3}, load_wine().data
    yield "Breast Cancer", {2}, load_breast_cancer().data
    yield "Digits, every fourth row", {9, 10, 11}, load_digits().data[::4]


def main(arguments: Sequence[str]) -> None:
    """Suggest, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks choices", description=__doc__)
    parser.add_argument("--seed", type=int, default=20_000, help="of the made tables")
    parser.add_argument("--resamples", type=int, default=5)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", BadSegmentWarning)
    print("| table | clusters | suggested |\n| :-- | --: | --: |")
    for name, right, X in tables(options.seed):
        X = StandardScaler().fit_transform(X)
        choices = []
        for k in range(2, 15):
            model = ExKMC(k, max_leaf_nodes=4 * k, random_state=0).fit(X)
            choices.append(measured(k, model, X, options.resamples, 0))
        numbers = " to ".join(map(str, sorted({min(right), max(right)})))
        print(f"| {name} | {numbers} | {suggested_clusters(choices)} |", flush=True)
