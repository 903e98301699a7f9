"""Rows in parts, for tests: arrays in a list, and ways to cut a table up."""

import pickle

import numpy as np

from treemeans.parts.block import Layout
from treemeans.parts.question import Parts, in_order


class Listed(Parts):
    """Arrays in a list. Every question is pickled on its way, as it would be to a worker."""

    def __init__(self, arrays, weights=None, names=None, firsts=None):
        self.arrays = arrays
        self.weights = [None] * len(arrays) if weights is None else weights
        self.n_parts, self.n_features = len(arrays), arrays[0].shape[1]
        self.names = names
        self.dates = []
        self.firsts = firsts
        self.n_passes = 0

    def ask(self, question):
        self.n_passes += 1
        question = pickle.loads(pickle.dumps(question))
        layout = Layout(self.n_features, None if self.names is None else tuple(self.names))
        answers = []
        for number, (array, weights) in enumerate(zip(self.arrays, self.weights, strict=True)):
            if len(array):
                first = -1 if self.firsts is None else int(self.firsts[number])
                block = layout.block(number, first, array, weights)
                answers.append(pickle.loads(pickle.dumps(question.ask(block))))
        return in_order(question, answers)


def cut_up(X, n_parts, seed=0):
    """X in parts of very different sizes, some perhaps empty."""
    rng = np.random.default_rng(seed)
    return np.split(X, np.sort(rng.integers(0, len(X) + 1, n_parts - 1)))
