"""Certificate: what is proven about a tree."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("kmeans_cost", "fixed_centers")
STATUSES = ("optimal", "work", "time", "interrupted")


@dataclass(frozen=True)
class Certificate:
    """How good a tree is among all trees of its size, by proof.

    It is about trees with at most ``n_leaves`` leaves whose cuts are between values of the
    training rows, on the features that may be cut, within the limits of the fit.

    Attributes
    ----------
    kind : ``"kmeans_cost"``: no tree of these has a k-means cost below the bound, whatever its
        clusters. ``"fixed_centers"``: no tree of these has a cost below the bound to the centers
        that the tree's ``surrogate_inertia_`` is measured to.
    n_leaves : most leaves of the trees
    cost : of the tree, in the sense of ``kind``, with the prices of its cuts (``feature_costs``)
    lower_bound : no tree costs less, but for rounding
    status : ``"optimal"``, or what ended the proof: ``"work"`` (the default effort), ``"time"``
        (``max_time``) or ``"interrupted"`` (Ctrl-C)
    limited : whether the fit had limits (least leaves, depth, features)

    Examples
    --------
    >>> print(Certificate("fixed_centers", 6, 80.0, 80.0, "optimal"))
    Proven: no tree with 6 leaves fits these clusters better.
    >>> print(Certificate("kmeans_cost", 3, 100.0, 97.0, "time"))
    Proven: at most 3 % better is possible with 3 leaves (by k-means cost).
    """

    kind: str
    n_leaves: int
    cost: float
    lower_bound: float
    status: str
    limited: bool = False

    @property
    def is_optimal(self) -> bool:
        """Whether no tree is better."""
        return self.status == "optimal"

    @property
    def gap(self) -> float:
        """Share of the cost that a better tree could save at most."""
        if self.is_optimal or self.cost <= 0.0:
            return 0.0
        return max(self.cost - self.lower_bound, 0.0) / self.cost

    def __str__(self) -> str:
        leaves = f"{self.n_leaves} lea{'f' if self.n_leaves == 1 else 'ves'}"
        leaves += " within the limits" if self.limited else ""
        if not self.is_optimal:
            by = "by k-means cost" if self.kind == "kmeans_cost" else "for these clusters"
            return f"Proven: at most {_percent(self.gap)} better is possible with {leaves} ({by})."
        if self.kind == "kmeans_cost":
            return f"Proven: no tree with {leaves} has a lower k-means cost."
        return f"Proven: no tree with {leaves} fits these clusters better."


def _percent(share: float) -> str:
    """A share in percent, rounded up because it is a bound."""
    percent = 100.0 * share
    for digits in (0, 1, 2):
        if percent >= 10.0**-digits or digits == 2:
            step = 10.0**-digits
            rounded = round(step * -(-percent // step), digits)
            return f"{rounded:.{digits}f} %"
    raise AssertionError
