"""The data sets of the paper: their sizes, their contents, and the folder they are kept in."""

import dataclasses
import hashlib

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets as sklearn_datasets

from tests.helpers.datasets import stored
from treemeans.datasets import NAMES, TABLE, Dataset, load, synthetic_1, synthetic_2
from treemeans.datasets.dataset_store import data_folder, read, write
from treemeans.datasets.prepared_data import Prepared, check_size, digest
from treemeans.datasets.sources import SOURCES, newsgroups

SMALL = ("iris", "wine", "breast_cancer", "digits")
# Table 1 of the paper, once more: k, n, d.
PAPER = {
    "iris": (3, 150, 4),
    "wine": (3, 178, 13),
    "breast_cancer": (2, 569, 30),
    "digits": (10, 1_797, 64),
    "mice_protein": (8, 1_080, 69),
    "anuran": (10, 7_195, 22),
    "avila": (12, 20_867, 10),
    "covtype": (7, 581_012, 54),
    "20newsgroups": (20, 18_846, 1_893),
    "cifar10": (10, 50_000, 3_072),
    "synthetic_1": (3, 5_000, 1_000),
    "synthetic_2": (30, 30_000, 1_000),
}


# ---- all sets ------------------------------------------------------------------------------------


def test_the_table_is_that_of_the_paper():
    assert TABLE == PAPER
    assert tuple(PAPER) == NAMES


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ("cifar10", "covtype") else name
        for name in NAMES
    ],
)
def test_every_set_has_the_size_of_the_paper(name):
    data = stored(name)
    k, n, d = PAPER[name]
    assert (data.name, data.k, data.X.shape, data.y.shape) == (name, k, (n, d), (n,))
    assert data.y.dtype == np.intp
    assert np.unique(data.y).tolist() == list(range(k))
    assert (len(set(data.feature_names)), len(set(data.target_names))) == (d, k)
    assert all(type(s) is str for s in data.feature_names + data.target_names)
    assert sparse.issparse(data.X) == (name == "20newsgroups")
    if not sparse.issparse(data.X):
        assert data.X.flags.c_contiguous


@pytest.mark.parametrize("name", SMALL)
def test_sets_of_scikit_learn(name):
    theirs = getattr(sklearn_datasets, f"load_{name}")()
    ours = load(name)
    np.testing.assert_array_equal(ours.X, theirs.data)
    np.testing.assert_array_equal(ours.y, theirs.target)
    assert ours.feature_names == tuple(theirs.feature_names)


def test_facts_known_of_the_real_sets():
    covtype = stored("covtype")
    # The description that comes with the set gives these numbers.
    assert np.bincount(covtype.y).tolist() == [211840, 283301, 35754, 2747, 9493, 17367, 20510]
    assert (covtype.X[:, 0].min(), covtype.X[:, 0].max()) == (1859, 3858)
    assert (covtype.X[:, 10:14].sum(axis=1) == 1).all()
    assert (covtype.X[:, 14:].sum(axis=1) == 1).all()
    mice = stored("mice_protein")
    assert sorted(np.bincount(mice.y)) == [105, 135, 135, 135, 135, 135, 150, 150]
    cifar = stored("cifar10")
    assert np.bincount(cifar.y).tolist() == [5000] * 10
    means = cifar.X.reshape(-1, 3, 1024).mean(axis=(0, 2)) / 255
    np.testing.assert_allclose(means, [0.49139968, 0.48215841, 0.44653091], atol=5e-9)
    assert (
        hashlib.sha256(cifar.X).hexdigest().startswith("9d5c2eddadb0deff02c14c350c0385aab7b1d5ff")
    )


# How many messages of each newsgroup are in each half of the published file.
TRAIN = "480 584 591 590 578 593 585 594 598 597 600 595 591 594 593 599 546 564 465 377"
TEST = "319 389 394 392 385 395 390 396 398 397 399 396 393 396 394 398 364 376 310 251"


def test_messages_are_in_the_order_of_scikit_learn():
    data = stored("20newsgroups")
    halves = [
        np.repeat(np.arange(20), [int(count) for count in counts.split()])
        for counts in (TRAIN, TEST)
    ]
    shuffled = np.concatenate([half[newsgroups._shuffled(len(half), 0)] for half in halves])
    np.testing.assert_array_equal(data.y, shuffled[newsgroups._shuffled(len(shuffled), 42)])
    assert data.target_names[data.y[0]] == "rec.sport.hockey"


