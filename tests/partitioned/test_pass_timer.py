"""How long the passes take: in one sentence, and on a bar that counts down."""

from dataclasses import dataclass

import numpy as np
import pytest

from tests.helpers.partitioned_cases import ListedPartitions
from treemeans import ExKMC, progress
from treemeans.partitioned.pass_plan import OTHER, WORK
from treemeans.partitioned.readers.pass_timer import PassTimer, bytes_in_words, seconds_in_words
from treemeans.partitioned.row_summary import SummarizeRows


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


class Slow(ListedPartitions):
    """Rows whose passes take some seconds, by a clock; they tell of every part."""

    n_rows = None
    n_bytes = None
    watch = None
    kept_in = ""

    def __init__(self, clock, seconds, keeps=False):
        super().__init__([np.ones((50, 2)), np.zeros((50, 2))])
        self.clock, self.seconds, self.keeps = clock, seconds, keeps

    def map_reduce(self, step):
        self.clock.now += self.seconds / 2
        if self.watch is not None:
            self.watch(50)
        self.clock.now += self.seconds / 2
        answer = super().map_reduce(step)
        self.kept_in = "a scratch file" if self.keeps else ""
        return answer


@dataclass(frozen=True)
class Named(SummarizeRows):
    """A pass of a kind."""

    name: str = OTHER

    @property
    def kind(self):
        return self.name


def paced(seconds=30.0, keeps=False, **more):
    clock, said = Clock(), []
    partitions = Slow(clock, seconds, keeps)
    return PassTimer(partitions, said.append, clock=clock, **more), partitions, said


def passes(pace, partitions, kind, seconds):
    """Make passes of a kind that take so long, one after the other."""
    for partitions.seconds in seconds:
        pace.map_reduce(Named(3, name=kind))


def test_rows_that_every_pass_reads():
    pace, partitions, said = paced()
    partitions.n_bytes = 5_400_000_000
    assert pace.map_reduce(SummarizeRows(3)).n_rows == 100
    pace.expect_passes({"SumCosts": 1, "SumCodes": 19})
    assert said == []
    pace.map_reduce(Named(3, name="SumCosts"))
    expected = "100 rows (5.4 GB as numbers): a pass takes 30 s; about 20 passes are to come, "
    assert said == [expected + "10 min in all."]
    passes(pace, partitions, "SumCodes", [30.0] * 3)
    assert pace.left() == pytest.approx(16 * 30)
    assert len(said) == 1


def test_rows_that_are_kept_are_told_of_once_another_pass_is_timed():
    """The first pass reads the files; the others are much quicker."""
    pace, partitions, said = paced(80.0, keeps=True)
    pace.map_reduce(SummarizeRows(3))
    pace.expect_passes({"SampleRows": 1, "SumCosts": 1, "SumCodes": 3})
    passes(pace, partitions, "SampleRows", [10 * WORK["SampleRows"][0]])
    assert said == []
    passes(pace, partitions, "SumCosts", [10 * WORK["SumCosts"][0]])
    trees = 10 * (WORK["SumCodes"][0] + 2 * WORK["SumCodes"][1])
    left = seconds_in_words(10 * WORK["SumCosts"][0] + trees)
    told = f"read in 80 s, and kept in a scratch file; about 4 passes are to come, {left} in all."
    assert said == [f"100 rows: {told}"]
    assert pace.left() == pytest.approx(trees)


def test_nobody_knows_how_many():
    pace, _, said = paced(4)
    pace.map_reduce(SummarizeRows(3))
    assert pace.left() is None
    pace.map_reduce(SummarizeRows(3))
    assert said == ["100 rows: a pass takes 4 s."]


def test_time_left_follows_the_passes_of_the_same_kind():
    pace, partitions, _ = paced(100, keeps=True)
    assert pace.left() is None
    pace.expect_passes({"SumCodes": 5, "MeasureLeaves": 2})
    pace.map_reduce(SummarizeRows(3))
    passes(pace, partitions, "MeasureLeaves", [7.0])
    first, later = WORK["SumCodes"]
    whole = 7 / WORK["MeasureLeaves"][0] * (first + 4 * later)
    assert pace.left() == pytest.approx(7 + whole)
    passes(pace, partitions, "SumCodes", [3.0])
    assert pace.left() == pytest.approx(7 + 4 * 3 * later / first)
    passes(pace, partitions, "SumCodes", [3.0, 2.0, 2.0, 2.0])
    assert pace.left() == pytest.approx(7)
    pace.expect_passes({"SumCodes": 3})
    assert pace.left() == pytest.approx(7 + 3 * 2)
    passes(pace, partitions, "MeasureLeaves", [1.0] * 5)
    pace.expect_passes({"SumCodes": 0})
    assert pace.left() == 0


@pytest.mark.parametrize("base", ["imm", "emn", "none"])
@pytest.mark.parametrize("kept_in", ["memory", ""])
def test_time_left_of_a_whole_fit(base, kept_in):
    """Once a pass of the tree has ended, what is told is not far off, to the end of the fit."""
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=4, size=(8, 6))
    X = centers[rng.integers(0, 8, 4000)] + 2 * rng.normal(size=(4000, 6))
    rows, clock, told, seen = ListedPartitions([X]), Clock(), [], []
    map_reduce = rows.map_reduce

    def slow(step):
        told.append((step.kind, clock.now, timer.left()))
        work = WORK[step.kind][step.kind in seen] if kept_in else 1
        clock.now += 5 * work
        seen.append(step.kind)
        return map_reduce(step)

    rows.map_reduce, rows.kept_in = slow, kept_in
    timer = PassTimer(rows, clock=clock)
    ExKMC(8, max_leaf_nodes=16, reference=centers, base_tree=base).fit(timer)
    start = next(i for i, one in enumerate(told) if one[0].startswith("SumCodes")) + 1
    off = [left - (clock.now - now) for _, now, left in told[start:]]
    whole = clock.now - told[1][1]
    assert max(map(abs, off)) < 0.4 * whole, [round(each / whole, 2) for each in off]
    assert timer.left() == 0


def test_a_bar_counts_down(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    monkeypatch.setattr(progress, "_REFRESH", 0)
    pace, _, _ = paced(60, shown=True)
    with pace:
        pace.map_reduce(SummarizeRows(3))
        pace.expect_passes({OTHER: 9})
        pace.map_reduce(Named(3))
        pace.map_reduce(Named(3))
    row_stats = [line.strip() for line in capsys.readouterr().err.split("\r")]
    assert "treemeans: pass 1" in row_stats
    assert any(line.endswith("15 % 2 of about 10, 8 min left") for line in row_stats), row_stats
    assert any(line.endswith("20 % 3 of about 10, 8 min left") for line in row_stats), row_stats


def test_what_is_asked_of_parts_is_passed_on():
    pace, partitions, _ = paced()
    pace.first_rows = np.array([0, 50])
    pace.n_jobs = 3
    assert partitions.first_rows is pace.first_rows
    assert partitions.n_jobs == 3
    assert (pace.n_partitions, pace.n_features, pace.names, pace.dates) == (2, 2, None, {})


def test_words():
    assert seconds_in_words(99.4) == "99 s"
    assert seconds_in_words(99.6) == "2 min"
    assert seconds_in_words(3 * 3600) == "3 h 0 min"
    assert bytes_in_words(999_600_000) == "1 GB"
    assert bytes_in_words(12_300_000_000_000) == "12 TB"
