"""Cases that failed once hold now; and the fuzzer finds what is wrong when something is."""

import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fuzz import __main__ as command
from fuzz import law, worker
from fuzz.case import STORAGES, Case
from fuzz.draw import COLUMNS, PARAMETERS, WEIGHTS, draw_case
from fuzz.files import fuzz_files, wrong_with
from fuzz.frames import FRAMES, KINDS
from fuzz.interrupts import Call, _wrong_after
from fuzz.law import LAWS, check_case
from fuzz.shrink import shrink
from fuzz.soak import soak
from tests.helpers.examples import SLOW
from treemeans import ExKMC

CASES = sorted(command.FOLDER.glob("*.json"))
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:tests", "ignore::UserWarning:shap")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_that_failed_once_holds(path):
    """By the law it broke; in a slow run, by all laws."""
    case = Case.from_json(path.read_text(encoding="utf-8"))
    assert case.law in LAWS
    failure, _ = check_case(case, only=None if SLOW else case.law)
    assert failure is None, failure.message


def test_there_are_cases():
    assert len(CASES) >= 4


def test_random_cases_hold():
    for number in range(80):
        failure, _ = check_case(draw_case(0, number))
        assert failure is None, (number, failure.case.law, failure.message)


def test_a_case_is_drawn_again_by_its_number_and_survives_json():
    for number in range(30):
        case = draw_case(3, number)
        again = Case.from_json(case.to_json())
        assert again.to_json() == draw_case(3, number).to_json()
        assert again.X.tobytes() == case.X.tobytes()


def test_every_kind_is_drawn():
    numbers = [*range(1000), *range(16 * 63 + 3, 16 * 250, 16)]  # and more data frames
    drawn = [draw_case(1, number) for number in numbers]
    assert {case.cost for case in drawn} == {"kmeans", "kmedians", "cosine", "labels", "table"}
    frames = [case for case in drawn if case.kinds is not None]
    assert {case.storage for case in frames} == set(FRAMES)
    assert {kind for case in frames for kind in case.kinds} == set(KINDS)
    for name in ("max_categories", "scale", "balance", "min_cluster_size"):
        assert len({str(case.parameters.get(name)) for case in frames}) > 1, name
    cases = [case for case in drawn if case.kinds is None and case.cost == "kmeans"]
    assert {case.storage for case in cases} == set(STORAGES)
    for name in PARAMETERS:
        assert len({str(case.parameters[name]) for case in cases}) > 1, name
    assert {len(case.X) == len(case.centers) for case in cases if case.centers is not None} == {
        True,
        False,
    }
    weights = [case.weights for case in cases if case.weights is not None]
    assert any(w.max() > 1e20 * w[w > 0].min() for w in weights)
    assert len(COLUMNS) >= 19
    assert len(WEIGHTS) >= 9


@pytest.mark.parametrize(
    ("name", "spoil", "broken"),
    [
        ("inertia_", lambda v: v * (1 + 1e-6) + 1e-6, {"costs", "sizes"}),
        ("labels_", lambda v: np.roll(v, 1), {"labels", "costs", "saved"}),
        ("reference_inertia_", lambda v: v * 1.001 + 1.0, {"reference", "path"}),
    ],
)
def test_a_wrong_number_breaks_a_law_and_is_made_small(monkeypatch, name, spoil, broken):
    right = ExKMC._set_fitted_attributes

    def wrong(self, n_leaves):
        right(self, n_leaves)
        if hasattr(self, name):  # a loaded model has no labels_
            setattr(self, name, spoil(getattr(self, name)))
        return self

    monkeypatch.setattr(ExKMC, "_set_fitted_attributes", wrong)
    failure = next(filter(None, (check_case(draw_case(2, n))[0] for n in range(40))))
    assert failure.case.law in broken
    law = failure.case.law
    small = shrink(failure.case, lambda case: worker._breaks(case, law), seconds=3)
    assert small.n_rows <= min(6, failure.case.n_rows)
    assert check_case(small, only=law)[0] is not None


