"""The result of a fit, without its rows, as a JSON document and back."""

from __future__ import annotations

from dataclasses import asdict, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.category_counts import CategoryCounts
from treemeans.columns import Column, Columns
from treemeans.columns.number_text import finite_or_none
from treemeans.cost_path import PATH_DTYPE, path_row
from treemeans.costs import (
    COST_KINDS,
    OWN_COSTS,
    DirectionStatistics,
    GroupCosts,
    GroupStatistics,
    TableStatistics,
    Union,
    UnionStatistics,
)
from treemeans.explain.cluster_names import checked_names
from treemeans.explain.group_figures import GroupFigures
from treemeans.explain.warning_record import KINDS as WARNING_KINDS
from treemeans.explain.warning_record import SegmentWarning
from treemeans.fit_result import FitResult
from treemeans.model_file.checked_entries import Entries, UnreadableError
from treemeans.model_file.saved_histograms import read_histograms, write_histograms
from treemeans.model_file.saved_parameters import NotSaved
from treemeans.model_file.saved_sizes import Sizes, read_steps, write_steps
from treemeans.model_file.saved_space import read_space, write_space
from treemeans.optimal.certificate import KINDS, STATUSES, Certificate
from treemeans.reference import Reference
from treemeans.tree import ThresholdTree

_PATH = ("surrogate_cost", "kmeans_cost", "accuracy")  # the rest of a row follows from these
_MOST_CODES = 2**24  # of categories, as in a tree
_MOST_LEAVES = 2**31
_LONGEST_NAME = 200  # letters of what a reference is called
_COLUMN = {field.name: field.default for field in fields(Column)}


def write_fit(record: FitResult) -> dict[str, Any]:
    """The result of a fit as plain values.

    Means of clusters, profiles and ratios are not in it: they follow from sums and costs.
    """
    one_space = record.profile is record.leaves
    return {
        "columns": [_write_column(column) for column in record.columns],
        "short": bool(record.short),
        "reference": {
            "centers": record.reference.centers.tolist(),
            "cost": float(record.reference_cost),
            "pipeline": record.reference.pipeline is not None,
            **_write_space(record),
            **_write_starts(record.reference),
        },
        "tree": _write_tree(record.tree),
        "sizes": write_steps(Sizes.of(record.tree, record.sizes)),
        "path": {name: record.path[name].tolist() for name in _PATH},
        "centers": record.centers.tolist(),
        "hits": record.hits.tolist(),
        "sums": _write_leaves(record.leaves),
        "profile": None if one_space else _write_sums(record.profile),
        "spread": record.spread.tolist(),
        # Automatic names are written for people; a model that is loaded makes them again.
        "cluster_names": {
            "names": list(record.cluster_names),
            "given": bool(record.given_names),
        },
        "warnings": [each.to_dict() for each in record.warnings],
        "certificate": None if record.certificate is None else asdict(record.certificate),
        "histograms": write_histograms(record.training_histograms),
        **({"categories": _write_categories(record)} if record.categories else {}),
        **({} if record.groups is None else {"groups": _write_groups(record.groups)}),
    } | _write_cost(record)


def _write_space(record: FitResult) -> dict[str, Any]:
    """How the reference scales columns, if a few numbers for each of them say it."""
    pipeline, n_rows = record.reference.pipeline, float(record.tree.weight[0])
    space = None if pipeline is None else write_space(pipeline, record.columns, n_rows)
    return {} if space is None else {"space": space}


def _write_starts(reference: Reference) -> dict[str, Any]:
    """How far the starts of k-means agreed, of which the rules may warn."""
    agreement = reference.start_agreement
    if agreement is None or not len(agreement):
        return {}
    return {"start_agreement": agreement.tolist()}


