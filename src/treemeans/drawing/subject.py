"""What is drawn: a tree, in the words that go into its picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treemeans.columns import Reader
from treemeans.columns.decimals import rows
from treemeans.drawing.labels import Question, one_line, question
from treemeans.drawing.palette import fill, ink
from treemeans.drawing.scene import EDGE
from treemeans.tree import ThresholdTree, parents_first


@dataclass(frozen=True)
class Subject:
    """A tree in words.

    Attributes
    ----------
    tree : ThresholdTree
    questions : what each cut asks, by node
    outcomes : name of the cluster of each leaf, by node
    counts : how many rows come to each leaf; empty for a tree that was told no weights
    note : something to say below the picture
    """

    tree: ThresholdTree
    questions: dict[int, Question]
    outcomes: dict[int, str]
    counts: dict[int, str]
    note: str = ""

    def share(self, node: int) -> float:
        """Part of all rows that come to a node; none where weights are not known."""
        return float(self.tree.weight[node] / self.tree.weight[0]) if self.counts else 0.0

    def colour(self, node: int) -> str:
        """The colour of the cluster of a leaf."""
        return fill(int(self.tree.label[node]))

    def inks(self) -> list[str]:
        """Of the line into each node: its colour where all leaves below are of one cluster."""
        inks = [ink(int(label)) for label in self.tree.label]
        for node in reversed(parents_first(self.tree.left, self.tree.right)):
            if not self.tree.is_leaf[node]:
                left, right = inks[self.tree.left[node]], inks[self.tree.right[node]]
                inks[node] = left if left == right else EDGE
        return inks


def subject_in_words(
    reader: Reader, cluster_names: Sequence[str] | None = None, max_leaves: int | None = None
) -> Subject:
    """The tree of a reader in words; of a larger one, the tree of its first ``max_leaves``."""
    tree, note = reader.tree, ""
    if max_leaves is not None and max_leaves < 1:
        raise ValueError(f"max_leaves must be at least 1; got {max_leaves}.")
    if max_leaves is not None and max_leaves < tree.n_leaves:
        note = f"The first {max_leaves} of {tree.n_leaves} leaves."
        tree = tree.with_leaves(max_leaves)
        reader = Reader(tree, reader.columns)
    names = names_of_clusters(tree.n_clusters, cluster_names)
    leaves = tree.leaves.tolist()
    cuts = np.flatnonzero(~tree.is_leaf).tolist()
    return Subject(
        tree,
        {node: question(reader, node) for node in cuts},
        {leaf: names[tree.label[leaf]] for leaf in leaves},
        {leaf: rows(float(tree.weight[leaf])) for leaf in leaves} if tree.weight[0] > 0 else {},
        note,
    )


def names_of_clusters(n_clusters: int, names: Sequence[str] | None) -> list[str]:
    """The names given, or cluster 0, cluster 1, ..."""
    if names is None:
        return [f"cluster {i}" for i in range(n_clusters)]
    if isinstance(names, str) or len(names) != n_clusters:
        raise ValueError(f"cluster_names must hold {n_clusters} names, one for each cluster.")
    return [one_line(str(name)) or f"cluster {i}" for i, name in enumerate(names)]
