"""Saved models: they come back as they were, and nothing else ever comes back."""

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import treemeans
from tests.helpers.datasets import kmeans
from tests.helpers.plain_numpy import a_tree, scaled_pca
from tests.helpers.saved_cases import (
    CASES,
    IRIS,
    assert_same,
    case,
    in_pipeline,
    mixed_customers,
)
from treemeans import ExKMC, ThresholdTree, baselines, load
from treemeans.model_file.save_load import ModelFileError
from treemeans.model_file.saved_sizes import Sizes, SizeStep, _Walk
from treemeans.renamed_parameters import DEPRECATED, RENAMED

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("model-v*.json"))
pytestmark = pytest.mark.usefixtures("one_thread")


def saved(model, tmp_path, name="model.json"):
    path = tmp_path / name
    model.save(path)
    return path


# ---- there and back ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_model_is_the_model(name, tmp_path):
    model, X = case(name)
    path = saved(model, tmp_path)
    again = load(path)
    assert_same(model, again, X)
    for n_leaves in model._fit_result.path["n_leaves"].tolist():
        assert_same(model.with_leaves(n_leaves), again.with_leaves(n_leaves), X)
    with pytest.raises(ValueError, match="This fit has trees of"):
        again.with_leaves(99)
    assert not hasattr(again, "labels_")
    assert not hasattr(again, "reference_labels_")
    assert saved(again, tmp_path, "again.json").read_bytes() == path.read_bytes()


def test_a_loaded_model_leaves_out_the_columns_that_its_fit_left_out(tmp_path):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"empty": [np.nan] * 4, "height": [1, 1, 12, 12]})
    with pytest.warns(UserWarning, match="empty"):
        model = ExKMC(reference=[0, 0, 1, 1], cost="labels").fit(X)
    path = saved(model, tmp_path)
    again = load(path)
    assert again.predict(X).tolist() == again.with_leaves(2).predict(X).tolist() == [0, 0, 1, 1]
    assert saved(again, tmp_path, "again.json").read_bytes() == path.read_bytes()
    every = again.fit(X[["height"]].assign(width=[3, 4, 5, 9]))  # nothing of the file is left
    with pytest.raises(ValueError, match="empty"):
        every.predict(X.assign(width=1))


@pytest.mark.parametrize("name", CASES)
def test_distances_and_scores(name, tmp_path):
    model, X = case(name)
    X = X[~np.isnan(X).any(axis=1)] if name == "mixed" else X
    again = load(saved(model, tmp_path))
    if in_pipeline(model):
        for ask in (again.transform, again.score):
            with pytest.raises(ValueError, match="does not hold the reference's pipeline: ask"):
                ask(X)
    elif name == "labels":
        with pytest.raises(ValueError, match="The costs of other rows are not known"):
            again.score(X)
    else:
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
        assert again.score(X) == model.score(X)


def test_the_cases_are_what_they_say():
    assert sum(in_pipeline(case(name)[0]) for name in CASES) == 4
    assert case("one leaf")[0].n_leaves_ == 1
    model, _ = case("scrambled")
    labels = [model._fit_result.sizes[n].label for n in model._fit_result.sizes]
    assert any((label != model._fit_result.tree.label).any() for label in labels)
    steps = Sizes.of(model._fit_result.tree, model._fit_result.sizes).steps
    assert any(len(step.uncut) for step in steps)
    assert {column.kind for column in case("names")[0].columns_} > {"date", "category", "integer"}
    assert np.isinf(fit_beyond_the_data()._fit_result.tree.gap).any()


def fit_beyond_the_data():
    tree = treemeans.ThresholdTree(
        [0, -1, -1], [50.0, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], n_features=4
    )
    return ExKMC(3, base_tree=tree, random_state=0).fit(IRIS)


def test_a_cut_that_no_row_comes_to_one_side_of(tmp_path):
    model = fit_beyond_the_data()
    assert_same(model, load(saved(model, tmp_path)), IRIS)


def test_sizes_are_steps_and_so_linear_in_the_leaves(tmp_path):
    X = np.random.default_rng(0).normal(size=(600, 2))
    for refine in ("none", "local"):
        model = ExKMC(40, max_leaf_nodes=300, refine=refine, random_state=0).fit(X)
        document = json.loads(saved(model, tmp_path).read_text(encoding="utf-8"))
        named = sum(len(part) for step in document["sizes"] for part in step.values())
        assert model.n_leaves_ > 2 * 40
        assert named < 5 * model.n_leaves_
        again = load(saved(model, tmp_path))
        for n_leaves in range(40, model.n_leaves_, 20):
            assert again.with_leaves(n_leaves).tree_ == model.with_leaves(n_leaves).tree_


