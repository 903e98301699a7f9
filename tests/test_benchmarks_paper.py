"""The paper's evaluation: what is computed, that a run goes on, and how statements are judged."""

import json
import re
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from treemeans.baselines import CUBT, CLTree, KDTree
from treemeans.datasets import NAMES, TABLE

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "benchmarks" / "paper").is_dir():
    pytest.skip("the benchmarks are not beside the tests", allow_module_level=True)
sys.path.insert(0, str(ROOT))

from benchmarks.paper import (  # noqa: E402
    cells,
    claims,
    claims_baselines,
    claims_cost,
    claims_other,
    command,
    data,
    methods,
    page,
    run,
    sheets,
    tables,
)
from benchmarks.paper.cells import Cell, Plan  # noqa: E402
from benchmarks.paper.results import Results  # noqa: E402
from reference import Reference  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CLAIMS = page.CLAIMS
IRIS = Cell("iris", "exkmc_imm", "", 0, 6)


# ---- cells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [False, True])
def test_every_cell_has_a_file_of_its_own(quick):
    plan = Plan(quick=quick)
    keys = [cell.key for cell in plan.cells()]
    assert len(set(keys)) == len(keys)
    assert all(Path(key).name not in (".", "..") and not key.startswith("/") for key in keys)


def test_the_grids_are_those_of_the_appendix():
    plan = Plan().cells()
    for name in cells.GRIDDED:
        of_set = [cell for cell in plan if cell.data == name and cell.seed == 0]
        splits = {cell.option("min_split") for cell in of_set if cell.method == "cltree"}
        assert len(splits) * len(cells.MIN_Y) * len(cells.MIN_RD) == 10 * 14 * 15
        grown = {cell.setting for cell in of_set if cell.method == "cubt"}
        assert len(grown) * len(cells.MINDIST) * len(cells.ALPHA) == 3 * 3 * 2 * 3
    large = {cell.method for cell in plan if cell.data not in cells.GRIDDED}
    assert not large & {"cltree", "cubt"}
    assert set(cells.SMALL) < set(cells.GRIDDED)


def test_a_quick_run_has_no_large_images_and_the_full_one_all_sets():
    assert "cifar10" not in command.plan_of(command.read(["--quick"])).data
    assert {cell.data for cell in Plan().cells()} == {*NAMES, cells.WORDS, cells.PLANE}
    assert Plan().most("cifar10") == 300


@pytest.mark.parametrize("k", [2, 3, 7, 10, 30])
def test_sizes_have_what_the_paper_speaks_of(k):
    sizes = cells.sizes(k, 5 * k)
    assert {k, 2 * k, 3 * k, round(3.5 * k), 4 * k, 5 * k} <= set(sizes)
    assert list(sizes) == sorted(set(sizes))
    assert sizes[0] == k
    assert sizes[-1] == 5 * k


def test_only_takes_sets_methods_and_figures():
    options = command.read(["--only", "iris,cart,ratios"])
    assert (options.data, options.methods, options.figures) == (("iris",), ("cart",), ("ratios",))
    with pytest.raises(SystemExit):
        command.read(["--only", "irsi"])


# ---- the runner ----------------------------------------------------------------------------------


def test_a_run_goes_on_where_it_was(tmp_path):
    bad = Cell("no such set", "imm", "", 0, 3)
    wanted = [Cell("iris", "size", "", 0, 0), IRIS, bad, replace(IRIS, method="exkmc")]
    assert run.run(wanted[:1], 0.01, folder=tmp_path)[run.OVER] == 1
    assert not run.wanted(wanted[0], 0.01, tmp_path)
    assert run.wanted(wanted[0], 60.0, tmp_path)

    ended = run.run(wanted, 60.0, folder=tmp_path)
    assert ended == {run.DONE: 3, run.OVER: 0, run.FAILED: 1}
    assert "name must be one of" in run.read(bad, tmp_path)["message"]
    assert run.read(IRIS, tmp_path)["rows"][0]["leaves"] == 3

    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    run.path_of(IRIS, tmp_path).unlink()
    again = run.run(wanted, 60.0, folder=tmp_path)
    assert again == {run.DONE: 1, run.OVER: 0, run.FAILED: 1}  # what failed is tried again
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert before.keys() == after.keys()
    changed = {path for path in before if before[path] != after[path]}
    assert changed == {run.path_of(IRIS, tmp_path), run.path_of(bad, tmp_path)}


