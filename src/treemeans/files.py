"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file so that nobody ever finds half of it.

    It is written beside its place and moved there when it is complete: whatever goes wrong, a file
    that was there before is still there. A link stays a link. What is no file but can be written
    to, such as ``/dev/stdout``, is.

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


def _write_and_move(place: str, data: bytes) -> None:
    beside = os.path.join(os.path.dirname(place), f".treemeans-{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(place):
            shutil.copymode(place, beside)
        os.replace(beside, place)
    except BaseException:  # Ctrl-C too leaves nothing behind
        with suppress(OSError):
            os.unlink(beside)
        raise
