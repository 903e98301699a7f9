"""Full disks, clocks that are set back and systems without new processes: the old file stays, the
same model comes, and the next call works."""

import os
import sys
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tests.helpers.system_faults import full_disk
from treemeans import ExKMC, load, write_report
from treemeans.cli.app import app

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
COMMANDS = {
    "fit": ["fit", "table.csv", "-k", "3", "--out", "kept.json"],
    "predict": ["predict", "model.json", "table.csv", "--out", "kept.csv"],
    "report": ["report", "model.json", "--out", "kept.html"],
}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(600, 3)).round(3), columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def model(frame):
    return ExKMC(3, max_leaf_nodes=6, random_state=0).fit(frame)


@pytest.fixture
def folder(tmp_path, frame, model, monkeypatch):
    """Where a command is run: a table, a model, and a file that must not be lost."""
    monkeypatch.chdir(tmp_path)
    frame.to_csv("table.csv", index=False)
    model.save("model.json")
    for name in ("kept.json", "kept.csv", "kept.html"):
        (tmp_path / name).write_text("old", encoding="utf-8")
    return tmp_path


WAYS = {
    "save": lambda model, frame, path: model.save(path),
    "write_report": lambda model, frame, path: write_report(model, path, frame),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_full_disk_leaves_the_old_file_and_nothing_else(folder, frame, model, way):
    path = folder / "kept.html"
    before = sorted(folder.iterdir())
    with full_disk(500), pytest.raises(OSError, match=r"too large|No space"):
        WAYS[way](model, frame, path)
    assert path.read_text(encoding="utf-8") == "old"
    assert sorted(folder.iterdir()) == before
    WAYS[way](model, frame, path)
    assert path.stat().st_size > 500


def test_a_clock_that_is_set_back_changes_nothing(frame, model, tmp_path, monkeypatch):
    now = time.time()

    def earlier():
        nonlocal now
        now -= 3600.0
        return now

    monkeypatch.setattr(time, "time", earlier)
    again = ExKMC(3, max_leaf_nodes=6, random_state=0).fit(frame)
    assert again.tree_ == model.tree_
    again.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").tree_ == model.tree_
    searched = ExKMC(3, refine="search", max_time=0.05, random_state=0).fit(frame)
    assert searched.inertia_ <= ExKMC(3, random_state=0).fit(frame).inertia_


def test_no_process_can_be_started(frame, model, folder, monkeypatch):
    def refuse(*_, **__):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    for name in ("fork", "posix_spawn", "posix_spawnp"):
        monkeypatch.setattr(os, name, refuse)
    monkeypatch.setattr("subprocess.Popen.__init__", refuse)
    again = ExKMC(3, max_leaf_nodes=6, random_state=0, n_jobs=2).fit(frame)
    assert again.tree_ == model.tree_
    again.save(folder / "new.json")
    write_report(load(folder / "new.json"), folder / "new.html", frame)
    assert again.to_sql("duckdb", "t") == model.to_sql("duckdb", "t")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_on_a_full_disk_ends_in_one_sentence(folder, command):
    arguments = [*COMMANDS[command], "--force", "--quiet"]
    path, before = folder / arguments[-3], sorted(folder.iterdir())
    with full_disk(500):
        result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1, result.output
    assert path.name in result.stderr
    assert "Traceback" not in result.output
    assert len(result.stderr.splitlines()) < 4, result.stderr
    assert path.read_text(encoding="utf-8") == "old"
    assert sorted(folder.iterdir()) == before
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert path.stat().st_size > 500