def test_a_type_may_be_asked_for():
    assert load("digits").X.dtype == np.float64
    assert load("digits", np.float32).X.dtype == np.float32
    assert load("synthetic_2", None).X.dtype == np.int8
    for dtype in (int, np.uint8, bool, str, "float65", np.float16, ">f8", 3, [float]):
        with pytest.raises(ValueError, match=r"dtype must be float64, float32, or None .*; got"):
            load("iris", dtype)


@pytest.mark.parametrize("name", ["mnist", "", "Iris", None, 3, ["iris"], "../iris"])
def test_an_unknown_name(name):
    with pytest.raises(ValueError, match=r"name must be one of iris, wine, .*, synthetic_2; got"):
        load(name)


def test_a_dataset_cannot_be_changed_and_reads_well():
    data = load("iris")
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.k = 4
    assert repr(data) == "Dataset('iris': 150 x 4, k=3)"
    assert isinstance(data, Dataset)
    assert data != load("iris")  # by identity: arrays have no one answer
    assert data == data


# ---- generated sets ------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d", "flips"), [(5000, 1000, 100), (9, 12, 3), (4, 5, 1)])
def test_synthetic_1_is_as_the_paper_says(n, d, flips):
    X, y = synthetic_1(seed=3, n=n, d=d, flips=flips)
    assert X[:2].tolist() == [[1000.0] + [1.0] * (d - 1), [1000.0] + [0.0] * (d - 1)]
    assert np.bincount(y).tolist() == [2, (n - 2) // 2, n - 2 - (n - 2) // 2]
    assert (X[2:, 0] == 0).all()
    assert np.isin(X[2:], [0, 1]).all()
    assert (X[y == 1, 1:].sum(axis=1) == d - 1 - flips).all()
    assert (X[y == 2, 1:].sum(axis=1) == flips).all()
    if flips == 100:  # every column is drawn about equally often
        drawn = X[y == 2, 1:].sum(axis=0) / (n / 2)
        assert abs(drawn - 100 / 999).max() < 0.03


@pytest.mark.parametrize(("k", "d"), [(9, 200), (4, 7), (1, 1)])
def test_synthetic_2_is_as_the_paper_says(k, d):
    X, y = synthetic_2(seed=3, k=k, d=d)
    assert np.bincount(y).tolist() == [d] * k
    assert np.isin(X, [-1, 0, 1]).all()
    rows, columns = np.nonzero(X == 0)
    assert (rows % d == columns).all()
    assert len(rows) == k * d
    for c in range(k):
        mine = X[y == c].astype(int)
        assert (abs(mine.sum(axis=0)) == d - 1).all()  # one codeword, wiped once in each column


def test_draws_depend_on_the_seed_only():
    for draw, size in ((synthetic_1, {"n": 30, "d": 200}), (synthetic_2, {"k": 3, "d": 50})):
        np.testing.assert_array_equal(draw(5, **size)[0], draw(5, **size)[0])
        assert not np.array_equal(draw(5, **size)[0], draw(6, **size)[0])
    np.testing.assert_array_equal(stored("synthetic_1").X, synthetic_1(0)[0])


# ---- the checksum, and what is kept in a folder --------------------------------------------------


def a_set(X=((1.5, 2), (3, 4)), y=(0, 1), names=("a", "b"), classes=("c", "d")):
    X = X if sparse.issparse(X) else np.array(X)
    return Prepared(X, np.array(y), tuple(names), tuple(classes))


def test_the_checksum_sees_every_change_and_nothing_else():
    plain = digest(a_set())
    other_ways = [np.asfortranarray(a_set().X), a_set().X.astype(">f8"), a_set().X[::-1][::-1]]
    assert {digest(a_set(X)) for X in other_ways} == {plain}
    changed = [
        a_set(((1.5, 2), (3, 4.000000000000001))),
        a_set(((1.5, 3), (2, 4))),
        a_set(np.array([[1.5, 2, 3, 4]])),
        a_set(np.array([[1.5, 2], [3, 4]], dtype=np.float32)),
        a_set(y=(1, 0)),
        a_set(names=("b", "a")),
        a_set(names=("a, b",)),
        a_set(classes=("c", "e")),
        a_set(sparse.csr_matrix([[1.5, 2], [3, 4]])),
    ]
    assert len({plain, *map(digest, changed)}) == len(changed) + 1


def test_the_checksum_of_a_sparse_table_does_not_depend_on_the_order_of_its_entries():
    X = sparse.random(20, 7, 0.3, format="csr", random_state=0)
    turned = X.copy()
    for row in range(20):  # each row from the last column to the first
        here = slice(X.indptr[row], X.indptr[row + 1])
        turned.indices[here], turned.data[here] = X.indices[here][::-1], X.data[here][::-1]
    turned.has_sorted_indices = False
    assert digest(a_set(turned)) == digest(a_set(X))
    assert not turned.has_sorted_indices  # and the table is left as it was


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (a_set(((1.5, 2, 3), (3, 4, 5))), "have 2 rows and 2 columns; got 2 and 3"),
        (a_set(y=(0, 2)), "a class from 0 to 1"),
        (a_set(y=(0, 0)), "a class from 0 to 1"),
        (a_set(y=(0, 1, 1)), "a class from 0 to 1"),
        (a_set(names=("a",)), "2 different names of columns"),
        (a_set(names=("a", "a")), "2 different names of columns"),
        (a_set(classes=("c",)), "2 names of classes"),
        (a_set(((1.5, np.nan), (3, 4))), "missing or infinite"),
        (a_set(sparse.csr_matrix([[np.inf, 2], [3, 4]])), "missing or infinite"),
    ],
)
def test_a_table_of_another_size_is_refused(data, problem):
    with pytest.raises(ValueError, match=f"toy must .*{problem}"):
        check_size(data, type(TABLE["iris"])(2, 2, 2), "toy")


