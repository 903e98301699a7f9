"""Growth of trees: base trees and their expansion. Each takes a tree and cuts it further."""

from treemeans.growth.cart import cart
from treemeans.growth.emn import emn
from treemeans.growth.exgreedy import exgreedy
from treemeans.growth.expansion import expand, grow
from treemeans.growth.given_tree import follow
from treemeans.growth.imm import imm
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.kauri import kauri
from treemeans.growth.kdtree import kdtree
from treemeans.growth.random_cuts import random_cuts

__all__ = [
    "InMemoryTree",
    "cart",
    "emn",
    "exgreedy",
    "expand",
    "follow",
    "grow",
    "imm",
    "kauri",
    "kdtree",
    "random_cuts",
]
