"""The twelve data sets of the ExKMC paper (Frost, Moshkovitz, Rashtchian 2020, Table 1).

`load` gives each of them with the paper's number of clusters, rows and columns. Four come with
scikit-learn, two are generated, six are downloaded once and kept in a folder. Nothing is scaled:
the paper names no scaling.
"""

from treemeans.datasets.dataset_info import NAMES, TABLE, Dataset, Size
from treemeans.datasets.loader import load
from treemeans.datasets.synthetic import synthetic_1, synthetic_2

__all__ = ["NAMES", "TABLE", "Dataset", "Size", "load", "synthetic_1", "synthetic_2"]
