"""Mutated files through the command line: it works, or says what is wrong in one sentence.

``python -m fuzz --files 1000`` changes bytes and entries of model files, CSV, Parquet and Arrow
files at random, and runs ``treemeans`` on each in this process. A traceback, an exit code that no
user should see, or an error of several lines is a failure; its file is kept.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from typer import main, testing

Rng = np.random.Generator
HOSTILE = [
    "'; DROP TABLE t; --", '"', "`", "=1+1", "@SUM(A1)", "<script>alert(1)</script>", "\x1b[31mred",
    "\x07", "\x00", "\u202e", "a,b", "a\nb", "\r\n", "{{x}}", "%s", "../../etc/passwd", "nan",
    "inf", "1e999", "-0", "9999-12-31", "0000-00-00", "1_000", "1,5", "\ufeff", "NULL", "",
]  # fmt: skip
ENTRIES = [
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    10**400,
    0.5,
    1e308,
    float("nan"),
    "",
    "x",
    [],
    {},
    [[]],
]


def _sources(folder: Path) -> dict[str, Path]:
    """A small table in every format, with hostile names and values, and a model of it."""
    rng, n = np.random.default_rng(0), 60
    frame = pd.DataFrame(
        {
            "spend": rng.gamma(2.0, 200.0, n).round(2),
            HOSTILE[0]: rng.poisson(4, n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            HOSTILE[5]: rng.choice(["red", HOSTILE[3], HOSTILE[6]], n),
        }
    )
    paths = {kind: folder / f"table.{kind}" for kind in ("csv", "parquet", "arrow", "csv.gz")}
    frame.to_csv(paths["csv"], index=False)
    frame.to_csv(paths["csv.gz"], index=False)
    frame.to_parquet(paths["parquet"])
    frame.to_feather(paths["arrow"], compression="uncompressed")
    paths["json"] = folder / "model.json"
    result = _run("fit", paths["csv"], "-k", "3", "--leaves", "4", "--out", paths["json"])
    assert result.exit_code == 0, result.output
    return paths


testing._get_command = cache(main.get_command)  # made once, not for every command


def _run(*arguments: Any) -> Any:
    from treemeans.cli.app import app

    return testing.CliRunner().invoke(app, [str(argument) for argument in arguments])


# ---- changes -------------------------------------------------------------------------------------


def _change_bytes(rng: Rng, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(changed) + 1))
        how = rng.integers(5)
        if how == 0 and at < len(changed):
            changed[at] = int(rng.integers(256))
        elif how == 1:
            changed[at:at] = bytes(rng.integers(0, 256, int(rng.integers(1, 9)), dtype=np.uint8))
        elif how == 2:
            del changed[at : at + int(rng.integers(1, 40))]
        elif how == 3:
            del changed[at:]
        else:
            changed[at:at] = changed[at : at + int(rng.integers(1, 200))]
    return bytes(changed)


def _change_text(rng: Rng, data: bytes) -> bytes:
    """Fields become hostile values; lines go or come twice."""
    lines = data.decode("utf-8", "replace").split("\n")
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(lines)))
        how = rng.integers(4)
        if how == 0:
            lines.insert(at, lines[int(rng.integers(len(lines)))])
        elif how == 1 and len(lines) > 1:
            del lines[at]
        else:
            fields = lines[at].split(",")
            fields[int(rng.integers(len(fields)))] = HOSTILE[int(rng.integers(len(HOSTILE)))]
            lines[at] = ",".join(fields)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _change_entry(rng: Rng, data: bytes) -> bytes:
    """One entry of a JSON document becomes another."""
    document = json.loads(data)
    place, key = document, None
    for _ in range(int(rng.integers(1, 9))):
        container = place if key is None else place[key]
        if not isinstance(container, dict | list) or not container:
            break
        keys = list(container) if isinstance(container, dict) else range(len(container))
        place, key = container, keys[int(rng.integers(len(keys)))]
    choices = [*ENTRIES, *HOSTILE]
    if key is not None:
        if rng.random() < 0.15:
            del place[key]
        else:
            place[key] = choices[int(rng.integers(len(choices)))]
    return json.dumps(document).encode("utf-8", "surrogatepass")


CHANGES: dict[str, list[Callable[[Rng, bytes], bytes]]] = {
    "csv": [_change_bytes, _change_text, _change_text],
    "csv.gz": [_change_bytes],
    "parquet": [_change_bytes],
    "arrow": [_change_bytes],
    "json": [_change_bytes, _change_entry, _change_entry, _change_entry],
}

# What is run on a changed file of each kind; {file} and {model}, {csv} are unchanged files.
COMMANDS: dict[str, list[list[str]]] = {
    "json": [["rules", "{file}"], ["predict", "{file}", "{csv}"], ["sql", "{file}"]]
    + [["rules", "{file}"]] * 12,
    **{
        kind: [["predict", "{model}", "{file}"]] * 3 + [["fit", "{file}", "-k", "2"]]
        for kind in ("csv", "csv.gz", "parquet", "arrow")
    },
}
DATA = ("predict", "sql")  # what they print is for programs
SHARES = {"json": 0.6, "csv": 0.22, "parquet": 0.08, "arrow": 0.08, "csv.gz": 0.02}


# ---- the check -----------------------------------------------------------------------------------


def wrong_with(result: Any, words: str) -> str | None:
    """What a user should not have seen; None where all is well.

    ``words``: output for people; tables that go to a pipe are data.
    """
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        return f"{type(error).__name__}: {error}"
    if result.exit_code not in (0, 1, 2):
        return f"exit code {result.exit_code}"
    if "Traceback" in result.output:
        return "a traceback"
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", words):
        return f"control characters in the output: {words[:200]!r}"
    if result.exit_code == 1:
        # How the columns are read is said above an empty line.
        last = result.stderr.rpartition("\n\n")[2]
        lines = [x for x in last.splitlines() if not x.startswith("Note: ")]
        if len(lines) != 1 or not lines[0].startswith("Error: ") or len(lines[0]) > 1000:
            return f"no sentence: {result.stderr[:300]!r}"
    return None


def fuzz_files(seed: int, n: int, kept: Path) -> tuple[dict[str, int], list[str]]:
    """Run commands on ``n`` changed files; how they ended, and what was wrong."""
    rng = np.random.default_rng(seed)
    ended, failures = {"worked": 0, "refused": 0}, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = _sources(folder)
        sources = {kind: path.read_bytes() for kind, path in paths.items()}
        kinds = list(SHARES)
        for number in range(n):
            kind = kinds[int(rng.choice(len(kinds), p=list(SHARES.values())))]
            change = CHANGES[kind][int(rng.integers(len(CHANGES[kind])))]
            data = change(rng, sources[kind])
            file = folder / f"changed.{kind}"
            file.write_bytes(data)
            command = COMMANDS[kind][int(rng.integers(len(COMMANDS[kind])))]
            known = {"file": file, "model": paths["json"], "csv": paths["csv"]}
            result = _run(*(part.format(**known) for part in command))
            ended["worked" if result.exit_code == 0 else "refused"] += 1
            wrong = wrong_with(result, result.stderr if command[0] in DATA else result.output)
            if wrong is not None:
                kept.mkdir(parents=True, exist_ok=True)
                (kept / f"{seed}-{number}.{kind}").write_bytes(data)
                failures.append(f"file {number} ({' '.join(command)}): {wrong}")
    return ended, failures
