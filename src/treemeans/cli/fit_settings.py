"""What the options of ``treemeans fit`` ask of k-means, of the tree and of its clusters."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from treemeans.cli.load_table import LoadedTable
from treemeans.cli.options import comma_separated
from treemeans.columns.frame_values import open_frame
from treemeans.files.file_errors import InputError, quoted

MOST_LEAVES = 2  # leaves for each cluster, up to which a suggested size is looked for


@dataclass(frozen=True)
class ClusterSettings:
    """Limits on clusters, as the parameters of `ExKMC`."""

    min_cluster_size: float | None = None
    max_cluster_size: float | None = None
    balance: dict[str, Any] | None = None
    protected: list[str] | None = None

    @classmethod
    def read(
        cls, least: float | None, most: float | None, balance: list[str], protected: str | None
    ) -> ClusterSettings:
        """From the options of the command line."""
        found: dict[str, Any] = {}
        for each in balance:
            column, value, bounds = _read_balance(each)
            if value is None:
                found[column] = bounds
            elif isinstance(found.setdefault(column, {}), dict):
                found[column][value] = bounds
            else:
                raise InputError(f"--balance names {column!r} both as a whole and by value.")
        return cls(least, most, found or None, comma_separated(protected))

    @property
    def names(self) -> list[str]:
        """The columns that the limits name."""
        return list(dict.fromkeys([*(self.balance or ()), *(self.protected or ())]))

    @property
    def parameters(self) -> dict[str, Any]:
        """The limits that are given, by the names that `ExKMC` has for them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def groups(self, table: LoadedTable) -> dict[str, Any] | None:
        """The columns of the file that the limits name, also those that are not clustered by."""
        raw = table.encoded.raw
        known = list(getattr(raw, "column_names", ()))
        for name in self.names:
            if name not in known:
                raise InputError(
                    f"The table has no column {quoted(name)}, which --balance or --protected names."
                )
        frame = open_frame(raw)
        return {name: frame[name].to_numpy() for name in self.names} or None


def _read_balance(text: str) -> tuple[str, str | None, tuple[float, float]]:
    """A column, one of its values or None, and the least and largest share."""
    left, _, right = text.rpartition("=")
    least, _, most = right.partition(":")
    try:
        bounds = float(least), float(most)
    except ValueError:
        bounds = None
    if not left or bounds is None:
        raise InputError(
            f"--balance must be like gender=0.3:0.7 or gender:f=0.3:0.7; got {quoted(text)}."
        )
    column, colon, value = left.partition(":")
    return column, value if colon else None, bounds


@dataclass(frozen=True)
class FitSettings:
    """Options of k-means and of the tree."""

    clusters: int
    leaves: int | None
    scale: str
    refine: str = "none"
    round_thresholds: bool = True
    seed: int = 0
    max_categories: int | None = None
    limits: ClusterSettings = field(default_factory=ClusterSettings)

    def __post_init__(self) -> None:
        check_leaves(self.leaves, self.clusters, "-k")


def check_leaves(leaves: int | None, clusters: int, what: str) -> None:
    """Refuse fewer leaves than clusters; ``what`` their number is called."""
    if leaves is not None and leaves < clusters:
        number = f"-k {clusters}" if what == "-k" else f"the {clusters} {what}"
        raise InputError(
            f"--leaves {leaves} is less than {number}; a tree needs a leaf for every cluster."
        )
