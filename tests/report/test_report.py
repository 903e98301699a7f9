"""The summary agrees with the model at every size, and the page is safe to open."""

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from tests.helpers.examples import examples
from tests.helpers.explain_cases import facts_of
from tests.helpers.random_trees import (
    MIXED_COLUMNS,
    N_CODES,
    accepted,
    leaves_by_walking,
    mixed_rows,
    mixed_tree,
)
from tests.helpers.report_cases import CLUSTER_NAMES, HOSTILE, large_model, mixed_model
from treemeans import Column, ExKMC, load, report_html, write_report
from treemeans.baselines import CART, CUBT, IMM, CLTree, KDTree
from treemeans.columns import Reader
from treemeans.columns.number_text import format_rows, percent
from treemeans.explain.cluster_rules import describe
from treemeans.explain.leaf_boxes import node_boxes
from treemeans.report.histogram_bins import category_bins, number_bins
from treemeans.report.html_page import SCRIPTS, html_page
from treemeans.report.report_text import ReportText, verdict
from treemeans.report.row_panel import RowFields
from treemeans.report.summarize import summarize
from treemeans.tree import ThresholdTree

pytestmark = pytest.mark.usefixtures("one_thread")
KINDS = ["none", "local", "search"]


@pytest.fixture(scope="module")
def reported():
    """A model, its rows and its summary, for each way to grow."""
    found = {}
    for refine in KINDS:
        model, X = mixed_model(refine=refine)
        found[refine] = model, X, summarize(model, X, rows=200)
    return found


@pytest.fixture(params=KINDS)
def case(request, reported):
    return reported[request.param]


def replayed(summary, size):
    """Cut nodes, labels and versions of a size, by following the changes up to it."""
    n = len(summary["nodes"]["left"])
    inner, label = np.zeros(n, dtype=bool), np.full(n, -1)
    version = [-1] * len(summary["groups"])
    for step in summary["sizes"][: size + 1]:
        inner[step["toggled"]] ^= True
        for node, group in step["labels"]:
            label[node] = group
        for group, begun in step["descriptions"]:
            version[group] = begun
    return inner, label, version


def walk(summary, inner, row):
    """The leaf of a row that is given by its values of the fields; None is a missing value."""
    nodes, node = summary["nodes"], 0
    while inner[node]:
        value, options = row[nodes["field"][node]], nodes["options_left"][node]
        if value is None:
            left = nodes["missing_left"][node]
            assert left is not None
        elif options is not None:
            left = value in options
        else:
            left = value <= nodes["threshold"][node]
        node = nodes["left" if left else "right"][node]
    return node


def leaves_of_rows(model, X):
    """The leaf of each row of X at the model's size, as a node of the largest tree."""
    full = model._fit_result.tree
    ancestor = full.ancestor_in(model._fit_result.sizes[model.n_leaves_].inner)
    return ancestor[full.apply(model._validate(X, reset=False))]


def test_it_is_plain_json(case):
    model, X, summary = case
    assert json.loads(json.dumps(summary, allow_nan=False)) is not None
    assert summary["start_size"] == len(summary["sizes"]) - 1
    assert summarize(model.with_leaves(7), X)["start_size"] == 7 - summary["sizes"][0]["leaves"]


def test_every_size_is_the_tree_of_that_size(case):
    model, X, summary = case
    assert [size["leaves"] for size in summary["sizes"]] == model.path_["n_leaves"].tolist()
    for i, size in enumerate(summary["sizes"]):
        small = model.with_leaves(size["leaves"])
        inner, label, _ = replayed(summary, i)
        leaf = leaves_of_rows(small, X)
        assert not inner[leaf].any()
        assert label[leaf].tolist() == small.predict(X).tolist()
        assert inner.sum() + 1 == size["leaves"]
        assert size["verdict"] == verdict(model.path_["ratio"][i])
        assert percent(model.path_["accuracy"][i]) in size["agreement"]


