"""The smallest change that moves a row to a cluster, against every change there is."""

import json
import math
from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris

from tests.helpers.examples import examples
from tests.helpers.explain_cases import cases, facts_of, fitted_customers, tree_of
from tests.oracles import explain_oracle as oracle
from treemeans import Column, ExKMC, ThresholdTree
from treemeans.columns.dates import PER_DAY
from treemeans.explain.allowed_changes import AllowedChanges
from treemeans.explain.column_lookup import ColumnLookup
from treemeans.explain.counterfactual import Counterfactuals
from treemeans.explain.leaf_distances import LeafDistances
from treemeans.explain.smallest_move import NumberMove, short_number
from treemeans.value_set import ValueSet

IRIS = load_iris().data
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
NEAR = 1e-3
pytestmark = pytest.mark.usefixtures("one_thread")


def free(columns, **said):
    return AllowedChanges.of(ColumnLookup(tuple(columns)), **said)


def solve(tree, columns, x, to, spread=None, **said):
    """The counterfactual of one row of a bare tree."""
    spread = np.ones(len(columns)) if spread is None else spread
    facts = facts_of(tree, columns, spread)
    return Counterfactuals(facts, np.array([x], dtype=float), to, free(columns, **said))[0]


@pytest.fixture(scope="module")
def iris():
    """Rules in a few columns, with a dozen leaves."""
    model = ExKMC(3, max_leaf_nodes=12, random_state=0).fit(IRIS)
    return model.with_columns(names=NAMES, units={"petal length": "cm"})


# ---- against all that a row could become ---------------------------------------------------------


@examples(200)
@given(cases())
def test_distance_to_every_leaf(case):
    facts, limits, allowed_changes, rows = case
    reach = LeafDistances(facts, allowed_changes, facts.tree.leaves)
    found = reach.distances(reach.values(rows))
    for j, x in enumerate(rows):
        wanted = oracle.to_each_leaf(facts.tree, facts.columns, facts.scale, limits, x)
        for i, (n_changed, distance) in enumerate(wanted.values()):
            assert math.isfinite(found.squares[i, j]) == math.isfinite(distance)
            if math.isfinite(distance):
                assert found.changes[i, j] == n_changed
                assert found.squares[i, j] ** 0.5 == pytest.approx(distance, rel=1e-9, abs=1e-9)


@examples(150)
@given(cases(), st.data())
def test_smallest_change_to_a_cluster(case, data):
    facts, limits, allowed_changes, rows = case
    tree = facts.tree
    to = data.draw(st.integers(0, tree.n_clusters - 1))
    found = Counterfactuals(facts, rows, to, allowed_changes)
    for i, x in enumerate(rows):
        wanted = oracle.smallest_change(tree, facts.columns, facts.scale, limits, x, to)
        assert found.possible[i] == (wanted is not None)
        check_changed_row(facts, limits, x, found[i], to)
        if wanted is None:
            assert np.array_equal(found.X[i], x)
            continue
        n_changed, distance = wanted
        assert found.n_changed[i] == n_changed
        assert distance - 1e-9 <= found.distance[i] <= distance + NEAR * n_changed**0.5 + 1e-9


@examples(100)
@given(cases())
def test_without_a_cluster_the_nearest_that_can_be_reached(case):
    facts, limits, allowed_changes, rows = case
    found = Counterfactuals(facts, rows, None, allowed_changes)
    for i, x in enumerate(rows):
        least, clusters = oracle.nearest_other(facts.tree, facts.columns, facts.scale, limits, x)
        assert found.possible[i] == bool(clusters)
        if clusters:
            assert found.to[i] in clusters
            assert found.distance[i] >= least - 1e-9
            check_changed_row(facts, limits, x, found[i], found.to[i])
        else:
            assert found.to[i] == -1
            assert found[i].to is None


def check_changed_row(facts, limits, x, result, to):
    """It is in the cluster, and what changed was free to, within bounds, in steps, one-hot."""
    tree, columns = facts.tree, facts.columns
    assert result.possible == (tree.predict(result.row[None, :])[0] == to)
    changed = np.flatnonzero(result.row != x)
    for i in changed:
        new, step = result.row[i], limits.step[i]
        assert limits.free[i]
        assert limits.low[i] <= new <= limits.high[i]
        if columns[i].kind in ("flag", "category"):
            assert new in (0, 1)
        elif step is not None:
            steps = (new - x[i]) / step
            assert steps == pytest.approx(round(steps), abs=1e-6)
    moved = 0
    for group in oracle.features_of(columns):
        is_moved = bool(set(group) & set(changed.tolist()))
        moved += is_moved
        if is_moved and columns[group[0]].kind == "category":
            total = result.row[group].sum()
            assert total == 1 or (total == 0 and not columns[group[0]].complete)
    assert moved == result.n_changed == len(result.features)
    if result.possible:
        away = np.sqrt((((result.row - x) / facts.scale) ** 2).sum())
        assert result.distance == pytest.approx(away)