@pytest.mark.parametrize(
    "X", [[[1.5, 2], [3, 4]], sparse.csr_matrix(np.array([[0, 2], [3, 0]], dtype=np.uint16))]
)
def test_what_is_written_is_read_again(tmp_path, X):
    data = a_set(X, names=("a, \n", '"😀<img onerror=x>'))
    write(tmp_path, "toy", data)
    again = read(tmp_path, "toy", SOURCES["avila"])
    assert digest(again) == digest(data)
    assert again.feature_names == data.feature_names
    assert [path.name for path in tmp_path.iterdir()] == ["toy.npz"]


def test_a_damaged_or_strange_file_is_refused(tmp_path):
    path = tmp_path / "avila.npz"
    write(tmp_path, "avila", a_set())
    good = path.read_bytes()
    for bad in (
        b"",
        b"no zip file",
        good[: len(good) // 2],
        good.replace(b"\xf8\x3f", b"\xf9\x3f"),
    ):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"avila in .* cannot be read: delete its file"):
            load("avila", folder=tmp_path)
    for arrays in ({"X": np.eye(2)}, {"X": np.array([{}])}, {"X": np.array(["a"])}):
        names = {"feature_names": ["a"], "target_names": ["b"], "y": [0]}
        np.savez(path, **(names if arrays["X"].dtype != float else {}), **arrays)
        with pytest.raises(ValueError, match=r"avila in .* cannot be read: delete its file"):
            load("avila", folder=tmp_path)
    np.savez(path, X=np.eye(2), y=[0, 1], feature_names=["a", "b"], target_names=["c", "d"])
    with pytest.raises(
        ValueError, match=r"is damaged or not the right one.*SHA-256.*, not 4864b53d"
    ):
        load("avila", folder=tmp_path)
    write(tmp_path, "avila", a_set())  # sound, but not Avila
    with pytest.raises(ValueError, match=r"must have 20867 rows and 10 columns; got 2 and 2\."):
        load("avila", folder=tmp_path)


def test_which_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("TREEMEANS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_folder(None) == tmp_path / "treemeans"
    monkeypatch.setenv("TREEMEANS_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"TREEMEANS_DATA must be a folder that exists"):
        load("avila")
    with pytest.raises(FileNotFoundError, match=r"folder must be a folder that exists; got .*gone"):
        load("avila", folder=tmp_path / "gone")
    monkeypatch.setenv("TREEMEANS_DATA", str(tmp_path))
    assert data_folder(None) == tmp_path
    with pytest.raises(FileNotFoundError, match=r"avila is not in .*: put avila.npz there, or"):
        load("avila", download=False)
    assert load("iris", folder=tmp_path / "gone").k == 3  # needs none
