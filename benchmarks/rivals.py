"""An interpreter of its own for the official ExKMC package, which no longer installs by itself.

Its source distribution holds C code generated for Python 3.10 and numpy 1. We build it unchanged:
compile-time switches turn off what newer interpreters no longer offer, and a small header bridges
the rest, up to Python 3.11 and for numpy 2 (which sorts faster, so the rival is at its best).
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = "ExKMC==0.0.3"
NEEDS = ("numpy", "setuptools", "wheel", "pandas", "scikit-learn", "threadpoolctl")
PYTHONS = ((3, 11), (3, 10))
BRIDGE = Path(__file__).resolve().parent / "exkmc_bridge.h"
SWITCHES = (
    "CYTHON_USE_PYLONG_INTERNALS",
    "CYTHON_FAST_THREAD_STATE",
    "CYTHON_FAST_PYCALL",
    "CYTHON_USE_EXC_INFO_STACK",
)


class RivalError(Exception):
    """The rival cannot be had here; the message is one line."""


def official_python() -> Path:
    """Return an interpreter that has the official package, made on the first call."""
    folder = _cache_folder() / "exkmc"
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
        raise RivalError("it was built, but does not import")


def _build_flags() -> dict[str, str]:
    """Return the environment variables of the build."""
    switches = [f"-D{name}=0" for name in SWITCHES]
    flags = ["-O3", "-fopenmp", "-include", shlex.quote(str(BRIDGE)), *switches]
    return {"CFLAGS": " ".join(flags), "LDFLAGS": "-fopenmp"}


def _old_python() -> str:
    """Return an interpreter the package can be built for: this one, or one on the path."""
    if sys.version_info[:2] in PYTHONS:
        return sys.executable
    names = [f"python{major}.{minor}" for major, minor in PYTHONS]
    found = [path for path in map(shutil.which, names) if path]
    if not found:
        raise RivalError(f"it needs one of {', '.join(names)} on the path")
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
        raise RivalError(_first_error(done.stderr + done.stdout))


def _first_error(output: str) -> str:
    """Return the first line that says what went wrong; pip's own heading does not."""
    lines = [line.strip() for line in output.splitlines()]
    errors = [line for line in lines if "error:" in line.lower() and "subprocess" not in line]
    return errors[0] if errors else (lines or ["no reason given"])[-1]


def _cache_folder() -> Path:
    """Return the folder the rivals live in."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "treemeans" / "rivals"