def test_the_page_comes_from_what_is_kept(tmp_path, capsys):
    asked = ["--only", "iris,imm,size,ratios", "--seeds", "0", "--cells", str(tmp_path / "cells")]
    command.main([*asked, "--out", str(tmp_path)])
    page = (tmp_path / "RESULTS.md").read_text()
    assert capsys.readouterr().out.strip() == str(tmp_path / "RESULTS.md")
    assert (tmp_path / "figures" / "ratios.png").stat().st_size > 10_000
    assert "| Iris | 3 | 150 | 4 | 3 | 150 | 4 | the same |" in page
    assert "Iris 1.037" in page
    assert claims.MISSING in page


# ---- the methods ---------------------------------------------------------------------------------


def rows_of(cell):
    ((same, result),) = methods.ADAPTERS[cell.method]([cell])
    assert same == cell
    return {row["leaves"]: row for row in result["rows"]}


def test_one_fit_of_cart_holds_the_smaller_trees(one_thread):
    X, known = data.load("wine").X[:, :5], data.known("wine", 0)
    tree = methods.TREES["cart_labels"]
    model = tree.fit(X, known, 12, 0)
    for leaves in range(3, 13):
        alone = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X, known.labels)
        np.testing.assert_array_equal(tree.labels(model, X, leaves), alone.predict(X))


@pytest.mark.parametrize("name", ["iris", "digits"])
def test_one_growth_of_the_kdtree_holds_the_trees_of_all_sizes(name, one_thread):
    X, known = data.load(name).X, data.known(name, 0)
    sizes = cells.sizes(TABLE[name].k, 5 * TABLE[name].k)[::-3]
    found = list(methods.kdtree([Cell(name, "kdtree", "", 0, size) for size in sizes]))
    assert [cell.leaves for cell, _ in found] == list(sizes)
    for cell, result in found:
        alone = KDTree(None, max_leaf_nodes=cell.leaves, reference=known.centers).fit(X)
        expected = methods._path(alone, known)[0]
        expected |= {"leaves": cell.leaves, "built": alone.n_leaves_}
        assert result["rows"] == [pytest.approx(expected)]


def test_a_method_of_ones_own_is_an_estimator_and_a_title(one_thread):
    asked = [Cell("iris", "mine", "", seed, leaves) for seed in (0, 1) for leaves in (3, 6)]
    mine = methods.fitted(
        lambda centers, leaves, seed: KDTree(None, reference=centers, max_leaf_nodes=leaves)
    )
    known = list(methods.kdtree([replace(cell, method="kdtree") for cell in asked]))
    for (cell, result), (_, expected) in zip(mine(asked), known, strict=True):
        assert cell.method == "mine"
        assert result["rows"] == [pytest.approx(row) for row in expected["rows"]]


@pytest.mark.parametrize("name", ["wine", "20newsgroups4"])
def test_labels_of_leaves_cost_what_those_of_rows_do(name, one_thread):
    words = name == cells.WORDS
    if words and not data.has_words():
        pytest.skip("the four newsgroups are not there")
    X = data.load_words()[0] if words else data.load(name).X
    rng, n = np.random.default_rng(0), X.shape[0]
    centers, leaf = rng.normal(size=(4, X.shape[1])), rng.integers(0, 9, size=n)
    known = Reference(centers, rng.integers(0, 4, size=n), 2.0, 0.0, 0.0, 0)
    labels = rng.integers(0, 4, size=9)
    judged = methods.LeafJudge(X, known, leaf).row(labels, 9)
    assert judged == pytest.approx(methods.Judge(X, known).row(labels[leaf], 9))


