"""Ctrl-C at random moments: nothing is left half-written, and the next call works.

``python -m fuzz --interrupts 200`` starts a fit, a prediction, a save, a load or a report, raises
KeyboardInterrupt after a random time, and looks at what is left: files are whole or absent, no
temporary file stays, and the same call, made again, gives what it gives without an interruption.
"""

from __future__ import annotations

import hashlib
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from treemeans import ExKMC, load

HANGS_AFTER = 60
"""Seconds after which an interrupted call is said to hang."""


@dataclass(frozen=True)
class Call:
    """Something a user does, and what it must give.

    Attributes
    ----------
    run : does it, in a folder
    result : what it gave, or left in the folder, in a form that can be compared
    """

    run: Callable[[Path], Any]
    result: Callable[[Any, Path], Any]


def _digest(value: Any, _: Path) -> str:
    return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()


def _tree(model: Any, _: Path) -> Any:
    tree = model.tree_
    return tree.feature.tolist(), tree.label.tolist(), float(model.inertia_)


def _file(name: str) -> Callable[[Any, Path], Any]:
    return lambda _, folder: hashlib.sha256((folder / name).read_bytes()).hexdigest()


def calls() -> dict[str, Call]:
    """The calls that are interrupted, on a table large enough to be met in all of their parts."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(6, 8)) * 3
    X = centers[rng.integers(6, size=20_000)] + rng.normal(size=(20_000, 8))
    small = X[:2000]
    model = ExKMC(6, max_leaf_nodes=12, random_state=0).fit(X)
    known = Path(tempfile.mkdtemp()) / "known.json"
    model.save(known)

    def fit(rows: Any, **parameters: Any) -> Callable[[Path], Any]:
        return lambda _: ExKMC(6, random_state=0, **parameters).fit(rows)

    return {
        "fit": Call(fit(X, max_leaf_nodes=24), _tree),
        "fit, two threads": Call(fit(X, max_leaf_nodes=24, n_jobs=2), _tree),
        "fit, local": Call(fit(X, refine="local"), _tree),
        "fit, search": Call(fit(small, refine="search", search_rounds=100), _tree),
        "predict": Call(lambda _: model.predict(np.tile(X, (10, 1))), _digest),
        "save": Call(lambda folder: model.save(folder / "model.json"), _file("model.json")),
        "load": Call(lambda _: load(known), _tree),
        "report": Call(
            lambda folder: model.report(folder / "report.html", small), _file("report.html")
        ),
    }


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    """Raise KeyboardInterrupt in the block after some time, unless it has ended by then."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    finally:
        signal.signal(signal.SIGALRM, before)


def _run_interrupted(call: Call, folder: Path, seconds: float) -> bool:
    """Run a call that is interrupted; whether it was."""
    try:
        with warnings.catch_warnings(), _interrupted_after(seconds):
            # A search that is interrupted keeps its best tree, and says so.
            warnings.simplefilter("ignore", UserWarning)
            call.run(folder)
    except KeyboardInterrupt:
        return True
    return False


def fuzz_interrupts(seed: int, n: int, only: str | None = None) -> tuple[int, list[str]]:
    """Interrupt ``n`` calls; how many did not come to their end, and what was wrong after."""
    rng = np.random.default_rng(seed)
    known = {name: call for name, call in calls().items() if only in (None, name)}
    expected, duration = {}, {}
    with tempfile.TemporaryDirectory() as name:
        for key, call in known.items():
            began = time.perf_counter()
            expected[key] = call.result(call.run(Path(name)), Path(name))
            duration[key] = time.perf_counter() - began
    ended, failures = 0, []
    for number in range(n):
        key = list(known)[int(rng.integers(len(known)))]
        moment = float(rng.random()) * duration[key]
        with tempfile.TemporaryDirectory() as name:
            wrong, interrupted = _wrong_after(known[key], expected[key], Path(name), moment)
        ended += interrupted
        if wrong is not None:
            failures.append(f"{number}: {key} after {moment:.4f} s: {wrong}")
    return ended, failures


def _wrong_after(call: Call, expected: Any, folder: Path, moment: float) -> tuple[str | None, bool]:
    """What is wrong after a call that was interrupted; and whether it did not come to its end."""
    began = time.perf_counter()
    interrupted = _run_interrupted(call, folder, moment)
    if time.perf_counter() - began > HANGS_AFTER:
        return "it went on after Ctrl-C", interrupted
    left = sorted(path.name for path in folder.iterdir())
    if any(name.startswith(".") for name in left):
        return f"a temporary file is left: {left}", interrupted
    if left and call.result(None, folder) != expected:
        return f"half a file is left: {left}", interrupted
    if call.result(call.run(folder), folder) != expected:
        return "the same call gives something else now", interrupted
    return None, interrupted
