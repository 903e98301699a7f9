"""ScratchFile: arrays on the disk of this computer, for as long as a fit lasts."""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
import threading
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray


class ScratchFile:
    """A file without a name in the folder of temporary files.

    The system takes it back when it is closed, and when the process ends for whatever reason. Any
    thread may write and read. What is written stays as it is, because views of it may be in use.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="treemeans-")  # noqa: SIM115
        self._lock = threading.Lock()
        self._end = 0

    @property
    def number(self) -> int:
        """The descriptor of the file."""
        return self._file.fileno()

    def write(self, values: NDArray[Any]) -> int:
        """Append an array; where it begins. Raises OSError if the disk is full.

        The values of a row lie side by side; rows may be further apart.
        """
        granule = mmap.ALLOCATIONGRANULARITY
        with self._lock:
            offset = self._end
            self._end += -(-values.nbytes // granule) * granule
        at = offset
        for some in [values] if values.flags.c_contiguous else values:
            left = memoryview(np.ascontiguousarray(some).reshape(-1).view(np.uint8).data)
            while len(left):  # the system may take some at a time
                done = os.pwrite(self.number, left, at)
                left, at = left[done:], at + done
        return offset

    def view(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """What was written there. It is mapped: only what is looked at is read."""
        n_bytes = int(np.prod(shape)) * dtype.itemsize
        mapped = mmap.mmap(self.number, n_bytes, access=mmap.ACCESS_READ, offset=offset)
        return np.frombuffer(mapped, dtype=dtype).reshape(shape)

    def close(self) -> None:
        """Give the space back."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # it was opened
            self.close()


def scratch_folder() -> str:
    """Where scratch files are."""
    return tempfile.gettempdir()


def free_scratch() -> int:
    """Bytes that are free there; 0 if that cannot be told."""
    try:
        return shutil.disk_usage(scratch_folder()).free
    except OSError:
        return 0
