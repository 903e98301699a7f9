"""Run workers until the time or the number of fits is reached, and report what broke."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from fuzz.case import Case, Failure
from fuzz.draw import draw_case
from fuzz.worker import STATE

ALL_CASES = 2**40
HANGS_AFTER = 300.0
"""Seconds a case and its shrinking may take, on a machine that is busy."""


@dataclass
class Result:
    """What a run has seen."""

    seed: int
    n_cases: int = 0
    n_fits: int = 0
    failures: list[Failure] = field(default_factory=list)


def run(
    seed: int, seconds: float, fits: int, folder: Path, start: int = 0, most: int = 20
) -> Result:
    """Draw and check cases, in a process of their own, from case number ``start`` on.

    Parameters
    ----------
    seconds, fits : when to stop, whichever comes first
    folder : where failing cases are written
    most : failures after which to give up
    """
    result, end = Result(seed), time.monotonic() + seconds
    with tempfile.NamedTemporaryFile() as file:
        file.write(STATE.pack(start, 0, 0.0))
        file.flush()
        state = mmap.mmap(file.fileno(), 0)
        stopped = False
        while (
            not stopped
            and time.monotonic() < end
            and result.n_fits < fits
            and len(result.failures) < most
        ):
            at = STATE.unpack_from(state)[0]
            ended = None
            try:
                ended = _work(result, at, most - len(result.failures), file.name, state, end, fits)
            except KeyboardInterrupt:  # or SIGTERM: report what was seen so far
                stopped = True
            number, result.n_fits, _ = STATE.unpack_from(state)
            if ended is not None:  # the worker died: skip the case that killed it
                case = replace(draw_case(seed, number), law="refusal")
                result.failures.append(Failure(case, ended, number, seed))
                STATE.pack_into(state, 0, number + 1, result.n_fits, 0.0)
            result.n_cases = STATE.unpack_from(state)[0] - start
    for failure in result.failures:
        failure.path = failure.case.save(folder)
    return result


def _work(
    result: Result, start: int, most: int, name: str, state: mmap.mmap, end: float, fits: int
) -> str | None:
    """Run one worker; how it died, if it did."""
    command = [sys.executable, "-X", "faulthandler", "-m", "fuzz.worker"]
    command += [str(n) for n in (result.seed, start, ALL_CASES, most)] + [name]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors)
        try:
            died = _watch(process, state, end, fits)
        finally:
            process.kill()
            process.wait()
            output.seek(0)
            errors.seek(0)
            result.failures += [_failure(line, result.seed) for line in output if line[0] == "{"]
        if died is not None:
            return f"{died}\n{errors.read()[-4000:]}"
    return None


def _failure(line: str, seed: int) -> Failure:
    found = json.loads(line)
    return Failure(Case.from_json(found["case"]), found["message"], found["number"], seed)


def _watch(process: subprocess.Popen[str], state: mmap.mmap, end: float, fits: int) -> str | None:
    """Wait for the worker, the end of the time or enough fits; what went wrong, if anything."""
    while True:
        try:
            code = process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            _, done, began = STATE.unpack_from(state)
            if time.monotonic() > end or done >= fits:
                return None
            if began and time.time() - began > HANGS_AFTER:
                return f"the case takes more than {HANGS_AFTER:g} seconds"
            continue
        return None if code == 0 else f"the process ended with exit code {code}"


def default_seed() -> int:
    """The day, so that every day sees other cases; FUZZ_SEED overrides it."""
    return int(os.environ.get("FUZZ_SEED") or time.strftime("%Y%m%d", time.gmtime()))
