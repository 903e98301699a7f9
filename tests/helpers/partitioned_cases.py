"""Partitioned rows for tests: arrays in a list, and ways to split a table."""

import pickle

import numpy as np
import pandas as pd

from treemeans.columns.frame_values import is_all_numbers, open_frame
from treemeans.partitioned import CombinedSteps, PartitionedRows, PartitionSchema, reduce_in_order
from treemeans.partitioned.column_inference import infer_from_frames


class ListedPartitions(PartitionedRows):
    """Arrays in a list. Every step and result is pickled on its way, as to and from a worker.

    ``steps`` are those of all passes so far.
    """

    gather_bytes = 0  # what is tested is passes

    def __init__(self, arrays, weights=None, names=None, first_rows=None):
        self.arrays = arrays
        self.weights = [None] * len(arrays) if weights is None else weights
        self.n_partitions, self.n_features = len(arrays), arrays[0].shape[1]
        self.names = names
        self.dates = {}
        self.booleans = []
        self.first_rows = first_rows
        self.steps = []

    @property
    def n_passes(self):
        return len(self.steps)

    def map_reduce(self, step):
        self.steps.append(step)
        step = pickle.loads(pickle.dumps(step))
        schema = self.schema_of_partitions()
        results = []
        for number, (array, weights) in enumerate(zip(self.arrays, self.weights, strict=True)):
            if len(array):
                first_row = -1 if self.first_rows is None else int(self.first_rows[number])
                partition = schema.partition(number, first_row, array, weights)
                results.append(pickle.loads(pickle.dumps(step.map(partition))))
        return reduce_in_order(step, results)

    def schema_of_partitions(self):
        return PartitionSchema(self.n_features, None if self.names is None else tuple(self.names))


def step_names(partitions):
    """The types of the steps of all passes; with a star where rows were drawn for a coreset."""
    return ["+".join(map(_name, _all_steps(step))) for step in partitions.steps]


def _all_steps(step):
    return step.steps if isinstance(step, CombinedSteps) else [step]


def _name(step):
    drawn = type(step).__name__ == "AssignToCenters" and step.sampler is not None
    return type(step).__name__ + ("*" if drawn else "")


def split_rows(X, n_partitions, seed=0):
    """X in partitions of very different sizes, some perhaps empty."""
    rng = np.random.default_rng(seed)
    return np.split(X, np.sort(rng.integers(0, len(X) + 1, n_partitions - 1)))


class ListedFrames(ListedPartitions):
    """Data frames in a list, of which the columns are inferred where they are not all numbers."""

    def __init__(self, frames, weights=None):
        super().__init__(frames, weights, np.array(frames[0].columns, dtype=object))
        self.can_infer = True
        self.needs_schema = not is_all_numbers(open_frame(frames[0]))

    def infer_columns(self):
        if self.columns is None:
            infer_from_frames(self)

    def schema_of_partitions(self):
        n_features = self.n_features if self.columns is None else len(self.columns)
        return PartitionSchema(n_features, tuple(self.names), None, self.columns)


def weighted_frame():
    """Four columns of numbers, the last of whole ones, and weights in the column w."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c d"])
    frame["n"] = rng.integers(0, 9, 600)
    frame["w"] = rng.integers(0, 3, 600).astype(float)
    return frame
