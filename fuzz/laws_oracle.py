"""Laws against the slow oracles of the tests: the same cuts, labels and order of cuts."""

from __future__ import annotations

import numpy as np

from fuzz.case import SPARSE, Case
from fuzz.law import Trial, has_centers, is_exact, is_grown, law
from tests.growth import test_kauri, test_separating_base_trees
from tests.oracles.kauri_oracle import kauri_tree
from tests.rows import test_search_oracle


def _has_limits(case: Case) -> bool:
    names = ("max_depth", "allowed_features", "feature_costs", "protected")
    limited = any(case.parameters.get(name) is not None for name in names)
    return limited or case.parameters["min_samples_leaf"] != 1


def _searched(case: Case) -> bool:
    return (
        has_centers(case)
        and is_grown(case)
        and not _has_limits(case)
        and not case.parameters["round_thresholds"]
        and case.parameters["base_tree"] in ("imm", "none")
        and case.n_rows <= 80
        # Stored zeros change what sums of squares are rounded to, and so which of equals is first.
        and (case.storage != "explicit zeros" or is_exact(case))
    )


@law("search oracle", share=0.6, applies=_searched)
def search_oracle(trial: Trial) -> None:
    """IMM and Algorithm 1."""
    case = trial.case
    k = len(case.centers)
    expected = test_search_oracle.expected(
        case.table("csr" if case.storage in SPARSE else "dense"),
        case.centers,
        case.parameters["base_tree"],
        case.parameters["max_leaf_nodes"] or 2 * k,
        case.weights,
    )
    test_search_oracle.assert_same_structure(trial.model.tree_, expected)


@law(
    "separating oracle",
    share=0.15,
    applies=lambda case: (
        has_centers(case)
        and case.n_rows <= 40
        and len(case.centers) > 1
        and case.parameters["base_tree"] in ("imm", "emn", "exgreedy")
    ),
)
def separating_oracle(trial: Trial) -> None:
    """IMM, EMN and ExGreedy within limits."""
    case, wanted = trial.case, trial.case.parameters
    prices = wanted["feature_costs"]
    limits = (
        wanted["min_samples_leaf"],
        wanted["max_depth"],
        None if prices is None else np.array(prices),
    )
    allowed = wanted["allowed_features"]
    test_separating_base_trees.check(
        wanted["base_tree"],
        case.table("csr" if case.storage in SPARSE else "dense"),
        case.centers,
        case.weights,
        limits,
        None if allowed is None else np.array(allowed),
    )


@law(
    "kauri oracle",
    share=0.2,
    applies=lambda case: is_exact(case) and case.n_rows <= 14 and len(case.centers) <= 4,
)
def kauri_oracle(trial: Trial) -> None:
    """Kauri, whatever the base tree of the case."""
    case = trial.case
    k = len(case.centers)
    if case.n_rows < 2:
        return
    X = case.table("csr" if case.storage in SPARSE else "dense")
    growing, clusters = test_kauri.grown(X, k, k + 2, case.weights)
    tree, _ = kauri_tree(case.X, case.X, case.weights, k, k + 2)
    test_kauri.assert_same_tree(growing, clusters, tree)
