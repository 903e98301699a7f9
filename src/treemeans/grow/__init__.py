"""The searches: each takes a sapling and cuts it further."""

from treemeans.grow.emn import emn
from treemeans.grow.exgreedy import exgreedy
from treemeans.grow.expand import expand
from treemeans.grow.given import follow
from treemeans.grow.imm import imm
from treemeans.grow.sapling import Sapling

__all__ = ["Sapling", "emn", "exgreedy", "expand", "follow", "imm"]
