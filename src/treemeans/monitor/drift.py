"""Drift: what has changed in new rows since a model was fitted, counted in one pass over them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.columns.encode_frame import UnseenValues
from treemeans.columns.frame_values import UNSEEN
from treemeans.explain.leaf_reasons import LeafReasons
from treemeans.monitor.confidence import knows_costs
from treemeans.monitor.drift_result import (
    ClusterShare,
    ColumnDrift,
    CostChange,
    Drift,
    DriftLimits,
    RuleShare,
)
from treemeans.monitor.share_statistics import (
    change_p_value,
    excess_p_value,
    psi_terms,
    wilson_interval,
)
from treemeans.partitioned.readers.dask_partitions import is_dask
from treemeans.preparation import TablePreparation
from treemeans.rows.column_values import column_of
from treemeans.threads import n_threads
from treemeans.training_histograms import ColumnHistogram, TrainingHistograms

Floats = NDArray[np.float64]

_BATCH = 1 << 16  # rows that are counted at once
_Z = 1.959963984540054  # of an interval of 95 %
_MOST_UNSEEN = 20  # unseen categories of a column that are remembered


class DriftCounter:
    """Counts rows, batch by batch, in memory that does not grow with their number.

    Parameters
    ----------
    model : fitted model
    """

    def __init__(self, model: Any) -> None:
        # New rows may lack values that no training row lacked: that is counted, not refused.
        self._tree_in_words = model.tree_
        self.model = model = model.with_missing_sides()
        record = model._fit_result
        self.histograms: TrainingHistograms = checked_histograms(record)
        self.n_rows = 0
        self.counts = [np.zeros(len(h.counts) + 1) for h in self.histograms.columns]
        self.outside = np.zeros(len(self.histograms.columns))
        self.unseen = np.zeros(len(self.histograms.columns))
        self.unseen_names: dict[str, Counter[str]] = {}
        self.leaves = np.zeros(model.tree_.n_nodes)
        self._costs = knows_costs(record.reference)
        self._n_priced, self._cost, self._squares = 0, 0.0, 0.0

    def add(self, X: Any, unseen: UnseenValues | None = None) -> None:
        """Count the rows of a batch, as a table of any kind that ``predict`` takes."""
        unseen = UnseenValues() if unseen is None else unseen
        found = self.model._validate(X, reset=False, unseen=unseen)
        self._add_encoded(X, found)
        for source, rows in unseen.values.items():
            names = self.unseen_names.setdefault(source, Counter())
            names.update(v for v in rows.values() if v in names or len(names) < _MOST_UNSEEN)

    def _add_encoded(self, raw: Any, X: Any) -> None:
        leaf = self.model.tree_.apply(X, n_threads=n_threads(self.model.n_jobs))
        self.leaves += np.bincount(leaf, minlength=len(self.leaves))
        columns = X.tocsc() if sparse.issparse(X) else X
        for i, histogram in enumerate(self.histograms.columns):
            values = column_of(columns, histogram.feature)
            self.counts[i] += histogram.count(values)
            self.outside[i] += np.count_nonzero(histogram.is_outside(values))
            if self.model.columns_[histogram.feature].kind == "codes":
                self.unseen[i] += np.count_nonzero(values == UNSEEN)
        if self._costs:
            self._add_costs(raw, X, self.model.tree_.label[leaf])
        self.n_rows += len(leaf)

    def _add_costs(self, raw: Any, X: Any, cluster: NDArray[np.int32]) -> None:
        """Costs of the rows; only of complete ones, where missing values have no distance."""
        prepared = isinstance(self.model._fit_result.reference.pipeline, TablePreparation)
        if not prepared and not sparse.issparse(X) and np.isnan(X).any():
            complete = ~np.isnan(X).any(axis=1)
            raw, cluster = _some_rows(raw, complete), cluster[complete]
            if not len(cluster):
                return
        base, beyond = self.model._costs_of(raw)
        cost = base + beyond[np.arange(len(base)), cluster]
        self._cost += float(cost.sum())
        self._squares += float(cost @ cost)
        self._n_priced += len(cost)

    def result(self, limits: DriftLimits) -> Drift:
        """What has changed, of all rows that were counted."""
        if not self.n_rows:
            raise ValueError("The table has no rows; pass one that has some.")
        return Drift(
            n_rows=self.n_rows,
            n_training_rows=float(self.model.tree_.weight[0]),
            limits=limits,
            columns=tuple(map(self._column, range(len(self.counts)))),
            clusters=self._clusters(),
            rules=self._rules(),
            rules_p_value=self._leaf_p_value(),
            cost=self._cost_change(),
            unseen={name: dict(found) for name, found in self.unseen_names.items()},
        )

    def _column(self, i: int) -> ColumnDrift:
        histogram: ColumnHistogram = self.histograms.columns[i]
        then, now, n_then = histogram.with_missing, self.counts[i], self.histograms.n_rows
        total = float(then.sum()) or 1.0
        rows_outside = histogram.outside / total * n_then
        return ColumnDrift(
            name=self.model.columns_[histogram.feature].title,
            psi=float(psi_terms(then, now).sum()),
            p_value=change_p_value(then, now, n_then, self.n_rows),
            missing_then=histogram.missing / total,
            missing_now=float(now[-1]) / self.n_rows,
            outside_then=histogram.outside / total,
            outside_now=float(self.outside[i]) / self.n_rows,
            outside_p_value=excess_p_value(self.outside[i], self.n_rows, rows_outside, n_then),
            unseen_now=float(self.unseen[i]) / self.n_rows,
            unseen_p_value=excess_p_value(self.unseen[i], self.n_rows, 0.0, n_then),
        )

    def _clusters(self) -> tuple[ClusterShare, ...]:
        tree = self.model.tree_
        k, leaves = tree.n_clusters, tree.leaves
        then = np.bincount(tree.label[leaves], tree.weight[leaves], minlength=k)
        now = np.bincount(tree.label[leaves], self.leaves[leaves], minlength=k)
        return tuple(
            ClusterShare(
                cluster=i,
                name=self.model.cluster_names_[i],
                then=float(then[i] / tree.weight[0]),
                now=float(now[i] / self.n_rows),
                interval=wilson_interval(float(now[i]), self.n_rows),
            )
            for i in range(k)
        )

    def _rules(self) -> tuple[RuleShare, ...]:
        tree = self.model.tree_
        leaves = tree.leaves
        reasons = LeafReasons(self._tree_in_words, self.model.columns_)
        terms = psi_terms(tree.weight[leaves], self.leaves[leaves])
        return tuple(
            RuleShare(
                cluster=int(tree.label[leaf]),
                rule=reasons.text(int(leaf)) or "all rows",
                then=float(tree.weight[leaf] / tree.weight[0]),
                now=float(self.leaves[leaf] / self.n_rows),
                interval=wilson_interval(float(self.leaves[leaf]), self.n_rows),
                psi=float(terms[i]),
            )
            for i, leaf in enumerate(leaves.tolist())
        )

    def _leaf_p_value(self) -> float:
        tree = self.model.tree_
        n_then = float(tree.weight[0])
        if not np.array_equal(tree.weight, np.floor(tree.weight)):  # weighted rows
            n_then = min(n_then, self.histograms.n_rows)
        then, now = tree.weight[tree.leaves], self.leaves[tree.leaves]
        return change_p_value(then, now, n_then, self.n_rows)

    def _cost_change(self) -> CostChange | None:
        """Mean cost of a row at the mean of its cluster, now and then."""
        then = self.model.inertia_ / float(self.model.tree_.weight[0])
        if not self._n_priced or then <= 0:
            return None
        mean = self._cost / self._n_priced
        variance = max(self._squares / self._n_priced - mean**2, 0.0)
        error = math.sqrt(variance / self._n_priced)
        low, high = max(mean - _Z * error, 0.0) / then, (mean + _Z * error) / then
        return CostChange(then, mean, mean / then, (low, high))


def checked_histograms(record: Any) -> TrainingHistograms:
    """The training histograms of a fit; an error that says how to get them, if there are none."""
    found = record.training_histograms
    if found is None:
        raise ValueError(
            "This model has no training histograms to compare new rows with: it was saved by an "
            "earlier treemeans, or fitted to weighted rows in parts; fit and save it again."
        )
    assert isinstance(found, TrainingHistograms)
    return found


def measure_drift(model: Any, X: Any, limits: DriftLimits) -> Drift:
    """The drift of a table, or of all the tables of an iterable of batches."""
    counter = DriftCounter(model)
    for batch in _batches(X):
        counter.add(batch)
    return counter.result(limits)


def _some_rows(raw: Any, kept: NDArray[np.bool_]) -> Any:
    """The rows of a table that are kept, as a table of the same kind."""
    return raw.filter(kept) if hasattr(raw, "filter") and not hasattr(raw, "iloc") else raw[kept]


def _dask_parts(X: Any) -> Iterator[Any]:
    if hasattr(X, "get_partition"):
        yield from (X.get_partition(i) for i in range(X.npartitions))
        return
    rows = X.rechunk({1: -1})
    yield from (rows.blocks[i] for i in range(rows.numblocks[0]))


def _batches(X: Any) -> Iterator[Any]:
    if isinstance(X, Iterator):
        for each in X:
            yield from _batches(each)
        return
    if is_dask(X):
        for part in _dask_parts(X):
            yield from _batches(part.compute())
        return
    if not hasattr(X, "shape"):
        X = np.asarray(X, dtype=np.float64)
    if X.shape[0] <= _BATCH:
        yield X
        return
    rows: Any = X.iloc if hasattr(X, "iloc") else X.tocsr() if sparse.issparse(X) else X
    for first in range(0, X.shape[0], _BATCH):
        yield rows[first : first + _BATCH]