def test_every_version_says_what_the_rules_of_its_size_say(case):
    model, _, summary = case
    text = ReportText(model._fit_result.tree, model.columns_)
    for i, size in enumerate(summary["sizes"]):
        _, _, version = replayed(summary, i)
        facts = model._fit_result.facts(size["leaves"])
        for each in describe(facts, reader=text.reader):
            told = summary["descriptions"][version[each.cluster]]
            assert told["rows"] == format_rows(each.size)
            assert told["percent"] == percent(each.coverage)
            assert told["agreement"] == (percent(each.purity) if each.size else "")
            wanted = {
                (format_rows(r.size), frozenset(map(text.printed, r.conditions))) for r in each
            }
            texts = summary["condition_texts"]
            found = {(n, frozenset(texts[c] for c in cs)) for n, cs in told["rules"]}
            assert found == wanted
            names = [text.printed(text.reader.title(d.feature)) for d in each.apart]
            assert [title for title, *_ in told["differences"]][: len(names)] == names


@pytest.mark.parametrize("seed", range(20))
def test_every_kind_of_split_sends_rows_where_the_tree_does(seed):
    rng = np.random.default_rng(seed)
    tree = mixed_tree(rng, 12, missing="some")
    fields = RowFields(facts_of(tree, MIXED_COLUMNS, np.ones(4)), ReportText(tree, MIXED_COLUMNS))
    summary = {
        "nodes": {"left": tree.left, "right": tree.right, **fields.split_entries()},
        "conditions": fields.conditions()[0],
    }
    assert json.loads(json.dumps(summary["nodes"]["threshold"], allow_nan=False))
    X = mixed_rows(rng, 300)
    X = X[accepted(tree, X) & ~(X[:, 1::2] >= N_CODES).any(axis=1)]
    assert len(X)
    values = np.stack([fields.values(X, field) for field in range(len(fields.moves))], axis=1)
    rows_of_fields = [[None if np.isnan(x) else x for x in row] for row in values.tolist()]
    found = [walk(summary, ~tree.is_leaf, row) for row in rows_of_fields]
    assert found == leaves_by_walking(tree, X).tolist()
    _, of_node = fields.conditions()
    for leaf, row in zip(found, rows_of_fields, strict=True):  # a row meets its leaf's condition
        condition = summary["conditions"][of_node[leaf]]
        value = row[condition["field"]]
        if value is None:
            assert condition["missing"]
        elif "options" in condition:
            assert value in condition["options"]
        else:
            assert condition["above"] is None or value > condition["above"]
            assert condition["upto"] is None or value <= condition["upto"]


def test_only_one_function_of_the_page_compares_with_thresholds():
    folder = resources.files("treemeans.report") / "templates"
    for name in SCRIPTS:
        script = (folder / name).read_text(encoding="utf-8")
        uses = re.findall(r"nodes\.(?:threshold|options_left|missing_left)\b", script)
        assert bool(uses) == (name == "tree.js")


def test_a_leaf_may_change_its_group(reported):
    given = [node for size in reported["search"][2]["sizes"] for node, _ in size["labels"]]
    assert len(given) > len(set(given))


def test_versions_are_kept_once(case):
    _, _, summary = case
    begun = [version for size in summary["sizes"] for _, version in size["descriptions"]]
    assert set(begun) == set(range(len(summary["descriptions"])))
    assert len(summary["descriptions"]) < len(summary["sizes"]) * len(summary["groups"]) / 2
    assert len(set(summary["condition_texts"])) == len(summary["condition_texts"])


