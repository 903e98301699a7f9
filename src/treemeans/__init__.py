"""Explainable k-means: a small threshold tree whose leaves are the clusters."""

from importlib.metadata import version

try:
    from treemeans import _core  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "treemeans is not compiled for this Python. Install it with `pip install .` from its "
        "folder (needs a C++ compiler), or start Python outside the source folder."
    ) from error

from treemeans import baselines
from treemeans.columns import Column
from treemeans.estimator import ExKMC
from treemeans.export.graphviz import export_graphviz
from treemeans.export.onnx_graph import export_onnx
from treemeans.export.sklearn_tree import export_sklearn
from treemeans.export.text import export_text
from treemeans.parts.sources.open import open_parts
from treemeans.plot import plot_path, plot_regions, plot_tree
from treemeans.report import report_html, write_report
from treemeans.saved.model_file import load
from treemeans.tree import ThresholdTree

__all__ = [
    "Column",
    "ExKMC",
    "ThresholdTree",
    "baselines",
    "export_graphviz",
    "export_onnx",
    "export_sklearn",
    "export_text",
    "load",
    "open_parts",
    "plot_path",
    "plot_regions",
    "plot_tree",
    "report_html",
    "write_report",
]
__version__ = version("treemeans")
