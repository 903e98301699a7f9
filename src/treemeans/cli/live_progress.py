"""Progress of the commands: a line with a spinner and a clock, drawn by rich in its own thread."""

from __future__ import annotations

from typing import Any, Self


class LiveProgress:
    """``with LiveProgress("k-means", None, enabled) as progress: ...``.

    The clock runs even while a single call works for minutes. Without a total (None), there is
    no bar. The line disappears at the end.

    Parameters
    ----------
    what : str
    total : int or None
        Number of steps.
    enabled : bool
    """

    def __init__(self, what: str, total: int | None, enabled: bool) -> None:
        self.what, self.total, self.enabled = what, total, enabled
        self._progress: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if self.enabled:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
            from rich.progress import TimeElapsedColumn as Clock

            bar = [] if self.total is None else [BarColumn(30)]
            self._progress = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                *bar,
                Clock(),
                console=Console(stderr=True),
                transient=True,
            )
            self._progress.start()
            self._task = self._progress.add_task(self.what, total=self.total)
        return self

    def update(self, done: int, note: str = "") -> None:
        """Say how many steps are done, and what is being done now."""
        if self._progress is not None:
            words = f"{self.what}: {note}" if note else self.what
            self._progress.update(self._task, completed=done, description=words)

    def __exit__(self, *exception: object) -> None:
        if self._progress is not None:
            self._progress.stop()