def test_cltree_is_the_estimator_over_the_grid(monkeypatch, one_thread):
    monkeypatch.setattr(methods, "MIN_Y", (1, 5))
    monkeypatch.setattr(methods, "MIN_RD", (5, 30))
    found = rows_of(Cell("iris", "cltree", "min_split=50", 0, 150))
    X, known, expected = data.load("iris").X, data.known("iris", 0), {}
    for min_y, min_rd in product((1, 5), (5, 30)):
        options = {"min_split": 50, "min_y": min_y, "min_rd": min_rd}
        model = CLTree(None, **options, reference=known.centers).fit(X)
        if model.n_leaves_ >= 3:
            ratio = model.inertia_ / known.inertia
            expected[model.n_leaves_] = min(ratio, expected.get(model.n_leaves_, np.inf))
    assert expected
    assert {leaves: row["ratio"] for leaves, row in found.items()} == pytest.approx(expected)


@pytest.mark.parametrize("join", ["deviance", "ratio", "dissimilarity"])
def test_cubt_is_the_estimator_over_the_grid(monkeypatch, one_thread, join):
    monkeypatch.setattr(methods, "MINDIST", (0.3,))
    monkeypatch.setattr(methods, "ALPHA", (0.2, 0.6))
    name = "cubt" if join == "deviance" else f"cubt_{join}"
    found = rows_of(Cell("iris", name, "minsize=5,mindev=0.001", 0, 6))
    X, known = data.load("iris").X, data.known("iris", 0)
    assert set(found) >= {3, 4, 6}
    for leaves, row in found.items():
        options = {"max_leaf_nodes": leaves, "minsize": 5, "mindist": 0.3, "join": join}
        models = [
            CUBT(None, **options, alpha=alpha, reference=known.centers) for alpha in (0.2, 0.6)
        ]
        cheapest = min((model.fit(X) for model in models), key=lambda model: model.inertia_)
        assert row["ratio"] == pytest.approx(cheapest.inertia_ / known.inertia)
        assert row["built"] <= leaves


def test_rows_of_a_path_are_those_of_its_labels(one_thread):
    cell, X, known = IRIS, data.load("iris").X, data.known("iris", 0)
    judge, model = methods.Judge(X, known), methods._grown(X, known, 6, "imm")
    assert rows_of(cell)[6] == pytest.approx(judge.row(model.labels_, 6))


# ---- results and statements ----------------------------------------------------------------------


def made_up(folder, ratio, sets=NAMES, names=tuple(cells.METHODS), seeds=(0,)):
    """Results in which each method costs what ``ratio`` says at each number of leaves."""
    for name, method, seed in product(sets, names, seeds):
        k = TABLE[name].k
        leaves = [k] if method == "imm" else cells.sizes(k, Plan().most(name))
        rows = []
        for size in leaves:
            value = ratio(name, method, size / k) + seed / 1000
            rows.append({"leaves": size, "ratio": value, "surrogate": value, "accuracy": 1 / value})
        kept = {"status": run.DONE, "rows": rows, "seconds": 1.0}
        run.save(Cell(name, method, "", seed, max(leaves)), kept, folder)
    return Results.read(folder)


def verdict(check, results):
    return check(results).verdict


def test_curves_are_medians_over_seeds_of_the_cheapest_setting(tmp_path):
    for seed, (one, other) in enumerate([(1.5, 1.2), (1.1, 1.3), (1.9, 1.8)]):
        for number, ratio in enumerate((one, other)):
            row = {"leaves": 3, "ratio": ratio, "accuracy": 10 * ratio}
            kept = {"status": run.DONE, "rows": [row]}
            run.save(Cell("iris", "cltree", f"min_split={number}", seed, 9), kept, tmp_path)
    curve = Results.read(tmp_path).curve("iris", "cltree")
    assert curve.at(3) == 1.2  # of 1.2, 1.1 and 1.8
    assert curve.seeds == 3
    assert curve.deviation[0] == pytest.approx(np.std([1.2, 1.1, 1.8]))
    assert Results.read(tmp_path).at("iris", "cltree", 1, "accuracy") == 12.0


def test_no_statement_is_judged_without_results():
    assert {verdict(claim.check, Results()) for claim in CLAIMS} == {claims.MISSING}


def test_every_statement_can_be_judged(tmp_path):
    rng = np.random.default_rng(0)
    results = made_up(
        tmp_path, lambda *_: rng.uniform(1, 2), names=("imm", "exkmc", "exkmc_imm", "cart")
    )
    known = {claims.SEEN, claims.PARTLY, claims.UNSEEN, claims.MISSING, claims.UNJUDGED}
    assert {verdict(claim.check, results) for claim in CLAIMS} <= known
    text = tables.statements(results, CLAIMS)
    assert text.count("\n") == len(CLAIMS) + 1


