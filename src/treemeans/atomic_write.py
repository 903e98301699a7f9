"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress


class AtomicFile:
    """A new file in the target's folder, which replaces the target once it is complete.

    If anything fails before that, a file that existed at the target is unchanged.

    Parameters
    ----------
    target : str
        Path to write to. A link must have been resolved, or it would be replaced by a file.

    Attributes
    ----------
    path : path of the new file, which exists and is empty
    """

    def __init__(self, target: str) -> None:
        self._target = target
        name = f".treemeans-{secrets.token_hex(8)}.tmp"
        self.path = os.path.join(os.path.dirname(target), name)
        os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))

    def commit(self) -> None:
        """Put the new file, which must be closed, in the place of the target."""
        with open(self.path, "rb+") as file:
            os.fsync(file.fileno())
        if os.path.exists(self._target):
            shutil.copymode(self._target, self.path)
        os.replace(self.path, self._target)

    def discard(self) -> None:
        """Delete the new file, if it has not been put in its place."""
        with suppress(OSError):
            os.unlink(self.path)


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file whole or not at all.

    It is written to the target's folder under another name and moved when it is complete, so that a
    file that existed before is unchanged if anything fails. A symbolic link stays a link. Devices
    and pipes, such as ``/dev/stdout``, are written to directly.

    Parameters
    ----------
    path : str or PathLike
    content : str or bytes
        Text is written as UTF-8, its line ends as they are.

    Raises
    ------
    OSError
        With one sentence that names the file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "note.txt")
    ...     write_whole(path, "Hello")
    ...     path.read_text()
    'Hello'
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    path = os.fspath(path)
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as device:
                device.write(data)
        else:
            _write_and_move(os.path.realpath(path), data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise type(error)(f"Cannot write {path!r}: {reason}.") from error


def _write_and_move(target: str, data: bytes) -> None:
    new = AtomicFile(target)
    try:
        with open(new.path, "wb") as file:
            file.write(data)
        new.commit()
    except BaseException:  # also for Ctrl-C
        new.discard()
        raise
