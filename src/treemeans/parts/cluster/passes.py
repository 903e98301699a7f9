"""Passes over rows in parts: several questions in one, and somebody who is told of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from treemeans.parts.block import Block
from treemeans.parts.question import Parts, Question

Answer = TypeVar("Answer")
Told = Callable[[str], None]
"""Is told what a pass was for, after it."""


@dataclass(frozen=True)
class Passes:
    """Parts, and who is told of every pass over them."""

    parts: Parts
    told: Told | None

    def ask(self, question: Question[Answer], what: str) -> Answer:
        """One pass, for ``what``."""
        answer = self.parts.ask(question)
        if self.told is not None:
            self.told(what)
        return answer


@dataclass(frozen=True)
class Together(Question[tuple[Any, ...]]):
    """Questions that travel together; so do their answers."""

    questions: tuple[Question[Any], ...]

    def ask(self, block: Block) -> tuple[Any, ...]:
        """The answers of one block."""
        return tuple(question.ask(block) for question in self.questions)

    def merge(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
        """The answers of both."""
        return tuple(
            question.merge(*pair)
            for question, pair in zip(self.questions, zip(one, other, strict=True), strict=True)
        )
