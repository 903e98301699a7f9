"""The same model in any time zone, locale and home; in eight threads; and in a fork after a fit."""

import contextlib
import json
import locale
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from treemeans import ExKMC, load

ELSEWHERE = {"TZ": "Asia/Kathmandu", "LC_ALL": "de_DE.UTF-8", "HOME": "/nonexistent"}


def texts(path):
    """What a model of dates says of itself, after it was saved and loaded."""
    rng = np.random.default_rng(0)
    since = pd.Timestamp("2020-03-29") + pd.to_timedelta(rng.integers(0, 90000, 60), "m")
    frame = pd.DataFrame({"since": since, "spend": rng.gamma(2.0, 1234.5, 60).round(2)})
    ExKMC(3, random_state=0).fit(frame).save(path)
    model = load(path)
    return [str(model.rules()), model.to_sql("duckdb", "t"), str(model.predict(frame).tolist())]


def fits_in_a_fork():
    """Exit code of a child that fits as its parent did, with two threads."""
    X = np.random.default_rng(0).normal(size=(3000, 4))

    def fit():
        return ExKMC(4, reference=X[:4], n_jobs=2).fit(X)

    model = fit()
    child = os.fork()
    if child == 0:  # OpenMP's threads are not there any more
        same = fit().tree_ == model.tree_ and np.array_equal(model.predict(X), model.labels_)
        os._exit(0 if same else 3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def elsewhere(path):
    """Both of the above, as JSON: run in a process of its own."""
    with contextlib.suppress(locale.Error):  # not installed: the C library keeps its default
        locale.setlocale(locale.LC_ALL, "")
    point = locale.localeconv()["decimal_point"]
    print(json.dumps([texts(path), fits_in_a_fork() if hasattr(os, "fork") else 0, point]))


def makes_german(folder):
    """Whether a locale with decimal commas could be made for this test."""
    localedef = shutil.which("localedef")
    if localedef is None:
        return False
    made = [localedef, "-i", "de_DE", "-f", "UTF-8", str(folder / "de_DE.UTF-8")]
    return subprocess.run(made, capture_output=True, timeout=60).returncode == 0


@pytest.mark.filterwarnings("ignore")
def test_time_zone_locale_home_and_a_fork_change_nothing(tmp_path):
    german = makes_german(tmp_path)
    program = f"from {__name__} import elsewhere; elsewhere({str(tmp_path / 'there.json')!r})"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env=os.environ
        | ELSEWHERE
        | {"XDG_CACHE_HOME": "/nonexistent", "PYTHONUTF8": "1"}
        | ({"LOCPATH": str(tmp_path)} if german else {}),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found, forked, point = json.loads(done.stdout)
    assert point == ("," if german else point)
    assert found == texts(tmp_path / "here.json")
    assert (tmp_path / "here.json").read_bytes() == (tmp_path / "there.json").read_bytes()
    assert forked == 0


def test_eight_fits_at_once_give_what_one_gives():
    X = np.random.default_rng(1).normal(size=(400, 3))

    def fit(base_tree):
        return ExKMC(4, reference=X[:4], base_tree=base_tree, refine="local", n_jobs=2).fit(X).tree_

    names = ["imm", "exgreedy", "emn", "kauri"] * 2
    expected = {name: fit(name) for name in names[:4]}
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fit, names)) == [expected[name] for name in names]
