"""The searches: each takes a sapling and cuts it further."""

from treemeans.grow.cart import cart
from treemeans.grow.emn import emn
from treemeans.grow.exgreedy import exgreedy
from treemeans.grow.expand import expand
from treemeans.grow.given import follow
from treemeans.grow.imm import imm
from treemeans.grow.kauri import kauri
from treemeans.grow.kdtree import kdtree
from treemeans.grow.random_cuts import random_cuts
from treemeans.grow.sapling import Sapling

__all__ = [
    "Sapling",
    "cart",
    "emn",
    "exgreedy",
    "expand",
    "follow",
    "imm",
    "kauri",
    "kdtree",
    "random_cuts",
]
