"""Drawing of a tree from top to bottom, for trees with few leaves.

Leaves stand in slots of equal width, and every split above the middle of its two sides. On one
level, two neighbouring leaves are then at least one slot apart, a leaf and a split one and a half,
two splits two. The width of a slot is chosen so that boxes and words at these distances never
overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

from treemeans.tree import ThresholdTree, parents_first
from treemeans.tree_layout.colors import text_color_on
from treemeans.tree_layout.shapes import (
    LINE,
    MUTED,
    PANEL,
    TEXT,
    Box,
    Drawing,
    Line,
    Measure,
    Text,
    baseline,
)
from treemeans.tree_layout.text_fitting import add_caption, shortened, wrapped
from treemeans.tree_layout.tree_labels import TreeLabels, in_order

# Lengths in units of the font size.
_ROOM = 11.5  # for the lines of a name
_SIDE_ROOM = 18.0  # for the condition on either side of a split; every number fits
_NAME_LINES, _CLUSTER_LINES = 2, 3
_SMALL = 0.88  # font size of row counts and conditions
_PAD_X, _PAD_Y = 0.75, 0.45
_GAP = 1.3  # between boxes, and between the conditions of two splits
_MARGIN = 0.6
_WIDEST, _THINNEST = 0.7, 0.1  # width of a line
_DROP = 0.9  # from the horizontal line below a split to its children


@dataclass(frozen=True)
class _Card:
    """A box with lines of text and their font sizes; ``full`` is the text before shortening."""

    lines: tuple[tuple[str, float], ...]
    full: str
    width: float
    height: float


def draw_top_down(labels: TreeLabels, measure: Measure, size: float) -> Drawing:
    """The drawing of a tree from top to bottom, in letters of ``size`` points."""
    return _TopDown(labels, measure, size).draw()


class _TopDown:
    def __init__(self, labels: TreeLabels, measure: Measure, size: float) -> None:
        self.labels, self.tree = labels, labels.tree
        self.measure, self.em = measure, size
        self.depth = self.tree.depth.tolist()
        self.cards = [self._card(node) for node in range(self.tree.n_nodes)]
        self.widths = [self._line_width(node) for node in range(self.tree.n_nodes)]
        self.sides = {split: self._side_words(split) for split in labels.splits}
        self.card_height = max(card.height for card in self.cards)
        words = LINE * _SMALL * size if self.sides else 0.0
        # From the top of a level down to its horizontal lines, and to the next level.
        self.bar = self.card_height + words + (0.35 + _WIDEST / 2) * size
        self.level = self.bar + (_WIDEST / 2 + _DROP) * size

    def draw(self) -> Drawing:
        margin = _MARGIN * self.em
        slot = self._slot()
        position = horizontal_positions(self.tree)
        left_reach = max(self._reach(node) - p * slot for node, p in enumerate(position))
        right_reach = max(self._reach(node) + p * slot for node, p in enumerate(position))
        self.x = [margin + left_reach + p * slot for p in position]
        self.top = [margin + d * self.level for d in self.depth]
        self.drawing = Drawing(
            left_reach + right_reach + 2 * margin,
            max(self.top) + self.card_height + margin,
        )
        line_colors = self.labels.line_colors()
        for node, card in enumerate(self.cards):
            self._draw_card(node, card)
            if node in self.sides:
                self._draw_sides(node, line_colors)
        add_caption(self.drawing, self.labels.caption, margin, self.em, self.measure)
        return self.drawing

    def _card(self, node: int) -> _Card:
        em, small = self.em, _SMALL * self.em
        if node in self.labels.splits:
            full, n_lines = self.labels.splits[node].name, _NAME_LINES
        else:
            full, n_lines = self.labels.clusters[node], _CLUSTER_LINES
        lines = [(words, em) for words in wrapped(full, _ROOM * em, n_lines, em, self.measure)]
        if node in self.labels.row_counts:
            count = self.labels.row_counts[node]
            lines.append((shortened(count, _ROOM * em, small, self.measure), small))
        width = max(self.measure(words, at) for words, at in lines) + 2 * _PAD_X * em
        height = sum(LINE * at for _, at in lines) + 2 * _PAD_Y * em
        return _Card(tuple(lines), full, width, height)

    def _line_width(self, node: int) -> float:
        return max(_THINNEST, _WIDEST * self.labels.share(node)) * self.em

    def _side_words(self, split: int) -> tuple[str, str]:
        label, room, small = self.labels.splits[split], _SIDE_ROOM * self.em, _SMALL * self.em
        return (
            shortened(label.left, room, small, self.measure),
            shortened(label.right, room, small, self.measure),
        )

    def _stem(self, split: int) -> float:
        """Width of the two lines that leave a split side by side."""
        return sum(self.widths[child] for child in self.labels.children(split))

    def _reach(self, node: int) -> float:
        """How far the box and the words of a node extend to either side of its middle."""
        reach = self.cards[node].width / 2
        if node in self.sides:
            words = max(self.measure(side, _SMALL * self.em) for side in self.sides[node])
            reach = max(reach, words + self._stem(node) / 2 + 0.4 * self.em)
        return reach

    def _slot(self) -> float:
        gap = _GAP * self.em
        leaf = max(self._reach(node) for node in self.labels.clusters)
        split = max((self._reach(node) for node in self.sides), default=0.0)
        return max(2 * leaf + gap, (2 * split + gap) / 2)  # then a leaf beside a split fits as well

    def _draw_card(self, node: int, card: _Card) -> None:
        x, top = self.x[node], self.top[node] + (self.card_height - card.height) / 2
        is_leaf = node in self.labels.clusters
        color = self.labels.fill_color(node) if is_leaf else PANEL
        text_color = text_color_on(color) if is_leaf else TEXT
        self.drawing.boxes.append(
            Box(
                x - card.width / 2,
                top,
                card.width,
                card.height,
                color,
                radius=0.45 * self.em,
                outlined=True,
            )
        )
        top += _PAD_Y * self.em
        for words, size in card.lines:
            middle = top + LINE * size / 2
            self.drawing.texts.append(
                Text(x, baseline(middle, size), words, size, "middle", text_color, full=card.full)
            )
            top += LINE * size

    def _draw_sides(self, split: int, line_colors: list[str]) -> None:
        """Draw the conditions on either side of the lines below a split, and the lines."""
        label, stem, small = self.labels.splits[split], self._stem(split), _SMALL * self.em
        x = self.x[split]
        start = self.top[split] + (self.card_height + self.cards[split].height) / 2
        bar = self.top[split] + self.bar
        middle = self.top[split] + self.card_height + (LINE * _SMALL / 2 + 0.15) * self.em
        for i, child in enumerate(self.labels.children(split)):
            sign = 2 * i - 1
            from_x = x + sign * (stem - self.widths[child]) / 2
            end = self.top[child] + (self.card_height - self.cards[child].height) / 2
            points = ((from_x, start), (from_x, bar), (self.x[child], bar), (self.x[child], end))
            self.drawing.lines.append(Line(points, self.widths[child], line_colors[child]))
            self.drawing.texts.append(
                Text(
                    x + sign * (stem / 2 + 0.4 * self.em),
                    baseline(middle, small),
                    self.sides[split][i],
                    small,
                    "start" if i else "end",
                    MUTED,
                    full=f"{label.name} {(label.left, label.right)[i]}",
                )
            )


def horizontal_positions(tree: ThresholdTree) -> list[float]:
    """Horizontal positions: leaves at 0, 1, ..., each split halfway between its two sides."""
    position = [0.0] * tree.n_nodes
    leaves = [node for node in in_order(tree) if tree.is_leaf[node]]
    for i, leaf in enumerate(leaves):
        position[leaf] = float(i)
    for node in reversed(parents_first(tree.left, tree.right)):
        if not tree.is_leaf[node]:
            position[node] = (position[tree.left[node]] + position[tree.right[node]]) / 2
    return position