def test_a_step_that_leaves_a_cut_without_its_parent_is_refused():
    tree = ThresholdTree(
        [0, 1, 2, -1, -1, 3, -1, -1, -1],
        [0.0, 0.0, 0.0, np.nan, np.nan, 0.0, np.nan, np.nan, np.nan],
        [1, 3, 5, -1, -1, 7, -1, -1, -1],
        [2, 4, 6, -1, -1, 8, -1, -1, -1],
        [0, 0, 1, 0, 1, 0, 1, 0, 1],
        4,
    )

    def step(cut, uncut=()):
        none = np.empty(0, np.int32)
        return SizeStep(np.array(cut), np.array(uncut, dtype=np.int32), none, none)

    def leads_to_4(*last):
        walk = _Walk(tree)
        assert walk.leads_to(3, step([0, 2]))
        return walk.leads_to(4, step(*last))

    assert leads_to_4([5])
    assert leads_to_4([1])
    assert not leads_to_4([5, 1])  # five leaves
    assert not leads_to_4([5, 1], [2])  # 5 is below 2
    assert not leads_to_4([3])  # a leaf
    assert not leads_to_4([2])  # cut already


def test_what_is_done_with_a_loaded_model(tmp_path):
    pytest.importorskip("onnx")
    for name in ("short", "scrambled", "told more"):
        model, X = case(name)
        again = load(saved(model, tmp_path))
        units = {0: "EUR"}
        assert_same(model.with_columns(units=units), again.with_columns(units=units), X)
        assert str(again.explain(X[:9])) == str(model.explain(X[:9]))
        assert again.to_onnx() == model.to_onnx()
        ours, theirs = again.to_sklearn().tree_, model.to_sklearn().tree_
        assert ours.__getstate__()["nodes"].tolist() == theirs.__getstate__()["nodes"].tolist()


def test_the_class_loads_its_own(tmp_path):
    class Other(ExKMC):
        pass

    model, X = case("plain")
    path = saved(model, tmp_path)
    assert_same(model, ExKMC.load(str(path)), X)
    with pytest.raises(ModelFileError, match=r"holds a model of ExKMC, not of Other\.$"):
        Other.load(path)


def test_pickle_of_a_loaded_model(tmp_path):
    for name in ("names", "scrambled"):
        model, X = case(name)
        assert_same(model, pickle.loads(pickle.dumps(load(saved(model, tmp_path)))), X)


# ---- parameters ----------------------------------------------------------------------------------


def test_parameters_that_are_plain_come_back_and_fit_again(tmp_path):
    parameters = {
        "max_leaf_nodes": np.int64(7),
        "min_samples_leaf": np.float64(0.03),
        "round_thresholds": np.bool_(True),
        "allowed_features": ("a", "c", np.str_("d")),
        "feature_costs": {"c": 0.001, 3: 0.002},
        "random_state": 5,
    }
    X = load_iris(as_frame=True).data.set_axis(list("abcd"), axis=1)
    model = ExKMC(3, **parameters).fit(X)
    again = load(saved(model, tmp_path))
    given = again.get_params()
    assert given["feature_costs"] == {"c": 0.001, 3: 0.002}
    assert given["allowed_features"] == ["a", "c", "d"]
    assert {name: type(given[name]) for name in parameters} == {
        "max_leaf_nodes": int,
        "min_samples_leaf": float,
        "round_thresholds": bool,
        "allowed_features": list,
        "feature_costs": dict,
        "random_state": int,
    }
    assert_same(model, clone(again).fit(X), X)
    assert_same(model, again.fit(X), X)
    assert again.labels_.tolist() == model.labels_.tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reference", scaled_pca()),
        ("base_tree", a_tree()),
        ("random_state", np.random.RandomState(0)),
        ("max_time", 10**400),
    ],
)
def test_parameters_that_are_objects_are_left_out_and_say_so(name, value, tmp_path):
    if name == "max_time":
        model = case("plain")[0].with_leaves(5).set_params(max_time=value)
    else:
        model = ExKMC(3, **{name: value}).fit(IRIS)
    again = load(saved(model, tmp_path))
    assert_same(model, again, IRIS)
    twin = clone(again)
    assert f"{name}=<{name}: not in the file>" in repr(twin)
    with pytest.raises((ValueError, TypeError)):
        twin.fit(IRIS)


