"""A model file that a command is given, and rows that its model reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from treemeans.cli.names_file import read_names


@dataclass(frozen=True)
class SavedModel:
    """A model file, and how a command shows it.

    That is a number of leaves, names from a file, and whether conditions list all categories.
    """

    path: str
    leaves: int | None = None
    names: str | None = None
    all_categories: bool = False

    def open(self) -> Any:
        """The model."""
        from treemeans import load

        model = load(self.path)
        if self.leaves is not None:
            model = model.with_leaves(self.leaves)
        if self.all_categories:
            model = model.with_columns(all_categories=True)
        return model if self.names is None else model.with_names(read_names(self.names))


def rows_for(model: Any, path: str) -> Any:
    """The rows of a file as the numbers that a model reads."""
    from treemeans.files.file_schema import encode_for_model
    from treemeans.files.read_table import read_table

    return encode_for_model(read_table(path), model.columns_)
