"""Statistics of counts: intervals of shares, the population stability index, tests of change."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

_HALF = 0.5  # rows that are added to every bin, so that an empty one has a logarithm


def wilson_interval(count: float, total: float, level: float = 0.95) -> tuple[float, float]:
    """Interval of a share by Wilson's score: the shares that the count does not contradict.

    Examples
    --------
    >>> low, high = wilson_interval(0, 10)
    >>> low, round(high, 3)
    (0.0, 0.278)
    """
    if total <= 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share = count / total
    middle = share + z * z / (2 * total)
    reach = z * np.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    low, high = (middle - reach) / scale, (middle + reach) / scale
    return (0.0 if count <= 0 else float(low)), (1.0 if count >= total else float(high))


def psi_terms(then: Floats, now: Floats) -> Floats:
    """Each bin's part of the population stability index of two rows of counts.

    With p and q the shares of a bin then and now, (q - p) ln(q / p). Half a row is added to every
    bin first. A bin that was empty both times has no part.

    Examples
    --------
    >>> psi_terms(np.array([50.0, 50.0]), np.array([50.0, 50.0])).tolist()
    [0.0, 0.0]
    >>> round(float(psi_terms(np.array([50.0, 50.0]), np.array([80.0, 20.0])).sum()), 3)
    0.406
    """
    terms = np.zeros(len(then))
    there = (then > 0) | (now > 0)
    if not then.any() or not now.any():
        return terms
    p = (then[there] + _HALF) / (then[there] + _HALF).sum()
    q = (now[there] + _HALF) / (now[there] + _HALF).sum()
    terms[there] = (q - p) * np.log(q / p)
    return terms


def change_p_value(then: Floats, now: Floats, n_then: float, n_now: float) -> float:
    """Probability of counts that differ as much or more if nothing changed: a chi-square test.

    Pearson's test that two rows of counts have the same shares. Bins are put together, in order,
    until each has an expected count of five in both.

    Parameters
    ----------
    then, now : weights by bin
    n_then, n_now : numbers of rows that they stand for

    Examples
    --------
    >>> change_p_value(np.array([50.0, 50.0]), np.array([50.0, 50.0]), 100, 100)
    1.0
    >>> change_p_value(np.array([50.0, 50.0]), np.array([80.0, 20.0]), 100, 100) < 1e-4
    True
    """
    if then.sum() <= 0 or now.sum() <= 0 or n_then <= 0 or n_now <= 0:
        return 1.0
    counts = np.stack([then / then.sum() * n_then, now / now.sum() * n_now])
    counts = _merged(counts)
    if counts.shape[1] < 2:
        return 1.0
    total = counts.sum(axis=0)
    expected = np.outer(counts.sum(axis=1), total) / total.sum()
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return float(stats.chi2.sf(statistic, counts.shape[1] - 1))


def _merged(counts: Floats) -> Floats:
    """Neighbouring bins put together until the smaller table expects five rows in each."""
    share = counts.sum(axis=1).min() / counts.sum()
    found, open_bin = [], np.zeros(2)
    for i in range(counts.shape[1]):
        open_bin = open_bin + counts[:, i]
        if open_bin.sum() * share >= 5:
            found.append(open_bin)
            open_bin = np.zeros(2)
    if open_bin.any():
        if found:
            found[-1] = found[-1] + open_bin
        else:
            found.append(open_bin)
    return np.array(found).T


def excess_p_value(count: float, total: float, then: float, n_then: float) -> float:
    """Probability of as many rows or more if their share has not grown, by Fisher's exact test.

    Examples
    --------
    >>> excess_p_value(0, 100, 0, 100)
    1.0
    >>> excess_p_value(20, 100, 0, 1000) < 1e-10
    True
    """
    count, total, then, n_then = (round(x) for x in (count, total, then, n_then))
    if count <= 0 or total <= 0:
        return 1.0
    then = min(then, n_then)
    return float(stats.hypergeom.sf(count - 1, total + n_then, count + then, total))
