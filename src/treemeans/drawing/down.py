"""A tree down the page: for few leaves.

Leaves stand in even slots, and every cut above the middle of its two sides. Neighbours on a level
are then at least one slot apart; one and a half where one of them is a cut; two where both are.
A slot of the right width leaves no place for overlaps.
"""

from __future__ import annotations

from dataclasses import dataclass

from treemeans.drawing.labels import shortened, wrapped
from treemeans.drawing.note import add_note
from treemeans.drawing.palette import words_on
from treemeans.drawing.places import children, slots
from treemeans.drawing.scene import (
    LINE,
    MUTED,
    PANEL,
    TEXT,
    Box,
    Line,
    Measure,
    Scene,
    Text,
    baseline,
)
from treemeans.drawing.subject import Subject

# In units of the size of letters.
_ROOM = 11.5  # for the lines of a name
_SIDE_ROOM = 18.0  # for the words on either side of a cut: no number is shortened
_NAME_LINES = 2
_SMALL = 0.88  # letters of counts and of the words at a cut
_PAD_X, _PAD_Y = 0.75, 0.45
_GAP = 1.3  # between boxes, and between the words of two cuts
_MARGIN = 0.6
_WIDEST, _THINNEST = 0.7, 0.1  # line
_DROP = 0.9  # from the bar of a cut to its sides


@dataclass(frozen=True)
class _Card:
    """A box and the lines in it, the last of them small if it is a count."""

    lines: tuple[tuple[str, float], ...]
    full: str
    width: float
    height: float


def drawn_down(subject: Subject, measure: Measure, size: float) -> Scene:
    """The picture; lengths in points, letters of ``size`` points."""
    return _Down(subject, measure, size).scene()


class _Down:
    def __init__(self, subject: Subject, measure: Measure, size: float) -> None:
        self.subject, self.tree = subject, subject.tree
        self.measure, self.em = measure, size
        self.depth = self.tree.depth.tolist()
        self.children = children(self.tree)
        self.cards = [self._card(node) for node in range(self.tree.n_nodes)]
        self.widths = [self._line_width(node) for node in range(self.tree.n_nodes)]
        self.sides = {cut: self._side_words(cut) for cut in subject.questions}
        self.card_height = max(card.height for card in self.cards)
        words = LINE * _SMALL * size if self.sides else 0.0
        self.bar = self.card_height + words + (0.35 + _WIDEST / 2) * size  # below a level's top
        self.level = self.bar + (_WIDEST / 2 + _DROP) * size

    def scene(self) -> Scene:
        margin = _MARGIN * self.em
        slot = self._slot()
        place = slots(self.tree)
        left_reach = max(self._reach(node) - place[node] * slot for node in range(len(place)))
        right_reach = max(self._reach(node) + place[node] * slot for node in range(len(place)))
        self.x = [margin + left_reach + p * slot for p in place]
        self.top = [margin + d * self.level for d in self.depth]
        self.picture = Scene(
            left_reach + right_reach + 2 * margin,
            max(self.top) + self.card_height + margin,
        )
        inks = self.subject.inks()
        for node, card in enumerate(self.cards):
            self._draw_card(node, card)
            if node in self.sides:
                self._draw_sides(node, inks)
        add_note(self.picture, self.subject.note, margin, self.em, self.measure)
        return self.picture

    def _card(self, node: int) -> _Card:
        em, small = self.em, _SMALL * self.em
        if node in self.subject.questions:
            full = self.subject.questions[node].name
        else:
            full = self.subject.outcomes[node]
        lines = [(words, em) for words in wrapped(full, _ROOM * em, _NAME_LINES, em, self.measure)]
        if node in self.subject.counts:
            count = self.subject.counts[node]
            lines.append((shortened(count, _ROOM * em, small, self.measure), small))
        width = max(self.measure(words, at) for words, at in lines) + 2 * _PAD_X * em
        height = sum(LINE * at for _, at in lines) + 2 * _PAD_Y * em
        return _Card(tuple(lines), full, width, height)

    def _line_width(self, node: int) -> float:
        return max(_THINNEST, _WIDEST * self.subject.share(node)) * self.em

    def _side_words(self, cut: int) -> tuple[str, str]:
        asked, room, small = self.subject.questions[cut], _SIDE_ROOM * self.em, _SMALL * self.em
        return (
            shortened(asked.left, room, small, self.measure),
            shortened(asked.right, room, small, self.measure),
        )

    def _stem(self, cut: int) -> float:
        """Width of the two lines that leave a cut side by side."""
        return sum(self.widths[child] for child in self.children[cut])

    def _reach(self, node: int) -> float:
        """How far a node's box and words go to the side from its middle."""
        reach = self.cards[node].width / 2
        if node in self.sides:
            words = max(self.measure(side, _SMALL * self.em) for side in self.sides[node])
            reach = max(reach, words + self._stem(node) / 2 + 0.4 * self.em)
        return reach

    def _slot(self) -> float:
        gap = _GAP * self.em
        leaf = max(self._reach(node) for node in self.subject.outcomes)
        cut = max((self._reach(node) for node in self.sides), default=0.0)
        return max(2 * leaf + gap, (2 * cut + gap) / 2)  # a leaf beside a cut then fits as well

    def _draw_card(self, node: int, card: _Card) -> None:
        x, top = self.x[node], self.top[node] + (self.card_height - card.height) / 2
        is_leaf = node in self.subject.outcomes
        colour = self.subject.colour(node) if is_leaf else PANEL
        ink = words_on(colour) if is_leaf else TEXT
        self.picture.boxes.append(
            Box(
                x - card.width / 2,
                top,
                card.width,
                card.height,
                colour,
                radius=0.45 * self.em,
                outlined=True,
            )
        )
        top += _PAD_Y * self.em
        for words, size in card.lines:
            middle = top + LINE * size / 2
            self.picture.texts.append(
                Text(x, baseline(middle, size), words, size, "middle", ink, full=card.full)
            )
            top += LINE * size

    def _draw_sides(self, cut: int, inks: list[str]) -> None:
        """The words on either side of the stem of a cut, and the lines to its sides."""
        asked, stem, small = self.subject.questions[cut], self._stem(cut), _SMALL * self.em
        x, start = self.x[cut], self.top[cut] + (self.card_height + self.cards[cut].height) / 2
        bar = self.top[cut] + self.bar
        middle = self.top[cut] + self.card_height + (LINE * _SMALL / 2 + 0.15) * self.em
        for i, child in enumerate(self.children[cut]):
            sign = 2 * i - 1
            from_x = x + sign * (stem - self.widths[child]) / 2
            end = self.top[child] + (self.card_height - self.cards[child].height) / 2
            points = ((from_x, start), (from_x, bar), (self.x[child], bar), (self.x[child], end))
            self.picture.lines.append(Line(points, self.widths[child], inks[child]))
            self.picture.texts.append(
                Text(
                    x + sign * (stem / 2 + 0.4 * self.em),
                    baseline(middle, small),
                    self.sides[cut][i],
                    small,
                    "start" if i else "end",
                    MUTED,
                    full=f"{asked.name} {(asked.left, asked.right)[i]}",
                )
            )