def test_statements_follow_the_numbers(tmp_path):
    def like_the_paper(name, method, size):
        if method == "cart" and name == "synthetic_1":
            return 5.5
        if name == "cifar10":
            started = {"imm": 1.5, "exkmc_imm": 1.5 if size == 1 else 1.3 if size < 3.5 else 1.1}
            return started.get(method, 1.2)
        if name == "synthetic_2" and method in ("imm", "exkmc_imm"):
            return max(1.0, 4 - size)
        if method in ("cltree", "cubt"):
            return {"cltree": 2.0, "cubt": 1.2 if name in ("digits", "mice_protein") else 1.02}[
                method
            ]
        return {"imm": 1.2, "exkmc_imm": 1.15 if size < 2 else 1.01}.get(method, 1.3)

    results = made_up(tmp_path, like_the_paper)
    for check in (
        claims_cost.imm_low,
        claims_cost.within_two_percent,
        claims_cost.cifar_outlier,
        claims_cost.usually_matches,
        claims_cost.outperforms,
        claims_cost.lower_than_baselines,
        claims_cost.expansion_helps,
        claims_baselines.cltree_worst,
        claims_baselines.cltree_much,
        claims_baselines.cubt_competitive,
        claims_baselines.cubt_not_best,
        claims_baselines.cubt_fails,
        claims_baselines.cifar_competitive,
        claims_baselines.cifar_start,
        claims_baselines.synthetic_cart,
        claims_baselines.synthetic_hard,
        claims_baselines.synthetic_linear,
    ):
        assert verdict(check, results) == claims.SEEN, check
    assert verdict(claims_cost.imm_within, results) == claims.PARTLY  # CIFAR-10 starts at 1.5

    worse = made_up(tmp_path, lambda name, *_: 1.4 if name == "wine" else 1.1)
    assert verdict(claims_cost.imm_within, worse) == claims.PARTLY
    for check in (
        claims_cost.within_two_percent,
        claims_cost.usually_matches,
        claims_cost.lower_than_baselines,
        claims_baselines.cltree_worst,
        claims_baselines.cubt_fails,
        claims_baselines.cifar_start,
        claims_baselines.synthetic_cart,
        claims_baselines.synthetic_linear,
    ):
        assert verdict(check, worse) == claims.UNSEEN, check


def test_a_rise_of_the_surrogate_is_noticed(tmp_path):
    falling = made_up(tmp_path, lambda name, method, size: 1 + 1 / size)
    assert verdict(claims_cost.surrogate_falls, falling) == claims.SEEN
    rising = made_up(tmp_path, lambda name, method, size: 1 + size / 1000)
    assert verdict(claims_cost.surrogate_falls, rising) == claims.UNSEEN


@pytest.mark.parametrize(
    ("met", "enough", "expected"),
    [
        ({"a": True, "b": True}, None, claims.SEEN),
        ({"a": True, "b": None}, None, claims.MISSING),
        ({"a": True, "b": None}, 1, claims.SEEN),
        ({"a": True, "b": False, "c": None}, None, claims.PARTLY),
        ({"a": False, "b": None}, None, claims.MISSING),
        ({"a": False, "b": False}, 1, claims.UNSEEN),
        ({"a": None}, None, claims.MISSING),
    ],
)
def test_a_missing_cell_never_decides(met, enough, expected):
    assert claims.by_count(met, "", enough=enough).verdict == expected


def test_times_are_cumulative(tmp_path):
    for name in cells.TIMED:
        kept = {"status": run.DONE, "threads": 1, "kmeans": 100.0, "imm": 10.0, "exkmc": 50.0}
        run.save(Cell(name, "time", "threads=1", 0, 2 * TABLE[name].k), kept, tmp_path)
    results = Results.read(tmp_path)
    finding = claims_other.under_fifteen_minutes(results)
    assert finding.verdict == claims.SEEN
    assert "Digits 150 s" in finding.ours
    assert "Digits 0.5x" in claims_other.overhead(results).ours


