"""Rules as text, data frames, dicts and HTML; what sets a cluster apart."""

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.helpers.datasets import kmeans
from tests.helpers.plain_numpy import random_weights, scaled_pca
from tests.oracles import rules_oracle as oracle
from treemeans import ExKMC, ThresholdTree
from treemeans.columns import Column, Reader, plain_columns
from treemeans.explain.cluster_profile import differences
from treemeans.explain.cluster_rules import describe
from treemeans.value_set import ValueSet

pytestmark = pytest.mark.usefixtures("one_thread")
IRIS = load_iris().data
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


@pytest.fixture(scope="module")
def iris():
    centers = kmeans(IRIS, 3).cluster_centers_
    centers = centers[np.argsort(-centers[:, 0])[[0, 2, 1]]]  # by sepal length
    model = ExKMC(3, max_leaf_nodes=5, reference=centers).fit(IRIS)
    return model.with_columns(names=NAMES, units=dict.fromkeys(NAMES, "cm"))


# ---- text ----------------------------------------------------------------------------------------

TEXT = """\
3 clusters, 150 rows, 5 rules: 99 % agree with k-means, 1.014 times its cost

cluster 0: high sepal length, high petal width
  36 rows (24 %), 100 % agree with k-means, 28 % of the cost
  differs by: sepal length 6.86 cm (others 5.52 cm), petal width 2.08 cm (others 0.92 cm),
      petal length 5.78 cm (others 3.12 cm)
  if petal length > 5.15 cm  (34 rows)
  or if 6.85 cm < sepal length <= 6.95 cm and petal length > 2.45 cm  (2 rows)

cluster 1: low petal length, low petal width
  50 rows (33 %), 100 % agree with k-means, 19 % of the cost
  differs by: petal length 1.46 cm (others 4.91 cm), petal width 0.25 cm (others 1.68 cm),
      sepal length 5.01 cm (others 6.26 cm)
  if petal length <= 2.45 cm

cluster 2: low sepal width
  64 rows (43 %), 97 % agree with k-means, 53 % of the cost
  differs by: sepal width 2.76 cm (others 3.28 cm), petal length 4.41 cm (others 3.27 cm),
      petal width 1.45 cm (others 1.02 cm)
  if 2.45 cm < petal length <= 5.15 cm and sepal length <= 6.85 cm  (63 rows)
  or if 2.45 cm < petal length <= 5.15 cm and sepal length > 6.95 cm  (1 row)"""


def test_text(iris):
    rules = iris.rules()
    assert str(rules) == TEXT
    assert repr(rules) == "Rules(3 clusters, 5 rules)"
    assert str(rules[1]) in TEXT


def test_it_is_a_sequence_of_clusters(iris):
    rules = iris.rules()
    assert len(rules) == 3
    assert [each.cluster for each in rules] == [0, 1, 2]
    assert rules[-1] is rules.clusters[2]
    assert [len(each) for each in rules] == [2, 1, 2]
    assert str(rules[0].rules[0]) == "petal length > 5.15 cm"


def test_smaller_trees_have_their_own_rules(iris):
    assert [str(each.rules[0]) for each in iris.with_leaves(3).rules()] == [
        "petal length > 5.15 cm",
        "petal length <= 2.45 cm",
        "2.45 cm < petal length <= 5.15 cm",
    ]


def test_a_model_must_be_fitted():
    with pytest.raises(NotFittedError):
        ExKMC(3).rules()


def test_a_single_leaf():
    rules = ExKMC(1, random_state=0).fit(IRIS).rules()
    assert str(rules) == (
        "1 cluster, 150 rows, 1 rule: 100 % agree with k-means, 1.000 times its cost\n\n"
        "cluster 0: all rows\n"
        "  150 rows (100 %), 100 % agree with k-means, 100 % of the cost\n"
        "  if any row"
    )


def test_clusters_that_cost_nothing_have_no_ratio():
    X = np.repeat([0.0, 1.0, 2.0], 133)[:, None]
    scaled = make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0))
    model = ExKMC(reference=scaled, max_leaf_nodes=3).fit(X)
    assert model.reference_inertia_ < 1e-20  # what rounding leaves
    first = str(model.rules()).splitlines()[0]
    assert first == "3 clusters, 399 rows, 3 rules: 100 % agree with k-means"


