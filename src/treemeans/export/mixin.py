"""Ways for a fitted model to leave Python."""

from __future__ import annotations

from typing import Any

from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from treemeans.columns import Columns
from treemeans.export.notebook import tree_html
from treemeans.export.onnx_graph import export_onnx
from treemeans.export.sklearn_tree import export_sklearn
from treemeans.export.text import export_text
from treemeans.tree import ThresholdTree


class ExportMixin:
    """Exports; they read the tree and its columns."""

    tree_: ThresholdTree
    columns_: Columns

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
        |   |   |--- class: 2
        |   |--- petal length (cm) >  5.15
        |   |   |--- class: 0
        <BLANKLINE>
        """
        return export_sklearn(self)

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
        """What ``_repr_html_`` of scikit-learn shows, and below it the tree once there is one."""
        html: str = super()._repr_html_inner()  # type: ignore[misc]
        if not hasattr(self, "tree_"):
            return html
        return f"{html}\n{tree_html(self.tree_, self.columns_, export_text(self))}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """The same for notebooks that ask for text and HTML at once."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle
