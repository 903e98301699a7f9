"""Exports of a fitted model to other tools and languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from treemeans.columns import Columns
from treemeans.export.model_or_tree import picture_names
from treemeans.export.notebook import tree_html
from treemeans.export.onnx_graph import export_onnx
from treemeans.export.python_code import to_python
from treemeans.export.sklearn_tree import export_sklearn
from treemeans.export.sql_query import to_sql
from treemeans.export.text_tree import export_text
from treemeans.tree import ThresholdTree


class ExportMixin:
    """Exports of a fitted model, all made from its tree and columns."""

    tree_: ThresholdTree
    columns_: Columns

    @property
    def cluster_names_(self) -> tuple[str, ...]:
        """Name of each cluster."""
        raise NotImplementedError

    def _exported(self) -> tuple[ThresholdTree, Columns]:
        check_is_fitted(self)
        return self.tree_, self.columns_

    def to_sklearn(self) -> DecisionTreeClassifier:
        """The tree as a fitted ``DecisionTreeClassifier``, for SHAP, dtreeviz, ``plot_tree``, ...

        It predicts the same clusters, as far as float32 can tell, which is all that trees of
        scikit-learn see: ``treemeans.export_sklearn`` says what that means. Leaves are sure of
        their cluster, and nodes keep their numbers. (dtreeviz takes labels of int64 only:
        ``model.labels_.astype(int)``.)

        Returns
        -------
        DecisionTreeClassifier

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.tree import export_text
        >>> from treemeans import ExKMC
        >>> iris = load_iris()
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(iris.data)
        >>> print(export_text(model.to_sklearn(), feature_names=iris.feature_names))
        |--- petal length (cm) <= 2.45
        |   |--- class: 1
        |--- petal length (cm) >  2.45
        |   |--- petal length (cm) <= 5.15
        |   |   |--- class: 0
        |   |--- petal length (cm) >  5.15
        |   |   |--- class: 2
        <BLANKLINE>
        """
        return export_sklearn(self)

    def to_text(self) -> str:
        """The tree as text: ``treemeans.export_text(model)``.

        Returns
        -------
        str

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
        >>> print(model.to_text())
        |-- x2 <= 2.45: cluster 1 (50 rows)
        |-- x2 > 2.45
        |   |-- x2 <= 5.15: cluster 0 (66 rows)
        |   |-- x2 > 5.15: cluster 2 (34 rows)
        """
        return export_text(self)

    def to_onnx(self) -> Any:
        """The tree as an ONNX graph that gives the clusters of ``predict``, row for row.

        Its input ``X`` is a float64 tensor of rows x columns, its output ``cluster`` an int64 for
        each row; ``treemeans.export_onnx`` says more. Needs the package onnx
        (``pip install "treemeans[onnx]"``).

        Returns
        -------
        onnx.ModelProto
            Its ``SerializeToString()`` is what a file with the ending ``.onnx`` holds.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
        >>> proto = model.to_onnx()
        >>> [port.name for port in [*proto.graph.input, *proto.graph.output]]
        ['X', 'cluster']
        """
        return export_onnx(self)

    def _repr_html_inner(self) -> str:
        """The HTML of scikit-learn's ``_repr_html_``, and below it the tree of a fitted model."""
        html: str = super()._repr_html_inner()  # type: ignore[misc]
        if not hasattr(self, "tree_"):
            return html
        names = picture_names(self)
        return f"{html}\n{tree_html(self.tree_, self.columns_, export_text(self), names)}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Text and HTML for notebooks that ask for both at once."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    @overload
    def to_sql(
        self,
        dialect: str,
        table: str | Sequence[str] | None = None,
        *,
        form: Literal["case"] = "case",
        alias: str = "cluster",
        labels: Mapping[int, str] | str | None = None,
        null: int | str | None = None,
        one_hot: bool = True,
        finite: bool = False,
        pretty: bool = True,
    ) -> str: ...

    @overload
    def to_sql(
        self,
        dialect: str,
        table: str | Sequence[str] | None = None,
        *,
        form: Literal["where"],
        alias: str = "cluster",
        labels: Mapping[int, str] | str | None = None,
        null: int | str | None = None,
        one_hot: bool = True,
        finite: bool = False,
        pretty: bool = True,
    ) -> dict[int | str, str]: ...

    def to_sql(
        self,
        dialect: str,
        table: str | Sequence[str] | None = None,
        *,
        form: str = "case",
        alias: str = "cluster",
        labels: Mapping[int, str] | str | None = None,
        null: int | str | None = None,
        one_hot: bool = True,
        finite: bool = False,
        pretty: bool = True,
    ) -> str | dict[int | str, str]:
        """SQL that finds the cluster of each row of a table, as ``predict`` does.

        Thresholds arrive in the database as the floats they are. Names of columns are the
        model's (``with_columns`` changes them), always quoted, so that upper and lower case
        matter wherever the database has it so.

        Parameters
        ----------
        dialect : str
            PostgreSQL, DuckDB, SQLite, BigQuery, Snowflake, Spark, MySQL or T-SQL (SQL Server).
        table : str or sequence of str, optional
            What to select from. Dots in a text separate catalog, schema and table; give a list
            of the parts where a name has a dot in it. By default there is no SELECT, but the
            expression alone.
        form : {"case", "where"}
            ``"case"``: one CASE expression that follows the tree. ``"where"``: for each cluster
            a query, or a condition, of its own, without CASE.
        alias : str
            Name of the column of clusters.
        labels : dict of int to str, or "names", optional
            Names of the clusters, to write in place of their numbers; ``"names"`` takes those in
            ``cluster_names_``.
        null : int, or with labels str, optional
            The outcome of rows with NULL in a column that the tree splits, where the split has no
            side for missing values; by default NULL, and in ``form="where"`` no query finds them.
        one_hot : bool
            Whether the table has the one-hot columns of X. If not, it has the column of
            categories from which they were made, and that is compared with text.
        finite : bool
            Whether rows with NaN or infinity have the outcome ``null``. By default they are not
            looked for; most databases take NaN for the largest number. A missing value is NULL.
        pretty : bool
            Whether to break lines; none are where a name or text has a line break itself.

        Returns
        -------
        str, or dict of int to str
            The query or expression; with ``form="where"`` one for each cluster, by its number
            (and one for ``null``, if given).

        Notes
        -----
        The query reads columns as ``predict`` reads X, as float64: integers from 2**53 on are
        rounded. Where X had booleans, the table has booleans; in SQLite, MySQL and T-SQL they are
        0 and 1. Where X had dates, the table has dates or timestamps; where both have a time zone,
        they compare as moments (MySQL has no type for these: there the session must be in UTC).
        SQLite has dates as text in UTC, ``2024-01-31 23:59:59.999999`` or less of it from the left.
        Text of categories compares by the collation of the column.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
        >>> model = model.with_columns(names=["sl", "sw", "petal length", "pw"])
        >>> print(model.to_sql("duckdb", "iris", labels={0: "middle", 1: "short", 2: "long"}))
        SELECT
          *,
          CASE
            WHEN "petal length" IS NULL
            THEN NULL
            WHEN "petal length" <= 2.45E0
            THEN 'short'
            WHEN "petal length" <= 5.15E0
            THEN 'middle'
            ELSE 'long'
          END AS "cluster"
        FROM "iris"
        >>> model.to_sql("mysql", form="where", pretty=False)[0]
        '`petal length` IS NOT NULL AND `petal length` > 2.45E0 AND `petal length` <= 5.15E0'
        """
        tree, columns = self._exported()
        return to_sql(
            tree,
            columns,
            dialect,
            table,
            form=form,
            alias=alias,
            labels=dict(enumerate(self.cluster_names_)) if labels == "names" else labels,
            null=null,
            one_hot=one_hot,
            finite=finite,
            pretty=pretty,
        )

    def to_python(self, name: str = "predict") -> str:
        """Python source of a function that finds the cluster of a row, as ``predict`` does.

        The function needs no package. It takes one row, a mapping from the names of the columns
        to their values, and reads the columns that the tree splits. Where X had dates, the values
        are dates or datetimes (in UTC, or with a time zone); categories go by their names. A value
        that is None or NaN takes the side that the split has for missing values. Where there is
        none, and for infinite values, the function raises a ValueError, as ``predict`` does.

        Parameters
        ----------
        name : str
            What to call the function.

        Returns
        -------
        str
            The source.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treemeans import ExKMC
        >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
        >>> model = model.with_columns(names=["sl", "sw", "petal length", "pw"])
        >>> source = model.to_python()
        >>> print(source[source.index("    x2 = "):])
            x2 = number('petal length')
            if x2 <= 2.45:
                return 1
            if x2 <= 5.15:
                return 0
            return 2
        <BLANKLINE>
        >>> namespace = {}
        >>> exec(source, namespace)
        >>> namespace["predict"]({"petal length": 4.7})
        0
        """
        tree, columns = self._exported()
        return to_python(tree, columns, name)
