"""Parameters with new names: the old ones work, warn, and are read from saved models."""

import json
import pickle
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import treemeans
from treemeans import ExKMC
from treemeans.renamed_parameters import RENAMED

pytestmark = pytest.mark.usefixtures("one_thread")
X = load_iris().data
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
SEARCH = {"n_clusters": 3, "refine": "search", "random_state": 0}
RANDOM = {"n_clusters": 3, "base_tree": "random", "random_state": 0}


@pytest.mark.parametrize(
    ("old", "new", "value", "how"),
    [("max_iter", "search_rounds", 3, SEARCH), ("n_init", "n_random_trees", 2, RANDOM)],
)
def test_the_old_name_does_the_same_and_warns(old, new, value, how):
    wanted = ExKMC(**how, **{new: value}).fit(X)
    model = ExKMC(**how, **{old: value})
    said = f"{old} is now called {new}"
    with pytest.warns(FutureWarning, match=said) as caught:
        model.fit(X)
    assert caught[0].filename == __file__
    assert model.tree_ == wanted.tree_
    assert model.n_iter_ == wanted.n_iter_
    copied = clone(model)
    assert getattr(copied, old) == value
    with pytest.warns(FutureWarning, match=said):
        assert copied.fit(X).tree_ == wanted.tree_
    with pytest.warns(FutureWarning, match=said):
        assert ExKMC(**how).set_params(**{old: value}).fit(X).tree_ == wanted.tree_
    assert getattr(pickle.loads(pickle.dumps(model)), old) == value


@pytest.mark.parametrize("old", RENAMED)
def test_bad_values_of_an_old_name_are_refused(old):
    with (
        pytest.warns(FutureWarning, match=old),
        pytest.raises(ValueError, match=f"{RENAMED[old]} must be an integer"),
    ):
        ExKMC(3, **{old: -1}).fit(X)


def test_files_have_the_new_names_and_old_files_load(tmp_path):
    path = tmp_path / "model.json"
    ExKMC(**SEARCH, search_rounds=3).fit(X).save(path)
    saved = json.loads(path.read_text())["parameters"]
    assert saved["search_rounds"] == 3
    assert not saved.keys() & RENAMED.keys()
    with pytest.warns(FutureWarning, match="max_iter"):
        ExKMC(**SEARCH, max_iter=3).fit(X).save(path)
    again = treemeans.load(path)
    assert again.search_rounds == 3
    again.fit(X)  # warns no more
    old = treemeans.load(GOLDEN / "model-v1-grown.json")
    assert (old.search_rounds, old.n_random_trees, old.max_iter) == (None, 10, "deprecated")
