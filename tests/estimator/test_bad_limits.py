"""Limits and efforts that cannot be get one clear sentence, before any work is done."""

import numpy as np
import pytest

from tests.estimator.test_bad_input import CENTERS, X, fit_refused, given, one_sentence
from treemeans import ExKMC

NAN, INF = float("nan"), float("inf")


def sentence_for(rows=X, **parameters):
    """The sentence with which a fit is refused."""
    message = fit_refused(given(**parameters), rows, ".")
    assert one_sentence(message)
    return message


def names_and_value(message, name, value):
    return message.startswith(name) and f"got {value!r}." in message


# ---- numbers -------------------------------------------------------------------------------------

BAD = {
    "refine": ["fast", "None", "", None, 1, True, ["local"], np.array(["local"])],
    "search_rounds": [-1, 2.5, "10", True, NAN, [5], 10.0],
    "max_time": [-1, -0.5, "long", NAN, INF, True, [1.0], 1j],
    "min_samples_leaf": [0, -1, -0.1, 0.0, "5", None, NAN, INF, True, False, [3]],
    "max_depth": [0, -1, 2.0, "2", True, NAN, [3]],
    "n_random_trees": [0, -1, 1.5, "10", None, True, NAN],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in BAD.items() for value in values],
    ids=lambda value: value if isinstance(value, str) else repr(value),
)
def test_one_sentence_says_what_it_must_be(name, value):
    message = sentence_for(**{name: value})
    assert names_and_value(message, f"{name} must be ", value)


def test_the_choice_of_refinements_is_said():
    assert '"none", "local", "search"' in sentence_for(refine="fast")


GOOD = {
    "search_rounds": [0, 3, np.int64(3)],
    "max_time": [0, 0.01, np.float32(0.01)],
    "min_samples_leaf": [1, 1.0, 2.5, 0.01, np.int32(3), np.float32(0.25), 10**30],
    "max_depth": [1, np.uint8(3)],
    "n_random_trees": [1, np.int64(2)],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in GOOD.items() for value in values]
)
@pytest.mark.parametrize("refine", ["none", "local", "search"])
def test_what_is_good(name, value, refine):
    parameters = {"search_rounds": 2, "refine": refine, "base_tree": "random"} | {name: value}
    model = given(**parameters).fit(X)
    assert model.predict(X).tolist() == model.labels_.tolist()


def test_a_number_is_checked_before_the_reference_is_fitted():
    class Never:
        def fit(self, X, y=None):
            raise AssertionError("fitted")

    for name, values in BAD.items():
        message = fit_refused(ExKMC(3, reference=Never(), **{name: values[0]}), X, name)
        assert one_sentence(message)


# ---- features ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def frame():
    return pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))


NO_FEATURES = {
    "none": [],
    "no name": (),
    "mask of none": [False] * 4,
    "empty array": np.array([], dtype=int),
}


@pytest.mark.parametrize("allowed", NO_FEATURES.values(), ids=NO_FEATURES)
def test_no_feature_allowed(allowed):
    assert "allows no feature" in sentence_for(allowed_features=allowed)


@pytest.mark.parametrize("allowed", [2, 1.5, True, object()], ids=["2", "1.5", "True", "object"])
def test_no_list_of_features(allowed):
    message = sentence_for(allowed_features=allowed)
    assert message.startswith("allowed_features must be a list of features or a mask; got ")


NOT_A_FEATURE = {
    "too large": ([0, 4], 4),
    "too small": ([-5], -5),
    "float": ([1.0], 1.0),
    "nothing": ([None], None),
    "short mask": ([True, False], True),
    "long mask": ([True] * 5, True),
    "lists": ([[0], [0, 1]], [0]),
}


@pytest.mark.parametrize(("allowed", "culprit"), NOT_A_FEATURE.values(), ids=NOT_A_FEATURE)
def test_no_such_feature(allowed, culprit):
    message = sentence_for(allowed_features=allowed)
    assert message.startswith("allowed_features must hold names of features or numbers below 4")
    assert f"got {culprit!r}" in message


@pytest.mark.parametrize("name", ["e", "A", ""])
def test_no_such_name(frame, name):
    message = sentence_for(frame, allowed_features=["a", name])
    assert message == f"allowed_features names {name!r}, but X has no feature of that name."
    message = sentence_for(frame, feature_costs={"a": 0.1, name: 0.1})
    assert message == f"feature_costs names {name!r}, but X has no feature of that name."


def test_a_name_without_names():
    message = sentence_for(allowed_features=["petal width"])
    assert message == "allowed_features names 'petal width', but X has no feature names."
    message = sentence_for(feature_costs={"petal width": 0.1})
    assert message == "feature_costs names 'petal width', but X has no feature names."


BAD_COSTS = {
    "too few": [0.1, 0.1],
    "too many": [0.1] * 5,
    "table": [[0.1] * 4],
    "one number": 0.1,
    "negative": [0.1, -0.1, 0.0, 0.0],
    "NaN": [0.1, NAN, 0.0, 0.0],
    "infinite": [0.1, INF, 0.0, 0.0],
    "negative in a dict": {0: -0.1},
    "NaN in a dict": {0: NAN},
    "nothing in a dict": {0: None},
    "word in a dict": {0: "dear"},
    "list in a dict": {0: [0.1, 0.2]},
    "complex in a dict": {0: 1j},
    "word": "dear",
    "words": ["dear", 0.0, 0.0, 0.0],
    "uneven": [[0.1], [0.1, 0.2], [0.1], [0.1]],
    "thing": object(),
}


@pytest.mark.parametrize("costs", BAD_COSTS.values(), ids=BAD_COSTS)
def test_costs_of_features(costs):
    message = sentence_for(feature_costs=costs)
    assert message.startswith("feature_costs must be a dict or an array of 4 finite costs")


@pytest.mark.parametrize("feature", [4, -5, 1.5, None, (0, 1)], ids=repr)
def test_costs_of_no_feature(feature):
    message = sentence_for(feature_costs={feature: 0.1})
    assert message.startswith("feature_costs must hold names of features or numbers below 4")


def test_a_fit_that_is_refused_leaves_the_model_as_it_was():
    model = given().fit(X)
    labels = model.labels_
    for name, value in [("refine", "fast"), ("allowed_features", [9]), ("feature_costs", [1.0])]:
        with pytest.raises(ValueError, match=name):
            model.set_params(**{name: value}).fit(X)
        assert model.labels_ is labels
        model.set_params(**given().get_params())
    assert model.reference is CENTERS
