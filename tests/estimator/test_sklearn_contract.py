"""scikit-learn's contract: its own checks, and the parameters."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from treemeans import ExKMC

pytestmark = pytest.mark.usefixtures("one_thread")


# Some checks have fewer distinct rows than clusters, which works, with a warning.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        ExKMC(),
        ExKMC(3, base_tree="none"),
        ExKMC(3, base_tree="best", refine="local"),
        ExKMC(3, refine="search", search_rounds=3, max_depth=3, min_samples_leaf=2),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_parameters_and_their_defaults():
    assert ExKMC().get_params() == {
        "n_clusters": None,
        "max_leaf_nodes": None,
        "base_tree": "imm",
        "reference": None,
        "cost": "auto",
        "noise": "ignore",
        "scale": "auto",
        "refine": "none",
        "search_rounds": None,
        "max_time": None,
        "min_samples_leaf": 1,
        "max_depth": None,
        "max_categories": None,
        "allowed_features": None,
        "feature_costs": None,
        "min_cluster_size": None,
        "max_cluster_size": None,
        "balance": None,
        "protected": None,
        "round_thresholds": False,
        "n_random_trees": 10,
        "n_jobs": None,
        "random_state": None,
        "verbose": 0,
        "max_iter": "deprecated",
        "n_init": "deprecated",
    }
    with pytest.raises(TypeError, match="positional"):
        ExKMC(8, 16)
