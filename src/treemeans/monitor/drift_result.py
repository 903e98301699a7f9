"""What a drift found, in words, as plain values, and whether it is more than the limits allow."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from treemeans.columns.number_text import format_rounded, percent
from treemeans.explain.to_frame import data_frame
from treemeans.validation import is_number


@dataclass(frozen=True)
class DriftLimits:
    """What counts as drift.

    Attributes
    ----------
    psi : population stability index from which on a column, or the shares of the rules, has drifted
    outside : share of rows outside the training range of a column, or with an unseen category,
        beyond the share in training
    cost_ratio : mean cost of a row now, over that in training
    level : probability that a table of the same distribution is found to have drifted at all
    """

    psi: float = 0.25
    outside: float = 0.05
    cost_ratio: float = 1.5
    level: float = 0.01

    def __post_init__(self) -> None:
        for name in ("psi", "outside", "cost_ratio"):
            value = getattr(self, name)
            if not (is_number(value) and value >= 0):
                raise ValueError(f"{name} must be a number of at least 0; got {value!r}.")
        if not (is_number(self.level) and 0 < self.level < 1):
            raise ValueError(f"level must be a probability between 0 and 1; got {self.level!r}.")


@dataclass(frozen=True)
class ColumnDrift:
    """Values of a column, then and now.

    Attributes
    ----------
    psi, p_value : population stability index of its bins, and the probability of counts that
        differ as much if nothing changed
    missing_then, missing_now, outside_then, outside_now, unseen_now : shares of rows
    outside_p_value, unseen_p_value : probability of as many such rows if nothing changed
    """

    name: str
    psi: float
    p_value: float
    missing_then: float
    missing_now: float
    outside_then: float
    outside_now: float
    outside_p_value: float
    unseen_now: float
    unseen_p_value: float


@dataclass(frozen=True)
class ClusterShare:
    """Share of the rows that are in a cluster, with an interval of 95 % for the share now."""

    cluster: int
    name: str
    then: float
    now: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class RuleShare:
    """Share of the rows that a leaf holds, and its part of the population stability index."""

    cluster: int
    rule: str
    then: float
    now: float
    interval: tuple[float, float]
    psi: float


@dataclass(frozen=True)
class CostChange:
    """Mean squared distance of a row from the mean of its cluster; interval of the ratio, 95 %."""

    then: float
    now: float
    ratio: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Drift:
    """What has changed in new rows since a model was fitted.

    Attributes
    ----------
    n_rows, n_training_rows : numbers of rows now and then
    limits : what counts as drift
    columns, clusters, rules : what was found of each
    rules_p_value : probability of shares of rules that differ as much if nothing changed
    cost : costs then and now; None if the model file does not hold the space of the reference
    unseen : for each column, the categories that no training row had, and how often they occur
    """

    n_rows: int
    n_training_rows: float
    limits: DriftLimits
    columns: tuple[ColumnDrift, ...]
    clusters: tuple[ClusterShare, ...]
    rules: tuple[RuleShare, ...]
    rules_p_value: float
    cost: CostChange | None
    unseen: dict[str, dict[str, int]]

    @property
    def rules_psi(self) -> float:
        """Population stability index of the shares of the rules."""
        return float(sum(rule.psi for rule in self.rules))

    @property
    def level(self) -> float:
        """Level of each single test, so that all together keep the level of the limits."""
        n_tests = 3 * len(self.columns) + 1
        return self.limits.level / n_tests

    def is_drifted(self, column: ColumnDrift) -> bool:
        """Whether a column has drifted: more than the limit, and more than by chance."""
        return column.psi >= self.limits.psi and column.p_value < self.level

    @property
    def findings(self) -> tuple[str, ...]:
        """One sentence for each limit that is exceeded, and not by chance; empty if none is."""
        found = []
        for column in self.columns:
            if self.is_drifted(column):
                found.append(f"{column.name} has drifted (PSI {column.psi:.2f})")
            beyond = column.outside_now - column.outside_then
            if beyond >= self.limits.outside and column.outside_p_value < self.level:
                found.append(
                    f"{column.name}: {percent(column.outside_now)} of the rows are outside the "
                    f"training range ({percent(column.outside_then)} in training)"
                )
            if column.unseen_now >= self.limits.outside and column.unseen_p_value < self.level:
                found.append(
                    f"{column.name}: {percent(column.unseen_now)} of the rows have a category "
                    "that no training row had"
                )
        if self.rules_psi >= self.limits.psi and self.rules_p_value < self.level:
            found.append(f"the shares of the rules have changed (PSI {self.rules_psi:.2f})")
        if self.cost is not None and self.cost.interval[0] >= self.limits.cost_ratio:
            found.append(f"rows cost {self.cost.ratio:.2f} times what they cost in training")
        return tuple(found)

    @property
    def exceeds_limits(self) -> bool:
        """Whether there is a finding."""
        return bool(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "n_rows": self.n_rows,
            "n_training_rows": self.n_training_rows,
            "limits": asdict(self.limits),
            "exceeds_limits": self.exceeds_limits,
            "findings": list(self.findings),
            "columns": [
                asdict(column) | {"drifted": self.is_drifted(column)} for column in self.columns
            ],
            "clusters": [asdict(cluster) for cluster in self.clusters],
            "rules": [asdict(rule) for rule in self.rules],
            "rules_psi": self.rules_psi,
            "rules_p_value": self.rules_p_value,
            "cost": None if self.cost is None else asdict(self.cost),
            "unseen": self.unseen,
        }

    def to_frame(self, package: str = "pandas") -> Any:
        """A data frame of pandas or polars, one row for each column of the table."""
        found = [asdict(column) for column in self.columns]
        names = list(ColumnDrift.__dataclass_fields__)
        return data_frame(package, {name: [each[name] for each in found] for name in names})

    def __str__(self) -> str:
        lines = [f"{self.n_rows:,} rows, against {self.n_training_rows:,.0f} in training"]
        lines += [f"! {finding}" for finding in self.findings] or ["no drift above the limits"]
        lines.append("")
        width = max(len(_titled(cluster)) for cluster in self.clusters)
        for cluster in self.clusters:
            low, high = cluster.interval
            lines.append(
                f"{_titled(cluster):<{width}}  {cluster.then:6.1%} -> {cluster.now:6.1%} "
                f"({low:.1%} to {high:.1%})"
            )
        lines.append("")
        if self.cost is not None:
            low, high = self.cost.interval
            lines.append(f"cost of a row: {self.cost.ratio:.3f} times ({low:.3f} to {high:.3f})")
        lines.append(f"PSI of the rules: {format_rounded(round(self.rules_psi, 4))}")
        ordered = sorted(self.columns, key=lambda column: -column.psi)
        for column in ordered[:_MOST_COLUMNS]:
            told = f"PSI of {column.name}: {format_rounded(round(column.psi, 4))}"
            lines.append(told + _notes(column))
        if len(ordered) > _MOST_COLUMNS:
            lines.append(f"and {len(ordered) - _MOST_COLUMNS} columns more, with a lower PSI")
        return "\n".join(lines)


_MOST_COLUMNS = 12  # in the text


def _titled(cluster: ClusterShare) -> str:
    return f"cluster {cluster.cluster}: {cluster.name}"


def _notes(column: ColumnDrift) -> str:
    told = []
    if column.outside_now > column.outside_then:
        told.append(f"{percent(column.outside_now)} outside the training range")
    if column.unseen_now > 0:
        told.append(f"{percent(column.unseen_now)} unseen categories")
    if column.missing_now > 0 or column.missing_then > 0:
        told.append(
            f"{percent(column.missing_now)} missing, {percent(column.missing_then)} in training"
        )
    return f" ({', '.join(told)})" if told else ""
