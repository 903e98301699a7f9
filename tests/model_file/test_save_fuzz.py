"""Whatever a file holds: either a model that works, or one sentence."""

import copy
import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from treemeans import export_text, load
from treemeans.model_file.save_load import ModelFileError

FILES = sorted((Path(__file__).parents[1] / "golden").glob("model-v*.json"))
TEXTS = [path.read_text(encoding="utf-8") for path in FILES]
DOCUMENTS = [json.loads(text) for text in TEXTS]

JUNK = [None, True, False, 0, 1, -1, 2, 3, 7, 2**31, -(2**31) - 1, 2**63, 10**400, 0.0, -0.0, 0.5]
JUNK += [-1.5, 1e-320, 1e300, -1e300, 1e308, float("nan"), float("inf"), "", "x", "D", "date"]
JUNK += [
    "category",
    "codes",
    "ExKMC",
    "ns",
    "\ud800",
    [],
    {},
    [[]],
    [{}],
    [0, 1, 2],
    [[0], [], [2, 1]],
    {"pairs": [[0, 1]]},
]


def places(value, path=()):
    """Every path to a value inside a document."""
    yield path
    if isinstance(value, dict | list):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield from places(value[key], (*path, key))


# By entry of the document, so that the long ones do not take all the changes.
PLACES = [
    {key: list(places(value, (key,))) for key, value in document.items()} for document in DOCUMENTS
]


def change(document, draw, path):
    """One change at a path: another value, none, twice, or that of another place."""
    *way, last = path
    place = document
    for key in way:
        place = place[key]
    how = draw(st.sampled_from(["junk", "junk", "delete", "repeat", "swap", "scale", "new"]))
    if how == "junk":
        place[last] = draw(st.sampled_from(JUNK))
    elif how == "delete":
        del place[last]
    elif how == "repeat" and isinstance(place, list):
        place.insert(last, copy.deepcopy(place[last]))
    elif how == "swap" and isinstance(place, list):
        other = draw(st.integers(0, len(place) - 1))
        place[last], place[other] = place[other], place[last]
    elif how == "scale" and isinstance(place[last], float):
        place[last] *= draw(st.sampled_from([-1.0, 1e-300, 1e300, 1.0 + 1e-15]))
    elif how == "new" and isinstance(place, dict):
        place[
            draw(
                st.sampled_from(
                    ["x", "kind", "unit", "uncut", "typed", "n_jobs", "categories", "missing_left"]
                )
            )
        ] = 1


@st.composite
def changed_documents(draw):
    which = draw(st.integers(0, len(DOCUMENTS) - 1))
    document = copy.deepcopy(DOCUMENTS[which])
    for _ in range(draw(st.integers(1, 3))):
        head = draw(st.sampled_from(sorted(PLACES[which])))
        path = draw(st.sampled_from(PLACES[which][head]))
        with suppress(KeyError, IndexError, TypeError):  # an earlier change took the place away
            change(document, draw, path)
    return json.dumps(document).encode()


@st.composite
def changed_bytes(draw):
    data = bytearray(draw(st.sampled_from(TEXTS)).encode())
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data) - 1))
        how = draw(st.sampled_from(["set", "insert", "delete", "cut"]))
        if how == "set":
            data[at] = draw(st.sampled_from(b'0123456789-.,eE[]{}":\\ntf \x00\xff'))
        elif how == "insert":
            piece = draw(st.sampled_from([b"9" * 400, b"[", b"1e999", b"NaN", b",", b"\xc3", b"0"]))
            data[at:at] = piece
        else:
            del data[at : at + draw(st.integers(1, 40)) if how == "delete" else len(data)]
            data = data or bytearray(b" ")
    return bytes(data)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "model.json"


def check(path, data):
    path.write_bytes(data)
    try:
        model = load(path)
    except ModelFileError as error:
        message = str(error)
        assert message.endswith(".")
        assert "\n" not in message
        assert len(message) < 600
        return False
    use(model)
    return True


def use(model):
    """A model that was loaded does what models do."""
    X = np.random.default_rng(0).normal(size=(20, model.n_features_in_))
    if hasattr(model, "feature_names_in_"):
        import pandas as pd

        X = pd.DataFrame(X, columns=model.feature_names_in_)
        for column in model.columns_:
            if column.is_date and column.typed:
                X[column.name] = pd.to_datetime(X[column.name], unit="D")
    with np.errstate(all="ignore"):  # numbers may be absurd
        for n_leaves in model._fit_result.path["n_leaves"].tolist():
            smaller = model.with_leaves(n_leaves)
            clusters = smaller.predict(X)
            assert clusters.min() >= 0
            assert clusters.max() < smaller.tree_.n_clusters
            assert smaller._facts.tree == smaller.tree_
            export_text(smaller)


@examples(200)
@given(changed_documents())
def test_changed_documents(path, data):
    check(path, data)


@examples(100)
@given(changed_bytes())
def test_changed_bytes(path, data):
    check(path, data)


def test_unchanged_files_load(path):
    for text in TEXTS:
        assert check(path, text.encode())
