"""A progress bar: on a terminal only, and only for work that takes longer than a moment."""

import sys
import time
from typing import Self

_PATIENCE = 0.5  # seconds before a bar appears
_REFRESH = 0.1
_WIDTH = 30


class Progress:
    """``with Progress("growing", total, enabled) as bar: bar.update(done)``.

    Without a total (None), it shows the number done.
    """

    def __init__(self, what: str, total: int | None, enabled: bool) -> None:
        self.what = what
        self.total = total
        self.enabled = enabled and sys.stderr.isatty()
        self._next = time.monotonic() + _PATIENCE
        self._shown = False
        self._length = 0

    def __enter__(self) -> Self:
        return self

    def update(self, done: int, note: str = "") -> None:
        """Show how much is done, and a note."""
        if not self.enabled or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _REFRESH
        self._shown = True
        line = f"{self._line(done, note)} {note}".rstrip()
        sys.stderr.write("\r" + line.ljust(self._length))  # over what was there before
        self._length = len(line)
        sys.stderr.flush()

    def _line(self, done: int, note: str) -> str:
        if self.total is None:
            return f"{self.what} {done:,}"
        full = _WIDTH * done // max(self.total, 1)
        bar = "#" * full + "-" * (_WIDTH - full)
        count = f"{100 * done // max(self.total, 1)} %" if note else f"{done}/{self.total}"
        return f"{self.what} [{bar}] {count}"

    def __exit__(self, *exception: object) -> None:
        if self._shown:
            sys.stderr.write("\n")
            sys.stderr.flush()
