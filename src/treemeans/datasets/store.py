"""The folder where prepared data sets are kept, one ``.npz`` file for each."""

import os
import secrets
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from treemeans.datasets.prepared import Prepared, digest
from treemeans.datasets.sources.source import Source
from treemeans.datasets.table import Matrix

VARIABLE = "TREEMEANS_DATA"
_STALE = 24 * 3600  # seconds after which an unfinished file was left by a process that died
_UNREADABLE = (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, IndexError)


def data_folder(folder: str | os.PathLike[str] | None) -> Path:
    """The folder given, else ``$TREEMEANS_DATA``, else one in the user's cache."""
    given = folder if folder is not None else os.environ.get(VARIABLE) or None
    if given is None:
        return _user_cache() / "treemeans"
    path = Path(given).expanduser()
    if not path.is_dir():
        origin = "folder" if folder is not None else VARIABLE
        raise FileNotFoundError(f"{origin} must be a folder that exists; got {str(path)!r}.")
    return path


def _user_cache() -> Path:
    if given := os.environ.get("XDG_CACHE_HOME"):
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path.home() / ".cache"


def read(folder: Path, name: str, source: Source) -> Prepared | None:
    """The data set as the folder has it, checked; None if the folder does not have it.

    A file either carries its own SHA-256, which is that of the table as it was prepared, or must
    have the one that the source states.
    """
    path = folder / f"{name}.npz"
    expected = source.digest
    try:
        if path.is_file():
            data, own = _from_npz(path)
            expected = own or expected
        else:
            other = source.from_folder(folder) if source.from_folder else None
            if other is None:
                return None
            data = other
    except _UNREADABLE as error:
        raise ValueError(
            f"{name} in {folder} cannot be read: delete its file ({error})."
        ) from error
    if (found := digest(data)) != expected:
        raise ValueError(
            f"{name} in {folder} is damaged or not the right one: delete its file "
            f"(the SHA-256 of the table is {found}, not {expected})."
        )
    return data


def _from_npz(path: Path) -> tuple[Prepared, str | None]:
    with zipfile.ZipFile(path):  # np.load takes files of other kinds too
        pass
    with np.load(path, allow_pickle=False) as file:
        names = [tuple(str(s) for s in file[key]) for key in ("feature_names", "target_names")]
        data = Prepared(_matrix(file), file["y"].astype(np.intp), *names)
        return data, str(file["digest"]) if "digest" in file.files else None


def _matrix(file: Any) -> Matrix:
    if "indptr" not in file.files:
        X: Matrix = file["X"]
        if X.ndim != 2 or X.dtype.kind not in "iuf":
            raise ValueError(f"X is not a table of numbers, but {X.ndim}-d of type {X.dtype}")
        return X
    indices = file["indices"].astype(np.int32)
    shape = tuple(int(size) for size in file["shape"])
    return sparse.csr_matrix((file["data"], indices, file["indptr"]), shape=shape)


def write(folder: Path, name: str, data: Prepared) -> None:
    """Put the data set into the folder: the whole file appears at once, or not at all."""
    arrays: dict[str, Any] = {"X": data.X}
    if not isinstance(data.X, np.ndarray):
        X = data.X
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    with unfinished(folder, name) as out:
        np.savez(
            out,
            **arrays,
            y=data.y,
            feature_names=np.array(data.feature_names, dtype=np.str_),
            target_names=np.array(data.target_names, dtype=np.str_),
            digest=np.array(digest(data)),
        )
        out.flush()
        os.fsync(out.fileno())
        out.close()  # before it is moved: Windows moves no open file
        os.replace(out.name, folder / f"{name}.npz")


@contextmanager
def unfinished(folder: Path, name: str) -> Iterator[BinaryIO]:
    """A new file in the folder, of a name of its own, that is gone afterwards unless moved away."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        path = folder / f".{name}-{secrets.token_hex(8)}.part"
        out = open(path, "x+b")  # noqa: SIM115  closed below, or before it is moved
    except OSError as error:
        raise type(error)(
            error.errno, f"cannot write to {folder}: pass folder= or set {VARIABLE}"
        ) from error
    try:
        yield out
    finally:
        out.close()
        path.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove what processes that were killed have left."""
    for path in folder.glob(".*-*.part"):
        try:
            if time.time() - path.stat().st_mtime > _STALE:
                path.unlink()
        except OSError:
            pass  # another process was quicker, or it is not ours to remove