# ---- what cannot be saved ------------------------------------------------------------------------


def test_only_fitted_models(tmp_path):
    with pytest.raises(NotFittedError):
        ExKMC().save(tmp_path / "x")
    assert os.listdir(tmp_path) == []


def test_only_our_own_models(tmp_path):
    class Mine(ExKMC):
        pass

    model = Mine(3, random_state=0).fit(IRIS)
    with pytest.raises(ValueError, match=r"^A model of class Mine cannot be saved: .*\.$"):
        model.save(tmp_path / "x")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("field", ["spread", "centers"])
def test_nothing_is_written_that_could_not_be_loaded(tmp_path, field):
    model = pickle.loads(pickle.dumps(case("plain")[0]))
    getattr(model._fit_result, field).flat[0] = np.nan
    with pytest.raises(ValueError, match=r"^This model cannot be saved: it holds a number that is"):
        model.save(tmp_path / "x")
    model._fit_result.spread.flat[0] = -1.0
    model._fit_result.centers.flat[0] = 0.0
    with pytest.raises(ValueError, match=r"^This model cannot be saved: spread holds a number"):
        model.save(tmp_path / "x")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^Cannot write '.*x.json': No such file.*\.$"):
        case("plain")[0].save(tmp_path / "missing" / "x.json")


def test_names_with_letters_that_have_no_bytes(tmp_path):
    names = ["\ud800", "a\udfffb", "\u2028", "\x00"]
    model = case("plain")[0].with_columns(names=names)
    again = load(saved(model, tmp_path))
    assert [column.name for column in again.columns_] == names


# ---- files of old --------------------------------------------------------------------------------


def trees_in(document):
    """The nodes that are cut and the labels, for every size, as a file gives them."""
    cut, label = set(), list(document["tree"]["label"])
    for step in document["sizes"]:
        cut = cut - set(step.get("uncut", [])) | set(step.get("cut", []))
        for node, new in zip(step.get("node", []), step.get("label", []), strict=True):
            label[node] = new
        yield cut, list(label)


def walk(tree, cut, row):
    """The leaf of a row, by a tree as it stands in a file."""
    node, no_categories = 0, [[]] * len(tree["feature"])
    while node in cut:
        x, threshold = row[tree["feature"][node]], tree["threshold"][node]
        categories = tree.get("categories", no_categories)[node]
        if np.isnan(x):
            left = tree["missing_left"][node] == 1
            assert tree["missing_left"][node] >= 0
        elif categories:
            left = x in categories
        elif threshold is None:  # all values on one side, missing ones on the other
            left = tree["missing_left"][node] == 0
        else:
            left = x <= threshold
        node = tree["left" if left else "right"][node]
    return node


def test_there_are_files_of_old():
    assert [path.stem for path in GOLDEN] == [
        "model-v1-grown",
        "model-v1-names",
        "model-v1-refined",
        "model-v2-grown",
        "model-v2-mixed",
        "model-v2-names",
        "model-v2-refined",
    ]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_files_of_old_still_load(path, tmp_path):
    document = json.loads(path.read_text(encoding="utf-8"))
    model = load(path)
    rng = np.random.default_rng(0)
    cuts = [t for t in document["tree"]["threshold"] if t is not None]
    X = rng.choice([*cuts, *np.nextafter(cuts, np.inf)], (300, len(document["columns"])))
    if path.stem.endswith("mixed"):
        X = mixed_customers(rng, 300)
    for cut, label in trees_in(document):
        clusters = [label[walk(document["tree"], cut, row)] for row in X]
        whole = model.with_leaves(len(cut) + 1)
        assert whole.predict(X).tolist() == clusters
    assert model.n_leaves_ == document["n_leaves"]
    for name, values in document["path"].items():
        assert whole.path_[name].tolist() == values
    for name, value in document["parameters"].items():
        value = dict(value["pairs"]) if isinstance(value, dict) else value
        assert model.get_params()[RENAMED.get(name, name)] == value, name
    described = [
        {name: value for name, value in vars(column).items() if value not in ("", False, None, ())}
        for column in model.columns_
    ]
    assert described == [
        {"kind": "number"} | {k: tuple(v) if k == "categories" else v for k, v in column.items()}
        for column in document["columns"]
    ]
    assert_same(model, load(saved(model, tmp_path)), X)


