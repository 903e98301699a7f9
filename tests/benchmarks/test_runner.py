"""The runner: a run goes on where it was; tasks have processes of their own."""

import sys

import pytest

from benchmarks import runner
from benchmarks.runner import OVER_LIMIT, Task

PYTHON = "tests.benchmarks.test_runner"


def double(number):
    return {"double": 2 * number}


def fail():
    raise ValueError("a reason\nof two lines")


def wait():
    import time

    time.sleep(60)


def environment():
    import os

    return {"threads": os.environ["OMP_NUM_THREADS"], "python": sys.executable}


def task(name, limit=100.0, **arguments):
    return Task(f"of/{name}", f"{PYTHON}:{name}", arguments, limit=limit)


def times(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.rglob("*.json")}


def test_a_run_goes_on_where_it_was(tmp_path):
    tasks = [task("double", number=4), task("fail"), task("wait", limit=3.0)]
    found = runner.run(tasks, tmp_path, jobs=3)
    assert found["of/double"] == {"double": 8}
    assert found["of/fail"] == {"error": "of two lines"}
    assert found["of/wait"] == {"error": OVER_LIMIT, "limit": 3.0}
    before = times(tmp_path)
    assert runner.run(tasks, tmp_path) == found
    after = times(tmp_path)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"fail.json"}  # what failed is tried again; what took too long is not
    assert not runner._is_done(tmp_path, task("wait", limit=200.0))  # until it may take longer
    assert runner.read([task("other")], tmp_path) == {}


def test_a_fresh_run_measures_again(tmp_path):
    runner.run([task("double", number=4)], tmp_path)
    again = [task("double", number=5)]
    assert runner.run(again, tmp_path)["of/double"] == {"double": 8}
    assert runner.run(again, tmp_path, fresh=True)["of/double"] == {"double": 10}


def test_a_failed_task_fails_the_run():
    runner.fail_if_any({"a": {"double": 2}, "b": {"error": OVER_LIMIT, "limit": 1.0}})
    with pytest.raises(SystemExit, match="failed:\n  c: a reason"):
        runner.fail_if_any({"a": {"double": 2}, "c": {"error": "a reason"}})


def test_threads_and_interpreter_are_those_of_the_task():
    asked = Task("x", f"{PYTHON}:environment", {}, threads=3, python=sys.executable)
    assert runner.call(asked) == {"threads": "3", "python": sys.executable}


def test_processes_of_other_packages_need_no_treemeans():
    code = (
        "import sys; sys.modules['treemeans'] = None; import benchmarks.runner, benchmarks.speed, "
        "benchmarks.paper.fits"
    )
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=runner.ROOT
    )
    assert done.returncode == 0, done.stderr
