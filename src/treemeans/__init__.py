"""Explainable k-means: a small threshold tree whose leaves are the clusters."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    from treemeans import _core  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "treemeans is not compiled for this Python. Install it with `pip install .` from its "
        "folder (needs a C++ compiler), or start Python outside the source folder."
    ) from error

if TYPE_CHECKING:
    from treemeans import baselines
    from treemeans.columns import Column
    from treemeans.estimator import ExKMC
    from treemeans.explain.warning_record import BadSegmentWarning
    from treemeans.export.graphviz import export_graphviz
    from treemeans.export.onnx_graph import export_onnx
    from treemeans.export.sklearn_tree import export_sklearn
    from treemeans.export.text_tree import export_text
    from treemeans.model_file.save_load import load
    from treemeans.monitor.model_comparison import compare_models
    from treemeans.partitioned.readers.open_partitioned import open_parts
    from treemeans.plot import plot_path, plot_profiles, plot_regions, plot_tree
    from treemeans.reference import FastKMeans
    from treemeans.report import report_html, write_report
    from treemeans.tree import ThresholdTree

    __version__: str

__all__ = [
    "BadSegmentWarning",
    "Column",
    "ExKMC",
    "FastKMeans",
    "ThresholdTree",
    "baselines",
    "compare_models",
    "export_graphviz",
    "export_onnx",
    "export_sklearn",
    "export_text",
    "load",
    "open_parts",
    "plot_path",
    "plot_profiles",
    "plot_regions",
    "plot_tree",
    "report_html",
    "write_report",
]

# Names are imported when they are first used: scikit-learn takes seconds to import, and the
# command line must be able to say that it was stopped in the meantime.
_MODULES = {
    "BadSegmentWarning": "explain.warning_record",
    "Column": "columns",
    "ExKMC": "estimator",
    "FastKMeans": "reference",
    "ThresholdTree": "tree",
    "compare_models": "monitor.model_comparison",
    "export_graphviz": "export.graphviz",
    "export_onnx": "export.onnx_graph",
    "export_sklearn": "export.sklearn_tree",
    "export_text": "export.text_tree",
    "load": "model_file.save_load",
    "open_parts": "partitioned.readers.open_partitioned",
    "plot_path": "plot",
    "plot_profiles": "plot",
    "plot_regions": "plot",
    "plot_tree": "plot",
    "report_html": "report",
    "write_report": "report",
}
_PACKAGES = ("baselines", "datasets")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"treemeans.{name}")
    if name in _MODULES:
        found = getattr(import_module(f"treemeans.{_MODULES[name]}"), name)
    elif name == "__version__":
        from importlib.metadata import version

        found = version("treemeans")
    else:
        raise AttributeError(f"module 'treemeans' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES, "__version__"})