# Trees of the other files were made by hand, or their rows were not kept.
@pytest.mark.parametrize("name", ["v1-grown", "v2-grown", "v1-names", "v2-names"])
def test_the_problems_of_old_files_have_the_same_trees_now(name):
    old = load(next(path for path in GOLDEN if path.stem == f"model-{name}"))
    if name.endswith("names"):
        new = case("names")[0]
    else:
        known = {"reference": old.reference_centers_, "max_iter": DEPRECATED, "n_init": DEPRECATED}
        new = ExKMC(**old.get_params() | known).fit(IRIS)
    if name.endswith("names"):  # centers of scikit-learn, whose last digits are the processor's
        np.testing.assert_allclose(new.tree_.costs, old.tree_.costs, rtol=1e-12)
        assert replace(new.tree_, costs=old.tree_.costs) == old.tree_
    else:
        assert new.tree_ == old.tree_
    np.testing.assert_allclose(new.inertia_, old.inertia_, rtol=1e-12)
    for name in ("surrogate_cost", "kmeans_cost", "ratio", "accuracy"):
        np.testing.assert_allclose(new.path_[name], old.path_[name], rtol=1e-9)


# ---- what is no model ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def document():
    path = next(path for path in GOLDEN if path.stem == "model-v2-refined")
    return path.read_text(encoding="utf-8")


def refusal(path):
    with pytest.raises(ModelFileError) as caught:
        load(path)
    message = str(caught.value)
    start = f"{os.fspath(path)!r} cannot be loaded: "
    assert message.startswith(start)
    assert message.endswith(".")
    assert "\n" not in message
    return message.removeprefix(start)


def refused(data, tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
    return refusal(path)


NOT_JSON = "it is not JSON, or was cut off or damaged at line "


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", NOT_JSON + "1."),
        (b"a,b\n1,2\n", NOT_JSON + "1."),
        (b'{"format": "treemeans-model"', NOT_JSON + "1."),
        (b"\x80\x04\x95", "it is not text in UTF-8."),
        (b"\xff\xfe{\x00}\x00", "it is not text in UTF-8."),
        (b"[" * 100_000, "its lists are nested too deeply."),
        (b'{"a":' * 100_000, "its lists are nested too deeply."),
        (b"9" * 10_000, "it holds a number that is too long."),
        (b'{"a": NaN}', "it holds NaN, which is no number."),
        (b'{"a": -Infinity}', "it holds -Infinity, which is no number."),
        (b'{"a": 1, "a": 1}', "it has two entries 'a' in one place."),
        (b"[]", "it is not a model of treemeans."),
        (b"{}", "it is not a model of treemeans."),
        (b'{"format": "onnx"}', "it is not a model of treemeans."),
        (b'{"format": "treemeans-model"}', "version is missing."),
        (
            b'{"format": "treemeans-model", "version": 3, "what": "ever"}',
            "it was written by a newer treemeans (version 3); update.",
        ),
        (b'{"format": "treemeans-model", "version": true}', "version must be a whole number."),
        (
            b'{"format": "treemeans-model", "version": 1, "model": "os.system"}',
            "it holds a model 'os.system', which is unknown.",
        ),
    ],
)
def test_other_files(data, reason, tmp_path):
    assert refused(data, tmp_path) == reason


