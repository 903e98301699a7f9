"""Trees that ExKMC is compared with: estimators that are fitted and read as ExKMC is."""

from treemeans.baselines.cart_baseline import CART
from treemeans.baselines.cltree import CLTree
from treemeans.baselines.cubt import CUBT
from treemeans.baselines.imm_baseline import IMM
from treemeans.baselines.kdtree_baseline import KDTree

__all__ = ["CART", "CUBT", "IMM", "CLTree", "KDTree"]
