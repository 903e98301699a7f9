"""What Ctrl-C does, from the start of the process to its end."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Any

STOPPED = 130  # exit code of a program that SIGINT ends, as shells count
_written: list[str] = []  # by the command that runs


def forget() -> None:
    """Forget what an earlier command of this process has written."""
    _written.clear()


def wrote(what: str) -> None:
    """Remember a file that has been written, or a part of the output."""
    _written.append(what)


def message() -> str:
    """One line about what the stopped command has written."""
    if not _written:
        return "Stopped: nothing was written."
    files = " and ".join(_written)
    return f"Stopped: {files} {'was' if len(_written) == 1 else 'were'} written, nothing else."


def exit_at_once() -> None:
    """Let Ctrl-C end the process with one line, wherever it is.

    For the time in which packages are imported: there is nothing to clean up, and an exception
    raised in the middle of an import may be swallowed there or printed by it.
    """
    _replace(signal.default_int_handler, _exit)


def raise_keyboard_interrupt() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, so that files and folders are cleaned up."""
    _replace(_exit, signal.default_int_handler)


def end_silently() -> None:
    """Let Ctrl-C end the process without a message, once only leaving Python is left to do."""
    _replace(signal.default_int_handler, signal.SIG_DFL)
    _replace(_exit, signal.SIG_DFL)


def leave_at_once(code: int) -> None:
    """End the process of a command that has failed, cleaned up and printed its error.

    A thread of a library may still wait for standard input. Python would end it, and the C++
    runtime would then abort the process.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or not there
            stream.flush()
    os._exit(code)


def _replace(old: Any, new: Any) -> None:
    """Change the handler if it is ours to change: nohup ignores Ctrl-C, and others may use it."""
    if signal.getsignal(signal.SIGINT) is old:
        signal.signal(signal.SIGINT, new)


def _exit(*_: Any) -> None:
    os.write(2, f"{message()}\n".encode())
    os._exit(STOPPED)