def read_fit(entries: Entries, version: int) -> FitResult:
    """The `FitResult` of a document of some version of the format; or UnreadableError."""
    columns = tuple(_read_column(entry, version) for entry in entries.each("columns", at_least=1))
    reference = entries.within("reference")
    in_pipeline = reference.flag("pipeline")
    centers = reference.matrix("centers", None, None if in_pipeline else len(columns))
    cost = reference.number("cost", least=0.0)
    pipeline = _read_pipeline(reference, columns, centers) if in_pipeline else None
    starts = reference.float_list("start_agreement") if reference.has("start_agreement") else None
    reference.end()

    tree = _read_tree(entries.within("tree"), len(columns), len(centers), version)
    sizes = read_steps(entries.each("sizes", at_least=1), tree)
    hits = entries.matrix("hits", tree.n_leaves, len(centers), least=0.0)
    centers_of_costs = entries.matrix("centers", *centers.shape)
    weight = hits.sum(axis=1)
    kind, called = _read_cost(entries)
    costs = tree.costs[tree.leaves]
    leaves: GroupCosts
    dimension = centers.shape[1]
    if kind in OWN_COSTS:
        entries.within("sums").end()
        leaves = TableStatistics(weight, costs)
    elif not (sums := entries.within("sums")).has("unions") and not sums.has("leaves"):
        sums.end()  # of rows in partitions, of which only costs are known
        leaves = TableStatistics(weight, costs)
    elif kind == "cosine":
        leaves = DirectionStatistics(weight, sums.matrix("leaves", len(weight), dimension))
        sums.end()
    elif kind == "kmedians":
        leaves = _read_unions(sums, weight, dimension, sizes, tree)
    else:
        leaves = _read_leaves(sums, weight, dimension, costs, centers_of_costs)
    if in_pipeline or not entries.is_null("profile") or not isinstance(leaves, GroupStatistics):
        profile = _read_sums(entries.within("profile"), weight, len(columns))
    else:
        profile = leaves
    return FitResult(
        tree=tree,
        sizes=sizes,
        known_path=_read_path(entries.within("path"), sizes, cost),
        reference=Reference(
            centers, pipeline, True, cost=kind, called=called, start_agreement=starts
        ),
        reference_cost=cost,
        centers=centers_of_costs,
        leaves=leaves,
        profile=profile,
        hits=hits,
        spread=entries.floats("spread", len(columns), least=0.0),
        columns=columns,
        short=entries.flag("short"),
        given_names=_read_names(entries, len(centers)),
        certificate=_read_certificate(entries),
        histograms=read_histograms(entries, len(columns)),
        cost=kind,
        called=called,
        warnings=_read_warnings(entries, len(centers)),
        categories=_read_categories(entries, columns, tree.n_leaves),
        groups=_read_groups(entries, len(sizes), len(centers)),
    )


def _write_categories(record: FitResult) -> list[dict[str, Any]]:
    """Weights of the leaves by category, of categories that at least five rows have."""
    return [
        {
            "column": each.feature,
            "codes": each.codes.tolist(),
            "leaves": [one.tolist() for one in each.weight],
        }
        for each in record.categories
    ]


def _read_categories(
    entries: Entries, columns: Columns, n_leaves: int
) -> tuple[CategoryCounts, ...]:
    """Weights by category; files of earlier releases, and of tables of numbers, have none."""
    if not entries.has("categories"):
        return ()
    found = []
    for entry in entries.each("categories"):
        feature = entry.integer("column", 0, len(columns) - 1)
        most = len(columns[feature].categories) - 1
        codes = entry.integers("codes", None, 0, most)
        weight = entry.matrix("leaves", n_leaves, len(codes), least=0.0)
        entry.end()
        if (np.diff(codes) <= 0).any() or not len(codes):
            raise UnreadableError("the categories of a column must ascend")
        found.append(CategoryCounts(feature, codes, weight))
    return tuple(found)


def _write_cost(record: FitResult) -> dict[str, Any]:
    """What rows are priced by and what the reference is called; left out for plain k-means."""
    if (record.cost, record.called) == ("kmeans", "k-means"):
        return {}
    return {"cost": {"kind": record.cost, "called": record.called}}


