"""The folder where prepared data sets are kept, one ``.npz`` file for each."""

import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from treemeans.datasets.dataset_info import Matrix
from treemeans.datasets.prepared_data import Prepared, digest
from treemeans.datasets.sources.download_source import Source

VARIABLE = "TREEMEANS_DATA"
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
    with temporary_folder(folder) as here:
        path = here / f"{name}.npz"
        with path.open("xb") as out:
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
        os.replace(path, folder / path.name)


@contextmanager
def temporary_folder(folder: Path) -> Iterator[Path]:
    """A new folder inside ``folder``, removed at the end with everything in it.

    Nothing else in ``folder`` is touched: other files there may be the user's, and other temporary
    folders may belong to processes that still run.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        made = tempfile.TemporaryDirectory(prefix=".treemeans-", dir=folder)
    except OSError as error:
        raise type(error)(
            error.errno, f"cannot write to {folder}: pass folder= or set {VARIABLE}"
        ) from error
    with made as path:
        yield Path(path)
