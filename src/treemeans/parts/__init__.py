"""Rows in parts: on a cluster, or in files larger than memory. Questions go out, sums return."""

from treemeans.parts.block import Block
from treemeans.parts.question import Parts, Question, in_order

__all__ = ["Block", "Parts", "Question", "in_order"]
