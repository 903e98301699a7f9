"""Alternatives: other trees as good as a model's, that cut other columns."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine

import treemeans
from treemeans import ExKMC
from treemeans.monitor.alternatives import find_alternatives


def copies(n=60, seed=0):
    """Three clusters that each of the columns 0, 1 and 2 shows alike; column 3 is noise."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(3), n)
    shown = [10.0 * group + 0.1 * rng.normal(size=3 * n) for _ in range(3)]
    return np.column_stack([*shown, rng.normal(size=3 * n)])


def test_each_copy_of_a_column_is_an_alternative():
    X = copies()
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
    found = model.alternatives(X, 5)
    own = set(found.own.columns)
    assert len(own) == 1
    sets = [set(each.columns) for each in found]
    assert {frozenset(one) for one in sets if len(one) == 1} == {
        frozenset({name}) for name in {"x0", "x1", "x2"} - own
    }
    assert all("x3" not in one for one in sets)
    for each in found:
        assert each.cost_ratio <= 1.01
        assert each.agreement == 1.0
        assert each.model.n_leaves_ <= 3
        assert (each.model.predict(X) == model.predict(X)).all()
        assert each.model.inertia_ == pytest.approx(each.cost_ratio * model.inertia_)
    assert sets[0].isdisjoint(own)


def test_the_most_different_comes_first():
    X = load_wine().data
    model = ExKMC(3, max_leaf_nodes=5, scale="standard", random_state=0).fit(X)
    found = model.alternatives(X, 4, within=0.02)
    assert len(found) == 4
    own = set(found.own.columns)
    apart = [1 - len(own & set(e.columns)) / len(own | set(e.columns)) for e in found]
    assert apart[0] == max(apart)
    assert all(each.cost_ratio <= 1.02 for each in found)
    assert len({each.columns for each in found} | {found.own.columns}) == 5
    assert [e.columns for e in found] == [e.columns for e in model.alternatives(X, 4, within=0.02)]


def test_none_where_a_single_column_tells():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 50.0], 40) + rng.normal(size=80), rng.normal(size=80)])
    found = ExKMC(2, max_leaf_nodes=2, random_state=0).fit(X).alternatives(X)
    assert len(found) == 0
    assert "No tree with other columns" in str(found)
    assert found.to_frame().shape[0] == 1


def test_sparse_and_mixed_tables():
    X = np.where(copies() < 1, 0.0, copies())
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(sparse.csr_matrix(X))
    assert len(model.alternatives(sparse.csr_matrix(X))) > 0
    group = np.repeat(["a", "b", "c"], 60)
    table = pd.DataFrame({"plan": group, "spend": copies()[:, 0], "visits": copies()[:, 1]})
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(table)
    found = model.alternatives(table)
    assert {each.columns for each in found} | {found.own.columns} >= {("plan",)}
    assert all(each.cost_ratio <= 1.01 for each in found)


def test_one_hot_columns_of_a_source_are_one_column():
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "green", "blue"], 150)
    table = pd.get_dummies(pd.DataFrame({"color": color}), dtype=float) * 1.0
    place = pd.Series(color).map({"red": 0, "green": 1, "blue": 2})
    table["size"] = 2.0 * place + 0.01 * rng.normal(size=150)
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(table)
    found = model.alternatives(table)
    names = {each.columns for each in found} | {found.own.columns}
    assert names <= {("color",), ("size",), ("color", "size")}


def test_alternatives_are_models(tmp_path):
    X = load_wine(as_frame=True).data
    model = ExKMC(3, max_leaf_nodes=5, scale="standard", random_state=0).fit(X)
    other = model.with_names(["a", "b", "c"]).alternatives(X, 1, within=0.05)[0]
    assert other.model.cluster_names_ == ("a", "b", "c")
    other.model.save(tmp_path / "other.json")
    again = treemeans.load(tmp_path / "other.json")
    assert (again.predict(X) == other.model.predict(X)).all()
    assert str(again.rules()) == str(other.model.rules())


def test_a_refined_model_keeps_its_method():
    X = load_iris().data
    model = ExKMC(3, max_leaf_nodes=4, refine="search", search_rounds=30, random_state=0).fit(X)
    found = model.alternatives(X, 2, within=0.1)
    assert all(each.cost_ratio <= 1.1 for each in found)


def test_ctrl_c_keeps_what_is_found():
    X = load_wine().data
    model = ExKMC(3, max_leaf_nodes=5, scale="standard", random_state=0).fit(X)

    def press(done):
        if done >= 4:
            raise KeyboardInterrupt

    found = find_alternatives(model, X, 5, 0.05, tell=press)
    assert found.n_fits == 4
    assert len(found) > 0


def test_they_are_shown_side_by_side():
    X = copies()
    found = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X).alternatives(X, 2)
    text = str(found)
    assert text.count("  this model: if ") == 3
    assert text.count("  tree 2: if ") == 3
    assert "<th>tree 1</th>" in found._repr_html_()
    assert len(json.loads(json.dumps(found.to_dict()))["trees"]) == 3
    assert found.to_frame("polars").height == 3
    assert repr(found) == "Alternatives(2 trees)"
    assert found[:1] == (found[0],)


def test_bad_parameters():
    X = load_iris().data
    model = ExKMC(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="n must be an integer of at least 1; got 0"):
        model.alternatives(X, 0)
    with pytest.raises(ValueError, match=r"0\.01 is 1 %; got -1"):
        model.alternatives(X, within=-1)
    with pytest.raises(ValueError, match=r"^alternatives grows the tree again, .* this is a CUBT"):
        treemeans.baselines.CUBT(3).fit(X).alternatives(X)