def test_rows_are_answered_alike_in_many_blocks_and_alone(iris, monkeypatch):
    whole = iris.counterfactual(IRIS, to=1)
    monkeypatch.setattr("treemeans.explain.leaf_distances._AT_ONCE", 1)
    parts = iris.counterfactual(IRIS, to=1)
    leaves = iris.tree_.leaves
    assert len(list(LeafDistances(iris._facts, free(iris.columns_), leaves).blocks(150))) == 3
    assert np.array_equal(whole.X, parts.X)
    assert np.array_equal(whole.distance, parts.distance)
    for i in (0, 77, 149):
        alone = iris.counterfactual(IRIS[i], to=1)
        assert alone.to_dict() == whole[i].to_dict()


# ---- what is chosen among equals, and what counts first ------------------------------------------


def test_fewer_features_come_before_a_shorter_way():
    # Cluster 1 is far up a, and next to the row where both a and b go up.
    tree = ThresholdTree(
        [0, 0, 1, -1, -1, -1, -1],
        [1.0, -50.0, 1.0, 0, 0, 0, 0],
        [1, 3, 5, -1, -1, -1, -1],
        [2, 4, 6, -1, -1, -1, -1],
        [0, 0, 0, 1, 0, 0, 1],
        2,
    )
    columns = [Column("a"), Column("b")]
    assert solve(tree, columns, [0.999, 0.999], 1).changes == {"a": (0.999, -50.0)}
    assert solve(tree, columns, [0.999, 0.999], 1, bounds={"a": (0, None)}).n_changed == 2
    facts = facts_of(tree, columns, [1, 1])
    nearest = Counterfactuals(facts, np.array([[0.999, 0.999]]), None, free(columns))
    assert nearest.n_changed.tolist() == [1]  # the nearest cluster first, then the fewest features


def test_of_equals_the_first_leaf():
    tree = ThresholdTree(
        [0, -1, 0, -1, -1], [-1.0, 0, 1.0, 0, 0], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1],
        [0, 1, 0, 0, 1], 1,
    )  # fmt: skip
    found = solve(tree, [Column("a")], [0.0], 1)
    assert (found.leaf, found.changes) == (1, {"a": (0.0, -1.0)})


def test_a_change_of_category_is_one_feature():
    columns = [
        Column("size"),
        *(Column(f"color_{v}", "category", "", "color", v, True) for v in ("red", "blue", "pink")),
    ]
    tree = tree_of((2, 0.5), n_features=4)
    found = solve(tree, columns, [5.0, 1, 0, 0], 1, spread=[1, 0.5, 0.25, 0.1])
    assert found.changes == {"color": ("red", "blue")}
    assert found.row.tolist() == [5.0, 0, 1, 0]
    assert found.distance == pytest.approx(math.hypot(1 / 0.5, 1 / 0.25))
    assert str(found) == "To be in cluster 1: change color from red to blue."
    back = solve(tree, columns, [5.0, 0, 1, 0], 0, spread=[1, 0.5, 0.25, 0.1])
    assert back.changes == {"color": ("blue", "red")}  # pink is rarer, and farther


def test_categories_that_need_not_be_any():
    columns = [Column(f"color_{v}", "category", "", "color", v) for v in ("red", "blue")]
    found = solve(tree_of((0, 0.5), n_features=2), columns, [1, 0], 0)
    assert found.changes == {"color": ("red", None)}
    assert str(found) == "To be in cluster 0: change color from red to none of its categories."


def test_a_change_from_an_unseen_category():
    columns = [Column(f"plan={v}", "category", "", "plan", v, True) for v in ("basic", "pro")]
    found = solve(tree_of((0, 0.5), n_features=2), columns, [0, 0], 1)
    assert found.changes == {"plan": (None, "basic")}
    said = "To be in cluster 1: change plan from a category not seen in training to basic."
    assert str(found) == said


