"""Optional packages, imported by the functions that use them."""

import importlib
from typing import Any


def need(module: str, extra: str) -> Any:
    """Import a module; if its package is missing, say in one sentence what to install.

    Examples
    --------
    >>> need("no_such_package", "plot")
    Traceback (most recent call last):
    ImportError: This needs no_such_package; install it with `pip install "treemeans[plot]"`.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        package = module.split(".")[0]
        raise ImportError(
            f'This needs {package}; install it with `pip install "treemeans[{extra}]"`.'
        ) from error
