"""Trees that ExKMC is compared with: estimators that are fitted and read as ExKMC is."""

from treemeans.baselines.cart import CART
from treemeans.baselines.cltree import CLTree
from treemeans.baselines.cubt import CUBT
from treemeans.baselines.imm import IMM
from treemeans.baselines.kdtree import KDTree

__all__ = ["CART", "CUBT", "IMM", "CLTree", "KDTree"]
