"""`load`: a data set by its name."""

import csv
import os
import tarfile
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike
from sklearn import datasets as bundled

from treemeans.datasets.dataset_info import NAMES, TABLE, Dataset
from treemeans.datasets.dataset_store import VARIABLE, data_folder, read, temporary_folder, write
from treemeans.datasets.download import download as fetch_file
from treemeans.datasets.prepared_data import Prepared, check_size, digest
from treemeans.datasets.sources import SOURCES
from treemeans.datasets.sources.download_source import Source
from treemeans.datasets.synthetic import synthetic_1, synthetic_2

_BUNDLED = {
    "iris": bundled.load_iris,
    "wine": bundled.load_wine,
    "breast_cancer": bundled.load_breast_cancer,
    "digits": bundled.load_digits,
}
_UNREADABLE = (  # all that the readers of the standard library raise at a file they cannot read
    ValueError,
    LookupError,
    OSError,
    EOFError,
    RuntimeError,
    csv.Error,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


def load(
    name: str,
    dtype: DTypeLike | None = np.float64,
    *,
    folder: str | os.PathLike[str] | None = None,
    download: bool = True,
    mirror: str | None = None,
) -> Dataset:
    """A data set of the ExKMC paper, with the paper's k, n and d.

    Iris, Wine, Breast Cancer and Digits come with scikit-learn. The two synthetic sets are drawn
    with seed 0; `synthetic_1` and `synthetic_2` draw others. The rest are downloaded when they are
    first asked for, checked, prepared and kept in a folder, where the next call finds them.

    Parameters
    ----------
    name : str
        One of ``NAMES``.
    dtype : float64, float32 or None, default=float64
        Type of X. None keeps the smallest type that is exact, e.g. uint8 for the pixels of cifar10,
        which take 1.2 GB as float64: mind overflow in arithmetic of your own.
    folder : path, optional
        Where the sets are kept, as files ``<name>.npz``, and where one that is downloaded is put.
        By default ``$TREEMEANS_DATA`` if it is set, else a folder of the user's cache.
    download : bool, default=True
        Whether a set that the folder lacks may be downloaded.
    mirror : str, optional
        Address of a web folder that has the raw files under their own names, to take them from
        there.

    Returns
    -------
    Dataset
        With attributes X, y, k, feature_names, target_names and name.

    Raises
    ------
    ValueError
        If the name is unknown, or a file is damaged or not what it should be.
    FileNotFoundError
        If the folder does not exist, or lacks the set and ``download`` is False.
    ConnectionError
        If the set cannot be downloaded.
    ImportError
        If a set is to be downloaded and pooch is missing (``pip install "treemeans[datasets]"``).

    Examples
    --------
    >>> from treemeans.datasets import load
    >>> wine = load("wine")
    >>> wine.X.shape, wine.k
    ((178, 13), 3)
    >>> wine.feature_names[:2]
    ('alcohol', 'malic_acid')
    """
    if not isinstance(name, str) or name not in TABLE:
        raise ValueError(f"name must be one of {', '.join(NAMES)}; got {name!r}.")
    _check_dtype(dtype)
    data = _prepared(name, folder, download, mirror)
    check_size(data, TABLE[name], name)
    X = data.X
    if isinstance(X, np.ndarray):
        X = np.ascontiguousarray(X, dtype=dtype)
    elif dtype is not None:
        X = X.astype(dtype)
    return Dataset(X, data.y, TABLE[name].k, data.feature_names, data.target_names, name)


def _check_dtype(dtype: Any) -> None:
    try:
        fits = dtype is None or np.dtype(dtype) in (np.float64, np.float32)
    except TypeError:
        fits = False
    if not fits:
        raise ValueError(
            f"dtype must be float64, float32, or None for the smallest exact type; got {dtype!r}."
        )


def _prepared(
    name: str, folder: str | os.PathLike[str] | None, download: bool, mirror: str | None
) -> Prepared:
    if name in _BUNDLED:
        bunch = _BUNDLED[name]()
        names = [tuple(str(s) for s in part) for part in (bunch.feature_names, bunch.target_names)]
        return Prepared(bunch.data, bunch.target.astype(np.intp), *names)
    if name == "synthetic_1":
        return _numbered(*synthetic_1(), ("far", "ones", "zeros"))
    if name == "synthetic_2":
        k = TABLE[name].k
        return _numbered(*synthetic_2(), tuple(f"codeword {i}" for i in range(k)))
    return _kept(name, SOURCES[name], data_folder(folder), download, mirror)


def _numbered(X: np.ndarray, y: np.ndarray, target_names: tuple[str, ...]) -> Prepared:
    return Prepared(X, y, tuple(f"x{i}" for i in range(X.shape[1])), target_names)


def _kept(name: str, source: Source, folder: Path, download: bool, mirror: str | None) -> Prepared:
    """The set from the folder; if it is not there, from the web by way of the folder."""
    data = read(folder, name, source)
    if data is not None:
        return data
    if not download:
        raise FileNotFoundError(
            f"{name} is not in {folder}: put {name}.npz there, or load it with download=True."
        )
    with temporary_folder(folder) as here:
        try:
            path = fetch_file(source.raw, here, mirror)
        except ConnectionError as error:
            raise ConnectionError(
                f"{name} could not be downloaded: check the network, or set folder= or {VARIABLE} "
                f"to a folder that has {name}.npz ({error})."
            ) from error
        with path.open("rb") as file:
            data = _parsed(name, source, file)
    write(folder, name, data)
    return data


def _parsed(name: str, source: Source, file: BinaryIO) -> Prepared:
    """Prepare the raw file, and make sure that the table is the one it should be."""
    try:
        data = source.parse(file)
    except _UNREADABLE as error:
        raise ValueError(
            f"{source.raw.name}, as downloaded, is not the file it should be: {error}."
        ) from error
    check_size(data, TABLE[name], name)
    if (found := digest(data)) != source.digest:
        difference = f"the SHA-256 of the table is {found}, not {source.digest}"
        if source.raw.sha256 is None:
            raise ValueError(f"{name}, as downloaded, is not the right table: {difference}.")
        # The raw file is the published one to the last bit, so the table is sound.
        warnings.warn(
            f"{name} differs from the table that published results were made with: {difference}.",
            stacklevel=5,
        )
    return data
