"""Without a package that is optional, the call says what to install."""

import subprocess
import sys

CALLS = [
    ("matplotlib", "plot", "treemeans.plot_tree(model)"),
    ("matplotlib", "plot", "treemeans.plot_path(model)"),
    ("matplotlib", "plot", "treemeans.plot_regions(model, X[:, 2:], features=(0, 1))"),
    ("matplotlib", "plot", "treemeans.plot_profiles(model)"),
    ("sqlglot", "sql", "model.to_sql('sqlite')"),
    ("pooch", "datasets", "treemeans.datasets.load('avila', folder='.')"),
    ("onnx", "onnx", "model.to_onnx()"),
    ("pandas", "pandas", "model.rules().to_frame('pandas')"),
    ("polars", "polars", "model.rules().to_frame('polars')"),
    ("polars", "polars", "model.explain(X).to_frame('polars')"),
    ("pandas", "pandas", "model.counterfactual(X, to=0).to_frame('pandas')"),
]
CODE = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {packages}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import treemeans
from sklearn.datasets import load_iris
X = load_iris().data
model = treemeans.ExKMC(3, random_state=0).fit(X)
for call in {calls}:
    try:
        eval(call)
        print("no error")
    except ImportError as error:
        print(error)
"""


def python(code, folder):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, timeout=120
    )


def test_it_says_which_extra_to_install(tmp_path):
    packages, _, calls = zip(*CALLS, strict=True)
    done = python(CODE.format(packages=set(packages), calls=calls), tmp_path)
    assert done.stdout.splitlines() == [
        f'This needs {package}; install it with `pip install "treemeans[{extra}]"`.'
        for package, extra, _ in CALLS
    ], done.stderr


def test_the_command_line_says_it_too(tmp_path):
    code = "import sys; sys.modules['typer'] = None; from treemeans.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stderr.strip() == (
        'Error: This needs typer; install it with `pip install "treemeans[cli]"`.'
    )