def test_no_file(tmp_path):
    assert refusal(tmp_path / "missing.json") == "there is no such file."
    assert refusal(tmp_path) == "it is not a file."
    assert refusal("a\0b") == "there is no such file."
    with pytest.raises(TypeError):
        load(0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
def test_files_that_never_end_or_cannot_be_read():
    assert refusal("/dev/zero") == "it is not a file."
    assert refusal("/proc/self/mem") == "Input/output error."


def test_every_cut_off_file_is_refused(document, tmp_path):
    for end in np.linspace(0, len(document) - 3, 60).astype(int):
        assert refused(document[:end], tmp_path).startswith(NOT_JSON)


def edit(document, path, value):
    """The document with another value at a path, or without it."""
    changed = json.loads(document)
    *way, last = path
    place = changed
    for key in way:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(changed)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (["spread"], ..., "spread is missing."),
        (["tree", "left"], ..., "tree.left is missing."),
        (["surprise"], 1, "it has an entry 'surprise', which is unknown."),
        (["tree", "surprise"], 1, "tree has an entry 'surprise', which is unknown."),
        (["columns", 0, "surprise"], 1, "columns[0] has an entry 'surprise', which is unknown."),
        (["tree"], [], "tree must be an object."),
        (["columns"], {}, "columns must be a list of objects."),
        (["columns"], [], "columns must be a list of at least 1."),
        (["columns", 1, "name"], 7, "columns[1].name must be a text."),
        (["columns", 1, "complete"], 1, "columns[1].complete must be true or false."),
        (["columns", 1, "kind"], "x", "a column is invalid: A column is of a kind in "),
        (["columns", 1], {"name": "a", "kind": "date"}, "a column is invalid: Dates are counted "),
        (["short"], 0, "short must be true or false."),
        (["n_leaves"], 999, "n_leaves must be from 3 to 9."),
        (["n_leaves"], 3.0, "n_leaves must be a whole number."),
        (["n_leaves"], True, "n_leaves must be a whole number."),
        (["n_iter"], -1, "n_iter must be from 0 to "),
        (["feature_names"], ["a"], "feature_names must be a list of 4 texts."),
        (["feature_names"], ["a", "b", "c", 4], "feature_names must hold texts."),
        (["reference", "centers"], [], "reference.centers must have rows of 4 numbers each."),
        (["reference", "centers", 0], [1.0], "reference.centers must have rows of 4 numbers each."),
        (["reference", "centers", 0], "abcd", "reference.centers must have rows of 4 numbers"),
        (["reference", "cost"], -1.0, "reference.cost holds a number below 0."),
        (["reference", "cost"], "1", "reference.cost must hold numbers."),
        (["reference", "pipeline"], True, "profile must be an object."),
        (["tree", "feature", 0], 2**31, "tree.feature must hold numbers from -1 to 3."),
        (["tree", "feature", 0], 4, "tree.feature must hold numbers from -1 to 3."),
        (["tree", "feature", 0], True, "tree.feature must hold whole numbers."),
        (["tree", "feature"], [], "the tree has no nodes."),
        (["tree", "threshold", 0], None, "the tree is invalid: Node 0 of the tree has a threshold"),
        (["tree", "threshold", 0], False, "tree.threshold must hold numbers."),
        (["tree", "threshold", 0], 10**400, "tree.threshold holds a number that is too large."),
        (["tree", "threshold"], [1.0], "tree.threshold must be a list of 17 numbers."),
        (["tree", "left", 0], 0, "the tree is invalid: Node 0 of the tree has a child 0"),
        (
            ["tree", "left", 2],
            1,
            "the tree is invalid: Node 1 of the tree is the child of two nodes.",
        ),
        (["tree", "label", 0], 3, "tree.label must hold numbers from 0 to 2."),
        (["tree", "label", 0], -1, "tree.label must hold numbers from 0 to 2."),
        (["tree", "growth", 0], 3, "the tree is invalid: growth of a tree must number its cuts"),
        (
            ["tree", "above", 0],
            -1e300,
            "the tree is invalid: gap of a tree must have the threshold",
        ),
        (["tree", "weight", 0], -1, "tree.weight holds a number below 0."),
        (["tree", "costs", 0], [1.0, 2.0], "tree.costs must have rows of 3 numbers each."),
        (["tree", "costs", 0, 0], None, "tree.costs must hold numbers."),
        (["sizes"], [], "sizes must be a list of at least 1."),
        (["sizes"], [{}] * 99, "sizes has more entries than the tree has leaves."),
        (["sizes", 0], {}, "sizes does not have a tree of 3 leaves where it should."),
        (["sizes", 0, "cut"], [0, 0], "sizes[0].cut names a node twice."),
        (["sizes", 0, "cut"], [0, 4], "sizes does not have a tree of 3 leaves where it should."),
        (["sizes", 0, "uncut"], [0], "sizes does not have a tree of 3 leaves where it should."),
        (["sizes", 1, "cut"], [99], "sizes[1].cut must hold numbers from 0 to 16."),
        (["sizes", 1, "node"], [1], "sizes[1].label is missing."),
        (["path", "accuracy"], [1.0], "path.accuracy must be a list of 7 numbers."),
        (["path", "kmeans_cost", 0], None, "path.kmeans_cost must hold numbers."),
        (["centers", 0, 0], None, "centers must hold numbers."),
        (["hits", 0, 0], -1.0, "hits holds a number below 0."),
        (["sums", "leaves"], [[]], "sums.leaves must be a list of 9 rows."),
        (["sums", "shift"], [0], "sums.shift must be a list of 4 numbers."),
        (["spread", 0], -1e-9, "spread holds a number below 0."),
        (["parameters"], [], "parameters must be an object."),
        (["parameters", "__class__"], 1, "the model has no parameter '__class__'."),
        (["parameters", "n_jobs"], 0, "parameters.n_jobs must be null or a whole number other"),
        (["parameters", "n_jobs"], 1.5, "parameters.n_jobs must be null or a whole number other"),
        (["parameters", "refine"], {"a": 1}, "parameters.refine.pairs is missing."),
        (["parameters", "refine"], {"pairs": [[1]]}, "parameters.refine.pairs must be a list of"),
        (["parameters", "refine"], {"pairs": [[None, 1]]}, "parameters.refine.pairs must have"),
        (["parameters", "refine"], [[[1]]], "parameters.refine is not a plain value."),
        (["parameters", "refine"], 2**63, "parameters.refine is not a plain value."),
        (["left_out"], ["n"], "the model has no parameter 'n'."),
        (["left_out"], [1], "left_out must hold texts."),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, list) else None,
)
def test_documents_that_are_wrong_in_one_place(document, path, value, reason, tmp_path):
    assert refused(edit(document, path, value), tmp_path).startswith(reason)


