"""One fitted model of a mixed table: every output names its categories and its missing values."""

import duckdb
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from tests.helpers.onnx_runs import run
from treemeans import ExKMC, export_graphviz, export_onnx, plot_tree, write_report
from treemeans.columns.encode_frame import encode_frame
from treemeans.columns.frame_values import open_frame

pytestmark = pytest.mark.usefixtures("one_thread")
mpl.use("Agg")
PLANS = np.array(["basic", "pro", "team", "trial"], object)


def table():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 400)
    frame = pd.DataFrame({"plan": PLANS[kind], "age": rng.normal(30 + 9 * (kind // 2), 3).round(1)})
    frame.loc[rng.random(400) < 0.15, "age"] = None
    frame.loc[rng.random(400) < 0.1, "plan"] = None
    return frame


@pytest.fixture(scope="module")
def model():
    return ExKMC(4, max_leaf_nodes=6, random_state=0).fit(table())


def plotted(model, tmp_path):
    axes = plot_tree(model)
    return " ".join(text.get_text() for text in axes.findobj(mpl.text.Text))


def reported(model, tmp_path):
    write_report(model, tmp_path / "report.html", table())
    return (tmp_path / "report.html").read_text(encoding="utf-8")


WORDS = {
    "text": lambda model, tmp_path: model.to_text(),
    "rules": lambda model, tmp_path: str(model.rules()),
    "graphviz": lambda model, tmp_path: export_graphviz(model),
    "notebook": lambda model, tmp_path: model._repr_html_inner(),
    "plot": plotted,
    "report": reported,
    "explanation": lambda model, tmp_path: str(model.explain(table()[:40])),
}


@pytest.mark.parametrize("output", WORDS)
def test_words_name_categories_and_missing_values(model, output, tmp_path):
    tree = model.tree_
    assert len(tree.category_codes) > 0
    assert (tree.missing_left == 1).any()
    said = WORDS[output](model, tmp_path)
    assert "in (basic, trial)" in said or "= basic" in said  # Graphviz has the name in the node
    assert "missing" in said


def test_code_says_what_predict_says(model):
    frame = table()
    frame.loc[::7, "plan"] = "never seen"
    expected = model.predict(frame).tolist()
    namespace = {}
    exec(model.to_python(), namespace)
    assert [namespace["predict"](row) for row in frame.to_dict("records")] == expected
    rows = frame.assign(place=np.arange(len(frame)))
    found = duckdb.sql(f"select {model.to_sql('duckdb')} from rows order by place").fetchall()
    assert len(rows) == len(found)
    assert [label for (label,) in found] == expected
    X = np.ascontiguousarray(encode_frame(open_frame(frame), model.columns_))
    assert run(export_onnx(model), X).tolist() == expected