def test_two_categories_at_once_cannot_be():
    tree = ThresholdTree(
        [0, -1, 1, -1, -1], [0.5, 0, 0.5, 0, 0], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1],
        [0, 0, 1, 1, 2], 2,
    )  # fmt: skip
    columns = [Column(f"color_{v}", "category", "", "color", v, True) for v in ("red", "blue")]
    found = solve(tree, columns, [0, 1], 2)
    assert not found.possible
    assert str(found) == found.why == "No leaf of cluster 2 can be reached."
    assert solve(tree, columns, [0, 1], 1).possible


def test_the_columns_of_a_category_can_be_frozen_one_by_one():
    columns = [
        Column(f"color_{v}", "category", "", "color", v, True) for v in ("red", "blue", "pink")
    ]
    tree = tree_of((0, 0.5), n_features=3)
    assert solve(tree, columns, [1, 0, 0], 0).changes == {"color": ("red", "blue")}
    no_blue = solve(tree, columns, [1, 0, 0], 0, frozen=["color_blue"])
    assert no_blue.changes == {"color": ("red", "pink")}
    assert not solve(tree, columns, [1, 0, 0], 0, frozen=["color"]).possible
    assert not solve(tree, columns, [1, 0, 0], 0, allowed=["color_red"]).possible
    assert solve(tree, columns, [1, 0, 0], 0, allowed="color").possible


# ---- new values ----------------------------------------------------------------------------------


def shortest_between(first, last, up):
    """Digit by digit: the numbers of so many digits that lie between, if any, and the nearest."""
    top = math.floor(math.log10(max(abs(first), abs(last)))) + 1
    for digits in range(1, 18):
        units = [Fraction(10) ** (top - digits + more) for more in (-2, -1, 0, 1)]
        tried = [
            whole * unit
            for unit in units
            for end in (Fraction(first), Fraction(last))
            # The end itself may be so short: 1e-9 as a float is not quite 1e-9.
            for whole in (math.ceil(end / unit), math.floor(end / unit))
            if abs(whole) < 10**digits
        ]
        found = [float(number) for number in tried if first <= float(number) <= last]
        if found:
            return min(found) if up else max(found)
    return first if up else last


@example(1.0, 1.0, True, 1e-9)
@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-9, 1.0).map(lambda share: share**4),
    st.booleans(),
    st.sampled_from([1e-9, 1e-3, 1.0, 1e7]),
)
def test_short_numbers(start, share, up, unit):
    first = start * unit
    last = first + share * abs(first)
    if first <= 0 <= last:
        assert short_number(first, last, up=up) == 0
    else:
        assert short_number(first, last, up=up) == shortest_between(first, last, up)


@pytest.mark.parametrize("last", [1e-300, 1e-9, 0.00125, 1.0, 9.99, 1e7, 1e300])
def test_short_numbers_next_to_zero(last):
    tiny = math.nextafter(0, 1)
    assert short_number(tiny, last, up=True) == shortest_between(tiny, last, True)
    assert short_number(-last, -tiny, up=False) == -short_number(tiny, last, up=True)
    assert short_number(tiny, last, up=True) >= last / 1000


def test_a_duration_moves_by_one_that_python_can_hold():
    columns = [Column("wait", kind="duration", unit="D")]
    for threshold, value, scale in [(0.0, -0.15, 0.9), (3.0, 2.5, 1.0), (1 / 3, 0.1, 0.01)]:
        up = solve(tree_of((0, threshold)), columns, [value], 1, spread=[scale])
        (_, new) = up.changes["wait"]
        assert new > timedelta(days=threshold)


def test_values_just_beyond_a_threshold():
    columns = [Column("spend", unit="EUR")]
    tree = tree_of((0, 499.98), (0, 700.123456))
    up = solve(tree, columns, [120.0], 1, spread=[80.0])
    assert str(up) == "To be in cluster 1: raise spend from 120 EUR to 500 EUR."
    assert up.distance == 380 / 80
    down = solve(tree, columns, [910.25], 1, spread=[80.0])
    assert str(down) == "To be in cluster 1: lower spend from 910.25 EUR to 700.1 EUR."


def test_a_value_on_the_threshold_moves_by_next_to_nothing():
    found = solve(tree_of((0, 2.5)), [Column("a")], [2.5], 1)
    assert found.n_changed == 1
    assert 2.5 < found.row[0] <= 2.5 + NEAR