def _read_cost(entries: Entries) -> tuple[str, str]:
    """Kind of the cost, and what the reference is called."""
    if not entries.has("cost"):
        return "kmeans", "k-means"
    entry = entries.within("cost")
    kind, called = entry.text("kind"), entry.text("called")
    entry.end()
    if kind not in COST_KINDS:
        raise UnreadableError(f"its cost is of an unknown kind, {kind!r}")
    if not called.isprintable() or len(called) > _LONGEST_NAME:
        raise UnreadableError("the name of its reference must be a short text")
    return kind, called


def _read_pipeline(entries: Entries, columns: Columns, centers: NDArray[np.float64]) -> Any:
    """What takes rows to the space of the centers, or a placeholder that refuses to."""
    if not entries.has("space"):
        return NotSaved("pipeline")
    prepared = read_space(entries.each("space", at_least=1), columns)
    if prepared.width != centers.shape[1]:
        raise UnreadableError("reference.space must have as many coordinates as the centers")
    return prepared


def _read_names(entries: Entries, n_clusters: int) -> tuple[str, ...]:
    """Names that people gave; files of earlier releases have none."""
    if not entries.has("cluster_names"):
        return ()
    entry = entries.within("cluster_names")
    names, given = entry.texts("names", n_clusters), entry.flag("given")
    entry.end()
    try:
        return checked_names(names, names) if given else ()
    except ValueError as error:
        raise UnreadableError(f"the names of its clusters are invalid: {error}") from error


def _read_warnings(entries: Entries, n_clusters: int) -> tuple[SegmentWarning, ...]:
    """What is wrong with clusters; files of earlier releases do not say."""
    if not entries.has("warnings"):
        return ()
    found = []
    for entry in entries.each("warnings"):
        clusters = entry.integers("clusters", None, 0, n_clusters - 1).tolist()
        words = [entry.text(name) for name in ("kind", "what", "advice")]
        entry.end()
        if words[0] not in WARNING_KINDS:
            raise UnreadableError("a warning is of an unknown kind")
        found.append(SegmentWarning(words[0], tuple(clusters), words[1], words[2]))
    return tuple(found)


def _read_certificate(entries: Entries) -> Certificate | None:
    """What is proven of the tree; files of earlier releases do not say."""
    if not entries.has("certificate") or entries.is_null("certificate"):
        return None
    entry = entries.within("certificate")
    certificate = Certificate(
        kind=entry.text("kind"),
        n_leaves=entry.integer("n_leaves", 1, _MOST_LEAVES),
        cost=entry.number("cost", least=0.0),
        lower_bound=entry.number("lower_bound", least=0.0),
        status=entry.text("status"),
        limited=entry.flag("limited"),
    )
    entry.end()
    if certificate.kind not in KINDS or certificate.status not in STATUSES:
        raise UnreadableError("its certificate is of an unknown kind")
    if certificate.lower_bound > certificate.cost:
        raise UnreadableError("its certificate has a lower bound above the cost")
    return certificate


def _write_groups(groups: GroupFigures) -> dict[str, Any]:
    """Shares of groups, and how much is revealed of columns, at every size; no values of rows."""
    return {
        "protected": [
            {"column": name, "revealed": revealed.tolist()} for name, revealed in groups.protected
        ],
        "balanced": [
            {
                "column": column,
                "value": value,
                "low": low,
                "high": high,
                "shares": _with_nulls(shares.ravel()),
            }
            for column, value, low, high, shares in groups.balanced
        ],
    }


def _read_groups(entries: Entries, n_sizes: int, n_clusters: int) -> GroupFigures | None:
    """Shares of groups; files without limits on clusters, or of earlier releases, have none."""
    if not entries.has("groups"):
        return None
    entry = entries.within("groups")
    protected = []
    for one in entry.each("protected"):
        protected.append((one.text("column"), one.floats("revealed", n_sizes, least=0.0)))
        one.end()
    balanced = []
    for one in entry.each("balanced"):
        shares = one.floats("shares", n_sizes * n_clusters, gaps=True)
        balanced.append(
            (
                one.text("column"),
                one.text("value"),
                one.number("low", least=0.0),
                one.number("high", least=0.0),
                shares.reshape(n_sizes, n_clusters),
            )
        )
        one.end()
    entry.end()
    return GroupFigures(tuple(protected), tuple(balanced))


