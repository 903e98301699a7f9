"""A file from the web, whole or not at all.

A connection that breaks is taken up where it broke; an address that does not answer gives way to
the next one. Not a package's worth of work: what the standard library lacks is below.
"""

import hashlib
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from typing import BinaryIO
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from treemeans.datasets.sources.source import Raw
from treemeans.progress import Progress

_PAUSES = (1.0, 3.0)  # seconds before another try
_TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 1 << 16
_MOST = 10  # times the stated size: whatever that is, it is not the file
_PASSING = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}
_NO_SUCH_PART = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE


class _BrokenError(Exception):
    """The connection failed; another try may not, if need be from the beginning."""

    def __init__(self, problem: str, start_again: bool = False) -> None:
        super().__init__(problem)
        self.start_again = start_again


def download(raw: Raw, out: BinaryIO, mirror: str | None = None) -> None:
    """Write the raw file to ``out``, an empty file, and check its SHA-256 where one is known."""
    errors: list[Exception] = []
    with Progress(f"downloading {raw.name}", raw.size, enabled=True) as bar:
        for address in _addresses(raw, mirror):
            try:
                _try_hard(address, raw, out, bar)
                _check_sum(raw, out, address)
                return
            except (ConnectionError, ValueError) as error:
                errors.append(error)
    kind = ConnectionError if isinstance(errors[0], ConnectionError) else ValueError
    raise kind("; ".join(str(error) for error in errors))


def _addresses(raw: Raw, mirror: str | None) -> tuple[str, ...]:
    if mirror is None:
        return raw.addresses
    if not isinstance(mirror, str) or urlsplit(mirror).scheme not in ("http", "https"):
        raise ValueError(
            f"mirror must be an address that begins with http or https; got {mirror!r}"
        )
    return (f"{mirror.rstrip('/')}/{quote(raw.name)}",)


def _try_hard(address: str, raw: Raw, out: BinaryIO, bar: Progress) -> None:
    """Download from one address, again and again from where the last try broke off."""
    _empty(out)
    for pause in (*_PAUSES, None):
        try:
            _go_on(address, raw, out, bar)
            return
        except _BrokenError as error:
            if pause is None:
                raise ConnectionError(f"{address}: {error}") from error
            if error.start_again:
                _empty(out)
            time.sleep(pause)


def _go_on(address: str, raw: Raw, out: BinaryIO, bar: Progress) -> None:
    """Ask for what is still missing, and write it behind what is there."""
    done = out.tell()
    headers = {"User-Agent": "treemeans", "Accept-Encoding": "identity"}
    if done:
        headers["Range"] = f"bytes={done}-"
    with _answer(Request(address, headers=headers)) as response:
        if response.status == HTTPStatus.OK:
            _empty(out)  # all of it comes again: this server cannot begin in the middle
        elif not _continues(response, done):
            raise _BrokenError(f"answered {response.status} in place of the file", start_again=True)
        length = response.headers.get("Content-Length")
        whole = out.tell() + int(length) if length and length.isdigit() else None
        bar.total = whole or raw.size
        for chunk in _chunks(response):
            out.write(chunk)
            if out.tell() > _MOST * raw.size:
                raise ConnectionError(f"{address}: is not {raw.name}, but something far larger")
            bar.update(min(out.tell(), bar.total), f"of {bar.total / 1e6:.1f} MB")
    if whole is not None and out.tell() < whole:
        raise _BrokenError(f"broke off after {out.tell()} of {whole} bytes")


def _answer(request: Request) -> HTTPResponse:
    try:
        response: HTTPResponse = urlopen(request, timeout=_TIMEOUT)
    except HTTPError as error:
        error.close()
        problem = f"answered {error.code} ({error.reason})"
        if error.code in _PASSING or error.code == _NO_SUCH_PART:
            raise _BrokenError(problem, start_again=error.code == _NO_SUCH_PART) from error
        raise ConnectionError(f"{request.full_url}: {problem}") from error
    except (OSError, HTTPException) as error:
        raise _BrokenError(str(getattr(error, "reason", None) or error or "no answer")) from error
    return response


def _continues(response: HTTPResponse, done: int) -> bool:
    part = response.headers.get("Content-Range", "")
    return response.status == HTTPStatus.PARTIAL_CONTENT and part.startswith(f"bytes {done}-")


def _chunks(response: HTTPResponse) -> Iterator[bytes]:
    # Errors of reading are the network's; errors of writing are not caught here.
    while True:
        try:
            chunk = response.read(_CHUNK)
        except (OSError, HTTPException) as error:
            raise _BrokenError(f"broke off ({error or type(error).__name__})") from error
        if not chunk:
            return
        yield chunk


def _empty(out: BinaryIO) -> None:
    out.seek(0)
    out.truncate()


def _check_sum(raw: Raw, out: BinaryIO, address: str) -> None:
    if raw.sha256 is None:
        return
    out.seek(0)
    total = hashlib.sha256()
    while chunk := out.read(_CHUNK):
        total.update(chunk)
    found = total.hexdigest()
    if found != raw.sha256:
        raise ValueError(
            f"{raw.name} from {address} is damaged or not the right one: it has the SHA-256 "
            f"{found}, not {raw.sha256}"
        )
