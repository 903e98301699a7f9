"""What the data sets are called, how large they are, and what `load` returns."""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Matrix: TypeAlias = "NDArray[Any] | sparse.csr_matrix"


class Size(NamedTuple):
    """The number of clusters, of rows and of columns."""

    k: int
    n: int
    d: int


TABLE: dict[str, Size] = {
    "iris": Size(3, 150, 4),
    "wine": Size(3, 178, 13),
    "breast_cancer": Size(2, 569, 30),
    "digits": Size(10, 1797, 64),
    "mice_protein": Size(8, 1080, 69),
    "anuran": Size(10, 7195, 22),
    "avila": Size(12, 20867, 10),
    "covtype": Size(7, 581012, 54),
    "20newsgroups": Size(20, 18846, 1893),
    "cifar10": Size(10, 50000, 3072),
    "synthetic_1": Size(3, 5000, 1000),
    "synthetic_2": Size(30, 30000, 1000),
}
"""Table 1 of the paper."""

NAMES = tuple(TABLE)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set: a table of numbers, and what is known of it.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n, d)
        The table; sparse for 20newsgroups only.
    y : ndarray of int, of shape (n,)
        The class of each row, from 0. It is there to judge clusters by, not to find them.
    k : int
        The number of clusters that the paper asks for, which is the number of classes.
    feature_names : tuple of str
        The names of the d columns.
    target_names : tuple of str
        The names of the k classes.
    name : str
        What the set is called in ``NAMES``.

    Examples
    --------
    >>> from treemeans.datasets import load
    >>> iris = load("iris")
    >>> iris
    Dataset('iris': 150 x 4, k=3)
    >>> iris.target_names
    ('setosa', 'versicolor', 'virginica')
    """

    X: Matrix
    y: NDArray[np.intp]
    k: int
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    name: str

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"Dataset({self.name!r}: {n} x {d}, k={self.k})"
