"""Environments of their own for other packages, each made on the first call.

The official ExKMC package no longer installs by itself: its source distribution holds C code
generated for Python 3.10 and numpy 1. It is built unchanged: compile-time switches turn off what
newer interpreters no longer offer, and a small header supplies the rest, up to Python 3.11 and for
numpy 2 (which sorts faster, so the package is at its best).
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

PACKAGE = "ExKMC==0.0.3"
NEEDS = ("numpy", "setuptools", "wheel", "pandas", "scikit-learn", "threadpoolctl")
GEMCLUS, SHALLOW_TREE = "gemclus==1.1.1", "ShallowTree==0.0.11"
PYTHONS = ((3, 11), (3, 10))
HEADER = Path(__file__).resolve().parent / "exkmc_python311.h"
SWITCHES = (
    "CYTHON_USE_PYLONG_INTERNALS",
    "CYTHON_FAST_THREAD_STATE",
    "CYTHON_FAST_PYCALL",
    "CYTHON_USE_EXC_INFO_STACK",
)


class EnvironmentMissingError(Exception):
    """The package cannot be installed here; the message is one line."""


@cache
def interpreter(environment: str) -> str:
    """Path of an interpreter that has the package."""
    if environment == "ExKMC":
        return str(_official())
    if environment == "ShallowTree":  # it is built on the official package
        return str(_with(_official(), "ShallowTree", SHALLOW_TREE, "--no-build-isolation"))
    folder = _folder() / "gemclus"
    python = folder / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder)])
    return str(_with(python, "gemclus", GEMCLUS))


def _with(python: Path, module: str, package: str, *options: str) -> Path:
    """Install a package if it does not import."""
    command = [str(python), "-c", f"import {module}"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        _run([str(python), "-m", "pip", "install", "--quiet", *options, package])
    return python


def _official() -> Path:
    folder = _folder() / "exkmc"
    python = folder / "bin" / "python"
    if not _works(python):
        shutil.rmtree(folder, ignore_errors=True)
        _make(folder, python)
    return python


def _make(folder: Path, python: Path) -> None:
    """Create the environment, install what the package needs, then build the package in it."""
    _run([_old_python(), "-m", "venv", str(folder)])
    _run([str(python), "-m", "pip", "install", "--quiet", *NEEDS])
    options = ["--no-build-isolation", "--no-deps", "--no-cache-dir", "--no-binary", "ExKMC"]
    _run([str(python), "-m", "pip", "install", "--quiet", *options, PACKAGE], _build_flags())
    if not _works(python):
        raise EnvironmentMissingError("it was built, but does not import")


def _build_flags() -> dict[str, str]:
    """Return the environment variables of the build."""
    switches = [f"-D{name}=0" for name in SWITCHES]
    flags = ["-O3", "-fopenmp", "-include", shlex.quote(str(HEADER)), *switches]
    return {"CFLAGS": " ".join(flags), "LDFLAGS": "-fopenmp"}


def _old_python() -> str:
    """Return an interpreter the package can be built for: this one, or one on the path."""
    if sys.version_info[:2] in PYTHONS:
        return sys.executable
    names = [f"python{major}.{minor}" for major, minor in PYTHONS]
    found = [path for path in map(shutil.which, names) if path]
    if not found:
        raise EnvironmentMissingError(f"it needs one of {', '.join(names)} on the path")
    return found[0]


def _works(python: Path) -> bool:
    """Say whether an interpreter is there and imports the package."""
    if not python.exists():
        return False
    command = [str(python), "-c", "from ExKMC.Tree import Tree"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _run(command: list[str], extra: dict[str, str] | None = None) -> None:
    """Run a command, or raise with its first error line."""
    env = {**os.environ, **(extra or {})}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        raise EnvironmentMissingError(_first_error(done.stderr + done.stdout))


def _first_error(output: str) -> str:
    """Return the first line that says what went wrong; pip's own heading does not."""
    lines = [line.strip() for line in output.splitlines()]
    errors = [line for line in lines if "error:" in line.lower() and "subprocess" not in line]
    return errors[0] if errors else (lines or ["no reason given"])[-1]


def _folder() -> Path:
    """Return the folder of the environments."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "treemeans" / "benchmarks"
