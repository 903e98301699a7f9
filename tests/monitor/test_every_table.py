"""Stability, refits, comparisons, drift, close calls and other trees: on every kind of table.

Dense, sparse and mixed tables, every cost that they make sense for, and the command line with the
models that it saves by default.
"""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.mixture import GaussianMixture
from typer.testing import CliRunner

import treemeans
from treemeans import ExKMC, compare_models
from treemeans.cli.app import app

pytestmark = pytest.mark.usefixtures("one_thread")

CENTERS = np.array([[9.0, 0.0, 0.0, 1.0], [0.0, 9.0, 0.0, 1.0], [0.0, 0.0, 9.0, 1.0]])
GROUPS = np.repeat([0, 1, 2], [60, 50, 40])


def rows(seed=0):
    """Three clusters, in this order; x0 says the same as x1 and x2 together."""
    return CENTERS[GROUPS] + np.random.default_rng(seed).normal(size=(150, 4))


def mixed(seed=0, with_gaps=True):
    """The same with a category, a date and missing values."""
    rng = np.random.default_rng(seed)
    X = rows(seed)
    table = pd.DataFrame(X[:, :3], columns=["spend", "visits", "returns"])
    table["plan"] = np.array(["basic", "plus", "pro"])[GROUPS]
    table["since"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 150), "D")
    if with_gaps:
        table.loc[rng.choice(150, 7, replace=False), "returns"] = np.nan
    return table


TABLES = {
    "dense": rows,
    "sparse": lambda seed=0: sparse.csr_matrix(rows(seed)),
    "mixed": mixed,
}


@pytest.fixture(scope="module", params=TABLES)
def table(request):
    X = TABLES[request.param]()
    return request.param, X, ExKMC(3, max_leaf_nodes=4, random_state=0).fit(X)


def of_rows(X, at):
    return X.iloc[at].reset_index(drop=True) if isinstance(X, pd.DataFrame) else X[at]


def test_stability(table):
    _, X, model = table
    found = model.stability(X, 6, verbose=0)
    assert [each.jaccard for each in found.clusters] == [1.0, 1.0, 1.0]


def test_refit(table):
    name, X, model = table
    order = np.random.default_rng(0).permutation(150)
    again = model.refit(of_rows(X, order))
    np.testing.assert_array_equal(again.labels_, model.labels_[order])
    assert [fate.kind for fate in model.refit(TABLES[name](1)).changes_.fates] == ["kept"] * 3
    kept = model.refit(TABLES[name](1), keep_structure=True)
    np.testing.assert_array_equal(kept.tree_.feature, model.tree_.feature)


def test_comparison(table):
    name, _, model = table
    new = TABLES[name](1)
    found = compare_models(model, model.refit(new), new)
    np.testing.assert_array_equal(found.changes.crosstab, np.diag([60, 50, 40]))


def test_drift(table):
    name, X, model = table
    assert model.drift(X).findings == ()
    if name == "mixed":
        moved = X.assign(spend=X["spend"] + 30.0)
    else:
        shift = np.zeros((150, 4))
        shift[:, 0] = 30.0
        moved = X + (sparse.csr_matrix(shift) if name == "sparse" else shift)
    assert any("drifted" in each for each in model.drift(moved).findings)


def test_confidence(table):
    _, X, model = table
    found = model.confidence(X)
    assert found.cut_distance.shape == found.advantage.shape == (150,)
    assert found.is_close.mean() < 0.2


def test_alternatives(table):
    _, X, model = table
    found = model.alternatives(X, n=2, within=0.3, verbose=0)
    own = {model._fit_result.columns[f].name for f in set(model.tree_.feature.tolist()) - {-1, -2}}
    assert len(found) >= 1
    for each in found:
        assert set(each.columns) != own
        assert each.cost_ratio <= 1.3 + 1e-9


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("cost", ["kmedians", "cosine"])
def test_other_costs_around_centers(cost, form):
    X = TABLES[form]()
    model = ExKMC(3, cost=cost, max_leaf_nodes=4, random_state=0).fit(X)
    assert [e.jaccard for e in model.stability(X, 5, verbose=0).clusters] == [1.0, 1.0, 1.0]
    order = np.random.default_rng(0).permutation(150)
    again = model.refit(X[order])
    np.testing.assert_array_equal(again.labels_, model.labels_[order])
    np.testing.assert_array_equal(again.reference_centers_, model.reference_centers_)
    assert again._fit_result.cost == cost
    new = model.refit(TABLES[form](1), n_clusters=4)
    assert sorted(fate.kind for fate in new.changes_.fates) == ["kept"] * 3 + ["split"]
    assert len(model.alternatives(X, within=0.5, verbose=0)) >= 1


