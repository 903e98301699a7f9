"""Trees that ExKMC is compared with: estimators that are fitted and read as ExKMC is."""

from treemeans.baselines.cltree import CLTree
from treemeans.baselines.cubt import CUBT
from treemeans.baselines.paper_baselines import CART, IMM, KDTree

__all__ = ["CART", "CUBT", "IMM", "CLTree", "KDTree"]
