"""Saving models to files and loading them."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treemeans.atomic_write import write_whole
from treemeans.fit_result import FitResult
from treemeans.model_file.checked_entries import Entries, UnreadableError
from treemeans.model_file.saved_fit import read_fit, write_fit
from treemeans.model_file.saved_parameters import read_parameters, write_parameters
from treemeans.model_file.strict_json import as_document, as_text

FORMAT = "treemeans-model"
# Goes up with a change that older readers would not understand. 2: trees may have sets of
# categories and sides for missing values.
VERSION = 2
_MOST = 2**53
# These import this module. They are imported once a file is read or written, since the package
# imports what is in it only when it is used.
_MODULES_WITH_MODELS = ("treemeans.estimator", "treemeans.baselines")
_LONGEST = 300  # letters of what a message says is wrong


class ModelFileError(ValueError):
    """A file is not a model that can be loaded; the message says in a sentence why."""


class SaveMixin:
    """Saving and loading of models, which keep a ``FitResult``."""

    _fit_result: FitResult
    n_leaves_: int

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, from which ``treemeans.load`` makes it again.

        The file is JSON that people can read. It holds the trees of all sizes with their costs,
        the cluster means, how the columns read, and the parameters that are plain values; not the
        training rows, nor objects: a ``reference`` or ``base_tree`` that is one, a RandomState.
        It is written whole or not at all.

        Parameters
        ----------
        path : str or PathLike
            A file that exists is replaced.

        Examples
        --------
        >>> import tempfile, pathlib, treemeans
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> model = treemeans.ExKMC(3, max_leaf_nodes=6, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "model.json")
        ...     model.save(path)
        ...     again = treemeans.load(path)
        >>> bool((again.predict(X) == model.predict(X)).all())
        True
        """
        check_is_fitted(self)
        write_whole(path, _text(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """As ``treemeans.load``, but only a model of this class.

        Parameters
        ----------
        path : str or PathLike

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> path = Path(tempfile.mkdtemp()) / "model.json"
        >>> ExKMC(3, random_state=0).fit(load_iris().data).save(path)
        >>> ExKMC.load(path).n_leaves_
        6
        """
        model = load(path)
        if not isinstance(model, cls):
            found, wanted = type(model).__name__, cls.__name__
            raise ModelFileError(f"{os.fspath(path)!r} holds a model of {found}, not of {wanted}.")
        return model


def load(path: str | os.PathLike[str]) -> Any:
    """The model that ``save`` wrote to a file.

    It predicts, explains and exports as the model that was saved, and has all its sizes; it knows
    no training rows, so ``labels_`` and ``reference_labels_`` are missing. ``transform`` and
    ``score`` need the space of the reference: if that is a pipeline, they raise an error. So does
    ``fit``, if a parameter was an object, which files do not hold.

    The file is checked in full, and nothing in it is run.

    Parameters
    ----------
    path : str or PathLike

    Returns
    -------
    ExKMC, or another model of treemeans

    Raises
    ------
    ModelFileError
        A ValueError: the file is missing, or no such model, or damaged, or from a newer treemeans.

    Examples
    --------
    >>> import tempfile, pathlib, treemeans
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.json")
    ...     _ = path.write_text('{"format": "treemeans-model", "version": 3}')
    ...     try:
    ...         treemeans.load(path)
    ...     except ValueError as error:
    ...         print(str(error).replace(folder, "..."))
    '.../model.json' cannot be loaded: it was written by a newer treemeans (version 3); update.
    """
    path = os.fspath(path)
    try:
        return _model(as_document(_bytes(path)))
    except UnreadableError as error:
        reason = " ".join(str(error).split()).removesuffix(".")
        reason = reason if len(reason) <= _LONGEST else reason[:_LONGEST] + "..."
        raise ModelFileError(f"{path!r} cannot be loaded: {reason}.") from error


def _bytes(path: str) -> bytes:
    if not os.path.exists(path):
        raise UnreadableError("there is no such file")
    if not os.path.isfile(path):  # nor a pipe or device, which may never end
        raise UnreadableError("it is not a file")
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from error


def _text(model: Any) -> str:
    """The content of a model's file, checked by reading it, so that every file can be loaded."""
    name = type(model).__name__
    if _known_models().get(name) is not type(model):
        raise ValueError(f"A model of class {name} cannot be saved: it is not one of treemeans'.")
    try:
        text = as_text(_document(model))
        _model(as_document(text.encode("utf-8")))
    except UnreadableError as error:
        raise ValueError(f"This model cannot be saved: {error}.") from error
    return text


def _document(model: Any) -> dict[str, Any]:
    names = getattr(model, "feature_names_in_", None)
    rounds = getattr(model, "n_iter_", None)
    record = model._fit_result
    # Follows from the columns or from the preparation in all other models.
    says_by_name = (
        model._reads_by_name and not record.is_encoded and record.reference.pipeline is None
    )
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": type(model).__name__,
        **write_parameters(model.get_params(deep=False)),
        "n_leaves": int(model.n_leaves_),
        "n_iter": None if rounds is None else int(rounds),
        "feature_names": None if names is None else [str(name) for name in names],
        **({"reads_by_name": True} if says_by_name else {}),
        **write_fit(record),
    }


def _model(document: Any) -> Any:
    """The model of a document; or UnreadableError, whatever may be wrong with it."""
    if type(document) is not dict or document.get("format") != FORMAT:
        raise UnreadableError("it is not a model of treemeans")
    entries = Entries(document)
    entries.take("format")
    version = entries.integer("version", 1, _MOST)
    if version > VERSION:
        raise UnreadableError(f"it was written by a newer treemeans (version {version}); update")
    model = _unfitted(entries)
    model._fit_result = record = read_fit(entries, version)
    model.n_features_in_ = len(record.columns)
    if not entries.is_null("feature_names"):
        names = entries.texts("feature_names", len(record.columns))
        model.feature_names_in_ = np.array(names, dtype=object)
    if entries.has("reads_by_name") and entries.flag("reads_by_name"):
        model._loaded_reads_by_name = True
    if not entries.is_null("n_iter"):
        model.n_iter_ = entries.integer("n_iter", 0, _MOST)
    sizes = record.path["n_leaves"]
    n_leaves = entries.integer("n_leaves", int(sizes[0]), int(sizes[-1]))
    entries.end()
    return _with_fitted_attributes(model, n_leaves)


def _unfitted(entries: Entries) -> Any:
    name = entries.text("model")
    if name not in _known_models():
        raise UnreadableError(f"it holds a model {name!r}, which is unknown")
    kind: Any = _known_models()[name]
    return kind(**read_parameters(entries, kind._get_param_names()))


def _with_fitted_attributes(model: Any, n_leaves: int) -> Any:
    with np.errstate(all="ignore"):
        model._set_fitted_attributes(n_leaves)
    if not np.isfinite(model.cluster_centers_).all():
        raise UnreadableError("its sums are too large for its weights")
    return model


def _known_models() -> dict[str, type[SaveMixin]]:
    """Our own models, by name: a file says which, but not what to import."""
    for module in _MODULES_WITH_MODELS:
        import_module(module)
    found: dict[str, type[SaveMixin]] = {}
    kinds = SaveMixin.__subclasses__()
    for kind in kinds:  # which grows as it is read
        kinds += kind.__subclasses__()
        if hasattr(kind, "fit") and kind.__module__.startswith("treemeans."):
            found[kind.__name__] = kind
    return found