@pytest.mark.parametrize("cost", ["kmedians", "cosine"])
def test_centers_of_a_refit_are_those_of_the_cost(cost):
    # Rows that have moved: a refit ends where a fit with a good start does.
    model = ExKMC(3, cost=cost, random_state=0).fit(rows())
    new = rows(3) + np.array([1.5, 0.0, 0.0, 2.0])
    again, fresh = model.refit(new), ExKMC(3, cost=cost, random_state=0).fit(new)
    assert again.reference_inertia_ == pytest.approx(fresh.reference_inertia_, rel=1e-9)
    shared = model.refit(new, shared=(rows(), new))
    np.testing.assert_array_equal(shared.labels_, again.labels_)


def test_clusters_of_one_cloud_are_not_stable_by_any_cost():
    X = np.abs(np.random.default_rng(0).normal(size=(200, 3)))
    for cost in ("kmedians", "cosine"):
        model = ExKMC(3, cost=cost, max_leaf_nodes=4, random_state=0).fit(X)
        found = model.stability(X, 10, verbose=0)
        assert min(each.jaccard for each in found.clusters) < 0.75


def given_costs(X):
    return ((np.asarray(X)[:, None] - CENTERS) ** 2).sum(axis=2)


@pytest.mark.parametrize(
    "given",
    [
        {"reference": GROUPS, "cost": "labels"},
        {"reference": GaussianMixture(3, random_state=0)},
        {"cost": given_costs},
    ],
    ids=["labels", "mixture", "function"],
)
def test_costs_that_are_given(given, tmp_path):
    X = rows()
    model = ExKMC(None, **given, max_leaf_nodes=4, random_state=0).fit(X)
    assert [e.jaccard for e in model.stability(X, 5, verbose=0).clusters] == [1.0, 1.0, 1.0]
    found = model.alternatives(X, within=0.3, verbose=0)
    assert len(found) >= 1
    assert all(each.cost_ratio <= 1.3 + 1e-9 for each in found)
    with pytest.raises(ValueError, match=r"refit moves the centers .*; fit a new one\.$"):
        model.refit(X)
    model.save(tmp_path / "model.json")
    loaded = treemeans.load(tmp_path / "model.json")
    with pytest.raises(ValueError, match=r"labels or costs of the rows, .* function of X\.$"):
        loaded.stability(X, 2, verbose=0)


def test_labels_belong_to_the_rows_of_the_fit():
    X = rows()
    model = ExKMC(None, reference=GROUPS, cost="labels", random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"its 150 rows have labels, and X has 100 rows\.$"):
        model.alternatives(X[:100], verbose=0)
    noisy = np.where(np.arange(150) % 10 == 0, -1, GROUPS)
    model = ExKMC(None, reference=noisy, cost="labels", random_state=0).fit(X)
    assert [e.jaccard for e in model.stability(X, 3, verbose=0).clusters] == [1.0, 1.0, 1.0]


def run(*args, code=0):
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == code, result.output
    return result.stdout


@pytest.mark.parametrize("kind", ["numbers", "mixed", "gaps"])
def test_the_command_line_on_saved_models(kind, tmp_path):
    """Every command on a model as ``treemeans fit`` saves it: standardised, read from a file."""

    def made(seed):
        return mixed(seed, kind == "gaps")[
            ["spend", "visits", "returns"] if kind == "numbers" else slice(None)
        ]

    old, new, model, again = (
        tmp_path / name for name in ("old.csv", "new.csv", "model.json", "again.json")
    )
    made(0).to_csv(old, index=False)
    made(1).to_csv(new, index=False)
    run("fit", old, "-k", 3, "-o", model, "-q")
    saved = json.loads(model.read_text(encoding="utf-8"))
    assert "standard" in json.dumps(saved).lower()
    found = json.loads(run("stability", model, old, "--resamples", 3, "--json"))
    assert [each["jaccard"] for each in found["clusters"]] == [1.0, 1.0, 1.0]
    assert "kept" in run("refit", model, new, "-o", again)
    assert "cluster" in run("diff", model, again, new)
    run("drift", model, old)
    made(1).assign(spend=lambda t: t["spend"] + 30.0).to_csv(new, index=False)
    run("drift", model, new, code=3)
    run("predict", model, old, "--confidence", "-o", tmp_path / "out.csv")
    predicted = pd.read_csv(tmp_path / "out.csv")
    assert len(predicted) == 150
    assert {"close_call"} & set(predicted.columns)
    assert "tree" in run("alternatives", model, old, "--within", "0.3")
