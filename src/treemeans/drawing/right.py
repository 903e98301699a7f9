"""A tree to the right: for many leaves.

Nodes stand one below the other, left side, cut, right side, so that each has a row of its own:
leaves and cuts take turns. A line that goes up or down from a cut passes only rows of its own two
sides, and they start further right. So words meet neither words nor lines, however deep the tree.
The leaves end in a table: cluster, rows, and a bar as long as they are many.
"""

from __future__ import annotations

from treemeans.drawing.labels import shortened
from treemeans.drawing.note import add_note
from treemeans.drawing.palette import ink, words_on
from treemeans.drawing.places import children, in_order
from treemeans.drawing.scene import (
    LINE,
    MUTED,
    Anchor,
    Box,
    Line,
    Measure,
    Scene,
    Text,
    baseline,
)
from treemeans.drawing.subject import Subject

# In units of the size of letters.
_PITCH, _TIGHT = 2.0, 1.6  # from leaf to leaf, of few and of many
_MANY = 24  # leaves
_INDENT, _DEEPEST = 2.0, 45.0  # from a cut to its sides; for all of them
_ROOM = 26.0  # for a condition, of which the name has what its other words leave
_LEAST_NAME, _WORDS = 8.0, 18.0  # which are never shortened if they are a number
_CHIP_ROOM = 12.0
_BAR = 8.0
_SMALL = 0.88
_MARGIN = 0.6
_WIDEST, _THINNEST = 0.4, 0.09  # line
HOW_TO_READ = "Upper branch: the condition holds. Lower branch: it does not."


def drawn_right(subject: Subject, measure: Measure, size: float) -> Scene:
    """The picture; lengths in points, letters of ``size`` points."""
    return _Right(subject, measure, size).scene()


class _Right:
    def __init__(self, subject: Subject, measure: Measure, size: float) -> None:
        self.subject, self.tree = subject, subject.tree
        self.measure, self.em = measure, size
        self.children = children(self.tree)
        self.margin = _MARGIN * size
        self.pitch = (_PITCH if self.tree.n_leaves <= _MANY else _TIGHT) * size
        depth = self.tree.depth
        indent = size * min(_INDENT, _DEEPEST / max(1, int(depth.max())))
        self.x: list[float] = [self.margin + 0.3 * size + d * indent for d in depth.tolist()]
        self.y = [0.0] * self.tree.n_nodes
        for rank, node in enumerate(in_order(self.tree)):
            self.y[node] = self.margin + (rank + 1) * self.pitch / 2
        self.widths = [
            size * max(_THINNEST, _WIDEST * subject.share(node))
            for node in range(self.tree.n_nodes)
        ]
        self.picture = Scene()

    def scene(self) -> Scene:
        ends = [self._draw_cut(cut) for cut in self.subject.questions]
        self._draw_lines(chips := max(ends, default=self.margin) + 1.2 * self.em)
        self.picture.width = self._draw_table(chips) + self.margin
        self.picture.height = max(self.y) + self.pitch / 2 + self.margin
        how = HOW_TO_READ if self.subject.questions else ""
        note = " ".join(filter(None, (how, self.subject.note)))
        add_note(self.picture, note, self.margin, self.em, self.measure)
        return self.picture

    def _draw_cut(self, cut: int) -> float:
        """Write the condition of a cut; return where it ends."""
        asked, em = self.subject.questions[cut], self.em
        thickest = max(self.widths[child] for child in self.children[cut])
        start = self.x[cut] + thickest / 2 + 0.4 * em
        left = shortened(asked.left, _WORDS * em, em, self.measure)
        room = max(_LEAST_NAME * em, _ROOM * em - self.measure(f" {left}", em))
        words = f"{shortened(asked.name, room, em, self.measure)} {left}"
        self.picture.texts.append(
            Text(start, baseline(self.y[cut], em), words, em, full=asked.full)
        )
        return start + self.measure(words, em)

    def _draw_lines(self, chips: float) -> None:
        inks = self.subject.inks()
        for cut in self.subject.questions:
            for child in self.children[cut]:
                end = chips if self.tree.is_leaf[child] else self.x[child]
                x, y = self.x[cut], self.y[child]
                points = ((x, self.y[cut]), (x, y), (end, y))
                self.picture.lines.append(Line(points, self.widths[child], inks[child]))

    def _draw_table(self, left: float) -> float:
        """Chips of the leaves, their counts and bars; return where the table ends."""
        em, small = self.em, _SMALL * self.em
        leaves = list(self.subject.outcomes)
        names = {
            leaf: shortened(self.subject.outcomes[leaf], _CHIP_ROOM * em, small, self.measure)
            for leaf in leaves
        }
        chip = max(self.measure(name, small) for name in names.values()) + 1.2 * em
        height = min(LINE * small + 0.3 * em, 0.88 * self.pitch)
        counts = self.subject.counts
        widest = max((self.measure(count, small) for count in counts.values()), default=0.0)
        counts_end = left + chip + 0.8 * em + widest
        for leaf in leaves:
            y, colour = self.y[leaf], self.subject.colour(leaf)
            box = Box(left, y - height / 2, chip, height, colour, 0.4 * em, outlined=True)
            self.picture.boxes.append(box)
            self._write(left + chip / 2, y, names[leaf], "middle", words_on(colour), leaf)
            if counts:
                self._write(counts_end, y, counts[leaf], "end", MUTED, leaf)
        return self._draw_bars(counts_end + 0.8 * em) if counts else left + chip

    def _write(
        self, x: float, y: float, words: str, anchor: Anchor, colour: str, leaf: int
    ) -> None:
        small = _SMALL * self.em
        full = self.subject.outcomes[leaf]
        text = Text(x, baseline(y, small), words, small, anchor, colour, full=full)
        self.picture.texts.append(text)

    def _draw_bars(self, left: float) -> float:
        most = max(self.subject.share(leaf) for leaf in self.subject.outcomes)
        for leaf in self.subject.outcomes:
            length = _BAR * self.em * self.subject.share(leaf) / most
            top = self.y[leaf] - 0.3 * self.em
            colour = ink(int(self.tree.label[leaf]))
            self.picture.boxes.append(Box(left, top, length, 0.6 * self.em, colour))
        return left + _BAR * self.em
