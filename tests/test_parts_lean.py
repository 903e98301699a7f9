"""Memory goes back to the system."""

import subprocess
import sys

import pytest

from treemeans.parts.sources import lean

# Large arrays between small ones that stay: what is freed is not at the end of the heap.
PROGRAM = """
import numpy as np
from treemeans.parts.sources.lean import stay_lean
if {lean}:
    stay_lean()
first = np.ones(2**21)  # 16 MB; once it is freed, glibc keeps arrays up to that size for later
del first
kept, large = [], []
for _ in range(40):
    large.append(np.ones(2**20))
    kept.append(np.ones(2**12))
del large
status = open("/proc/self/status").read()
print(int(status.split("VmRSS:")[1].split()[0]) // 1024)
"""


def resident(lean):
    """Megabytes of a process that has freed 320 MB."""
    program = PROGRAM.format(lean=lean)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it is a setting of glibc")
def test_freed_arrays_are_given_back():
    assert resident(True) < resident(False) - 200


def test_elsewhere_nothing_happens(monkeypatch):
    def without(name):
        raise AttributeError("mallopt")

    monkeypatch.setattr(lean.ctypes, "CDLL", without)
    lean.stay_lean()