def test_goals_are_the_boxes_of_the_nodes(case):
    model, _, summary = case
    tree, goals, nodes = model._fit_result.tree, summary["conditions"], summary["nodes"]
    text = ReportText(tree, model.columns_)
    parent = {c: n for n in range(tree.n_nodes) for c in (nodes["left"][n], nodes["right"][n])}
    for node, box in node_boxes(tree).items():
        last, at = {}, node
        while at:
            goal = goals[nodes["condition"][at]]
            last.setdefault(goal["field"], goal)
            at = parent[at]
        in_order = [last[field]["text"] for field in sorted(last)]
        assert in_order == [text.printed(words) for words in text.reader.conditions(box)]
        for feature, interval in box.items():
            axis = next(
                i for i, a in enumerate(summary["fields"]) if a["name"] == text.column_name(feature)
            )
            if "options" not in last[axis]:
                bounds = [last[axis]["above"], last[axis]["upto"]]
                assert [-np.inf if b is None else b for b in bounds[:1]] == [interval.above]
                assert [np.inf if b is None else b for b in bounds[1:]] == [interval.upto]


def test_borders_are_those_that_distances_are_measured_to(case):
    _, _, summary = case
    kinds = set()
    for goal in summary["conditions"]:
        axis = summary["fields"][goal["field"]]
        if "options" in goal:
            assert goal["options"] == sorted(set(goal["options"]))
            assert 0 < len(goal["options"]) < len(axis["options"])
            continue
        kinds.add(axis["kind"])
        whole = axis["kind"] in ("integer", "date")
        above, upto = goal["above"], goal["upto"]
        if above is not None:
            assert goal["raise"][0] == (np.floor(above) + 1 if whole else above)
            assert goal["raise"][1].startswith(("move ", "raise "))
        if upto is not None:
            assert goal["lower"][0] == (np.floor(upto) if whole else upto)
            assert goal["lower"][1].startswith(("move ", "lower "))
    assert {"number", "integer"} <= kinds


def test_rows_to_try_are_rows_of_the_table(case):
    model, X, summary = case
    names, values = summary["example_rows"]["names"], summary["example_rows"]["values"]
    assert len(names) == len(values) <= 200
    places = [int(name.removeprefix("row ")) for name in names]  # the labels of the data frame
    inner, label, _ = replayed(summary, len(summary["sizes"]) - 1)
    leaf = leaves_of_rows(model, X)
    assert [walk(summary, inner, row) for row in values] == leaf[places].tolist()
    shares = np.bincount(label[leaf[places]], minlength=5)
    assert shares.min() >= min(40, np.bincount(model.predict(X)).min())


def test_rows_that_cannot_be_typed_are_left_out():
    model, X = mixed_model()
    odd = X.copy()
    odd.loc[::2, "visits"] += 0.5
    odd.loc[1::4, ["color_red", "color_green"]] = 1.0
    names = summarize(model, odd, rows=200)["example_rows"]["names"]
    places = [int(name.removeprefix("row ")) for name in names]
    assert places
    assert all(place % 4 == 3 for place in places)


def test_rows_are_called_by_their_index_or_counted():
    iris = load_iris(as_frame=True).data
    model = ExKMC(3, max_leaf_nodes=4, random_state=0).fit(iris)
    named = iris.rename_axis("flower")
    shown = summarize(model, named, rows=200)["example_rows"]
    assert shown["names"][:2] == ["flower 0", "flower 1"]
    plain = ExKMC(3, max_leaf_nodes=4, random_state=0).fit(iris.to_numpy())
    shown = summarize(plain, iris.to_numpy(), rows=200)["example_rows"]
    assert shown["names"][:2] == ["row 1", "row 2"]


def test_histograms_count_every_row_once(case):
    model, X, summary = case
    leaf = leaves_of_rows(model, X)
    per_leaf = [np.sum(leaf == node) for node in model._fit_result.tree.leaves]
    assert 1 <= len(summary["histograms"]) <= 20
    for drawn in summary["histograms"]:
        assert [sum(counts) for counts in drawn["counts"]] == per_leaf
        assert max(map(len, drawn["counts"])) <= len(drawn["labels"])
        assert len(drawn["ends"]) == (2 if drawn["ordered"] else 0)
    by_name = {drawn["name"]: drawn for drawn in summary["histograms"]}
    total = np.sum([np.pad(c, (0, 4))[:4] for c in by_name["size"]["counts"]], axis=0)
    counts = {**X.filter(like="size").sum(), "none": (X.filter(like="size").sum(axis=1) == 0).sum()}
    assert sorted(total.tolist(), reverse=True) == total.tolist()
    assert sorted(total.tolist()) == sorted(int(n) for n in counts.values())
    yes = by_name["member"]["labels"].index("yes")
    assert sum(np.pad(c, (0, 2))[yes] for c in by_name["member"]["counts"]) == X["member"].sum()


