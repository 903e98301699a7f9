"""The search in passes: cuts and bounds of strips, and whole searches, against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.oracles import partitioned_oracle as oracle
from treemeans import _core
from treemeans.limits import Limits
from treemeans.partitioned.tree_growth import best_cuts
from treemeans.partitioned.tree_growth.best_cuts import NodeSearch, find_cuts, find_cuts_by_value
from treemeans.partitioned.tree_growth.bin_scores import NEVER, surrogate_score
from treemeans.partitioned.tree_growth.code_edges import CodeEdges, CodeRanges
from treemeans.partitioned.tree_growth.feature_bins import (
    FeatureBins,
    dividing_edges,
    quantile_edges,
)
from treemeans.partitioned.tree_growth.histogram_pass import Histograms, ValueSums
from treemeans.partitioned.tree_growth.mistake_bins import MistakeScore
from treemeans.rows import as_points

# So few bins and so little room that a small table takes many passes.
TIGHT = {
    "COARSE_BINS": 3,
    "FEWEST_BINS": 2,
    "FINE_BINS": 4,
    "MOST_FINE_BINS": 4,
    "LISTED_ROWS": 2,
    "RESULT_BYTES": 1,
}
SETTINGS = {
    "as it is": {},
    "tight": TIGHT,
    "some room": TIGHT | {"RESULT_BYTES": 2000, "MOST_FINE_BINS": 8},
    "nothing is listed": TIGHT | {"LISTED_ROWS": 0, "RESULT_BYTES": 10_000},
    "all is listed": {"COARSE_BINS": 2, "FEWEST_BINS": 2},
}


def as_tuple(cut):
    return cut.cost, cut.feature, cut.low, cut.high


def set_to(patch, **constants):
    for name, value in constants.items():
        patch.setattr(best_cuts, name, value)


class Rows:
    """Rows of some groups, with regrets or with what is at home, and all that is to know of them.

    Numbers are few, so that sums tie, or many.
    """

    def __init__(self, seed, n, d, k, *, home, n_groups=1):
        self.rng = rng = np.random.default_rng(seed)
        kinds = (
            lambda: rng.integers(0, 3, n).astype(float),
            lambda: rng.integers(-9, 9, n) / 4,
            lambda: rng.normal(size=n) * 10.0 ** rng.integers(-8, 9),
            lambda: np.full(n, 0.3),
            lambda: np.where(rng.random(n) < 0.7, -1.5, rng.normal(size=n)),
            lambda: 1.0 + rng.integers(0, 9, n) * 2.0**-52,
        )
        self.X = np.column_stack([kinds[rng.integers(len(kinds))]() for _ in range(d)])
        self.groups = rng.integers(-1, n_groups, n).astype(np.int32)
        size = rng.choice([2, 100, 2**40])
        weighted = rng.random() < 0.5
        weight = rng.integers(1, 4, n) if weighted else np.ones(n, dtype=np.int64)
        if home:
            numbers = np.where(rng.integers(0, k, n)[:, None] == np.arange(k), weight[:, None], 0)
            numbers[rng.random(n) < 0.2] = 0  # have parted from their center
        else:
            numbers = rng.integers(0, size, (n, k))
            numbers -= numbers.min(axis=1, keepdims=True)
        more = [weight, np.ones(n, dtype=np.int64)] if weighted else [weight]
        self.row_stats = np.column_stack([numbers, *more])
        self.k, self.n_passes = k, 0
        self.least = int(rng.choice([1, 1, 2, n // 5 + 1]))
        self.prices = None if rng.random() < 0.5 else rng.integers(0, 2 * size, d)

    def price(self, feature):
        return 0 if self.prices is None else int(self.prices[feature])

    def of(self, group):
        """Values and lines of a group."""
        return self.X[self.groups == group], self.row_stats[self.groups == group]

    def ask(self, requests, value_requests):
        """What a pass would return."""
        self.n_passes += 1
        points = as_points(self.X)
        sums, low, high = _core.grouped_histogram(
            points, self.groups, self.row_stats, *requests.arrays
        )
        bin_, row, value = _core.grouped_values(points, self.groups, *value_requests.arrays)
        return Histograms(
            FeatureBins(low, high, sums), ValueSums.of(bin_, value, self.row_stats[row])
        )

    def some_edges(self, values, also=()):
        """Edges of stretches that cover all values."""
        n = int(self.rng.integers(1, 7))
        chosen = self.rng.choice(values, n) + self.rng.choice([0.0, 0.1], n)
        return quantile_edges(chosen, n, np.asarray(also, dtype=float))


class Surrogate:
    """The search for the least surrogate cost."""

    home = False

    def __init__(self, rows):
        self.rows = rows

    def score(self, sums):
        limits = Limits(min_weight=self.rows.least)
        return surrogate_score(sums, self.rows.k, limits, self.rows.prices)

    def cuts(self, feature, values, row_stats):
        rows = self.rows
        return oracle.surrogate_cuts(values, row_stats, rows.k, rows.least, rows.price(feature))

    def also(self, feature):
        return np.empty(0)


class Mistakes:
    """The search for the fewest mistakes, some of the centers being in the node."""

    home = True

    def __init__(self, rows):
        self.rows, rng = rows, rows.rng
        n, k = len(rows.X), rows.k
        self.members = np.sort(rng.choice(k, int(rng.integers(1, k + 1)), replace=False))
        at = rows.X[rng.integers(0, n, len(self.members))]
        self.centers = (at + rng.choice([0.0, 0.05, -3.0], at.shape)).T.copy()
        self.shift = int(rng.choice([0, 20]))
        self.least = int(rng.choice([0, 0, rows.least]))

    def score(self, sums):
        rows, weight = self.rows, int(sums[self.rows.k])
        return MistakeScore(
            self.centers,
            self.members,
            sums[self.members],
            rows.k,
            weight,
            Limits(min_weight=self.least),
            rows.prices,
            self.shift,
        )

    def cuts(self, feature, values, row_stats):
        rows, centers = self.rows, self.centers[feature]
        return oracle.mistake_cuts(
            values,
            row_stats,
            centers,
            self.members,
            rows.k,
            self.least,
            rows.price(feature),
            self.shift,
        )

    def also(self, feature):
        return self.centers[feature]


SEARCHES = pytest.mark.parametrize("of", [Surrogate, Mistakes])
SEEDS = st.integers(0, 2**32)


# ---- strips --------------------------------------------------------------------------------------


@SEARCHES
@examples(200)
@given(SEEDS, st.sampled_from([1, 2, 5, 25]), st.integers(1, 5))
def test_cuts_and_bounds_of_strips(of, seed, n, k):
    rows = Rows(seed, n, 1, k, home=of.home)
    wanted = of(rows)
    values = rows.X[:, 0]
    edges = rows.some_edges(values, wanted.also(0))
    bins = oracle.strips_of(values, rows.row_stats, edges)
    scan = wanted.score(rows.row_stats.sum(axis=0)).scan(0, bins)
    cuts = wanted.cuts(0, values, rows.row_stats)
    if scan is None:
        assert not cuts
        return
    ends = set(bins.high.tolist()) | set(wanted.also(0).tolist())
    found = zip(scan.cost.tolist(), scan.high.tolist(), strict=True)
    assert dict(zip(scan.low.tolist(), found, strict=True)) == {
        at: cut for at, cut in cuts.items() if at in ends
    }
    for at, left in zip(scan.low, scan.left, strict=True):
        np.testing.assert_array_equal(left, rows.row_stats[values <= at].sum(axis=0))
    assert len(scan.bound) == len(bins)
    for low, high, bound in zip(bins.low, bins.high, scan.bound, strict=True):
        inside = [cost for at, (cost, _) in cuts.items() if low <= at < high]
        assert min(inside, default=NEVER) >= bound
        if low == high:
            assert bound == NEVER


@SEARCHES
@examples(60)
@given(SEEDS, st.sampled_from([2, 5, 25]), st.integers(1, 5))
def test_finer_strips_tell_as_much_or_more(of, seed, n, k):
    """Bins that are divided: sums stay, no bound falls, and in the end there is none."""
    rows = Rows(seed, n, 1, k, home=of.home)
    wanted, values = of(rows), rows.X[:, 0]
    score = wanted.score(rows.row_stats.sum(axis=0))
    bins = oracle.strips_of(values, rows.row_stats, rows.some_edges(values, wanted.also(0)))
    while (wide := np.flatnonzero(bins.low < bins.high)).size:
        divided = {
            int(position): oracle.strips_of(
                values, rows.row_stats, dividing_edges(bins.low[position], bins.high[position], 4)
            )
            for position in wide[::2]
        }
        before, bins = bins, bins.replaced(divided)
        np.testing.assert_array_equal(bins.sums.sum(axis=0), rows.row_stats.sum(axis=0))
        assert (bins.high[:-1] < bins.low[1:]).all()
        coarser, finer_ = score.scan(0, before), score.scan(0, bins)
        if coarser is None:
            assert finer_ is None
            continue
        held = np.searchsorted(before.high, bins.high)
        assert (finer_.bound >= coarser.bound[held]).all()
    assert bins.low.tolist() == np.unique(values).tolist()


def test_strips_without_rows():
    none = FeatureBins(np.empty(0), np.empty(0), np.empty((0, 4), dtype=np.int64))
    nothing = np.zeros(3, dtype=np.int64)
    assert surrogate_score(np.zeros(4, dtype=np.int64), 3, Limits(), None).scan(0, none) is None
    centers, members = np.array([[1.0, 5.0, 3.0]]), np.arange(3)
    limits = Limits(min_weight=0)
    scan = MistakeScore(centers, members, nothing, 3, 0, limits, None, 20).scan(0, none)
    place = scan.best(0)
    assert (place.cost, place.low, place.high) == (0, 1.0, 3.0)  # the lowest of free cuts


# ---- whole searches ------------------------------------------------------------------------------


def expected_best(wanted, X, row_stats, features):
    """(cost, feature, at, next): the cheapest, of equals the lowest feature and value."""
    return min(
        (
            (cost, feature, at, beyond)
            for feature in features
            for at, (cost, beyond) in wanted.cuts(feature, X[:, feature], row_stats).items()
        ),
        default=None,
    )


def searched(rows, wanted, features):
    """Targets of all groups, their best cuts found."""

    def target(group, search):
        values = rows.of(group)[0]
        sample = values[rows.rng.random(len(values)) < 0.5]  # only some rows choose the bins
        return NodeSearch(
            group, search.score, lambda f, n: quantile_edges(sample[:, f], n, search.also(f))
        )

    targets = [target(group, search) for group, search in enumerate(wanted)]
    find_cuts_by_value(targets, features, rows.row_stats.shape[1], rows.ask)
    return targets


def searched_by_code(rows, wanted, features):
    """The same, where the first pass sums codes: bins and their ranges are those of all rows."""
    d = rows.X.shape[1]
    sample = rows.X[rows.rng.random(len(rows.X)) < 0.5]
    also = np.array([[at for search in wanted for at in search.also(f)] for f in range(d)]).T
    edges = CodeEdges.from_sample(sample, also.reshape(-1, d), 3)
    codes, low, high = _core.encode(as_points(rows.X), edges.first, edges.edges)
    ranges = CodeRanges(low, high)

    place = rows.rng.permutation(len(rows.X)).astype(np.int32)  # lines in any order

    def begin(targets):
        lines = np.empty_like(rows.row_stats[:, :-1], order="C")  # the kernel counts rows by itself
        lines[place] = rows.row_stats[:, :-1]
        sums = _core.sum_codes(
            codes,
            edges.first,
            edges.edges,
            np.arange(d, dtype=np.int32),
            rows.groups,
            len(targets),
            lines,
            None,
            place,
        )
        for target in targets:
            of = {f: sums[target.group][edges.bins(f)] for f in features}
            target.begin({f: ranges.with_sums(edges, f, of[f]) for f in features})

    targets = [NodeSearch(group, search.score) for group, search in enumerate(wanted)]
    find_cuts(targets, rows.row_stats.shape[1], begin, rows.ask)
    return targets


@SEARCHES
@pytest.mark.parametrize("search", [searched, searched_by_code])
@pytest.mark.parametrize("constants", SETTINGS.values(), ids=SETTINGS)
@examples(40)
@given(SEEDS, st.sampled_from([1, 3, 12, 60]), st.integers(1, 3), st.integers(1, 5))
def test_searches_find_what_a_look_at_every_value_finds(of, search, constants, seed, n, d, k):
    rows = Rows(seed, n, d, k, home=of.home, n_groups=3)
    wanted = [of(rows) for _ in range(3)]
    features = np.flatnonzero(rows.rng.random(d) < 0.8).tolist() or [d - 1]
    with pytest.MonkeyPatch.context() as patch:
        set_to(patch, **constants)
        targets = search(rows, wanted, features)
    for group, target in enumerate(targets):
        X, row_stats = rows.of(group)
        best = expected_best(wanted[group], X, row_stats, features)
        assert (None if target.best is None else as_tuple(target.best)) == best
        np.testing.assert_array_equal(target.sums, row_stats.sum(axis=0))
        if best is not None:
            left = row_stats[X[:, best[1]] <= best[2]].sum(axis=0)
            np.testing.assert_array_equal(target.best.left, left)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [1000, 30_000])
def test_few_passes_whatever_the_number_of_rows(seed, n):
    rng = np.random.default_rng(seed)
    rows = Rows(0, n, 1, 4, home=False)
    rows.X = rng.normal(size=(n, 3))
    nearest = np.digitize(rows.X[:, 0] + 0.3 * rng.normal(size=n), [-1.0, 0.0, 1.0])
    distance = np.abs(nearest[:, None] - np.arange(4)) * 2**20
    rows.row_stats = np.column_stack([distance, np.ones((n, 2), dtype=np.int64)])
    rows.groups = np.zeros(n, dtype=np.int32)
    rows.prices, rows.least = None, 1
    wanted = Surrogate(rows)
    (target,) = searched(rows, [wanted], [0, 1, 2])
    assert rows.n_passes <= 3
    order = np.argsort(rows.X[:, 0])
    left = np.cumsum(rows.row_stats[order, :4], axis=0)
    cost = (left.min(axis=1) + (left[-1] - left).min(axis=1))[:-1]
    assert (target.best.cost, target.best.low) == (cost.min(), rows.X[order[cost.argmin()], 0])


def test_rows_that_change_are_refused():
    rows = Rows(1, 50, 1, 3, home=False)
    rows.X[:, 0] = np.arange(50)
    rows.groups[:] = 0
    ask = rows.ask

    def other_rows(requests, value_requests):
        seen = ask(requests, value_requests)
        rows.row_stats = rows.row_stats + 1
        return seen

    rows.ask = other_rows
    with pytest.MonkeyPatch.context() as patch:
        set_to(patch, **TIGHT)
        with pytest.raises(ValueError, match="not the same in every pass"):
            searched(rows, [Surrogate(rows)], [0])


def test_room_is_kept_to():
    """What a pass brings back is bounded, however many nodes and features are searched."""
    rows = Rows(2, 4000, 6, 3, home=False, n_groups=8)
    rows.X = rows.rng.normal(size=(4000, 6))
    sizes = []
    ask = rows.ask

    def measured(requests, value_requests):
        seen = ask(requests, value_requests)
        sizes.append(seen.bins.sums.nbytes + seen.values.sums.nbytes)
        return seen

    rows.ask = measured
    with pytest.MonkeyPatch.context() as patch:
        set_to(patch, RESULT_BYTES=20_000, LISTED_ROWS=50)
        searched(rows, [Surrogate(rows) for _ in range(8)], list(range(6)))
    assert max(sizes) <= 20_000