def test_overheads_below_the_papers_are_better_than_stated(tmp_path):
    def timed(exkmc):
        for name in cells.TIMED:
            kept = {"status": run.DONE, "threads": 1, "kmeans": 1.0, "imm": 0.1, "exkmc": exkmc}
            run.save(Cell(name, "time", "threads=1", 0, 2 * TABLE[name].k), kept, tmp_path)
        return claims_other.overhead(Results.read(tmp_path)).verdict

    assert [timed(part) for part in (1.0, 0.1, 2.0)] == [claims.SEEN, claims.BETTER, claims.UNSEEN]


@pytest.mark.parametrize(
    ("load", "faster", "expected"),
    [(1.0, 1.8, claims.SEEN), (1.0, 1.1, claims.UNSEEN), (7.0, 1.1, claims.UNJUDGED)],
)
def test_a_busy_machine_is_not_judged_to_be_slow(tmp_path, load, faster, expected):
    for name, threads in product(cells.LARGE, (1, 2)):
        times = {
            "kmeans": 900.0 / faster,
            "imm": 1.0,
            "exkmc": 3.0 if threads == 1 else 3.0 / faster,
        }
        kept = {"status": run.DONE, "threads": threads, "load": load, **times}
        run.save(Cell(name, "time", f"threads={threads}", 0, 2 * TABLE[name].k), kept, tmp_path)
    results = Results.read(tmp_path)
    assert claims_other.parallel(results).verdict == expected
    slow = claims.UNJUDGED if load > 2 else claims.UNSEEN
    assert claims_other.cifar_seven_minutes(results).verdict == slow


def test_a_brief_kmeans_is_timed_with_its_tree(one_thread):
    cell = Cell("iris", "time", "threads=1", 0, 6)
    ((_, result),) = methods.timed([cell])
    assert result["again"]
    assert result["load"] is None or result["load"] >= 0
    assert 0 < result["imm"] < 60
    assert 0 < result["exkmc"] < 60
    assert 0 < result["kmeans"] < 60


def test_tables_of_all_cells_give_the_same_page(tmp_path):
    rng = np.random.default_rng(1)
    results = made_up(tmp_path / "cells", lambda *_: rng.uniform(1, 2), sets=("iris", "wine"))
    words = {"status": run.DONE, "trees": {"4": {"words": ['"a', "b,\n"]}}, "grown": 1}
    results.kept[cells.EXAMPLES[0]] = words
    results.kept[replace(IRIS, seed=4)] = {"status": run.OVER, "limit": 3600.0}
    sheets.write(results.kept, tmp_path)
    again = Results.read(tmp_path)
    assert again.kept.keys() == results.kept.keys()
    assert again.kept[cells.EXAMPLES[0]] == words
    for cell, kept in results.kept.items():
        rows = [pytest.approx(row, rel=1e-8) for row in kept.get("rows", ())]
        assert again.kept[cell] == ({**kept, "rows": rows} if rows else kept)
    assert tables.ratios(again, 2) == tables.ratios(results, 2)


def test_the_same_place_and_words_are_read_the_same():
    assert len({(claim.place, claim.sentence) for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.reading for claim in CLAIMS)


def test_the_page_in_the_repository_says_what_the_tables_beside_it_do():
    folder = ROOT / "benchmarks"
    text, kept = (folder / "RESULTS.md").read_text(), Results.read(folder / "results")
    assert tables.statements(kept, CLAIMS) in text
    for times_k in (1, 2, 4):
        assert tables.ratios(kept, times_k) in text
    linked = re.findall(r"\]\(([^)#]+)\)", text + (folder / "README.md").read_text())
    assert len(linked) > 12
    assert all((folder / link).exists() for link in linked)


def test_cells_are_plain_json(tmp_path):
    run.save(IRIS, {"status": run.DONE, "rows": []}, tmp_path)
    (path,) = tmp_path.rglob("*.json")
    assert Cell(**json.loads(path.read_text())["cell"]) == IRIS


def test_the_process_that_computes_may_use_threads():
    # joblib gives a daemon one thread, and times of two would be those of one.
    with run.Worker() as worker:
        worker.send([Cell("iris", "size", "", 0, 0)])
        status, _ = worker.receive(60)
        assert status == run.DONE
        assert not worker._process.daemon