def test_ranges_and_marks_are_of_the_rows_at_the_cut(case):
    model, X, summary = case
    tree = model._fit_result.tree
    table = model._validate(X, reset=False)
    passed = tree.decision_path(table).toarray().astype(bool)
    for node in np.flatnonzero(~tree.is_leaf):
        column = model.columns_[tree.feature[node]]
        values = table[passed[:, node], tree.feature[node]]
        if column.kind in ("flag", "category"):
            assert summary["ranges"][node] == ""
            assert summary["threshold_positions"][node] is None
        elif column.kind == "integer":
            assert summary["ranges"][node] == f"{values.min():.0f} to {values.max():.0f}"
        elif column.is_date:
            first, last = (np.datetime64(int(v), "D") for v in (values.min(), values.max()))
            assert summary["ranges"][node] == f"{first} to {last}"


def plain_wording(*columns):
    n = len(columns)
    return ReportText(ThresholdTree([-1], [np.nan], [-1], [-1], [0], n), columns)


@given(
    st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=1, max_size=60),
    st.sampled_from(["number", "integer", "date", "time"]),
)
def test_a_value_is_in_the_bin_that_says_so(values, kind):
    unit = "D" if kind in ("date", "time") else ""
    x = np.array(values) if kind in ("number", "time") else np.floor(values)
    x = x / 100 if unit else x  # within the calendar
    x = np.floor(x) if kind == "date" else x
    bins = number_bins(plain_wording(Column("x", kind, unit)), 0, x)
    found = bins.bin_of(x)
    assert 1 <= len(bins.labels) <= 45
    assert len(bins.edges) == len(bins.labels) + 1
    inside = (found > 0) & (found < len(bins.labels) - 1)
    assert np.all(bins.edges[found[inside]] <= x[inside])
    assert np.all(x[inside] < bins.edges[found[inside] + 1])
    assert np.all(np.diff(found[np.argsort(x, kind="stable")]) >= 0)
    assert all(len(label) <= 60 for label in bins.labels)
    if kind in ("number", "integer"):
        for label, value in zip(np.array(bins.labels)[found], x, strict=True):
            assert says(label, value), (label, value)


def says(label, value):
    """Whether a value is what a label of numbers says."""
    if label.startswith("below "):
        return value < float(label[6:])
    if label.endswith(" or more"):
        return value >= float(label[:-8])
    first, _, last = label.partition(" to ")
    return float(first) <= value <= float(last or first)


def test_round_bins():
    assert number_bins(plain_wording(Column("x")), 0, np.linspace(0.3, 97, 50)).labels[:2] == [
        "0 to 5",
        "5 to 10",
    ]
    whole = number_bins(plain_wording(Column("x", "integer", "kg")), 0, np.arange(4.0))
    assert whole.labels == ["0 kg", "1 kg", "2 kg", "3 kg"]
    assert whole.position(0.5) == 1
    tail = number_bins(plain_wording(Column("x")), 0, np.append(np.linspace(0, 10, 999), 1e6))
    assert tail.labels[-1].endswith(" or more")
    assert tail.bin_of(np.array([1e6])) == len(tail.labels) - 1


def test_many_categories_are_put_together():
    bins, bin_of = category_bins([str(i) for i in range(30)], np.arange(30))
    assert bins.labels == [*(str(i) for i in range(29, 20, -1)), "21 others"]
    assert bin_of[29] == 0
    assert np.all(bin_of[:21] == 9)