def test_a_narrow_leaf():
    one_float = math.nextafter(2.5, 3)
    found = solve(tree_of((0, 2.5), (0, one_float)), [Column("a")], [0.0], 1)
    assert found.row[0] == one_float


def test_old_values_are_not_written_longer_than_need_be():
    found = solve(tree_of((0, 0.5)), [Column("a")], [0.1234567890123], 1)
    assert str(found) == "To be in cluster 1: raise a from 0.123457 to 0.501."
    down = solve(tree_of((0, 0.5)), [Column("a")], [0.500000000000123], 0)
    assert str(down) == "To be in cluster 0: lower a from 0.5000000000001 to 0.5."


@pytest.mark.parametrize(
    ("x", "step", "to", "new"),
    [
        (0.1, 0.1, 1, 0.4),  # 0.1 + 0.1 + 0.1 is not above 0.3, though floats say so
        (0.0, 0.25, 1, 0.5),
        (1.7, 0.2, 0, 0.3),
        (1.3, 1, 0, 0.3),
        (0.05, 0.1, 1, 0.35),
    ],
)
def test_steps_are_taken_in_decimals(x, step, to, new):
    found = solve(tree_of((0, 0.3)), [Column("a")], [x], to, step=step)
    assert found.row[0] == new


@pytest.mark.parametrize("step", [0.01, 0.1, 0.3, 0.7])
def test_no_step_more_than_it_takes(step):
    size = Fraction(str(step))
    for n in range(1, 60):  # many of these divide to a little more than n
        bound = float(n * size)
        found = solve(
            tree_of((0, 0.0)), [Column("a")], [0.0], 1, step=step, bounds={0: (bound, 99)}
        )
        assert found.row[0] == bound


def test_a_step_can_be_too_long():
    tree = tree_of((0, 1.0), (0, 1.5))
    assert solve(tree, [Column("a")], [0.0], 1, step=0.7).changes == {"a": (0.0, 1.4)}
    none = solve(tree, [Column("a")], [0.0], 1, step=0.8)
    assert none.why == "No leaf of cluster 1 can be reached in steps of the given size."


def test_a_step_finer_than_floats_are():
    slide = NumberMove(0, Column("a"), 1.0, True, -math.inf, math.inf, 1e-9)
    x = np.array([[0.0, -3.0]])
    landed = slide.moved(x, (ValueSet(1e9, 2e9),))
    assert ((landed > 1e9) & (landed < 1e9 + 1)).all()


def test_one_step_for_all_is_for_numbers_alone():
    columns = [Column("a"), Column("n", "integer"), Column("day", "date", "D")]
    tree = tree_of((0, 0.6), (1, 0.6), (2, 0.6), n_features=3)
    found = solve(tree, columns, [0.0, 0.0, 0.0], 3, step=0.25)
    assert found.row.tolist() == [0.75, 1.0, 1.0]
    own = solve(tree, columns, [0.0, 0.0, 0.0], 3, step={"n": 5, 2: 7})
    assert own.row[1:].tolist() == [5.0, 7.0]


def test_bounds_hold_for_new_values_only():
    columns = [Column("a"), Column("b")]
    tree = tree_of((0, 1.0), (1, 1.0), n_features=2)
    found = solve(tree, columns, [0.0, 5.0], 2, bounds={"a": (3, None), "b": (None, 0)})
    assert found.changes == {"a": (0.0, 3.0)}  # b is out of its bounds, and stays
    none = solve(tree, columns, [5.0, 5.0], 0, bounds={"a": (2, None)})
    assert none.why == "No leaf of cluster 0 can be reached within the bounds."


def test_infinitely_far_is_not_impossible():
    found = solve(tree_of((0, 1e300)), [Column("a")], [-1e308], 1, spread=[1e-200])
    assert found.possible
    assert found.row[0] > 1e300


# ---- dates ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def customers():
    return fitted_customers()


def test_every_kind_of_column_in_one_row(customers):
    model, _ = customers
    kinds = [column.kind for column in model.columns_]
    assert kinds == ["number", "integer", "date", "time", "flag", "category", "category"]


def test_every_row_of_a_frame_to_every_cluster(customers):
    model, table = customers
    for to in range(4):
        many = model.counterfactual(table, to)
        assert many.possible.all()
        changed = pd.DataFrame(many.X, columns=table.columns)
        assert (changed[["since", "visits", "member"]] % 1 == 0).all(axis=None)
        for name in ("since", "seen"):
            changed[name] = pd.to_datetime(changed[name], unit="D")
        assert (model.predict(changed) == to).all()
        assert (changed[["color_red", "color_blue"]].sum(axis=1) == 1).all()


