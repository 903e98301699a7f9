"""The process that fits: it may crash or hang without taking the fuzzer with it.

It writes the number of the case it is at, and how many fits are done, to a small file that the
parent reads; failures go to the standard output, one JSON line each.
"""

from __future__ import annotations

import json
import mmap
import struct
import sys
import time
from dataclasses import replace
from pathlib import Path

from threadpoolctl import threadpool_limits

from fuzz import (  # noqa: F401 (they register)
    laws_costs,
    laws_export,
    laws_frames,
    laws_model,
    laws_oracle,
    laws_same,
)
from fuzz.case import Case
from fuzz.draw import draw_case
from fuzz.law import check_case
from fuzz.shrink import shrink

STATE = struct.Struct("qqd")  # case, fits, when it began


def work(seed: int, start: int, stop: int, state: mmap.mmap, most_failures: int) -> None:
    """Check cases ``start`` to ``stop``; stop early after so many failures."""
    n_fits, n_failures = STATE.unpack_from(state)[1], 0
    for number in range(start, stop):
        STATE.pack_into(state, 0, number, n_fits, time.time())
        case = draw_case(seed, number)
        failure, fits = check_case(case)
        n_fits += fits
        if failure is not None:
            n_failures += 1
            small = shrink(failure.case, lambda c, law=failure.case.law: _breaks(c, law))
            again, _ = check_case(small, only=failure.case.law)
            message = failure.message if again is None else again.message
            line = {"number": number, "message": message, "case": small.to_json()}
            print(json.dumps(line), flush=True)
            if n_failures >= most_failures:
                break
    STATE.pack_into(state, 0, stop if n_failures < most_failures else number + 1, n_fits, 0.0)


def _breaks(case: Case, law: str) -> bool:
    """Whether a smaller case still breaks the law."""
    from fuzz.law import LAWS

    if not LAWS[law].applies(case):
        return False
    failure, _ = check_case(replace(case, law=law), only=law)
    return failure is not None


def main() -> None:
    seed, start, stop, most_failures = map(int, sys.argv[1:5])
    with Path(sys.argv[5]).open("r+b") as file, threadpool_limits(2):
        work(seed, start, stop, mmap.mmap(file.fileno(), 0), most_failures)


if __name__ == "__main__":
    main()
