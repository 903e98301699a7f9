"""TreeModel: a clustering that a tree makes, once the tree is there."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from treemeans.columns import Column, Columns, describe_columns
from treemeans.columns.dates import dates_as_days
from treemeans.columns.encode_frame import UnseenValues, encode_frame
from treemeans.columns.frame_values import is_all_numbers, open_frame, with_dense_columns
from treemeans.costs import TOO_LARGE, centered_prices
from treemeans.explain.explain_mixin import ExplainMixin
from treemeans.explain.model_facts import Facts
from treemeans.export.export_mixin import ExportMixin
from treemeans.fit_result import FitResult
from treemeans.model_file.save_load import SaveMixin
from treemeans.monitor.monitor_mixin import MonitorMixin
from treemeans.partitioned.readers.dask_partitions import is_dask
from treemeans.partitioned.readers.lazy_prediction import lazily, lazy_cost
from treemeans.partitioned.readers.open_partitioned import refuse_unread
from treemeans.preparation import TablePreparation
from treemeans.rows import as_points
from treemeans.rows.dense_points import NUMBER_TYPES
from treemeans.threads import n_threads
from treemeans.tree import ThresholdTree, no_side, with_sides
from treemeans.validation import (
    check_weights,
    refuse_no_table,
    refuse_not_finite,
    refuse_text,
)


class TreeModel(
    MonitorMixin,
    ExplainMixin,
    ExportMixin,
    SaveMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """What every clustering by a tree can do, however the tree was made.

    A subclass fits: it sets ``_fit_result`` and calls ``_set_fitted_attributes``. It has a
    parameter ``n_jobs``.
    """

    n_jobs: int | None
    _fit_result: FitResult

    @cached_property
    def path_(self) -> NDArray[np.void]:
        """What the tree of every size up to this one costs; made when it is asked for."""
        if not hasattr(self, "_fit_result"):
            raise AttributeError(f"This {type(self).__name__} has no path_: it is not fitted.")
        path = self._fit_result.path
        return path[: int(np.searchsorted(path["n_leaves"], self.n_leaves_)) + 1]

    def with_leaves(self, n_leaves: int) -> Self:
        """The model with ``n_leaves`` leaves from the same fit.

        Without refinement it is as if fitted with that number; of a refined tree it is the
        cheapest tree inside.

        Parameters
        ----------
        n_leaves : int
            From the base tree's number of leaves to the largest that was fitted.

        Returns
        -------
        TreeModel
            A new model; this one is unchanged.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> model = ExKMC(3, max_leaf_nodes=6, random_state=0).fit(load_iris().data)
        >>> model.with_leaves(4).n_leaves_
        4
        """
        check_is_fitted(self)
        sizes = self._fit_result.path["n_leaves"]
        if n_leaves not in sizes:
            raise ValueError(
                f"This fit has trees of {sizes[0]} to {sizes[-1]} leaves, not of {n_leaves}."
            )
        model = copy.copy(self)
        model.max_leaf_nodes = int(n_leaves)
        return model._set_fitted_attributes(int(n_leaves))

    def with_columns(
        self,
        *,
        names: Sequence[str] | None = None,
        units: Mapping[Any, str] | None = None,
        dates: Mapping[Any, str] | None = None,
        categories: Iterable[str] | Mapping[str, Mapping[Any, Any]] | None = None,
        columns: Sequence[Column] | None = None,
        all_categories: bool | None = None,
    ) -> Self:
        """The same model with other descriptions of its columns, for rules, plots and exports.

        What the data shows is known already: names, whole numbers, dates (of a data frame), and
        one-hot columns that are named like ``color_red`` with a single 1 in every row.

        Parameters
        ----------
        names : sequence of str, optional
            A name for each column.
        units : dict of column to str, optional
            What to write after a number. Columns are given by name or number.
        dates : dict of column to {"D", "h", "m", "s", "ms", "us", "ns"}, optional
            Columns of numbers that count days, hours, ... since 1970.
        categories : list of str, or dict of str to dict, optional
            One-hot columns: the part of their names before ``_`` or ``=``, or for each source of
            categories, ``{column: category}``.
        columns : sequence of Column, optional
            A full description of each column, in place of what is known.
        all_categories : bool, optional
            Whether a condition lists all categories of a set: ``country in (AT, BE, DE, ...)``. By
            default it lists six of many, and how many more there are: ``country in (AT, BE, BG,
            CH, CZ, DE, +12)``.

        Returns
        -------
        TreeModel
            A new model; this one is unchanged.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC, export_text
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
        >>> names = ["sepal length", "sepal width", "petal length", "petal width"]
        >>> model = model.with_columns(names=names, units={"petal length": "cm"})
        >>> print(export_text(model))
        |-- petal length <= 2.45 cm: cluster 1 (50 rows)
        |-- petal length > 2.45 cm
        |   |-- petal length <= 5.15 cm: cluster 0 (66 rows)
        |   |-- petal length > 5.15 cm: cluster 2 (34 rows)
        """
        check_is_fitted(self)
        known = self._fit_result.columns if columns is None else tuple(columns)
        model = copy.copy(self)
        model._fit_result = self._fit_result.read_as(
            describe_columns(known, names, units, dates, categories, all_categories)
        )
        return model._set_fitted_attributes(self.n_leaves_)

    def with_missing_sides(self) -> Self:
        """The same model, with a side for missing values at every split.

        A split that met no missing value in training has no side for one, so that ``predict``
        refuses it. Here such a split sends missing values to the side that most training rows
        took. Rules, plots and exports say so.

        Returns
        -------
        TreeModel
            A new model; this one is unchanged.

        Examples
        --------
        >>> import pandas as pd
        >>> from treemeans import ExKMC
        >>> ages = pd.DataFrame({"age": [20.0, 21.0, 22.0, 61.0, 62.0]})
        >>> model = ExKMC(2, random_state=0).fit(ages).with_missing_sides()
        >>> model.predict(pd.DataFrame({"age": [None, 25.0]})).tolist()
        [0, 0]
        """
        check_is_fitted(self)
        model = copy.copy(self)
        model._fit_result = replace(self._fit_result, tree=with_sides(self._fit_result.tree))
        return model._set_fitted_attributes(self.n_leaves_)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Cluster of each row of X.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Or a dask array or data frame.

        Returns
        -------
        array of shape (n_samples,)
            Of a dask collection, a dask array with the same row chunks, not yet computed.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> X = load_iris().data
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
        >>> model.predict(X[:3]).tolist()
        [1, 1, 1]
        """
        return self._outcome(X, self._fitted_tree().label, "predict")

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf of each row of X, as a node number of ``tree_``.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Or a dask array or data frame.

        Returns
        -------
        array of shape (n_samples,)
            Of a dask collection, a dask array with the same row chunks, not yet computed.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> X = load_iris().data
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
        >>> model.apply(X[[0, 60, 120]]).tolist()
        [1, 3, 4]
        """
        nodes = np.arange(self._fitted_tree().n_nodes, dtype=np.int32)
        return self._outcome(X, nodes, "apply")

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Indicator matrix of the nodes of ``tree_`` that each row of X passes, its leaf included.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        sparse matrix of shape (n_samples, n_nodes)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> X = load_iris().data
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
        >>> model.decision_path(X[[0, 60]]).toarray().tolist()
        [[1, 1, 0, 0, 0], [1, 0, 1, 1, 0]]
        """
        check_is_fitted(self)
        if is_dask(X):
            raise ValueError(
                "decision_path makes a sparse matrix in memory; call apply on the dask collection, "
                "and tree_.paths_to on the leaves of a part of it."
            )
        return self.tree_.paths_to(self.apply(X))

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Distance of each row of X to the center of each of the tree's clusters.

        Euclidean, to means; the sum of absolute differences for ``cost="kmedians"``, one minus the
        cosine for ``"cosine"``.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Or a dask array or data frame.

        Returns
        -------
        array of shape (n_samples, n_clusters)
            Of a dask collection, a dask array with the same row chunks, not yet computed.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> X = load_iris().data
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
        >>> model.transform(X[:1]).round(2).tolist()
        [[3.47, 0.14, 5.14]]
        """
        check_is_fitted(self)
        if is_dask(X):
            like = np.empty((0, self.tree_.n_clusters))
            lazy: NDArray[np.float64] = lazily(self, "transform", X, like)
            return lazy
        base, _, beyond = self._distances(X)
        costs = base[:, None] + beyond
        return costs if self._fit_result.cost in ("kmedians", "cosine") else np.sqrt(costs)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of X: for k-means, squared distances to the mean of the cluster predicted.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Or a dask array or data frame, which is passed over once.
        y : ignored
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> X = load_iris().data
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
        >>> round(model.score(X) / model.inertia_, 9)
        -1.0
        """
        check_is_fitted(self)
        if is_dask(X):
            return -lazy_cost(self, X, sample_weight)
        base, beyond = self._costs_of(X)
        cost = base + beyond[np.arange(len(base)), self.predict(X)]
        weights = check_weights(X, sample_weight)
        with np.errstate(over="ignore"):
            total = float(cost.sum() if weights is None else cost @ weights)
        if not np.isfinite(total):
            raise ValueError(TOO_LARGE)
        return -total

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> NDArray[np.int32]:
        """Fit, and the cluster of each row: ``labels_``; of a dask collection, ``predict(X)``.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Or a dask array or data frame.
        y : ignored
        **kwargs : dict
            Passed to ``fit``.

        Returns
        -------
        array of shape (n_samples,)
            Of a dask collection, a dask array with the same row chunks, not yet computed.

        Examples
        --------
        >>> from treemeans import ExKMC
        >>> ExKMC(2, random_state=0).fit_predict([[1.0], [2.0], [8.0], [9.0]]).tolist()
        [0, 0, 1, 1]
        """
        if is_dask(X):
            return self.fit(X, **kwargs).predict(X)  # type: ignore[no-any-return]
        labels: NDArray[np.int32] = super().fit_predict(X, y, **kwargs)
        return labels

    def plot(self, **options: Any) -> Any:
        """Draw the tree with matplotlib: ``treemeans.plot_tree(model, **options)``.

        Parameters
        ----------
        **options : dict
            Those of `plot_tree`.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
        >>> ax = model.plot(cluster_names=["long", "short", "middle"])
        >>> ax.figure.savefig("tree.png")  # doctest: +SKIP
        """
        from treemeans.plot.tree_plot import plot_tree

        return plot_tree(self, **options)

    def report(self, path: str | os.PathLike[str], X: Any = None, **options: Any) -> None:
        """Write a page about the model: ``treemeans.write_report(model, path, X, **options)``.

        Parameters
        ----------
        path : str or PathLike
            An HTML file; one that exists is replaced.
        X : table of the training rows, optional
            For histograms and medians. The page holds none of its rows unless ``rows`` asks.
        **options : dict
            Those of `write_report`: ``title``, ``cluster_names``, ``rows``, ``stability``,
            ``alternatives``.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> X = load_iris().data
        >>> model = ExKMC(3, max_leaf_nodes=6, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "irises.html")
        ...     model.report(path, X, title="Irises")
        ...     "Irises" in path.read_text(encoding="utf-8")
        True
        """
        from treemeans.report.report_file import write_report

        write_report(self, path, X, **options)

    @property
    def _facts(self) -> Facts:
        return self._fit_result.facts(self.n_leaves_)

    def _fitted_tree(self) -> ThresholdTree:
        """The tree; without one, scikit-learn's check (as slow as 100 rows) raises its error."""
        if not hasattr(self, "tree_"):
            check_is_fitted(self)
        return self.tree_

    def _outcome(self, X: Any, of_node: NDArray[np.int32], method: str) -> NDArray[np.int32]:
        """The entry of ``of_node`` at the leaf of each row, for the method of that name."""
        if is_dask(X):
            lazy: NDArray[np.int32] = lazily(self, method, X, of_node[:0])
            return lazy
        X = self._validate(X, reset=False)
        found = self.tree_.outcome(X, of_node, n_threads(self.n_jobs))
        if found is None:
            self._refuse_missing(X)
        return found

    def _refuse_missing(self, X: Any) -> NoReturn:
        """Say which value is missing, or infinite, and that no split has a side for it."""
        if hasattr(self, "feature_names_in_") and not sparse.issparse(X):
            without = no_side(self.tree_)
            rows, features = np.nonzero(np.isnan(X) & without)
            if len(rows):
                name = self._fit_result.columns[features[0]].name
                raise ValueError(
                    f"Input X contains NaN: column {name!r} has no value in row {rows[0]}, and a "
                    "split on it met no missing value in training, so it has no side for one. Fill "
                    "it in, or call model.with_missing_sides() first: missing values then go to "
                    "the side of most training rows."
                )
        refuse_not_finite(X)

    def _costs_of(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Cost of each row at its cheapest cluster, and what the others add."""
        reference = self._fit_result.reference
        if not reference.has_own_costs:
            base, _, beyond = self._distances(X)
            return base, beyond
        if reference.price_rows is None:
            raise ValueError(
                "The costs of other rows are not known: the model was fitted to labels or to a "
                "table of costs, or loaded from a file. Pass a function of X as cost to score rows."
            )
        found = reference.price_rows(X)
        return found.base, found.regret

    def _distances(
        self, X: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
        """Cost at the nearest cluster center, which it is, and what the others add.

        Squared distances, unless the model is of k-medians or of cosines.
        """
        threads = n_threads(self.n_jobs)
        raw, X = X, self._validate(X, reset=False)
        points = as_points(X)
        if self._fit_result.reference.pipeline is not None:
            space = self._fit_result.reference.space(X, raw)
            points = as_points(space)
        elif not points.all_finite(threads):
            refuse_not_finite(X)
        rows = X if self._fit_result.reference.pipeline is None else space
        found = centered_prices(self._fit_result.cost, rows, self.cluster_centers_, threads, points)
        if not np.isfinite(found[2]).all():
            raise ValueError(TOO_LARGE)
        return found

    def _set_fitted_attributes(self, n_leaves: int) -> Self:
        """Set the fitted attributes to those of the fit's tree with ``n_leaves`` leaves."""
        record = self._fit_result
        tree, label = record.at(n_leaves)
        clusters, profiles = record.clusters(label)
        self.tree_ = tree
        self.n_leaves_ = tree.n_leaves
        self.__dict__.pop("path_", None)
        self.surrogate_inertia_, self.inertia_ = record.costs_at(n_leaves)
        self.reference_centers_ = record.reference.centers
        self.reference_inertia_ = record.reference_cost
        if record.leaf_of_row is not None and record.reference_labels is not None:
            self.reference_labels_ = record.reference_labels
            self.labels_ = label[record.leaf_of_row]
        else:  # of an earlier fit, they would be of other rows
            self.__dict__.pop("reference_labels_", None)
            self.__dict__.pop("labels_", None)
        centers = record.reference.centers
        self.cluster_centers_ = clusters.means(centers)
        if record.reference.has_own_costs:
            self.cluster_centers_ = np.where(np.isnan(profiles), centers, profiles)
        self.cluster_profiles_ = profiles
        self.columns_ = record.columns
        self.certificate_ = record.certificate_at(n_leaves)
        self.__dict__.pop("preparation_", None)
        if isinstance(record.reference.pipeline, TablePreparation):
            self.preparation_ = record.reference.pipeline
        saved = tree.cost_saved()
        self.feature_importances_ = saved / saved.sum() if saved.any() else saved
        self._n_features_out = tree.n_clusters
        return self

    def _validate(self, X: Any, *, reset: bool, unseen: UnseenValues | None = None) -> Any:
        """X as an array or sparse matrix of a type the kernels read; not yet checked for NaN."""
        if self._reads_as_is(X, reset):
            return X
        refuse_unread(X)
        refuse_no_table(X)
        frame = None if reset else open_frame(X)
        if frame is not None and (self._reads_by_name or not is_all_numbers(frame)):
            return encode_frame(frame, self._fit_columns(), unseen)
        if not reset and isinstance(X, np.ndarray) and self._reads_by_name:
            return self._check_encoded(X)
        try:
            return validate_data(
                self,
                with_dense_columns(dates_as_days(X)),
                reset=reset,
                accept_sparse=("csr", "csc"),
                dtype=list(NUMBER_TYPES),
                ensure_all_finite=False,
            )
        except ValueError as error:
            refuse_text(X, error)
            raise

    @property
    def _reads_by_name(self) -> bool:
        """Whether the model was fitted to some columns of a frame, and finds them by their names.

        That is so if a column was left out, too, as one without values. A loaded model has no
        ``schema_``; its file says whether it had one that left out columns of numbers.
        """
        prepared = any(
            hasattr(self, name) for name in ("schema_", "preparation_", "_loaded_reads_by_name")
        )
        return self._fit_result.is_encoded or (prepared and hasattr(self, "feature_names_in_"))

    def _reads_as_is(self, X: Any, reset: bool) -> bool:
        """Whether X is an array or CSR matrix that needs no conversion and gets no message.

        scikit-learn's checks, which would find the same, take longer than a tree takes to label
        thousands of rows.
        """
        plain = (
            (type(X) is np.ndarray or (sparse.issparse(X) and X.format == "csr"))
            and X.dtype.type in NUMBER_TYPES
            and X.ndim == 2
            and min(X.shape) > 0
        )
        if not plain:
            return False
        if reset:
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return True
        return (
            X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and not self._fit_result.is_encoded
        )

    def _check_encoded(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Rows that are encoded already: numbers in the order of the columns, without names."""
        found: NDArray[np.float64] = check_array(
            X, dtype=np.float64, ensure_all_finite=False, input_name="X"
        )
        if found.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {found.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return found

    def _fit_columns(self) -> Columns:
        """The columns by the names that they had in the fit: ``with_columns`` may rename them."""
        names = getattr(self, "feature_names_in_", None)
        columns = self._fit_result.columns
        if names is None:
            return columns
        return tuple(replace(c, name=str(n)) for c, n in zip(columns, names, strict=True))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
