"""References that say what rows cost: a table or function of costs, and mixtures."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from treemeans.reference.fitted_reference import (
    COSTS,
    Reference,
)
from treemeans.reference.given_costs import GivenCosts, mixture_costs, read_costs


def costs_reference(
    cost: Any, reference: Any, n_clusters: int | None, X: Any, raw: Any
) -> Reference:
    """A table of costs, or a function that makes one: its clusters are the columns."""
    if reference is not None:
        raise ValueError(
            "A table of costs says which cluster is best for each row, so it is a reference by "
            "itself; leave reference out."
        )
    if sparse.issparse(cost):
        raise ValueError("The table of costs must be dense; pass cost.toarray().")
    costs = read_costs(cost, raw, X.shape[0], n_clusters)
    return Reference(
        np.empty((costs.regret.shape[1], 0)),
        None,
        True,
        cost="table",
        costs=costs,
        price_rows=partial(_costs_of, cost) if callable(cost) else None,
        names=costs.names,
        called=COSTS,
    )


def _costs_of(cost: Callable[[Any], Any], rows: Any) -> GivenCosts:
    """What a function of costs makes of other rows than those of the fit."""
    return read_costs(cost, rows, np.shape(rows)[0], None)


def mixture_reference(
    mixture: Any, pipeline: Any, n_clusters: int | None, rows: Any, given: bool
) -> Reference:
    """A mixture prices rows by its responsibilities."""
    price_rows = partial(_mixture_costs_of, mixture, pipeline)
    costs = price_rows(rows)
    k = costs.regret.shape[1]
    if n_clusters is not None and k != n_clusters:
        raise ValueError(
            f"n_clusters={n_clusters}, but {type(mixture).__name__} has {k} components."
        )
    return Reference(
        np.empty((k, 0)),
        None,
        given,
        cost="mixture",
        costs=costs,
        price_rows=price_rows,
        called=type(mixture).__name__,
    )


def _mixture_costs_of(mixture: Any, pipeline: Any, rows: Any) -> GivenCosts:
    return mixture_costs(mixture, rows if pipeline is None else pipeline.transform(rows))
