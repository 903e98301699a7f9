"""The trees of all sizes inside one, stored as the changes from each size to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.model_file.checked_entries import Entries, UnreadableError
from treemeans.pruning import Pruning
from treemeans.tree import ThresholdTree


@dataclass(frozen=True)
class SizeStep:
    """The change from one size to the next: nodes newly split, no longer split, relabelled."""

    cut: NDArray[np.int32]
    uncut: NDArray[np.int32]
    relabelled: NDArray[np.int32]
    label: NDArray[np.int32]


class Sizes(Mapping[int, Pruning]):
    """Number of leaves -> tree, made when it is asked for.

    All trees at once would take memory that is quadratic in the number of leaves. The first step
    starts from the root alone with the labels of the whole tree; the last leads to the whole tree.
    """

    def __init__(self, tree: ThresholdTree, steps: list[SizeStep]) -> None:
        self._tree = tree
        self.steps = steps
        self._smallest = tree.n_leaves - len(steps) + 1

    @classmethod
    def of(cls, tree: ThresholdTree, sizes: Mapping[int, Pruning]) -> Sizes:
        """The same trees as ``sizes``, which has them all from the smallest to the whole tree."""
        if isinstance(sizes, Sizes):
            return sizes
        steps = []
        inner, label = np.zeros(tree.n_nodes, dtype=bool), tree.label
        for n_leaves in sorted(sizes):
            size = sizes[n_leaves]
            changed = np.flatnonzero(size.label != label)
            steps.append(
                SizeStep(
                    cut=np.flatnonzero(size.inner & ~inner).astype(np.int32),
                    uncut=np.flatnonzero(inner & ~size.inner).astype(np.int32),
                    relabelled=changed.astype(np.int32),
                    label=size.label[changed],
                )
            )
            inner, label = size.inner, size.label
        return cls(tree, steps)

    def __getitem__(self, n_leaves: int) -> Pruning:
        if n_leaves not in self:
            raise KeyError(n_leaves)
        inner, label = np.zeros(self._tree.n_nodes, dtype=bool), self._tree.label.copy()
        for step in self.steps[: n_leaves - self._smallest + 1]:
            inner[step.cut] = True
            inner[step.uncut] = False
            label[step.relabelled] = step.label
        return Pruning(inner, label)

    def __contains__(self, n_leaves: object) -> bool:
        return n_leaves in range(self._smallest, self._tree.n_leaves + 1)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._smallest, self._tree.n_leaves + 1))

    def __len__(self) -> int:
        return len(self.steps)


def write_steps(sizes: Sizes) -> list[dict[str, Any]]:
    """The steps for a document; what is empty is left out."""
    written = []
    for step in sizes.steps:
        parts = {"cut": step.cut, "uncut": step.uncut, "node": step.relabelled, "label": step.label}
        written.append({name: part.tolist() for name, part in parts.items() if len(part)})
    return written


def read_steps(entries: list[Entries], tree: ThresholdTree) -> Sizes:
    """The sizes; or UnreadableError, if one of them is no tree of its size inside ``tree``."""
    if len(entries) > tree.n_leaves:
        raise UnreadableError("sizes has more entries than the tree has leaves")
    steps = [_read_step(entry, tree) for entry in entries]
    sizes = Sizes(tree, steps)
    walk = _Walk(tree)
    for n_leaves, step in zip(sizes, steps, strict=True):
        if not walk.leads_to(n_leaves, step):
            raise UnreadableError(
                f"sizes does not have a tree of {n_leaves} leaves where it should"
            )
    return sizes


def _read_step(entry: Entries, tree: ThresholdTree) -> SizeStep:
    last = tree.n_nodes - 1

    def nodes(key: str) -> NDArray[np.int32]:
        found = entry.integers(key, None, 0, last) if entry.has(key) else np.empty(0, np.int32)
        if len(np.unique(found)) < len(found):
            raise UnreadableError(f"{entry.path(key)} names a node twice")
        return found

    cut, uncut, relabelled = nodes("cut"), nodes("uncut"), nodes("node")
    label = np.empty(0, np.int32)
    if len(relabelled):
        label = entry.integers("label", len(relabelled), 0, tree.n_clusters - 1)
    entry.end()
    return SizeStep(cut, uncut, relabelled, label)


class _Walk:
    """Follows the steps, and looks only at what each of them changes."""

    def __init__(self, tree: ThresholdTree) -> None:
        self._tree = tree
        self._parent = np.full(tree.n_nodes, -1)
        inner = np.flatnonzero(~tree.is_leaf)
        self._parent[tree.left[inner]] = self._parent[tree.right[inner]] = inner
        self._cut = np.zeros(tree.n_nodes + 1, dtype=bool)  # the last stands for "none", -1
        self._n_cut = 0

    def leads_to(self, n_leaves: int, step: SizeStep) -> bool:
        """Whether the step, once taken, is at a tree of ``n_leaves`` leaves."""
        tree, cut = self._tree, self._cut
        if tree.is_leaf[step.cut].any() or cut[step.cut].any() or not cut[step.uncut].all():
            return False
        cut[step.cut] = True
        cut[step.uncut] = False
        self._n_cut += len(step.cut) - len(step.uncut)
        hanging = step.cut[step.cut != 0]
        return bool(
            self._n_cut == n_leaves - 1
            and cut[self._parent[hanging]].all()
            and not (cut[tree.left[step.uncut]] | cut[tree.right[step.uncut]]).any()
        )