@examples(50)
@given(st.lists(st.text(max_size=12), min_size=2, max_size=5, unique=True))
def test_names_are_said_as_they_are(names):
    tree = ThresholdTree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], len(names))
    columns = tuple(Column(name, "flag") for name in names)
    text = ReportText(tree, columns)
    name, left, right = text.split_text(0)
    assert (left, right) == ("= no", "= yes")
    assert text.printed(text.reader.sides(0)[1]).strip() == f"{name} = yes".strip()
    if names[0].isascii() and names[0].isprintable():
        assert name == " ".join(Reader(tree, columns).title(0).split())


def test_names_that_look_like_numbers_are_quoted():
    tree = ThresholdTree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1)
    assert ReportText(tree, (Column("150"),)).split_text(0) == ('"150"', "≤ 0.5", "> 0.5")


def test_verdicts():
    worse = [verdict(r).replace("\N{NO-BREAK SPACE}", " ") for r in (0.9, 1, 1.001, 1.05, 1.2, 3)]
    assert worse == [
        "This tree groups the rows even more tightly than the original grouping.",
        "This tree follows the original grouping exactly.",
        "This tree follows the original grouping almost exactly (0.1 % worse).",
        "This tree follows the original grouping closely (5.0 % worse).",
        "This tree follows the original grouping roughly (20 % worse).",
        "This tree follows the original grouping only loosely (200 % worse).",
    ]


def test_without_rows_all_else_is_there(reported):
    model, _, with_rows = reported["none"]
    summary = summarize(model)
    assert summary["example_rows"] is None
    assert summary["histograms"] == []
    for key in ("fields", "conditions", "nodes", "sizes", "curve", "condition_texts", "sql"):
        assert summary[key] == with_rows[key]
    for row, axis in zip(summary["typical_row"], summary["fields"], strict=True):
        assert "options" not in axis or 0 <= row < len(axis["options"])


def test_a_loaded_model_has_the_same_report(case, tmp_path):
    model, X, summary = case
    model.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert summarize(loaded, X, rows=200) == summary
    assert summarize(loaded, X) == summarize(model, X)


@pytest.mark.parametrize("baseline", [CART, CUBT, IMM, CLTree, KDTree])
def test_other_trees_have_reports_too(baseline):
    X = load_iris().data
    summary = summarize(baseline(3).fit(X), X)
    assert summary["sizes"][-1]["leaves"] >= 3
    assert html_page(summary).startswith("<!doctype html>")


def test_sparse_rows():
    X = load_iris().data
    model = ExKMC(3, max_leaf_nodes=6, random_state=0).fit(sparse.csr_matrix(X))
    for rows_shown in (0, 10):
        dense = summarize(model, X, rows=rows_shown)
        assert summarize(model, sparse.csc_matrix(X), rows=rows_shown) == dense


def test_a_tree_without_a_cut():
    X = load_iris().data
    model = ExKMC(1, random_state=0).fit(X)
    summary = summarize(model, X)
    assert summary["fields"] == summary["conditions"] == []
    assert summary["descriptions"][0]["rules"] == [["150 rows", []]]
    assert "<!doctype html>" in report_html(model, X)


