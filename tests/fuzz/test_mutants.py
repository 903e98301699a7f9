"""Mutants: every operator, constant and call of a function is changed, one at a time."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.mutants import mutants_of, only_in_temporary_folders, swap

SOURCE = '''
from functools import lru_cache

def least(values, n: int = 3):
    """Docstrings, annotations and messages stay."""
    if len(values) < n:
        raise ValueError("too few" + "!")
    return min(values) + 1

class Box:
    @property
    def full(self):
        return True
'''


@pytest.fixture
def toy(tmp_path):
    path = tmp_path / "treemeans" / "toy.py"
    path.parent.mkdir()
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("toy", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return path, module


def test_what_is_changed(toy):
    found = [(mutant.function, mutant.line, mutant.what) for mutant in mutants_of(toy[0])]
    assert sorted(found) == [
        ("Box.full", 13, "True -> False"),
        ("least", 6, "Lt -> LtE"),
        ("least", 6, "condition negated"),
        ("least", 8, "1 -> 2"),
        ("least", 8, "Add -> Sub"),
        ("least", 8, "min -> max"),
    ]


def test_a_live_function_gets_the_code_of_a_mutant(toy):
    path, module = toy
    kept = module.least  # as another module would have imported it
    mutants = {mutant.what: mutant for mutant in mutants_of(path)}
    assert swap(mutants["min -> max"], path)
    assert kept([1, 2, 5]) == 6
    assert swap(mutants["Add -> Sub"], path)
    assert kept([1, 2, 5]) == 0
    assert swap(mutants["True -> False"], path)
    assert not module.Box().full


def test_a_mutant_writes_to_temporary_folders_only(tmp_path):
    here, device = str(tmp_path / "x"), os.devnull
    for arguments in [("open", (here, "w", os.O_WRONLY)), ("open", (device, "r", os.O_RDONLY))]:
        only_in_temporary_folders(*arguments)
    only_in_temporary_folders("os.rename", (here, here))
    wrong = [
        ("open", (device, "w", os.O_WRONLY)),
        ("os.rename", (here, device)),
        ("os.remove", (Path(__file__),)),
    ]
    for event, arguments in wrong:
        with pytest.raises(PermissionError, match="may not write"):
            only_in_temporary_folders(event, arguments)


def test_the_command_tells_survivors(tmp_path):
    root = Path(__file__).parents[2]
    test = tmp_path / "test_toy.py"
    test.write_text(
        "from treemeans.exact_sum import as_float, exact_sum\n"
        "def test_sum():\n"
        "    assert as_float(exact_sum([1.0, 2.0])) == 3.0\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "fuzz.mutants", "--most", "40"]
    done = subprocess.run(
        [
            *command,
            str(root / "src/treemeans/exact_sum.py"),
            "--",
            str(test),
            "--rootdir",
            tmp_path,
        ],
        capture_output=True,
        text=True,
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        timeout=300,
    )
    assert "not called: " in done.stdout, done.stdout + done.stderr  # means of groups
    assert "'noticed': " in done.stdout
    assert done.returncode == 1