def _write_column(column: Column) -> dict[str, Any]:
    values = {name: getattr(column, name) for name in _COLUMN}
    told = {name: value for name, value in values.items() if value != _COLUMN[name]}
    return {name: list(told[name]) if name == "categories" else told[name] for name in told}


def _read_column(entry: Entries, version: int) -> Column:
    # What an entry holds is told by its default: False, None, an empty tuple, or text.
    reads: dict[Any, Any] = {False: entry.flag, None: entry.number, (): entry.texts}
    given: dict[str, Any] = {
        name: reads.get(default, entry.text)(name)
        for name, default in _COLUMN.items()
        if name == "name" or (entry.has(name) and (version > 1 or name != "categories"))
    }
    if "categories" in given:
        given["categories"] = tuple(given["categories"])
    entry.end()
    try:
        return Column(**given)
    except ValueError as error:
        raise UnreadableError(f"a column is invalid: {error}") from error


def _write_tree(tree: ThresholdTree) -> dict[str, Any]:
    """The arrays of a tree. Those of missing values and categories are left out if it has none.

    JSON has no infinity: an infinite threshold is written as null, and is known by its node having
    neither a threshold nor categories; the side of missing values tells its sign.
    """
    more: dict[str, Any] = {}
    if (tree.missing_left >= 0).any():
        more["missing_left"] = tree.missing_left.tolist()
    if tree.has_seen_missing:
        more["has_seen_missing"] = True
    if len(tree.category_codes):
        first = tree.category_first.tolist()
        codes = tree.category_codes.tolist()
        more["categories"] = [codes[i:j] for i, j in pairwise(first)]
    arrays = {
        "feature": tree.feature.tolist(),
        "threshold": _with_nulls(tree.threshold),
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "label": tree.label.tolist(),
        "growth": tree.growth.tolist(),
        "below": _with_nulls(tree.gap[:, 0]),
        "above": _with_nulls(tree.gap[:, 1]),
        "weight": tree.weight.tolist(),
        "costs": tree.costs.tolist(),
    }
    return arrays | more


def _read_tree(entries: Entries, n_features: int, n_clusters: int, version: int) -> ThresholdTree:
    feature = entries.integers("feature", None, -1, n_features - 1)
    n = len(feature)
    if n == 0:
        raise UnreadableError("the tree has no nodes")
    gap = [entries.floats(side, n, gaps=True) for side in ("below", "above")]
    empty = [-np.inf, np.inf]  # no row came to that side of a cut
    parts: dict[str, Any] = {
        "threshold": entries.floats("threshold", n, gaps=True),
        "left": entries.integers("left", n, -1, n - 1),
        "right": entries.integers("right", n, -1, n - 1),
        "label": entries.integers("label", n, 0, n_clusters - 1),
        "growth": entries.integers("growth", n, 0, n),
        "weight": entries.floats("weight", n, least=0.0),
        "costs": entries.matrix("costs", n, n_clusters),
        "gap": np.where(np.isnan(gap), np.array(empty)[:, None], gap).T,
    }
    if version > 1:
        _read_split_kinds(entries, feature, parts)
    entries.end()
    try:
        return ThresholdTree(feature=feature, n_features=n_features, **parts)
    except ValueError as error:
        raise UnreadableError(f"the tree is invalid: {error}") from error


