"""What a fitted model says about its clusters and about single rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from treemeans.columns.encode_frame import UnseenValues
from treemeans.explain.allowed_changes import AllowedChanges
from treemeans.explain.cluster_rules import describe
from treemeans.explain.column_lookup import ColumnLookup
from treemeans.explain.counterfactual import Counterfactual, Counterfactuals, check_cluster
from treemeans.explain.explanation import Explanation, Explanations
from treemeans.explain.model_facts import Facts
from treemeans.explain.parse_rows import (
    is_one_row,
    note_unseen,
    refuse_missing,
    single_row,
    stacked,
)
from treemeans.explain.rules import Rules


class ExplainMixin:
    """Explanations of a fitted model, made from the ``Facts`` it keeps."""

    @property
    def _facts(self) -> Facts:
        raise NotImplementedError

    if TYPE_CHECKING:

        def _validate(self, X: Any, *, reset: bool, unseen: UnseenValues | None = None) -> Any: ...

    def rules(self) -> Rules:
        """What each cluster is: its leaves merged into the fewest plain conditions.

        A cluster is "any of these rules", a rule is "all of these conditions". Each comes with
        the share of its rows that the reference puts in the same cluster. A cluster also has its
        k-means cost, and the columns in which it differs most from the other rows: those whose
        means are the most standard deviations away.

        Rules of a cluster may overlap; a row is then counted at the first. Together they hold
        exactly the rows that ``predict`` gives the cluster, whatever the values; where one-hot
        columns are read as the categories of one source, exactly one of them must be 1.

        Returns
        -------
        Rules
            A sequence of the clusters. ``print`` it, or use ``to_frame`` and ``to_dict``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> model = ExKMC(3, max_leaf_nodes=4, random_state=0).fit(load_iris().data)
        >>> names = ["sepal length", "sepal width", "petal length", "petal width"]
        >>> model = model.with_columns(names=names, units=dict.fromkeys(names, "cm"))
        >>> print(model.rules())
        3 clusters, 150 rows, 4 rules: 98 % agree with k-means, 1.016 times its cost
        <BLANKLINE>
        cluster 0: low sepal width
          63 rows (42 %), 97 % agree with k-means, 51 % of the cost
          differs by: sepal width 2.75 cm (others 3.28 cm), petal length 4.41 cm (others 3.29 cm),
              petal width 1.45 cm (others 1.02 cm)
          if 2.45 cm < petal length <= 5.15 cm and sepal length <= 6.85 cm
        <BLANKLINE>
        cluster 1: low petal length, low petal width
          50 rows (33 %), 100 % agree with k-means, 19 % of the cost
          differs by: petal length 1.46 cm (others 4.91 cm), petal width 0.25 cm (others 1.68 cm),
              sepal length 5.01 cm (others 6.26 cm)
          if petal length <= 2.45 cm
        <BLANKLINE>
        cluster 2: high sepal length, high petal width
          37 rows (25 %), 97 % agree with k-means, 30 % of the cost
          differs by: sepal length 6.87 cm (others 5.51 cm), petal width 2.06 cm (others 0.92 cm),
              petal length 5.75 cm (others 3.11 cm)
          if petal length > 5.15 cm  (34 rows)
          or if sepal length > 6.85 cm and petal length > 2.45 cm  (3 rows)
        """
        return describe(self._known())

    def explain(self, rows: Any) -> Explanation | Explanations:
        """Why rows are in their clusters, in words and numbers.

        Parameters
        ----------
        rows : a row or a table
            A row: a 1-d array or list, a dict of columns to values, a Series, a data frame of one
            row or a sparse matrix of one. In a dict, columns are given by name or number, dates
            as dates, and one-hot columns together by their category (``"color": "red"``).
            A table: any other array, data frame, sparse matrix or list of dicts.

        Returns
        -------
        Explanation, or Explanations for a table
            The leaf, its conditions (a column that is cut twice has one), every step on the way
            with the row's margin to the threshold, the closest of them, and the runner-up: the
            other cluster that the smallest change of the row leads to. Distances are in standard
            deviations of the columns. ``Explanations`` is a sequence, and has it all as arrays.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> X = load_iris().data
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
        >>> model = model.with_columns(
        ...     names=["sepal length", "sepal width", "petal length", "petal width"],
        ...     units={"petal length": "cm"},
        ... )
        >>> print(model.explain(X[77]))  # doctest: +NORMALIZE_WHITESPACE
        Cluster 0, because 2.45 cm < petal length <= 5.15 cm.
        The closest call was petal length <= 5.15 cm: the row has 5 cm, a margin of 0.15 cm
        (0.085 standard deviations).
        The nearest other cluster is 2, a change of 0.085 standard deviations away.
        >>> model.explain(X).runner_up[:3].tolist()
        [0, 0, 0]
        """
        facts = self._known()
        unseen = UnseenValues()
        X, is_single = self._rows(rows, self._lookup(facts), unseen)
        explained = Explanations(facts, X).with_unseen_values(unseen.values)
        return explained[0] if is_single else explained

    def counterfactual(
        self,
        rows: Any,
        to: int | None = None,
        *,
        allowed: Any = None,
        step: Any = None,
        bounds: Any = None,
        frozen: Any = None,
    ) -> Counterfactual | Counterfactuals:
        """The smallest change that moves rows to a cluster.

        The fewest features change, and of all ways to change so few the one of least distance:
        the root of the summed squared changes, in standard deviations of the columns. It is exact,
        from the boxes of the leaves; of equals the first leaf is taken. One-hot columns of a
        source are one feature and stay one-hot. Whole numbers stay whole, flags are 0 or 1. A
        change of category counts as one standard deviation, and leads to a category that is known.
        A missing value stays missing, and no value becomes missing.

        A threshold can be as long a number as a float allows, and what lies just beyond it longer
        still. Where no step is given, the new value is therefore the shortest number that lies at
        most 0.001 standard deviations beyond, in the leaf and the bounds. Which leaf it is does
        not depend on that; ``distance`` is that of the new values.

        Parameters
        ----------
        rows : a row or a table
            As in ``explain``.
        to : int, optional
            The cluster. By default, for each row, the one at the least distance but its own.
        allowed : list of features, optional
            Those that may change, by name or number, or a mask. A name of one-hot columns
            (``"color"``) stands for all of them.
        step : float or dict of column to float, optional
            A change is a multiple of it. Whole numbers and dates have steps of 1 and a day,
            unless given here; one number is for all other columns of numbers.
        bounds : dict of column to (low, high), optional
            What a new value must keep to; None for an open end. Values that do not change need
            not.
        frozen : list of features, optional
            Those that may not change.

        Returns
        -------
        Counterfactual, or Counterfactuals for a table
            Where there is no way, ``possible`` is False and ``why`` says so.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> X = load_iris().data
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
        >>> model = model.with_columns(
        ...     names=["sepal length", "sepal width", "petal length", "petal width"],
        ...     units={"petal length": "cm"},
        ... )
        >>> print(model.counterfactual(X[77], to=1))
        To be in cluster 1: lower petal length from 5 cm to 2.45 cm.
        >>> print(model.counterfactual(X[77], to=2, step=0.1))
        To be in cluster 2: raise petal length from 5 cm to 5.2 cm.
        >>> print(model.counterfactual(X[77], to=1, allowed=["petal width"]))
        No leaf of cluster 1 can be reached by changing only petal width.
        >>> many = model.counterfactual(X, to=1)
        >>> model.predict(many.X).tolist() == [1] * 150
        True
        """
        facts = self._known()
        to = check_cluster(to, facts.tree.n_clusters)
        lookup = self._lookup(facts)
        allowed_changes = AllowedChanges.of(lookup, allowed, frozen, bounds, step)
        X, is_single = self._rows(rows, lookup)
        changed = Counterfactuals(facts, X, to, allowed_changes)
        return changed[0] if is_single else changed

    def _lookup(self, facts: Facts) -> ColumnLookup:
        """Finds columns by their names, both those of now and those of the fit."""
        names = getattr(self, "feature_names_in_", ())
        return ColumnLookup(facts.columns, names, accepts_missing=facts.tree.accepts_missing)

    def _rows(
        self, rows: Any, lookup: ColumnLookup, unseen: UnseenValues | None = None
    ) -> tuple[Any, bool]:
        """Rows as a table of numbers, and whether a single row was given.

        ``unseen`` is filled with the categories that no training row had.
        """
        if unseen is not None:
            note_unseen(rows, lookup, unseen)
        X = single_row(rows, lookup)
        is_single = X is not None or is_one_row(rows)
        if X is None:
            X = stacked(rows, lookup)
        if X is None:
            X = self._validate(rows, reset=False, unseen=unseen)
        refuse_missing(X, lookup.columns, accept_missing=lookup.accepts_missing)
        return X, is_single

    def _known(self) -> Facts:
        check_is_fitted(self)
        return self._facts