def test_dates_are_dates_in_and_out():
    columns = [Column("since", "date", "D", typed=True), Column("seen", "time", "D", typed=True)]
    tree = tree_of((0, 18262.5), (1, 19000.30001), n_features=2)  # 2020-01-01, 2022-01-08
    found = solve(tree, columns, [18000.0, 18000.25], 2, spread=[100, 100])
    assert found.changes == {
        "since": (date(2019, 4, 14), date(2020, 1, 2)),
        "seen": (datetime(2019, 4, 14, 6), datetime(2022, 1, 8, 8)),
    }
    assert str(found) == (
        "To be in cluster 2: move since from 2019-04-14 to 2020-01-02 "
        "and move seen from 2019-04-14 06:00 to 2022-01-08 08:00."
    )
    assert found.to_dict()["changes"]["seen"] == {
        "from": "2019-04-14T06:00:00",
        "to": "2022-01-08T08:00:00",
    }
    bounds = {"since": ("2020-03-01", None), "seen": (None, date(2022, 2, 1))}
    bound = solve(tree, columns, [18000.0, 18000.25], 2, spread=[100, 100], bounds=bounds)
    assert bound.changes["since"][1] == date(2020, 3, 1)


@pytest.mark.parametrize("unit", ["D", "h", "m", "s", "ms", "us", "ns"])
def test_times_are_read_to_the_second_in_every_unit(unit):
    per_day = PER_DAY[unit]
    columns = [Column("seen", "time", unit)]
    threshold = per_day * (19000 + (8 * 3600 + 13 * 60 + 7.4) / 86400)
    for to, start, second in ((1, 18990, 8), (0, 19010, 7)):
        found = solve(
            tree_of((0, threshold)), columns, [start * per_day], to, spread=[per_day / 80]
        )
        assert found.changes["seen"][1] == datetime(2022, 1, 8, 8, 13, second)
        assert f"to 2022-01-08 08:13:0{second}." in str(found)


# ---- what a user gets ----------------------------------------------------------------------------


def test_a_cluster_the_row_is_in(iris):
    found = iris.counterfactual(IRIS[0], to=int(iris.predict(IRIS[:1])[0]))
    assert found.possible
    assert (found.changes, found.n_changed, found.distance) == ({}, 0, 0.0)
    assert str(found) == f"Nothing has to change: the row is in cluster {found.to}."
    assert np.array_equal(found.row, IRIS[0])


def test_what_cannot_be_is_said(iris):
    found = iris.counterfactual(IRIS[0], to=0, allowed=["sepal width", 0])
    assert found.why == (
        "No leaf of cluster 0 can be reached by changing only sepal width and sepal length."
    )
    assert (found.possible, found.leaf, found.changes, found.distance) == (False, None, {}, np.inf)
    assert found.to_dict()["distance"] is None
    assert iris.counterfactual(IRIS[0], to=0, allowed=[]).why == (
        "No leaf of cluster 0 can be reached without any change."
    )
    frozen = iris.counterfactual(IRIS[0], frozen=NAMES, bounds={0: (1, 2)})
    assert frozen.why == (
        "No other cluster can be reached without changing sepal length, sepal width, petal length "
        "and petal width, within the bounds."
    )


def test_a_cluster_that_no_leaf_has():
    tree = tree_of((0, 1.0), n_clusters=3)
    found = solve(tree, [Column("a")], [0.0], 2)
    assert (found.possible, found.why) == (False, "No leaf of the tree is in cluster 2.")


def test_a_tree_without_cuts():
    tree = ThresholdTree([-1], [0.0], [-1], [-1], [0], 2)
    columns = [Column("a"), Column("b")]
    assert solve(tree, columns, [1.0, 2.0], 0).changes == {}
    none = solve(tree, columns, [1.0, 2.0], None)
    assert none.why == "No other cluster can be reached."


def test_sparse_rows_stay_sparse(iris):
    rows = IRIS * (IRIS > 1.5)
    dense = iris.counterfactual(rows, to=1)
    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_array):
        found = iris.counterfactual(kind(rows), to=1)
        assert sparse.issparse(found.X)
        assert np.array_equal(found.X.toarray(), dense.X)
        assert found[7].to_dict() == dense[7].to_dict()