def test_clusters_without_rows_say_so():
    tree = replace(oracle.tree_from((0, 0, (1, 0, 2)), 2), weight=np.array([4.0, 3, 1, 1, 0]))
    hits = np.array([[3.0, 0, 0], [0, 1, 0], [0, 0, 0]])
    rules = describe(oracle.facts_of(tree, hits=hits))
    text = str(rules)
    assert "cluster 1: no rows, and no rule leads to it" in text
    assert "cluster 2: no rows\n  if x0 > 0.5 and x1 > 0.5" in text
    assert [each.summary for each in rules] == ["", "no rows", "no rows"]
    assert math.isnan(rules[2].purity)
    assert math.isnan(rules[2].rules[0].purity)
    assert rules[0].purity == 0.75


def test_no_rows_at_all():
    text = str(describe(oracle.facts_of(oracle.tree_from((0, 0, 1), 1))))
    assert text.startswith("2 clusters, 0 rows, 2 rules\n\ncluster 0: no rows\n  if x0 <= 0.5")


def test_weights_are_rows():
    model = ExKMC(3, random_state=0).fit(IRIS, sample_weight=np.full(150, 2.5))
    assert "3 clusters, 375 rows" in str(model.rules())


def test_lines_are_folded_between_conditions():
    tree = oracle.random_tree(np.random.default_rng(0), 40, 30, 2)
    names = tuple(Column(f"a rather long name {i}") for i in range(30))
    lines = str(describe(oracle.facts_of(tree, names))).splitlines()
    assert max(map(len, lines)) <= 100
    folded = [line for line in lines if line.startswith("      ")]
    assert folded
    assert all(line.startswith("      and ") for line in folded)


# ---- hostile names -------------------------------------------------------------------------------

HOSTILE = [
    '<img src=x onerror="alert(1)">',
    "two\nlines\x1b[31m",
    "it's {0} %s",
    "\U0001f469\u200d\U0001f4bb",
]


def test_names_are_data(iris):
    rules = iris.with_columns(names=HOSTILE).rules()
    text = str(rules)
    assert "\x1b" not in text
    assert len(text.splitlines()) == len(TEXT.splitlines())
    assert HOSTILE[3] in text
    page = rules._repr_html_()
    assert "<img" not in page
    assert "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;" in page
    assert HOSTILE[0] in rules.to_dict()["clusters"][0]["rules"][1]["conditions"][0]


def test_categories_in_html_are_escaped():
    columns = tuple(
        Column(f"c{i}", "category", source="<b>", value=f"<i>{i}", complete=True) for i in range(3)
    )
    page = describe(oracle.facts_of(oracle.tree_from((0, 0, 1), 3), columns))._repr_html_()
    assert "&lt;b&gt; = &lt;i&gt;0" in page
    assert "<b>" not in page
    assert "<i>" not in page


# ---- other forms ---------------------------------------------------------------------------------


def test_html_is_a_table_with_a_row_for_each_cluster(iris):
    page = iris.rules()._repr_html_()
    assert page.startswith("<table>")
    assert page.count("<tr>") == 1 + 3
    assert page.count("<td>") == 3 * page.count("<th>")
    assert "petal length &gt; 5.15 cm (34 rows)<br>or 6.85 cm &lt; sepal length" in page


def test_dict_holds_everything_and_exact_thresholds(iris):
    rules = iris.rules()
    told = json.loads(json.dumps(rules.to_dict(), allow_nan=False))
    assert told == rules.to_dict()
    assert told["size"] == 150
    assert told["cost"] == pytest.approx(iris.inertia_)
    assert told["reference_cost"] == iris.reference_inertia_
    for each, cluster in zip(rules, told["clusters"], strict=True):
        assert cluster["summary"] == each.summary
        assert ", ".join(one["text"] for one in cluster["apart"]) == each.summary
        for rule, said in zip(each, cluster["rules"], strict=True):
            assert said["conditions"] == list(rule.conditions)
            box = {
                bound["feature"]: ValueSet(
                    -math.inf if bound["above"] is None else bound["above"],
                    math.inf if bound["upto"] is None else bound["upto"],
                )
                for bound in said["bounds"]
            }
            assert box == rule.box
            assert [b["column"] for b in said["bounds"]] == [NAMES[f] for f in rule.box]


