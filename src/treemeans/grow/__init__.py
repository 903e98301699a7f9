"""The searches: each takes a sapling and cuts it further."""

from treemeans.grow.expand import expand
from treemeans.grow.given import follow
from treemeans.grow.imm import imm
from treemeans.grow.sapling import Sapling

__all__ = ["Sapling", "expand", "follow", "imm"]
