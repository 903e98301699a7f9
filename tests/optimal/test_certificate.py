"""refine="optimal": what is proven, of which tree, and where it is said."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import treemeans
from tests.helpers.training_data import data_of, price_rows
from tests.oracles.optimal_oracle import AllTrees, cheapest_center, squared_deviation
from treemeans import ExKMC
from treemeans.optimal import prove as prove_module
from treemeans.optimal.certificate import Certificate
from treemeans.optimal.exact_solver import ExactSolver


@pytest.fixture(scope="module")
def iris():
    return load_iris().data


def optimal(X, k, n_leaves, **kwargs):
    settings = {"search_rounds": 20, "random_state": 0} | kwargs
    weights = settings.pop("sample_weight", None)
    model = ExKMC(k, max_leaf_nodes=n_leaves, refine="optimal", **settings)
    return model.fit(X, sample_weight=weights)


@pytest.mark.parametrize(
    ("load", "k", "n_leaves", "kind"),
    [
        (load_iris, 3, 3, "kmeans_cost"),
        (load_iris, 3, 6, "fixed_centers"),
        (load_iris, 4, 4, "kmeans_cost"),
        (load_wine, 3, 3, "kmeans_cost"),
        (load_wine, 3, 5, "fixed_centers"),
        (load_breast_cancer, 2, 2, "kmeans_cost"),
        (load_breast_cancer, 2, 4, "fixed_centers"),
    ],
)
def test_small_trees_are_proven(load, k, n_leaves, kind):
    model = optimal(load().data, k, n_leaves)
    proof = model.certificate_
    assert (proof.kind, proof.status, proof.gap) == (kind, "optimal", 0.0)
    assert proof.n_leaves == n_leaves
    cost = model.inertia_ if kind == "kmeans_cost" else model.surrogate_inertia_
    assert proof.cost == pytest.approx(cost, rel=1e-9)
    assert proof.lower_bound == proof.cost


def test_no_worse_than_a_search(iris):
    for n_leaves in (3, 4, 5):
        searched = ExKMC(
            3, max_leaf_nodes=n_leaves, refine="search", search_rounds=20, random_state=0
        ).fit(iris)
        assert optimal(iris, 3, n_leaves).inertia_ <= searched.inertia_ * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_all_trees_of_tiny_tables(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 11))
    X = rng.integers(0, 6, (n, 2)).astype(float)
    weights = rng.integers(1, 4, n).astype(float) if seed % 2 else None
    w = np.ones(n) if weights is None else weights
    k, n_leaves = 2, 2 + seed % 3
    centers = X[rng.choice(n, k, replace=False)] + 0.25
    limits = {"min_samples_leaf": 2} if seed % 4 == 1 else {}
    limits |= {"max_depth": 2} if seed % 3 == 0 else {}
    model = optimal(X, k, n_leaves, reference=centers, sample_weight=weights, **limits)
    proof = model.certificate_
    assert proof.is_optimal
    assert proof.limited == bool(limits)
    depth, least = limits.get("max_depth", 9), limits.get("min_samples_leaf", 0)
    if proof.kind == "kmeans_cost":
        best = AllTrees(X, squared_deviation(X, w), None, w, least).least_cost(n_leaves, depth)
        assert model.inertia_ == pytest.approx(best, abs=1e-9)
    else:
        means = model._fit_result.centers
        costs = w[:, None] * ((X[:, None] - means) ** 2).sum(axis=2)
        regrets = np.rint(2.0**40 * (costs - costs.min(axis=1, keepdims=True))).astype(np.int64)
        best = AllTrees(X, cheapest_center(regrets), None, w, least).least_cost(n_leaves, depth)
        expected = costs.min(axis=1).sum() + best / 2.0**40
        assert model.surrogate_inertia_ == pytest.approx(expected, abs=1e-9)


def test_limits_are_kept(iris):
    prices = [0.0, 0.5, 0.5, 0.0]
    model = optimal(
        iris, 3, 5, min_samples_leaf=20, max_depth=3, allowed_features=[0, 1, 3],
        feature_costs=prices,
    )  # fmt: skip
    tree = model.tree_
    assert model.certificate_.is_optimal
    assert model.certificate_.limited
    assert tree.weight[tree.leaves].min() >= 20
    assert tree.depth.max() <= 3
    assert set(tree.feature[~tree.is_leaf].tolist()) <= {0, 3}
    assert "within the limits" in str(model.certificate_)


def test_a_stopped_proof_has_a_valid_bound(iris):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 8))
    model = optimal(X, 5, 10, max_time=0.5)
    proof = model.certificate_
    assert proof.status == "time"
    assert 0.0 < proof.lower_bound < proof.cost
    assert 0.0 < proof.gap < 1.0
    # Rows at their nearest center are the least that any tree costs to these centers.
    nearest = ((X[:, None] - model._fit_result.centers) ** 2).sum(axis=2).min(axis=1).sum()
    assert proof.lower_bound >= nearest * (1 - 1e-9)


def test_the_default_effort_is_counted(monkeypatch):
    monkeypatch.setattr(prove_module, "DEFAULT_WORK", 3e8)
    X = np.random.default_rng(1).normal(size=(2_000, 6))
    first, second = (optimal(X, 4, 8, n_jobs=n) for n in (1, 2))
    assert first.certificate_.status == "work"
    assert first.certificate_ == second.certificate_
    assert first.tree_ == second.tree_


def test_an_interrupted_proof_keeps_the_tree(monkeypatch):
    X = np.random.default_rng(2).normal(size=(1_000, 6))
    solve, calls = ExactSolver.solve, []

    def interrupted(self, n_leaves, max_depth, target, pause, stop_at):
        calls.append(target)

        def press_ctrl_c(work):
            if len(calls) > 1:
                raise KeyboardInterrupt
            return pause(work)

        return solve(self, n_leaves, max_depth, target, press_ctrl_c, stop_at)

    monkeypatch.setattr(prove_module, "_QUICK_WORK", 1e7)
    monkeypatch.setattr(ExactSolver, "solve", interrupted)
    with pytest.warns(UserWarning, match="proof was interrupted"):
        model = optimal(X, 4, 8)
    proof = model.certificate_
    assert proof.status == "interrupted"
    assert model.reference_inertia_ * 0.5 < proof.lower_bound < proof.cost
    assert model.n_leaves_ >= 4


def test_other_sizes_have_no_proof(iris, tmp_path):
    model = optimal(iris, 3, 5)
    assert model.with_leaves(3).certificate_ is None
    assert "Proven" not in str(model.with_leaves(3).rules())
    assert model.with_leaves(3).with_leaves(5).certificate_ == model.certificate_
    assert ExKMC(3, random_state=0).fit(iris).certificate_ is None


def test_it_is_said_and_saved(iris, tmp_path):
    model = optimal(iris, 3, 5)
    sentence = "Proven: no tree with 5 leaves fits these clusters better."
    assert str(model.certificate_) == sentence
    rules = model.rules()
    assert str(rules).splitlines()[1] == sentence
    assert sentence in rules._repr_html_()
    assert rules.to_dict()["certificate"] == sentence
    model.save(tmp_path / "model.json")
    again = treemeans.load(tmp_path / "model.json")
    assert again.certificate_ == model.certificate_
    assert str(again.rules()) == str(rules)


def test_a_damaged_proof_is_refused(iris, tmp_path):
    path = tmp_path / "model.json"
    optimal(iris, 3, 4).save(path)
    text = path.read_text()
    for old, new in (('"optimal"', '"wonderful"'), ('"fixed_centers"', '"any"')):
        at = text.rindex(old)
        path.write_text(text[:at] + new + text[at + len(old) :])
        with pytest.raises(ValueError, match=r"certificate|refine"):
            treemeans.load(path)


def test_partitioned_rows_that_are_not_gathered_are_refused(iris):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    with (
        dask.config.set({"treemeans.gather": 0}),
        pytest.raises(ValueError, match="needs all rows in one memory"),
    ):
        optimal(da.from_array(iris, chunks=(50, 4)), 3, 3)


def test_tables_that_are_too_large_are_refused(iris, monkeypatch):
    monkeypatch.setattr(prove_module, "_MOST_BYTES", 1e3)
    with pytest.raises(ValueError, match="allow fewer features"):
        optimal(iris, 3, 3)


@pytest.mark.parametrize("sparse", [False, True])
def test_odd_tables(sparse):
    # Repeated rows, a constant column, as many clusters as distinct rows, one cluster.
    X = np.array([[0.0, 1, 0], [0, 1, 0], [0, 1, 2], [3, 1, 2], [3, 1, 2]])
    X = csr_matrix(X) if sparse else X
    for k, n_leaves in ((1, 1), (1, 3), (2, 2), (3, 3), (3, 5)):
        proof = optimal(X, k, n_leaves).certificate_
        assert proof.is_optimal
        if k == 3:
            assert proof.cost == pytest.approx(0.0, abs=1e-12)


def test_means_of_rows_that_are_too_far_apart_are_not_proven(iris):
    centers = iris[:3]
    data = data_of(iris, centers, costs=price_rows(iris, centers))
    assert ExactSolver.to_means(data, iris * 1e100).unit < np.inf
    assert ExactSolver.to_means(data, iris * 1e200) is None


def test_sentences():
    assert "at most 12 % better" in str(Certificate("fixed_centers", 6, 100.0, 88.5, "work"))
    assert "at most 0.3 % better" in str(Certificate("fixed_centers", 6, 100.0, 99.75, "work"))
    assert "at most 0.01 % better" in str(Certificate("kmeans_cost", 6, 1e6, 1e6 - 1, "time"))
    assert "1 leaf " in str(Certificate("kmeans_cost", 1, 1.0, 1.0, "optimal"))