MIXED = next(path for path in GOLDEN if path.stem == "model-v2-mixed").read_text(encoding="utf-8")
COUNTRY = {"name": "country", "kind": "codes"}


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (["version"], 1, "columns[1] has an entry 'categories', which is unknown."),
        (["columns", 1], COUNTRY | {"categories": "DE"}, "columns[1].categories must be a list"),
        (["columns", 1], COUNTRY | {"categories": [1]}, "columns[1].categories must hold texts."),
        (
            ["columns", 1],
            COUNTRY | {"categories": ["a", "a"]},
            "a column is invalid: The categories",
        ),
        (["columns", 1, "kind"], "date", "a column is invalid: Dates are counted in"),
        (["columns", 1, "kind"], "number", "a column is invalid: Only a column of codes has"),
        (["tree", "missing_left"], ..., "the tree is invalid: Node 2 of the tree has a threshold"),
        (["tree", "missing_left"], [0], "tree.missing_left must be a list of 7 whole numbers."),
        (["tree", "missing_left", 0], 2, "tree.missing_left must hold numbers from -1 to 1."),
        (["tree", "missing_left", 2], -1, "the tree is invalid: Node 2 of the tree has a thresh"),
        (["tree", "categories"], [[0]], "tree.categories must be a list of 7 lists."),
        (
            ["tree", "categories", 0],
            {},
            "tree.categories[0].codes must be a list of whole numbers.",
        ),
        (["tree", "categories", 0], [0.5], "tree.categories[0].codes must hold whole numbers."),
        (["tree", "categories", 0], [-1], "tree.categories[0].codes must hold numbers from 0 to"),
        (["tree", "categories", 0], [2, 0], "the tree is invalid: The category codes of node 0"),
        (["tree", "categories", 3], [1], "the tree is invalid: Node 3 of the tree is a leaf"),
        (["tree", "threshold", 0], 1.0, "the tree is invalid: Node 0 of the tree has a threshold"),
    ],
)
def test_mixed_trees_that_are_wrong_in_one_place(path, value, reason, tmp_path):
    assert refused(edit(MIXED, path, value), tmp_path).startswith(reason)


@pytest.fixture(scope="module")
def limited():
    """The document of a model with figures of groups, a certificate and counts of categories."""
    plan = np.where(np.arange(150) % 3 == 0, "basic", "team")
    table = pd.DataFrame(IRIS, columns=list("abcd")).assign(plan=plan)
    groups = {"g": np.where(np.arange(150) % 2 == 0, "f", "m"), "age": np.arange(150.0) % 40}
    model = ExKMC(
        3, balance={"g": (0.4, 0.6)}, protected=["age"], max_leaf_nodes=4, random_state=0
    ).fit(table, groups=groups)
    proof = ExKMC(3, refine="optimal", reference=kmeans(IRIS, 3)).fit(IRIS).certificate_
    model._fit_result = replace(model._fit_result, certificate=proof)
    with TemporaryDirectory() as folder:
        return saved(model, Path(folder)).read_text(encoding="utf-8")