def test_a_list_of_results(iris):
    many = iris.counterfactual(IRIS, to=2, allowed=["petal length"])
    assert len(many) == len(list(many)) == 150
    assert many[-1].to_dict() == many[149].to_dict()
    assert [found.leaf for found in many[3:6]] == [many[i].leaf for i in (3, 4, 5)]
    with pytest.raises(IndexError):
        many[150]
    assert repr(many) == f"Counterfactuals of 150 rows, {many.possible.sum()} possible"
    assert str(many).splitlines()[3] == str(many[3])
    assert str(many).endswith("... and 130 more")
    json.dumps([found.to_dict() for found in many])


def test_frames(iris):
    many = iris.counterfactual(IRIS, to=2, allowed=["petal length"])
    frame = many.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.n_changed.tolist() == [found.n_changed for found in many]
    for text, found in zip(frame.change, many, strict=True):
        assert text == (str(found)[:-1].partition(": ")[2] if found.changes else found.why)
    assert many.to_frame("polars").equals(pl.from_pandas(frame))
    with pytest.raises(ValueError, match='is one of "pandas" or "polars"; got \'csv\''):
        many.to_frame("csv")


def test_names_are_data():
    name = "a\n<img onerror=x> {0} %s '\""
    found = solve(tree_of((0, 1.0)), [Column(name)], [0.0], 1)
    assert list(found.changes) == [name]
    assert name in str(found)


def test_given_names_and_those_of_the_frame(customers):
    model, table = customers
    renamed = model.with_columns(names=[f"n{i}" for i in range(7)])
    row = table.iloc[5]
    new = renamed.counterfactual(row, 0, frozen=["n0", "visits"])
    old = model.counterfactual(row, 0, frozen=["spend", "visits"])
    assert new.leaf == old.leaf
    assert np.array_equal(new.row, old.row)


BAD = {
    "an unknown cluster": ({"to": 3}, "to must be a cluster from 0 to 2, or None; got 3"),
    "a negative cluster": ({"to": -1}, "to must be a cluster from 0 to 2"),
    "a name for a cluster": ({"to": "red"}, "to must be a cluster from 0 to 2"),
    "a truth value for a cluster": ({"to": True}, "to must be a cluster from 0 to 2"),
    "an unknown name": ({"allowed": ["colour"]}, "There is no column 'colour'"),
    "an unknown number": ({"frozen": [4]}, "There is no column 4"),
    "a mask of another length": (
        {"allowed": [True, False]},
        "a mask of 2 columns, but there are 4",
    ),
    "bounds of an unknown name": ({"bounds": {"x": (0, 1)}}, "There is no column 'x'"),
    "bounds that are no dict": ({"bounds": (0, 1)}, "bounds must be a dict"),
    "one bound": ({"bounds": {0: 1}}, r"sepal length must be a pair \(low, high\); got 1"),
    "three bounds": ({"bounds": {0: (1, 2, 3)}}, "must be a pair"),
    "bounds the wrong way round": ({"bounds": {0: (2, 1)}}, "are the wrong way round"),
    "a bound that is no number": ({"bounds": {0: ("a", 1)}}, "sepal length must be a number"),
    "a bound that is NaN": ({"bounds": {0: (np.nan, 1)}}, "no value for sepal length"),
    "no step": ({"step": 0}, "step must be a number above 0; got 0"),
    "a step back": ({"step": {"petal width": -0.1}}, "The step of petal width must be"),
    "a step that is no number": ({"step": "fine"}, "step must be a number above 0; got 'fine'"),
    "a step of an unknown name": ({"step": {"x": 1}}, "There is no column 'x'"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_limits_get_one_sentence(iris, what):
    said, sentence = BAD[what]
    with pytest.raises(ValueError, match=sentence) as refusal:
        iris.counterfactual(IRIS[0], **({"to": 1} | said))
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


def test_steps_and_bounds_of_categories(customers):
    model, table = customers
    with pytest.raises(ValueError, match="bounds is for columns of numbers, but 'color' has cat"):
        model.counterfactual(table, 0, bounds={"color": (0, 1)})
    with pytest.raises(ValueError, match="member is 0 or 1, and has no step"):
        model.counterfactual(table, 0, step={"member": 1})


def test_a_mask_of_features(iris):
    by_mask = iris.counterfactual(IRIS, 1, allowed=[False, False, True, False])
    by_name = iris.counterfactual(IRIS, 1, allowed="petal length")
    assert np.array_equal(by_mask.X, by_name.X)
