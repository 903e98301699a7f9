"""Tables with references, that models are fitted to."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tests.helpers.plain_numpy import dense


def word_counts(n, d, shape, seed=0):
    """A sparse table of counts in four kinds of texts."""
    rng = np.random.default_rng(seed)
    rate = rng.gamma(shape, 1.0, size=(4, d))
    return sparse.csr_matrix(rng.poisson(rate[rng.integers(4, size=n)]).astype(np.float64))


@dataclass
class FitTable:
    """What a model is fitted on and with."""

    X: Any
    reference: Any
    weights: np.ndarray | None = None

    @property
    def plain_weights(self):
        return np.ones(self.X.shape[0]) if self.weights is None else self.weights

    @property
    def space(self):
        """X where the centers live."""
        in_pipeline = hasattr(self.reference, "steps")
        return dense(self.reference[:-1].transform(self.X) if in_pipeline else self.X)