def test_figures_certificates_and_counts_come_back(limited, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(limited, encoding="utf-8")
    assert saved(load(path), tmp_path, "again.json").read_text(encoding="utf-8") == limited
    document = json.loads(limited)
    assert document["groups"]["balanced"][0]["high"] == 0.6
    assert document["certificate"]["status"] == "optimal"
    assert document["categories"]


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (["groups", "surprise"], 1, "groups has an entry 'surprise', which is unknown."),
        (["groups", "protected", 0, "surprise"], 1, "groups.protected[0] has an entry 'surprise'"),
        (["groups", "protected", 0, "column"], 1, "groups.protected[0].column must be a text."),
        (["groups", "protected", 0, "revealed", 0], -0.5, "groups.protected[0].revealed holds a"),
        (["groups", "balanced", 0, "surprise"], 1, "groups.balanced[0] has an entry 'surprise'"),
        (["groups", "balanced", 0, "value"], 1, "groups.balanced[0].value must be a text."),
        (["groups", "balanced", 0, "low"], -0.1, "groups.balanced[0].low holds a number below 0."),
        (["groups", "balanced", 0, "high"], -1.0, "groups.balanced[0].high holds a number below"),
        (["groups", "balanced", 0, "shares"], [], "groups.balanced[0].shares must be a list of "),
        (["certificate", "kind"], "x", "its certificate is of an unknown kind."),
        (["certificate", "status"], "x", "its certificate is of an unknown kind."),
        (["certificate", "lower_bound"], 1e9, "its certificate has a lower bound above the cost."),
        (["certificate", "n_leaves"], 0, "certificate.n_leaves must be from 1 to "),
        (["certificate", "surprise"], 1, "certificate has an entry 'surprise', which is unknown."),
        (["categories", 0, "codes"], [1, 0], "the categories of a column must ascend."),
        (["categories", 0, "codes"], [0, 0], "the categories of a column must ascend."),
        (["categories", 0, "codes"], [0, 9], "categories[0].codes must hold numbers from 0 to 1."),
        (["categories", 0, "surprise"], 1, "categories[0] has an entry 'surprise', which is"),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, list) else None,
)
def test_limited_models_that_are_wrong_in_one_place(limited, path, value, reason, tmp_path):
    assert refused(edit(limited, path, value), tmp_path).startswith(reason)


def test_a_file_of_version_1_has_no_other_splits(tmp_path):
    document = edit(edit(MIXED, ["version"], 1), ["columns", 1], {"name": "country"})
    reason = "tree has an entry 'missing_left', which is unknown."
    assert refused(document, tmp_path) == reason


def test_numbers_too_large_for_a_float(document, tmp_path):
    text = edit(document, ["tree", "threshold", 0], 12345.678).replace("12345.678", "1e999")
    assert refused(text, tmp_path) == "tree.threshold holds a number that is too large."


def test_means_too_large_for_a_float(document, tmp_path):
    hits = json.loads(document)["hits"]
    document = edit(document, ["hits"], [[1e-300] * len(of_leaf) for of_leaf in hits])
    document = edit(document, ["sums", "leaves", 0, 0], 1e300)
    assert refused(document, tmp_path) == "its sums are too large for its weights."


def test_messages_are_short_whatever_the_file_says(document, tmp_path):
    assert len(refused(edit(document, ["columns", 1, "kind"], "x\n" * 10**5), tmp_path)) < 400


def test_a_mark_at_the_start_that_some_editors_leave(document, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(document, encoding="utf-8-sig")
    assert load(path).n_leaves_ == 9


def test_whole_numbers_will_do_for_numbers(document, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(edit(document, ["spread", 0], 1), encoding="utf-8")
    assert load(path)._fit_result.spread[0] == 1.0


def test_a_saved_baseline_is_known_without_having_been_used(tmp_path):
    baselines.CART(3, random_state=0).fit(load_iris().data).save(tmp_path / "cart.json")
    code = (
        f"import treemeans; print(type(treemeans.load({str(tmp_path / 'cart.json')!r})).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "CART"