def _read_split_kinds(entries: Entries, feature: NDArray[np.int32], parts: dict[str, Any]) -> None:
    """Add the arrays of missing values and categories, and the thresholds that are infinite."""
    n = len(feature)
    sides = np.full(n, -1, dtype=np.int32)
    categories: list[NDArray[np.int32]] = [np.empty(0, dtype=np.int32)] * n
    if entries.has("missing_left"):
        sides = entries.integers("missing_left", n, -1, 1)
    if entries.has("has_seen_missing"):
        parts["has_seen_missing"] = entries.flag("has_seen_missing")
    if entries.has("categories"):
        categories = entries.integer_lists("categories", n, 0, _MOST_CODES - 1)
    n_codes = np.array([len(codes) for codes in categories])
    unknown = np.isnan(parts["threshold"]) & (feature >= 0) & (n_codes == 0)
    parts["threshold"][unknown & (sides == 0)] = np.inf
    parts["threshold"][unknown & (sides == 1)] = -np.inf
    parts["missing_left"] = sides
    parts["category_first"] = np.append(0, np.cumsum(n_codes))
    parts["category_codes"] = np.concatenate(categories)


def _write_leaves(leaves: GroupCosts) -> dict[str, Any]:
    """Sums of the leaves; costs that are given are in the tree already."""
    if isinstance(leaves, UnionStatistics):
        return {
            "unions": [
                {"leaves": list(key), "cost": union.cost, "center": union.center.tolist()}
                for key, union in sorted(leaves.known.items())
            ]
        }
    if isinstance(leaves, DirectionStatistics):
        return {"leaves": leaves.sums.tolist()}
    return _write_sums(leaves) if isinstance(leaves, GroupStatistics) else {}


def _read_unions(
    entries: Entries,
    weight: NDArray[np.float64],
    dimension: int,
    sizes: Sizes,
    tree: ThresholdTree,
) -> UnionStatistics:
    """Clusters of all sizes, each by the leaves that are in it."""
    known = {}
    for entry in entries.each("unions", at_least=1):
        members = tuple(entry.integers("leaves", None, 0, len(weight) - 1).tolist())
        cost, center = entry.number("cost", least=0.0), entry.floats("center", dimension)
        entry.end()
        known[members] = Union(cost, center)
    entries.end()
    found = UnionStatistics(weight, known)
    try:
        for size in sizes.values():
            found.merged(size.label[tree.ancestor_in(size.inner)][tree.leaves], tree.n_clusters)
    except KeyError:
        raise UnreadableError("the medians of some of its clusters are missing") from None
    return found


def _write_sums(sums: GroupStatistics) -> dict[str, Any]:
    written = {"shift": sums.shift.tolist(), "leaves": sums.sums.tolist()}
    if sums.within is not None:
        written["within"] = sums.within.tolist()
    return written


def _read_sums(entries: Entries, weight: NDArray[np.float64], dimension: int) -> GroupStatistics:
    sums = entries.matrix("leaves", len(weight), dimension)
    shift = entries.floats("shift", dimension)
    within = entries.floats("within", len(weight), least=0.0) if entries.has("within") else None
    entries.end()
    return GroupStatistics(weight, sums, shift, within)


def _read_leaves(
    entries: Entries,
    weight: NDArray[np.float64],
    dimension: int,
    costs: NDArray[np.float64],
    centers: NDArray[np.float64],
) -> GroupStatistics:
    """Sums with costs about the means; files of earlier releases leave these to be worked out."""
    leaves = _read_sums(entries, weight, dimension)
    if leaves.within is None:
        with np.errstate(all="ignore"):  # means that are too large are refused later
            leaves = GroupStatistics.of(leaves, costs, centers, 0.0, None)
    return leaves


def _read_path(entries: Entries, sizes: Sizes, reference_cost: float) -> NDArray[np.void]:
    costs, means, accuracy = (entries.floats(name, len(sizes)).tolist() for name in _PATH)
    entries.end()
    path = np.zeros(len(sizes), dtype=PATH_DTYPE)
    for i, n_leaves in enumerate(sizes):
        path[i] = path_row(n_leaves, costs[i], means[i], reference_cost, accuracy[i])
    return path


def _with_nulls(values: NDArray[np.float64]) -> list[float | None]:
    return [finite_or_none(value) for value in values.tolist()]
