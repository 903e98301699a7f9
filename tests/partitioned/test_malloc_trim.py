"""Memory goes back to the system."""

import subprocess
import sys

import pytest

from treemeans.partitioned.readers import malloc_trim

# Large arrays between small ones that stay: what is freed is not at the end of the heap.
PROGRAM = """
import numpy as np
from treemeans.partitioned.readers.malloc_trim import return_freed_memory

def resident():
    return int(open("/proc/self/status").read().split("VmRSS:")[1].split()[0]) // 1024

return_freed_memory()
before = resident()
first = np.ones(2**21)  # 16 MB; once it is freed, glibc would keep arrays up to that size for later
del first
kept, large = [], []
for _ in range(40):
    large.append(np.ones(2**20))
    kept.append(np.ones(2**12))
most = resident()
del large
print(most - before, resident() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it is a setting of glibc")
def test_freed_arrays_are_given_back():
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    most, left = map(int, done.stdout.split())  # megabytes
    assert most > 300
    assert left < 50


def test_elsewhere_nothing_happens(monkeypatch):
    def without(name):
        raise AttributeError("mallopt")

    monkeypatch.setattr(malloc_trim.ctypes, "CDLL", without)
    malloc_trim.return_freed_memory()
