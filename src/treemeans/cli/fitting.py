"""``treemeans fit``: a table, its clusters, their rules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemeans import ExKMC
from treemeans.cli.console import Say
from treemeans.cli.outputs import check_free
from treemeans.columns import Column
from treemeans.explain.knee import suggested_leaves
from treemeans.sheets.encode import Encoded, encode
from treemeans.sheets.errors import InputError
from treemeans.sheets.read import read_table

if TYPE_CHECKING:
    from treemeans.cli.large import Large

DEMO_CLUSTERS = 3
_SHOWN = 20_000  # rows for the histograms of a report


@dataclass(frozen=True)
class Source:
    """The file, and what of it to use. Without a file: wines that come with scikit-learn."""

    path: str | None
    columns: str | None = None
    id: str | None = None
    missing: str = "refuse"

    @property
    def title(self) -> str:
        """What to call it."""
        if self.path is None:
            return "Wines of three growers"
        return "Standard input" if self.path == "-" else Path(self.path).name

    def load(self) -> Encoded:
        """Its rows as numbers, and how the columns read."""
        if self.path is None:
            return _wines()
        return encode(read_table(self.path), columns=self.names, id=self.id, missing=self.missing)

    @property
    def names(self) -> list[str] | None:
        """The columns asked for; None for all."""
        return None if self.columns is None else [c.strip() for c in self.columns.split(",")]


def source_of(
    path: str | None,
    clusters: int | None,
    columns: str | None,
    id_column: str | None,
    missing: str,
    demo: bool,
) -> Source:
    """What the user asked for; a file or the demonstration, and -k with a file."""
    if demo == (path is not None):
        raise InputError("Give a file to cluster, or --demo.")
    if path is not None and clusters is None:
        raise InputError(
            f"How many clusters? Add -k, for example -k 5; `treemeans choose {path}` helps."
        )
    return Source(path, columns, id_column, missing)


@dataclass(frozen=True)
class Settings:
    """How to cluster, and how to grow the tree."""

    clusters: int
    leaves: int | None
    scale: str
    refine: str = "none"
    short: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if self.leaves is not None and self.leaves < self.clusters:
            raise InputError(
                f"--leaves {self.leaves} is less than -k {self.clusters}; "
                "a tree needs a leaf for every cluster."
            )


def fit_model(table: Encoded, settings: Settings, *, progress: bool = False) -> ExKMC:
    """The model of a table."""
    reference = reference_of(table.X, settings.clusters, settings.scale, settings.seed)
    model = _unfitted(settings, reference, progress=progress)
    return model.fit(table.X).with_columns(columns=table.columns)


def fit_large(table: Large, settings: Settings, say: Say) -> ExKMC:
    """The model of a table in parts; tells how long it will take."""
    from treemeans.cli.engine import threads
    from treemeans.parts.sources.pace import Pace

    reference = _clusterer(table.n_rows, settings.clusters, settings.scale, settings.seed)
    model = _unfitted(settings, reference, n_jobs=threads())
    with Pace(table.parts, say.aside, say.shows_progress) as parts:
        model.fit(parts)
    return model.with_columns(columns=table.columns)


def _unfitted(
    settings: Settings, reference: Any, *, n_jobs: int = -1, progress: bool = False
) -> ExKMC:
    return ExKMC(
        settings.clusters,
        max_leaf_nodes=settings.leaves,
        reference=reference,
        refine=settings.refine,
        round_thresholds=settings.short,
        random_state=settings.seed,
        n_jobs=n_jobs,
        verbose=int(progress),
    )


def reference_of(X: NDArray[np.float64], clusters: int, scale: str, seed: int) -> Any:
    """K-means, on standardised columns if asked for; fitted once, however many trees explain it."""
    return _clusterer(len(X), clusters, scale, seed).fit(X)


def _clusterer(n_rows: int, clusters: int, scale: str, seed: int) -> Any:
    from sklearn.cluster import KMeans
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if clusters < 1:
        raise InputError(f"-k must be at least 1; got {clusters}.")
    if n_rows < clusters:
        raise InputError(f"The table has {n_rows} rows, too few for {clusters} clusters.")
    kmeans = KMeans(clusters, n_init=10, random_state=seed)
    steps = [StandardScaler(), kmeans] if scale == "standard" else [kmeans]
    return make_pipeline(*steps)


def run(
    source: Source,
    settings: Settings,
    engine: str,
    out: str | None,
    report: str | None,
    force: bool,
    say: Say,
) -> None:
    """Fit, print, write."""
    from treemeans.cli.engine import chosen

    check_free([out, report], force=force)
    engine = chosen(engine, source.path, source.names, say)
    if engine != "memory":
        _run_large(source, settings, engine, out, report, say)
        return
    table = source.load()
    for note in table.notes:
        say.aside(f"Note: {note}")
    model = fit_model(table, settings, progress=say.shows_progress)
    _deliver(model, table, settings, out, say)
    if report:
        _report(model, report, table.X, source.title, say)


def _run_large(
    source: Source, settings: Settings, engine: str, out: str | None, report: str | None, say: Say
) -> None:
    """The same, on a table in parts."""
    from treemeans.cli.large import opened
    from treemeans.parts.sketch import TakeSketch

    assert source.path is not None
    with opened(
        source.path,
        source.names,
        source.id,
        source.missing,
        dask=engine == "dask",
        shown=say.shows_progress,
    ) as table:
        for note in table.notes:
            say.aside(f"Note: {note}")
        model = fit_large(table, settings, say)
        _deliver(model, table, settings, out, say)
        if report:
            _report(model, report, table.parts.ask(TakeSketch(_SHOWN)).sample, source.title, say)
            if table.n_rows > _SHOWN:
                say.aside(f"Its histograms are of {_SHOWN:,} rows, drawn evenly from all.")


def _deliver(
    model: ExKMC, table: Encoded | Large, settings: Settings, out: str | None, say: Say
) -> None:
    """Say what was found, and write the model."""
    say.words(_opening(table, settings))
    say.words(f"\n{model.rules()}\n")
    say.words(curve(model))
    say.document(summary(model, table))
    if out:
        model.save(out)
        say.aside(f"The model is in {out}.")


def _report(model: ExKMC, report: str, X: NDArray[np.float64], title: str, say: Say) -> None:
    from treemeans import write_report

    write_report(model, report, X, title=title, force=True)
    say.aside(f"The report is in {report}.")


def _opening(table: Encoded | Large, settings: Settings) -> str:
    how = (
        "on standardised columns; the rules are in your own units"
        if settings.scale == "standard"
        else "on the columns as they are"
    )
    names = {column.source or column.name for column in table.columns}
    return f"{table.n_rows:,} rows and {len(names)} columns, clustered {how}."


def curve(model: ExKMC) -> str:
    """What every size of the tree costs, the suggested one marked."""
    knee = suggested_leaves(model.path_)
    lines = ["leaves   cost / k-means   rows as in k-means"]
    for row in model.path_:
        mark = "   <- suggested" if row["n_leaves"] == knee else ""
        lines.append(f"{row['n_leaves']:6}   {row['ratio']:14.4f}   {row['accuracy']:18.1%}{mark}")
    return "\n".join(lines)


def summary(model: ExKMC, table: Encoded | Large) -> dict[str, Any]:
    """What a machine wants to know of a fit."""
    return {
        "n_rows": table.n_rows,
        "n_rows_dropped": table.dropped,
        "n_leaves": model.n_leaves_,
        "cost": model.inertia_,
        "reference_cost": model.reference_inertia_,
        "suggested_leaves": suggested_leaves(model.path_),
        "path": {name: model.path_[name].tolist() for name in model.path_.dtype.names or ()},
        "rules": model.rules().to_dict(),
        "notes": table.notes,
    }


def _wines() -> Encoded:
    from sklearn.datasets import load_wine

    wines = load_wine()
    columns = tuple(Column(name.replace("_", " ")) for name in wines.feature_names)
    return Encoded(X=wines.data, columns=columns, rows=np.arange(len(wines.data)), dropped=0)