class Elements(HTMLParser):
    """Tags of a page, with their attributes, and the text of its scripts and style."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self._in = [], {}, ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style", "title", "h1"):
            self._in = dict(attrs).get("type", tag)

    def handle_endtag(self, tag):
        self._in = ""

    def handle_data(self, text):
        if self._in:
            self.texts[self._in] = self.texts.get(self._in, "") + text


@pytest.fixture(scope="module")
def hostile_page():
    model, X = mixed_model(names=HOSTILE)
    title = "</title><script>document.title='broken in'</script> & \ud800"
    return report_html(model, X, title=title, cluster_names=CLUSTER_NAMES)


def test_names_are_no_markup(hostile_page):
    hostile_page.encode()  # no half of a character
    found = Elements(hostile_page)
    assert [tag for tag, _ in found.tags].count("script") == 2
    assert not {"img", "b", "iframe", "link", "object"} & {tag for tag, _ in found.tags}
    assert found.texts["title"] == found.texts["h1"]
    assert found.texts["title"].startswith("</title><script>")
    data = json.loads(found.texts["application/json"])
    assert not set("<>&\u2028\u2029") & set(found.texts["application/json"])
    names = {axis["name"] for axis in data["fields"]}
    assert HOSTILE["height"] in names
    assert HOSTILE["visits"] in names
    assert {"color", "size"} <= names
    assert data["groups"][3]["name"] == "x" * 200


def test_the_page_loads_nothing_and_runs_only_its_own_script(hostile_page):
    found = Elements(hostile_page)
    for tag, attributes in found.tags:
        assert not attributes.keys() & {"src", "srcset", "data", "action"}, tag
        assert attributes.get("href", "#").startswith("#")
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
    policy = next(a["content"] for _, a in found.tags if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; ")
    for kind, part in (("script", "script-src"), ("style", "style-src")):
        digest = base64.b64encode(hashlib.sha256(found.texts[kind].encode()).digest()).decode()
        assert f"{part} 'sha256-{digest}'" in policy
    for risky in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "import(",
    ):
        assert risky not in found.texts["script"]
    addresses = set(re.findall(r"https?://[^\s\"']+", hostile_page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not a place


@pytest.mark.slow
def test_fifty_groups_and_two_hundred_leaves_are_small():
    model, X = large_model()
    assert model.n_leaves_ == 200
    summary = summarize(model, X, rows=200)
    of_rows = {
        key: summary[key] for key in ("example_rows", "histograms", "ranges", "threshold_positions")
    }
    size = len(html_page(summary).encode())
    assert size < 1_000_000
    assert size - len(json.dumps(of_rows)) < 600_000


def test_sql_of_every_dialect(reported):
    _, _, summary = reported["none"]
    pieces = {each["title"]: each for each in summary["sql"]["dialects"]}
    assert len(pieces) == 8
    for each in pieces.values():
        cuts = [bool(text) for text in each["conditions"]]
        assert cuts == [left >= 0 for left in summary["nodes"]["left"]]
        assert len(each["missing"]) == len(summary["fields"])
    assert '"color" IS NULL' in pieces["PostgreSQL"]["missing"]
    assert "`color` IS NULL" in pieces["MySQL"]["missing"]


def test_without_sqlglot_the_page_says_what_to_install(monkeypatch, reported):
    for name in [name for name in sys.modules if name.split(".")[0] == "sqlglot"]:
        monkeypatch.setitem(sys.modules, name, None)
    sql = summarize(reported["none"][0])["sql"]
    assert sql["dialects"] == []
    install = 'install it with `pip install "treemeans[sql]"`.'
    assert sql["unavailable"] == f"This needs sqlglot; {install}"


def test_two_columns_of_one_name_have_no_sql():
    X = load_iris().data
    model = ExKMC(3, max_leaf_nodes=6, random_state=0).fit(X).with_columns(names=["a"] * 4)
    assert "both called 'a'" in summarize(model)["sql"]["unavailable"]


def test_writing(tmp_path):
    X = load_iris().data
    model = ExKMC(3, max_leaf_nodes=4, random_state=0).fit(X)
    path = tmp_path / "report.html"
    write_report(model, path, X, title="Irises")
    assert path.read_text(encoding="utf-8") == report_html(model, X, title="Irises")
    model.report(path)  # as save, it replaces a file
    assert "Irises" not in path.read_text(encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="NaN"):
        write_report(model, path, X * np.nan)
    assert path.read_bytes() == before
    with pytest.raises(OSError, match="Cannot write"):
        write_report(model, tmp_path / "nowhere" / "report.html")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_what_is_no_fitted_model_is_refused():
    with pytest.raises(NotFittedError):
        report_html(ExKMC(3))
    with pytest.raises(TypeError, match="A report is about a fitted model of treemeans; got 3"):
        report_html(3)
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
    with pytest.raises(ValueError, match="cluster_names must hold 3 names"):
        report_html(model, cluster_names=["a"])
