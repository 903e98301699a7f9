"""Questions that go wrong in a certain place, where processes of a cluster can import them."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treemeans.parts.question import Question


@dataclass(frozen=True)
class Order(Question):
    """The blocks as they come, with what they hold."""

    def ask(self, block):
        weight = block.n_rows if block.weights is None else block.weights.sum()
        return [(block.number, block.first, block.n_rows, weight, block.X.sum(axis=0).tolist())]

    def merge(self, one, other):
        return one + other


@dataclass(frozen=True)
class Total(Question):
    """Sums of whole numbers, which no order changes."""

    factor: int = 1

    def ask(self, block):
        return self.factor * np.rint(block.X * 2**20).astype(np.int64).sum(axis=0)

    def merge(self, one, other):
        return one + other


@dataclass(frozen=True)
class HeldUp(Total):
    """The first worker that gets to a block says who it is, and waits to be killed."""

    number: int = 0
    folder: str = ""

    def ask(self, block):
        here = Path(self.folder) / "pid"
        if block.number == self.number and not here.exists():
            draft = here.with_suffix(".draft")
            draft.write_text(str(os.getpid()))
            draft.rename(here)  # whole or not at all
            time.sleep(600)
        return super().ask(block)


@dataclass(frozen=True)
class Deadly(Total):
    """A block that no process survives."""

    number: int = 0

    def ask(self, block):
        if block.number == self.number:
            os._exit(1)
        return super().ask(block)


@dataclass(frozen=True)
class Slow(Total):
    """Every block waits until a file is there."""

    until: str = ""

    def ask(self, block):
        while not Path(self.until).exists():
            time.sleep(0.01)
        return super().ask(block)
