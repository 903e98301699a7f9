"""Tables of costs as a reference: given, made by a function of X, or by a mixture."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.warning_level import depth_in_package

Floats = NDArray[np.float64]
_ROUNDING = 2.0**28  # times the finite costs: what leaves them 33 of the 61 bits of fixed point


class GivenCosts(NamedTuple):
    """Costs of rows at clusters, the cheapest of each row and what the others add.

    Attributes
    ----------
    base : (n_rows,), cost at the cheapest cluster, not negative
    regret : (n_rows, n_clusters), what each cluster costs beyond that; infinite where a row may
        not be in a cluster
    names : of the clusters; empty if the table has none
    """

    base: Floats
    regret: Floats
    names: tuple[str, ...] = ()

    def with_finite_costs(self, weights: Floats | None) -> GivenCosts:
        """Replace infinity by a number that is more than all finite costs together.

        Then no tree gains by putting a row into a cluster that is forbidden to it, and of two
        trees the one with fewer such rows is cheaper. Rows that weigh less than about a billionth
        of the forbidden ones are excepted: beside a number that is enough for them, the finite
        costs would be lost to rounding in fixed point.
        """
        forbidden = np.isinf(self.regret)
        if not forbidden.any():
            return self
        largest = np.where(forbidden, 0.0, self.regret).max(axis=1)
        weight = np.ones(len(largest)) if weights is None else weights
        least = float(weight[weight > 0].min())
        total, used = float(weight @ largest), weight[forbidden.any(axis=1)]
        penalty = min(2.0 * total / least, _ROUNDING * total / max(float(used.sum()), least)) or 1.0
        return self._replace(regret=np.where(forbidden, penalty, self.regret))


def read_costs(costs: Any, X: Any, n_rows: int, n_clusters: int | None) -> GivenCosts:
    """Costs of the rows: a table of n rows and a column for each cluster, or a function of X.

    Negative costs are allowed: all are shifted so that the least is 0, which changes no tree.
    An infinite cost forbids a row to be in a cluster.

    Parameters
    ----------
    costs : array, data frame, or callable that makes one of X
    X : the rows as the user gave them
    n_clusters : that the user asked for; None to take the number of columns

    Examples
    --------
    >>> found = read_costs([[0.0, 2.0], [-1.0, np.inf]], None, 2, None)
    >>> found.base.tolist(), found.regret.tolist()
    ([1.0, 0.0], [[0.0, 2.0], [0.0, inf]])
    """
    what = "The table of costs"
    if callable(costs):
        costs, what = costs(X), "What the function of costs returned"
    named = getattr(costs, "column_names", getattr(costs, "columns", ()))  # Arrow's has both
    names = tuple(str(name) for name in named)
    if np.iscomplexobj(costs):
        raise ValueError(f"{what} must hold real numbers; it holds complex ones.")
    try:
        table = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must hold numbers only; {error}.") from error
    if table.ndim != 2:
        raise ValueError(
            f"{what} must have two dimensions, a row for each row of X and a column for each "
            f"cluster; it has shape {table.shape}."
        )
    if len(table) != n_rows:
        raise ValueError(f"{what} has {len(table)} rows, but X has {n_rows}.")
    if n_clusters is not None and table.shape[1] != n_clusters:
        raise ValueError(
            f"n_clusters={n_clusters}, but {what[0].lower()}{what[1:]} has {table.shape[1]} "
            "columns, one for each cluster; leave n_clusters out to take their number."
        )
    return split_costs(table, what)._replace(names=names if len(set(names)) == len(names) else ())


def split_costs(table: Floats, what: str) -> GivenCosts:
    """Least cost and regrets of each row of a table; ``what`` it is, in messages."""
    if table.shape[1] < 2:
        raise ValueError(f"{what} must have at least two columns, one for each cluster.")
    for wrong, kind in ((np.isnan(table), "NaN"), (np.isneginf(table), "minus infinity")):
        if wrong.any():
            row, cluster = np.argwhere(wrong)[0]
            raise ValueError(
                f"{what} has {kind} in row {row}, column {cluster}; a cost must be a number, or "
                "infinity where a row may not be in a cluster."
            )
    least = table.min(axis=1)
    if np.isinf(least).any():
        row = int(np.flatnonzero(np.isinf(least))[0])
        raise ValueError(
            f"{what} forbids every cluster to row {row}: all its costs are infinite; leave the row "
            "out, or allow it a cluster."
        )
    with np.errstate(over="ignore"):
        regret = table - least[:, None]
        base = least - min(float(least.min()), 0.0)
    overflown = np.isinf(regret) & np.isfinite(table)
    if overflown.any() or np.isinf(base).any():
        raise ValueError(
            f"{what} has costs so far apart that their difference overflows; scale it."
        )
    with np.errstate(over="ignore"):
        total = float(base.sum() + np.where(np.isinf(regret), 0.0, regret).max(axis=1).sum())
    if np.isinf(total):
        raise ValueError(
            f"{what} has costs so large that their sum overflows; divide all of them by one number."
        )
    return GivenCosts(base, regret)


def mixture_costs(mixture: Any, rows: Any) -> GivenCosts:
    """Minus the logarithm of the responsibilities, as what a row costs at each component.

    The logarithms come from the mixture, not from its probabilities, which underflow to 0 for a
    component that is far away. Where nothing but probabilities is known, those that underflow
    count as the smallest float.
    """
    rows = rows if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
    logarithms = getattr(mixture, "_estimate_log_prob_resp", None)
    if logarithms is not None:
        found = -np.asarray(logarithms(rows)[1], dtype=np.float64)
    else:
        smallest = np.nextafter(0.0, 1.0)
        found = -np.log(np.maximum(np.asarray(mixture.predict_proba(rows), np.float64), smallest))
    return split_costs(np.maximum(found, 0.0), "What the mixture makes of the rows")


def warn_if_forbidden(costs: GivenCosts, labels: NDArray[np.int32]) -> None:
    """Warn of rows that a tree puts into a cluster that is forbidden to them."""
    wrong = int(np.isinf(costs.regret[np.arange(len(labels)), labels]).sum())
    if wrong:
        warnings.warn(
            f"{wrong} row{' is' if wrong == 1 else 's are'} in a cluster of infinite cost: no tree "
            "that was found keeps all of them out. Raise max_leaf_nodes, or use refine='search'.",
            UserWarning,
            stacklevel=depth_in_package(),
        )
