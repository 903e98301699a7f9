"""Imports go one way, and what is optional stays out until it is asked for."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import treemeans

PACKAGE = Path(treemeans.__file__).parent

# Part of the package -> the other parts it may import.
ALLOWED = {
    "rows": {"_core"},
    "value_set": set(),
    "split": {"value_set"},
    "tree": {"_core", "rows", "split"},
    "columns": {"_core", "tree", "value_set", "warning_level"},
    "preparation": {"columns"},
    "category_counts": set(),
    "explain": {
        "category_counts",
        "columns",
        "optional_imports",
        "rows",
        "split",
        "tree",
        "value_set",
    },
    "tree_layout": {"columns", "tree"},
    "export": {
        "columns",
        "tree_layout",
        "explain",
        "optional_imports",
        "split",
        "tree",
        "value_set",
    },
    "plot": {
        "columns",
        "tree_layout",
        "explain",
        "export",
        "optional_imports",
        "rows",
        "split",
        "tree",
    },
    "report": {
        "columns",
        "tree_layout",
        "explain",
        "export",
        "atomic_write",
        "fit_result",
        "rows",
        "tree",
        "value_set",
    },
    "training_histograms": {"rows"},
    "model_file": {
        "category_counts",
        "preparation",
        "training_histograms",
        "columns",
        "explain",
        "atomic_write",
        "cost_path",
        "costs",
        "pruning",
        "fit_result",
        "reference",
        "renamed_parameters",
        "tree",
        "optimal",
    },
    "monitor": {
        "_core",
        "columns",
        "costs",
        "explain",
        "fit_result",
        "growth",
        "limits",
        "model_file",
        "partitioned",
        "plot",
        "preparation",
        "progress",
        "reference",
        "refine",
        "rows",
        "split",
        "threads",
        "training_data",
        "training_histograms",
        "tree",
        "validation",
    },
    "atomic_write": set(),
    "files": {"atomic_write", "columns"},
    "datasets": {"optional_imports", "progress"},
    "exact_sum": {"_core"},
    "costs": {"_core", "exact_sum", "rows"},
    "cluster_limits": set(),
    "limits": {"_core", "cluster_limits"},
    "group_data": {"cluster_limits", "columns", "explain", "fit_result"},
    "warning_level": set(),
    "renamed_parameters": {"warning_level"},
    "training_data": {"rows", "costs", "limits"},
    "growth": {
        "_core",
        "cluster_limits",
        "exact_sum",
        "rows",
        "split",
        "tree",
        "costs",
        "limits",
        "training_data",
        "progress",
    },
    "refine": {
        "_core",
        "warning_level",
        "costs",
        "training_data",
        "growth",
        "limits",
        "optimal",
        "progress",
        "rows",
        "split",
        "tree",
    },
    "optimal": {
        "_core",
        "costs",
        "growth",
        "progress",
        "training_data",
        "tree",
        "warning_level",
    },
    "partitioned": {
        "_core",
        "category_counts",
        "validation",
        "columns",
        "costs",
        "exact_sum",
        "optional_imports",
        "preparation",
        "training_data",
        "growth",
        "limits",
        "cost_path",
        "progress",
        "fit_result",
        "reference",
        "refine",
        "files",
        "rows",
        "split",
        "threads",
        "training_histograms",
        "tree",
    },
    "baselines": {
        "columns",
        "validation",
        "tree_estimator",
        "growth",
        "limits",
        "partitioned",
        "training_data",
        "progress",
        "fit_result",
        "reference",
        "tree",
    },
}
ENTRANCES = {"__init__", "__main__", "cli", "report"}
OPTIONAL = {
    "dask",
    "distributed",
    "duckdb",
    "hypothesis",
    "matplotlib",
    "onnx",
    "pandas",
    "polars",
    "pooch",
    "pyarrow",
    "pytest",
    "rich",
    "sqlglot",
    "typer",
}


def modules():
    """Every module of the package, as a dotted name below it."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(parts), path


def imported(name, path):
    """Dotted names below the package that a module imports, anywhere in it."""
    package = name.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = (node.module or "").split(".") if node.module else []
            if node.level:
                base = ["treemeans", *package[: len(package) - node.level + 1], *base]
            found |= {".".join([*base, alias.name]) for alias in node.names}
    return {full.removeprefix("treemeans.") for full in found if full.startswith("treemeans.")}


def parts_imported(part):
    """Other parts of the package that a part (a module or a folder of them) imports."""
    found = {
        target.split(".")[0]
        for name, path in modules()
        if name.split(".")[0] == part
        for target in imported(name, path)
    }
    return found - {part}


def test_the_reader_of_imports_sees_them():
    growth = parts_imported("growth")
    assert {"_core", "tree", "costs"} <= growth
    assert "estimator" in parts_imported("__init__")


@pytest.mark.parametrize("part", ALLOWED)
def test_a_part_imports_only_what_is_before_it(part):
    assert any(name.split(".")[0] == part for name, _ in modules())
    assert parts_imported(part) <= ALLOWED[part]


def test_only_the_entrances_import_the_estimator():
    importers = {
        name.split(".")[0]
        for name, path in modules()
        if any(target.split(".")[0] == "estimator" for target in imported(name, path))
    }
    assert importers <= ENTRANCES


def test_no_part_imports_the_package_itself():
    # `from treemeans import ExKMC` inside the package would go round in a circle.
    exported = set(treemeans.__all__)
    for name, path in modules():
        assert name.split(".")[0] in ENTRANCES or not exported & imported(name, path), name


def test_modules_form_no_circle():
    names = {name for name, _ in modules()}

    def module_of(target):
        for candidate in (target, f"{target}.__init__", target.rpartition(".")[0]):
            if candidate in names:
                return candidate
        return f"{target.rpartition('.')[0]}.__init__"

    left = {
        name: {module_of(t) for t in imported(name, path)} & names - {name}
        for name, path in modules()
    }
    while left:
        free = {name for name, targets in left.items() if not targets & left.keys()}
        assert free, f"these import each other in a circle: {sorted(left)}"
        left = {name: targets for name, targets in left.items() if name not in free}


def run_python(code, cwd):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=cwd
    )


def test_optional_packages_are_not_imported(tmp_path):
    # scikit-learn imports pandas and rich where it finds them; that is not ours to count.
    code = (
        "import sys, sklearn.cluster, sklearn.tree; before = set(sys.modules); "
        "from treemeans import *; "
        f"print(sorted({OPTIONAL} & (sys.modules.keys() - before)))"
    )
    done = run_python(code, tmp_path)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_package_gives_every_name_it_lists(tmp_path):
    code = (
        "import treemeans; print(*(getattr(treemeans, name).__name__ for name in "
        "[*treemeans.__all__, 'datasets']), treemeans.__version__ is not None, "
        "set(treemeans.__all__) <= set(dir(treemeans)))"
    )
    done = run_python(code, tmp_path)
    names = [name.removeprefix("treemeans.") for name in done.stdout.split()]
    assert names == [*treemeans.__all__, "datasets", "True", "True"], done.stderr
    with pytest.raises(AttributeError, match="has no attribute 'ExKCM'"):
        treemeans.ExKCM  # noqa: B018


WITHOUT_OPTIONAL = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
from sklearn.datasets import load_iris
from treemeans import ExKMC
print(ExKMC(3, random_state=0).fit(load_iris().data).n_leaves_)
"""


def test_it_works_without_any_optional_package(tmp_path):
    done = run_python(WITHOUT_OPTIONAL, tmp_path)
    assert done.stdout.strip() == "6", done.stderr


def test_import_is_silent(tmp_path):
    done = run_python("from treemeans import *", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