def test_dict_of_no_rows_is_json():
    told = describe(oracle.facts_of(oracle.tree_from((0, 0, 1), 1))).to_dict()
    assert json.loads(json.dumps(told, allow_nan=False))["clusters"][0]["purity"] is None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frame_has_a_row_for_each_rule(iris, library):
    pytest.importorskip(library)
    rules = iris.rules()
    frame = rules.to_frame(library)
    assert type(frame).__module__.startswith(library)
    columns = {name: list(frame[name]) for name in frame.columns}
    assert columns["cluster"] == [0, 0, 1, 2, 2]
    assert columns["rule"] == [0, 1, 0, 0, 1]
    assert columns["conditions"] == [str(rule) for each in rules for rule in each]
    assert columns["size"] == [34, 2, 50, 63, 1]
    assert columns["cluster_size"] == [36, 36, 50, 64, 64]
    assert columns["cluster_apart"][2] == rules[1].summary
    assert sum(columns["coverage"]) == pytest.approx(1)
    for name in ("purity", "cluster_purity", "cluster_coverage", "cluster_cost_share"):
        assert all(0 <= share <= 1 for share in columns[name]), name


def test_frames_of_other_libraries_are_refused(iris):
    with pytest.raises(ValueError, match='one of "pandas" or "polars"; got \'dask\''):
        iris.rules().to_frame("dask")


def test_a_missing_library_is_named(iris, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r'pip install "treemeans\[polars\]"'):
        iris.rules().to_frame("polars")


# ---- what sets a cluster apart -------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_differences_are_those_of_the_means(weighted):
    X = load_wine().data
    weights = random_weights(len(X)) if weighted else np.ones(len(X))
    model = ExKMC(3, reference=scaled_pca(), max_leaf_nodes=5)
    rules = model.fit(X, sample_weight=weights if weighted else None).rules()
    center = np.average(X, axis=0, weights=weights)
    spread = np.sqrt(np.average((X - center) ** 2, axis=0, weights=weights))
    for each in rules:
        rows = model.labels_ == each.cluster
        mean = np.average(X[rows], axis=0, weights=weights[rows])
        others = np.average(X[~rows], axis=0, weights=weights[~rows])
        steps = (mean - others) / spread
        assert [one.feature for one in each.apart] == np.argsort(-np.abs(steps))[:3].tolist()
        for one in each.apart:
            assert one.mean == pytest.approx(mean[one.feature])
            assert one.others == pytest.approx(others[one.feature])
            assert one.difference == pytest.approx(steps[one.feature])


def two_clusters(columns, means, spread, weight=(1.0, 3.0)):
    tree = ThresholdTree(
        [0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], len(columns),
        weight=[sum(weight), *weight],
    )  # fmt: skip
    facts = oracle.facts_of(
        tree, columns, profiles=np.array(means, float), spread=np.array(spread, float)
    )
    return [[one.text for one in found] for found in differences(facts, Reader(tree, columns))]


def test_means_are_written_in_units_dates_and_shares():
    columns = (
        Column("spend", unit="EUR"),
        Column("color_red", "category", source="color", value="red"),
        Column("since", "date", unit="D"),
        Column("member", "flag"),
    )
    means = [[812.4, 0.81, 18690, 0.5], [143.2, 0.12, 18230, 0.5]]
    first, second = two_clusters(columns, means, [300, 0.4, 300, 0.5])
    assert first == [
        "spend 812 EUR (others 143 EUR)",
        "color = red 81 % (others 12 %)",
        "since 2021-03-04 (others 2019-11-30)",
    ]
    assert second[0] == "spend 143 EUR (others 812 EUR)"


def test_one_category_of_a_source_is_told_that_which_is_more():
    columns = (*(Column(s, "category", source="sex", value=s) for s in "fm"), Column("x"))
    first, second = two_clusters(columns, [[0.2, 0.8, 1], [0.9, 0.1, 2]], [0.4, 0.4, 10])
    assert first == ["sex = m 80 % (others 10 %)", "x 1 (others 2)"]
    assert second[0] == "sex = f 90 % (others 20 %)"


def test_columns_that_read_the_same_or_do_not_vary_are_not_told():
    columns = (*plain_columns(2), Column("flag", "flag"))
    assert two_clusters(columns, [[1, 5, 0.401], [2, 5, 0.402]], [1, 0, 1]) == [
        ["x0 1 (others 2)"],
        ["x0 2 (others 1)"],
    ]


def test_a_cluster_without_rows_has_no_part_in_the_others():
    found = two_clusters(plain_columns(1), [[1.0], [np.nan]], [1.0], weight=(2.0, 0.0))
    assert found == [[], []]


def test_sparse_tables():
    rng = np.random.default_rng(0)
    X = rng.random((400, 30)) * (rng.random((400, 30)) < 0.1)
    X[:100, 3] = 4.0
    model = ExKMC(2, random_state=0).fit(sparse.csr_array(X))
    few = min(model.rules(), key=lambda each: each.size)
    assert few.summary.startswith("x3 4 (others 0.0")
    assert str(few.rules[0]).startswith("x3 > ")