def test_a_crash_is_reported_with_the_case_that_caused_it(tmp_path):
    """The worker runs in a process of its own, which may end in any way."""
    program = tmp_path / "crash.py"
    program.write_text(
        "import os, pathlib, sys\n"
        "from fuzz import run, worker\n"
        "worker_code = '''import fuzz.law, fuzz.worker, os\\n"
        "check = fuzz.law.check_case\\n"
        "fuzz.worker.check_case = lambda c: os.abort() if c.n_rows == 3 else check(c)\\n"
        "fuzz.worker.main()'''\n"
        "popen = run.subprocess.Popen\n"
        "run.subprocess.Popen = lambda command, **how: popen(\n"
        "    [sys.executable, '-c', worker_code, *command[5:]], **how)\n"
        f"found = run.run(0, 60.0, 10**9, pathlib.Path({str(tmp_path)!r}), most=1)\n"
        "(failure,) = found.failures\n"
        "print(failure.case.n_rows, failure.message.splitlines()[0], failure.path)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
        env={**__import__("os").environ, "PYTHONPATH": str(root)},
    )
    assert done.stdout.startswith("3 the process ended with exit code -6"), done.stdout
    (path,) = tmp_path.glob("*.json")
    assert Case.from_json(path.read_text(encoding="utf-8")).n_rows == 3


def test_the_command_prints_its_seed_and_counts_fits():
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "--fits", "20", "--seed", "4"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.startswith("fuzz: seed 4\n")
    assert ", 0 failures\n" in done.stdout


def test_changed_files_work_or_are_refused_in_a_sentence(tmp_path):
    ended, failures = fuzz_files(0, 60, tmp_path)
    assert failures == []
    assert min(ended.values()) > 3


@pytest.mark.parametrize(
    ("output", "wrong"),
    [
        ("Error: no.\nmore\n", "no sentence"),
        ("Error: \x1b[31mred.\n", "control characters"),
        ("Traceback (most recent call last)\n", "a traceback"),
    ],
)
def test_what_no_user_should_see_is_seen(output, wrong):
    result = SimpleNamespace(exception=None, exit_code=1, output=output, stderr=output)
    assert wrong_with(result, output).startswith(wrong)
    result = SimpleNamespace(exception=KeyError("x"), exit_code=1, output="", stderr="")
    assert wrong_with(result, "") == "KeyError: 'x'"


def test_laws_have_sentences():
    assert len(LAWS) >= 25
    for one in LAWS.values():
        assert one.check.__doc__, one.name
        assert 0 < one.share <= 1


def test_a_law_that_a_case_does_not_speak_of_is_not_checked(monkeypatch):
    case = replace(draw_case(0, 0), law="never")
    never = law.Law("never", lambda trial: 1 / 0, lambda case: False, 1.0)
    monkeypatch.setitem(LAWS, "never", never)
    assert check_case(case, only="never")[0] is None


# ---- Ctrl-C, and many fits -----------------------------------------------------------------------


def test_ctrl_c_leaves_nothing_behind():
    # In a process of its own: here, KeyboardInterrupt could be raised in code of pytest's plugins.
    command = [sys.executable, "-m", "fuzz", "--seed", "3", "--interrupts", "12"]
    ended = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=600
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(r"12 moments of Ctrl-C, [1-9]\d* before", ended.stdout), ended.stdout


def test_what_ctrl_c_leaves_behind_is_found(tmp_path, no_collection):
    def careless(folder):
        (folder / "model.json").write_text("half", encoding="utf-8")
        time.sleep(5)

    call = Call(careless, lambda _, folder: (folder / "model.json").read_text(encoding="utf-8"))
    wrong, interrupted = _wrong_after(call, "whole", tmp_path, 0.05)
    assert interrupted
    assert wrong == "half a file is left: ['model.json']"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_flat_over_many_fits():
    early, late = soak(60)
    assert 0 < late < 1.2 * early  # 60 fits: caches are still filled
