"""What can be asked of rows that are never in one place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import reduce
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from treemeans.parts.block import Block

Answer = TypeVar("Answer")


class Question(ABC, Generic[Answer]):
    """Something small that travels to every block; what returns is small as well.

    A question is pickled, so it is a plain dataclass. It changes nothing, and the same block gives
    the same answer every time: a part whose worker is lost is asked again.
    """

    @abstractmethod
    def ask(self, block: Block) -> Answer:
        """The answer of one block."""

    @abstractmethod
    def merge(self, one: Answer, other: Answer) -> Answer:
        """The answer of both; one was asked earlier in the order of the parts.

        Where sums are integers, or least and greatest values, the order of the parts and their
        borders leave no trace in it.
        """


class Parts(ABC):
    """Rows in parts, which every question passes over once.

    Attributes
    ----------
    n_parts : how many there are, empty ones included
    n_features : columns of each
    names : of the columns, if they are all strings; otherwise None
    dates : names of the columns that hold dates, which become days since 1970 on the way in
    firsts : number of each part's first row, once they have been counted; otherwise None
    to_come : about how many questions are still to come; 0 where nobody said
    n_jobs : threads that may read parts, as joblib counts them, where it is not for others to say
    """

    n_parts: int
    n_features: int
    names: NDArray[np.object_] | None
    dates: list[str]
    firsts: NDArray[np.int64] | None
    to_come: int = 0
    n_jobs: int | None = None

    @abstractmethod
    def ask(self, question: Question[Answer]) -> Answer:
        """Put a question to all blocks, and merge their answers in the order of the parts."""

    def expect(self, n_passes: int) -> None:
        """Hear that about so many questions are still to come."""
        self.to_come = n_passes


def in_order(question: Question[Answer], answers: Iterable[Answer]) -> Answer:
    """Merge answers that come in the order of the parts."""
    return reduce(question.merge, answers)
