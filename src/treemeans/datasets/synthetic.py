"""The two sets that the paper makes up, as its Section 5 describes them."""

import numpy as np
from numpy.typing import NDArray


def synthetic_1(
    seed: int = 0, n: int = 5000, d: int = 1000, nu: float = 1000.0, flips: int = 100
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The set that misleads CART: two far points, and two noisy bundles.

    The far points are ``nu`` in the first column; one of them is 1 and the other 0 in the rest. The
    other rows are 0 in the first column. Half of them are 1 in the rest and half 0, but for
    ``flips`` columns, drawn afresh for each row, where it is the other way round.

    Parameters
    ----------
    seed : int, default=0
        Seed of the draws.
    n, d : int
        Rows and columns.
    nu : float
        How far the two far points are.
    flips : int
        How many columns of a row are noise; less than ``d - 1``.

    Returns
    -------
    X : ndarray of float64, of shape (n, d)
    y : ndarray of int, of shape (n,)
        0 for the far points, 1 for the bundle of ones, 2 for the bundle of zeros.

    Examples
    --------
    >>> from treemeans.datasets import synthetic_1
    >>> X, y = synthetic_1(seed=0, n=6, d=5, flips=1)
    >>> y
    array([0, 0, 1, 1, 2, 2])
    >>> X[:, 0].tolist()
    [1000.0, 1000.0, 0.0, 0.0, 0.0, 0.0]
    >>> X[:, 1:].sum(axis=1).tolist()
    [4.0, 0.0, 3.0, 3.0, 1.0, 1.0]
    """
    rng = np.random.default_rng(seed)
    ones = (n - 2) // 2
    y = np.repeat(np.arange(3), [2, ones, n - 2 - ones])
    X = np.zeros((n, d))
    X[:2, 0] = nu
    X[0, 1:] = 1.0
    X[y == 1, 1:] = 1.0
    flipped = 1 + rng.random((n - 2, d - 1)).argpartition(flips, axis=1)[:, :flips]
    rows = np.arange(2, n)[:, None]
    X[rows, flipped] = 1.0 - X[rows, flipped]
    return X, y


def synthetic_2(
    seed: int = 0, k: int = 30, d: int = 1000
) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
    """The set that is hard for k leaves: k random codewords, each d times with one column wiped.

    Parameters
    ----------
    seed : int, default=0
        Seed of the draws.
    k : int
        How many codewords, each of d numbers -1 or 1.
    d : int
        Columns. Every codeword gives d rows; the i-th of them is 0 in column i.

    Returns
    -------
    X : ndarray of int8, of shape (k * d, d)
    y : ndarray of int, of shape (k * d,)
        The codeword of each row.

    Examples
    --------
    >>> from treemeans.datasets import synthetic_2
    >>> X, y = synthetic_2(seed=0, k=2, d=3)
    >>> X
    array([[ 0,  1,  1],
           [ 1,  0,  1],
           [ 1,  1,  0],
           [ 0, -1, -1],
           [-1,  0, -1],
           [-1, -1,  0]], dtype=int8)
    >>> y
    array([0, 0, 0, 1, 1, 1])
    """
    rng = np.random.default_rng(seed)
    words = rng.choice(np.array([-1, 1], dtype=np.int8), size=(k, d))
    X = np.repeat(words, d, axis=0)
    X[np.arange(k * d), np.tile(np.arange(d), k)] = 0
    return X, np.repeat(np.arange(k), d)
