"""ExKMC at work: threads, interrupts, progress, arrays of every kind, very large trees."""

import itertools
import os
import pickle
import signal
import subprocess
import sys
import time

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

from tests.helpers.datasets import kmeans
from tests.helpers.plain_numpy import (
    assert_same_model,
    cluster_means,
    cost_to,
    random_weights,
)
from treemeans import ExKMC
from treemeans.threads import n_threads

IRIS = load_iris().data
pytestmark = pytest.mark.usefixtures("one_thread")


# ---- threads -------------------------------------------------------------------------------------


def large_table(n=30_000, d=12, k=8):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + 4 * rng.integers(3, size=(n, 1))
    return X, X[:: n // k][:k].copy()


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("base_tree", ["imm", "none"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_the_same_tree_for_any_number_of_threads(base_tree, form):
    X, centers = large_table(n=8_000)
    X = form(np.where(np.abs(X) < 1, 0.0, X))
    models = [
        ExKMC(None, max_leaf_nodes=30, reference=centers, base_tree=base_tree, n_jobs=n_jobs).fit(X)
        for n_jobs in (None, 1, 2, 3, -1)
    ]
    for model in models[1:]:
        assert_same_model(model, models[0])
        assert model.predict(X).tolist() == models[0].labels_.tolist()


def test_n_jobs_follows_joblib_and_threadpoolctl():
    available = min(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    with threadpool_limits(available):
        assert n_threads(None) == 1
        assert n_threads(1) == 1
        assert n_threads(2) == n_threads(-1) == available
        assert n_threads(1000) == available
        with joblib.parallel_config(backend="threading", n_jobs=2):
            assert n_threads(None) == available
    with threadpool_limits(1):
        assert n_threads(2) == n_threads(-1) == 1
        with joblib.parallel_config(backend="threading", n_jobs=2):
            assert n_threads(None) == 1


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_in_a_joblib_context(backend):
    X, centers = large_table(n=5_000)
    alone = ExKMC(None, reference=centers).fit(X)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert_same_model(ExKMC(None, reference=centers).fit(X), alone)


@pytest.mark.usefixtures("two_threads")
def test_fits_side_by_side():
    X, centers = large_table(n=5_000)
    alone = ExKMC(None, reference=centers).fit(X)
    models = joblib.Parallel(n_jobs=2, backend="threading")(
        joblib.delayed(ExKMC(None, reference=centers, n_jobs=2).fit)(X) for _ in range(6)
    )
    for model in models:
        assert_same_model(model, alone)


def run_script(script, *arguments, timeout=120):
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
    )


FORK = """
import os, signal, time
import numpy as np
from treemeans import ExKMC

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 8))
model = ExKMC(None, reference=X[:5], n_jobs=2)
labels = model.fit(X).labels_          # the parent's threads are up
child = os.fork()
if child == 0:
    same = np.array_equal(model.fit(X).labels_, labels) and np.array_equal(model.predict(X), labels)
    os._exit(0 if same else 3)
for _ in range(600):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        break
    time.sleep(0.1)
else:
    os.kill(child, signal.SIGKILL)
    raise SystemExit("the child hangs")
assert np.array_equal(model.fit(X).labels_, labels)   # and the parent's still work
raise SystemExit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_after_a_fork():
    done = run_script(FORK)
    assert done.returncode == 0, done.stderr


# ---- Ctrl-C --------------------------------------------------------------------------------------

LONG_FIT = """
import sys
import numpy as np
from treemeans import ExKMC

n, base_tree = 400_000, sys.argv[1]
rng = np.random.default_rng(0)
X = rng.normal(size=(n, 16))
model = ExKMC(None, reference=X[:24], base_tree=base_tree, max_leaf_nodes=n)
print("fitting", flush=True)
try:
    model.fit(X)
except KeyboardInterrupt:
    print("stopped", hasattr(model, "tree_"), flush=True)
else:
    print("finished", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals work otherwise on Windows")
@pytest.mark.parametrize(
    "wait", [pytest.param(0.05, marks=pytest.mark.slow), 1.5], ids=["early", "late"]
)
def test_ctrl_c_stops_a_long_fit(wait):
    with subprocess.Popen(
        [sys.executable, "-c", LONG_FIT, "none"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "fitting\n"
            time.sleep(wait)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert out == "stopped False\n"


# ---- verbose -------------------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch):
    """The progress bar comes at once."""
    monkeypatch.setattr("treemeans.progress._PATIENCE", 0.0)


def shown_on_a_terminal(monkeypatch, action):
    """What ``action`` writes on stderr where that is a terminal."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    try:
        with os.fdopen(slave, "w") as screen, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", screen)
            action()
            screen.write("|end|")
            screen.flush()
            text = ""
            while not text.endswith("|end|"):
                text += os.read(master, 4096).decode()
    finally:
        os.close(master)
    return text.removesuffix("|end|")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("base_tree", ["imm", "none"])
def test_a_bar_on_a_terminal(monkeypatch, base_tree):
    model = ExKMC(3, reference=kmeans(IRIS, 3), base_tree=base_tree, verbose=1)
    shown = shown_on_a_terminal(monkeypatch, lambda: model.fit(IRIS))
    assert shown.startswith("\rtreemeans: leaves [")
    assert "/6" in shown
    assert shown.endswith("\n")


@pytest.mark.usefixtures("impatient")
def test_no_bar_unless_asked_for(monkeypatch):
    model = ExKMC(3, reference=kmeans(IRIS, 3))
    assert shown_on_a_terminal(monkeypatch, lambda: model.fit(IRIS)) == ""


def test_no_bar_on_a_short_fit(monkeypatch):
    monkeypatch.setattr("treemeans.progress._PATIENCE", 3600.0)
    model = ExKMC(3, reference=kmeans(IRIS, 3), verbose=1)
    assert shown_on_a_terminal(monkeypatch, lambda: model.fit(IRIS)) == ""


@pytest.mark.usefixtures("impatient")
def test_no_bar_where_stderr_is_no_terminal(capfd):
    ExKMC(3, reference=kmeans(IRIS, 3), verbose=1).fit(IRIS)
    assert tuple(capfd.readouterr()) == ("", "")


def test_verbose_changes_nothing_else():
    loud = ExKMC(3, reference=kmeans(IRIS, 3), verbose=1).fit(IRIS)
    assert_same_model(loud, ExKMC(3, reference=kmeans(IRIS, 3)).fit(IRIS))


# ---- arrays of every kind ------------------------------------------------------------------------


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def unaligned(X):
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    out = raw[1:].view(X.dtype).reshape(X.shape)
    out[...] = X
    return out


def odd_strides(X):
    """A field of a packed record: the step between rows is no multiple of a number's size."""
    record = np.zeros(len(X), dtype=[("flag", np.int8), ("x", X.dtype, X.shape[1])])
    record["x"] = X
    return record["x"]


def sparse_read_only(X):
    X = sparse.csr_matrix(X)
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


def unsorted(X):
    """CSR whose indices run backwards in every row, with every entry split in two."""
    X = sparse.csr_matrix(X)
    indices, halves = np.repeat(X.indices, 2), np.repeat(X.data, 2) / 2
    ends = 2 * X.indptr
    order = np.concatenate([np.arange(s, e)[::-1] for s, e in itertools.pairwise(ends)])
    return sparse.csr_matrix((halves[order], indices[order], ends), shape=X.shape)


def wide_indices(X):
    X = sparse.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


ARRAYS = {
    "C order": np.ascontiguousarray,
    "F order": np.asfortranarray,
    "read-only": read_only,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda X: X.T.copy().T,
    "big-endian": lambda X: X.astype(">f8"),
    "unaligned": unaligned,
    "odd strides": odd_strides,
    "longdouble": lambda X: X.astype(np.longdouble),
    "objects": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "csr array": sparse.csr_array,
    "read-only csr": sparse_read_only,
    "csr, unsorted, with duplicates": unsorted,
    "csr with 64-bit indices": wide_indices,
}


@pytest.mark.parametrize("form", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("base_tree", ["imm", "none"])
def test_arrays_of_every_kind(form, base_tree):
    parameters = {"reference": kmeans(IRIS, 3), "base_tree": base_tree, "max_leaf_nodes": 9}
    X = form(IRIS)
    model = ExKMC(3, **parameters).fit(X)
    plain = ExKMC(3, **parameters).fit(IRIS)
    for name in ("feature", "threshold", "left", "right", "label"):
        np.testing.assert_array_equal(getattr(model.tree_, name), getattr(plain.tree_, name))
    assert model.labels_.tolist() == plain.labels_.tolist()
    assert model.predict(X).tolist() == plain.labels_.tolist()
    np.testing.assert_allclose(model.transform(X), plain.transform(IRIS), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(model.path_["ratio"], plain.path_["ratio"], rtol=1e-9)


@pytest.mark.parametrize(
    "dtype",
    ["f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"],
)
def test_numbers_of_every_type(dtype):
    X = (IRIS > [5.8, 3.0, 3.8, 1.2] if dtype == "?" else IRIS * 10).astype(dtype)
    model = ExKMC(3, reference=np.unique(X, axis=0)[:3].astype(np.float64) + 0.1, max_leaf_nodes=9)
    plain = clone(model).fit(X.astype(np.float64))
    assert_same_model(model.fit(X), plain)
    assert model.predict(X).tolist() == plain.labels_.tolist()


@pytest.mark.parametrize(
    "form",
    [np.ascontiguousarray, np.asfortranarray, sparse.csr_matrix, unsorted],
    ids=lambda form: form.__name__,
)
@pytest.mark.parametrize("reference", [None, kmeans(IRIS, 3)], ids=["none", "kmeans"])
def test_the_input_is_never_changed(form, reference):
    X, weights = form(IRIS), random_weights(150)
    partitions = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    before = [part.copy() for part in partitions]
    kept = weights.copy()
    model = ExKMC(3, reference=reference, random_state=0).fit(X, sample_weight=weights)
    model.predict(X), model.transform(X), model.decision_path(X)
    model.score(X, sample_weight=weights)
    now = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    for part, copy in zip(now, before, strict=True):
        np.testing.assert_array_equal(part, copy)
    np.testing.assert_array_equal(weights, kept)


def test_the_model_keeps_nothing_of_the_input():
    X = IRIS.copy()
    model = ExKMC(3, reference=kmeans(IRIS, 3)).fit(X)
    X[...] = 0.0
    assert_same_model(model, ExKMC(3, reference=kmeans(IRIS, 3)).fit(IRIS))
    assert model.predict(IRIS).tolist() == model.labels_.tolist()


# ---- nothing recurses ----------------------------------------------------------------------------


def scatter(X):
    """Throw neighbours far apart, so that clusters have no shape at all in the columns of X."""
    return np.cos(1e4 * X**2)


@pytest.mark.slow
def test_five_thousand_leaves():
    X = np.random.default_rng(0).random((6_000, 1))
    space = scatter(X)
    centers = np.quantile(space, np.linspace(0.01, 0.99, 30))[:, None]
    reference = make_pipeline(FunctionTransformer(scatter), KMeans(30, init=centers, n_init=1))
    model = ExKMC(30, max_leaf_nodes=5_000, reference=reference.fit(X))
    limit, depth = sys.getrecursionlimit(), len(list(iter_frames()))
    sys.setrecursionlimit(depth + 120)
    try:
        model.fit(X)
        assert model.n_leaves_ == 5_000
        assert model.predict(X).tolist() == model.labels_.tolist()
        assert model.decision_path(X[:50]).shape == (50, 9_999)
        small = model.with_leaves(4_000)
        assert small.tree_.n_leaves == 4_000
        assert len(small.path_) == 4_000 - 30 + 1
    finally:
        sys.setrecursionlimit(limit)
    twin = pickle.loads(pickle.dumps(model.tree_))
    assert twin == model.tree_
    labels = model.labels_
    means = cluster_means(space, labels, np.ones(6_000), model.reference_centers_)
    np.testing.assert_allclose(model.inertia_, cost_to(space, labels, means, np.ones(6_000)))


def iter_frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back
