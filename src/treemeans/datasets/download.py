"""Raw files from the web, by way of pooch: checksums, retries and atomic moves are its work."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from treemeans.datasets.sources.download_source import Raw
from treemeans.optional_imports import need
from treemeans.progress import Progress

_RETRIES = 2  # after a first try that failed
_CHUNK = 1 << 16
_MOST = 10  # times the stated size: a longer file is not the one that was asked for


class _ProgressBar:
    """Our progress bar behind the four methods that pooch calls."""

    def __init__(self, raw: Raw, bar: Progress) -> None:
        self._raw, self._bar = raw, bar
        self._done = 0

    @property
    def total(self) -> int:
        """Length of the file in bytes."""
        return self._bar.total or self._raw.size

    @total.setter
    def total(self, length: int) -> None:
        # Zero where the server does not say; a new try begins at nothing.
        self._bar.total, self._done = length or self._raw.size, 0

    def update(self, length: int) -> None:
        """Add the bytes of a chunk; zero at the end of a file whose length nobody knew."""
        self._done += length or self.total
        if self._done > _MOST * self._raw.size:
            raise ConnectionError(f"is not {self._raw.name}, but something far larger")
        self._bar.update(min(self._done, self.total), f"of {self.total / 1e6:.1f} MB")

    def reset(self) -> None:
        """Start counting again."""
        self._done = 0

    def close(self) -> None:
        """Do nothing: the bar is closed by whoever opened it."""


def download(raw: Raw, folder: Path, mirror: str | None = None) -> Path:
    """Download the raw file into a folder; return its path.

    The addresses are tried in their order. A file whose SHA-256 is known and differs is refused.
    """
    pooch, requests = need("pooch", "datasets"), need("requests", "datasets")
    addresses = _addresses(raw, mirror)
    problems: list[ConnectionError | ValueError] = []
    known = None if raw.sha256 is None else f"sha256:{raw.sha256}"
    with Progress(f"downloading {raw.name}", raw.size, enabled=True) as bar, _quiet(pooch):
        for address in addresses:
            files = pooch.create(
                folder,
                base_url="",
                registry={raw.name: known},
                urls={raw.name: address},
                retry_if_failed=_RETRIES,
            )
            downloader = pooch.HTTPDownloader(
                progressbar=_ProgressBar(raw, bar),
                chunk_size=_CHUNK,
                headers={"User-Agent": "treemeans"},
            )
            try:
                return Path(files.fetch(raw.name, downloader=downloader))
            except (requests.exceptions.RequestException, ConnectionError) as error:
                problems.append(ConnectionError(f"{address}: {_reason(error)}"))
            except ValueError:
                problems.append(
                    ValueError(
                        f"{raw.name} from {address} is damaged or not the right one: "
                        f"its SHA-256 is not {raw.sha256}"
                    )
                )
    raise type(problems[0])("; ".join(str(problem) for problem in problems))


def _addresses(raw: Raw, mirror: str | None) -> tuple[str, ...]:
    if mirror is None:
        return raw.addresses
    if not isinstance(mirror, str) or urlsplit(mirror).scheme not in ("http", "https"):
        raise ValueError(
            f"mirror must be an address that begins with http or https; got {mirror!r}"
        )
    return (f"{mirror.rstrip('/')}/{quote(raw.name)}",)


@contextmanager
def _quiet(pooch: Any) -> Iterator[None]:
    """Keep pooch from logging every step to standard error."""
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _reason(error: BaseException) -> str:
    """The answer of the server or, if there is none, the first cause of the error."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"answered {response.status_code} ({response.reason})"
    while error.__context__ is not None:
        error = error.__context__
    return str(error) or type(error).__name__
