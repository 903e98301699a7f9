"""Drawing of a tree from left to right, for trees with many leaves.

Every node has a row of its own, in the order left side, split, right side, so that leaves and
splits alternate. The vertical line of a split passes only rows of nodes below it, and these start
further right. So texts overlap neither texts nor lines, however deep the tree is. The leaves end
in a table: cluster, number of rows, and a bar of that length.
"""

from __future__ import annotations

from treemeans.tree_layout.colors import ink, text_color_on
from treemeans.tree_layout.shapes import (
    LINE,
    MUTED,
    Anchor,
    Box,
    Drawing,
    Line,
    Measure,
    Text,
    baseline,
)
from treemeans.tree_layout.text_fitting import add_caption, shortened
from treemeans.tree_layout.tree_labels import TreeLabels, in_order

# Lengths in units of the font size.
_PITCH, _TIGHT = 2.0, 1.6  # from leaf to leaf: of few leaves, of many
_MANY = 24  # leaves from which on rows are tight
_INDENT = 2.0  # from a split to its children
_MOST_INDENT = 45.0  # from the root to the deepest node
_ROOM = 26.0  # for a condition: the name gets what the rest of it leaves
_LEAST_NAME = 8.0  # for the name, however long the rest is
_MOST_REST = 18.0  # for the rest of a condition; every number fits
_CHIP_ROOM = 18.0  # for the name of a cluster
_BAR = 8.0  # length of the longest bar
_SMALL = 0.88  # font size in the table
_MARGIN = 0.6
_WIDEST, _THINNEST = 0.4, 0.09  # width of a line
HOW_TO_READ = "Upper branch: the condition holds. Lower branch: it does not."


def draw_left_to_right(labels: TreeLabels, measure: Measure, size: float) -> Drawing:
    """The drawing of a tree from left to right, in letters of ``size`` points."""
    return _LeftToRight(labels, measure, size).draw()


class _LeftToRight:
    def __init__(self, labels: TreeLabels, measure: Measure, size: float) -> None:
        self.labels, self.tree = labels, labels.tree
        self.measure, self.em = measure, size
        self.margin = _MARGIN * size
        self.pitch = (_PITCH if self.tree.n_leaves <= _MANY else _TIGHT) * size
        depth = self.tree.depth
        indent = size * min(_INDENT, _MOST_INDENT / max(1, int(depth.max())))
        self.x: list[float] = [self.margin + 0.3 * size + d * indent for d in depth.tolist()]
        self.y = [0.0] * self.tree.n_nodes
        for rank, node in enumerate(in_order(self.tree)):
            self.y[node] = self.margin + (rank + 1) * self.pitch / 2
        self.widths = [
            size * max(_THINNEST, _WIDEST * labels.share(node)) for node in range(self.tree.n_nodes)
        ]
        self.drawing = Drawing()

    def draw(self) -> Drawing:
        ends = [self._draw_split(split) for split in self.labels.splits]
        self._draw_lines(chips := max(ends, default=self.margin) + 1.2 * self.em)
        self.drawing.width = self._draw_table(chips) + self.margin
        self.drawing.height = max(self.y) + self.pitch / 2 + self.margin
        how_to_read = HOW_TO_READ if self.labels.splits else ""
        caption = " ".join(filter(None, (how_to_read, self.labels.caption)))
        add_caption(self.drawing, caption, self.margin, self.em, self.measure)
        return self.drawing

    def _draw_split(self, split: int) -> float:
        """Write the condition of a split; return the x at which it ends."""
        label, em = self.labels.splits[split], self.em
        thickest = max(self.widths[child] for child in self.labels.children(split))
        start = self.x[split] + thickest / 2 + 0.4 * em
        left = shortened(label.left, _MOST_REST * em, em, self.measure)
        room = max(_LEAST_NAME * em, _ROOM * em - self.measure(f" {left}", em))
        words = f"{shortened(label.name, room, em, self.measure)} {left}"
        self.drawing.texts.append(
            Text(start, baseline(self.y[split], em), words, em, full=label.full)
        )
        return start + self.measure(words, em)

    def _draw_lines(self, chips: float) -> None:
        line_colors = self.labels.line_colors()
        for split in self.labels.splits:
            for child in self.labels.children(split):
                end = chips if self.tree.is_leaf[child] else self.x[child]
                x, y = self.x[split], self.y[child]
                points = ((x, self.y[split]), (x, y), (end, y))
                self.drawing.lines.append(Line(points, self.widths[child], line_colors[child]))

    def _draw_table(self, left: float) -> float:
        """Draw cluster, row count and bar of each leaf; return the x at which the table ends."""
        em, small = self.em, _SMALL * self.em
        leaves = list(self.labels.clusters)
        names = {
            leaf: shortened(self.labels.clusters[leaf], _CHIP_ROOM * em, small, self.measure)
            for leaf in leaves
        }
        chip = max(self.measure(name, small) for name in names.values()) + 1.2 * em
        height = min(LINE * small + 0.3 * em, 0.88 * self.pitch)
        counts = self.labels.row_counts
        widest = max((self.measure(count, small) for count in counts.values()), default=0.0)
        counts_end = left + chip + 0.8 * em + widest
        for leaf in leaves:
            y, color = self.y[leaf], self.labels.fill_color(leaf)
            box = Box(left, y - height / 2, chip, height, color, 0.4 * em, outlined=True)
            self.drawing.boxes.append(box)
            self._write(left + chip / 2, y, names[leaf], "middle", text_color_on(color), leaf)
            if counts:
                self._write(counts_end, y, counts[leaf], "end", MUTED, leaf)
        return self._draw_bars(counts_end + 0.8 * em) if counts else left + chip

    def _write(self, x: float, y: float, words: str, anchor: Anchor, color: str, leaf: int) -> None:
        small = _SMALL * self.em
        full = self.labels.clusters[leaf]
        text = Text(x, baseline(y, small), words, small, anchor, color, full=full)
        self.drawing.texts.append(text)

    def _draw_bars(self, left: float) -> float:
        most = max(self.labels.share(leaf) for leaf in self.labels.clusters)
        for leaf in self.labels.clusters:
            length = _BAR * self.em * self.labels.share(leaf) / most
            top = self.y[leaf] - 0.3 * self.em
            color = ink(int(self.tree.label[leaf]))
            self.drawing.boxes.append(Box(left, top, length, 0.6 * self.em, color))
        return left + _BAR * self.em
