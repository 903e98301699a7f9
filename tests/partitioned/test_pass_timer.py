"""How long the passes take: in one sentence, and on a bar that counts down."""

import numpy as np
import pytest

from tests.helpers.partitioned_cases import ListedPartitions
from treemeans import progress
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

    def __init__(self, clock, seconds):
        super().__init__([np.ones((50, 2)), np.zeros((50, 2))])
        self.clock, self.seconds = clock, seconds

    def map_reduce(self, step):
        self.clock.now += self.seconds / 2
        if self.watch is not None:
            self.watch(50)
        self.clock.now += self.seconds / 2
        return super().map_reduce(step)


def paced(seconds=30.0, **more):
    clock, said = Clock(), []
    partitions = Slow(clock, seconds)
    return PassTimer(partitions, said.append, clock=clock, **more), partitions, said


def test_said_once_as_soon_as_it_is_known():
    pace, partitions, said = paced()
    partitions.n_bytes = 5_400_000_000
    assert pace.map_reduce(SummarizeRows(3)).n_rows == 100
    assert said == []
    pace.expect_passes(20)
    expected = "100 rows (5.4 GB as numbers): a pass takes 30 s, and about 20 more are to come, "
    assert said == [expected + "10 min in all."]
    pace.map_reduce(SummarizeRows(3))
    pace.expect_passes(50)
    assert len(said) == 1


def test_expected_before_the_first_pass():
    pace, _, said = paced(0.5)
    pace.expect_passes(5)
    pace.map_reduce(SummarizeRows(3))
    assert said == ["100 rows: a pass takes 0.5 s, and about 4 more are to come, 2 s in all."]


def test_nobody_knows_how_many():
    pace, _, said = paced(4)
    pace.map_reduce(SummarizeRows(3))
    pace.map_reduce(SummarizeRows(3))
    assert said == ["100 rows: a pass takes 4 s."]


def test_time_left_follows_the_last_passes():
    pace, partitions, _ = paced(10)
    assert pace.left() is None
    pace.expect_passes(21)
    pace.map_reduce(SummarizeRows(3))
    assert pace.left() == pytest.approx(20 * 10 - 10)  # as if the next one had begun
    partitions.seconds = 2
    for _ in range(5):
        pace.map_reduce(SummarizeRows(3))
    assert pace.seconds == 2
    for _ in range(30):
        pace.map_reduce(SummarizeRows(3))
    assert pace.left() == 0


def test_a_bar_counts_down(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    monkeypatch.setattr(progress, "_REFRESH", 0)
    pace, _, _ = paced(60, shown=True)
    with pace:
        pace.map_reduce(SummarizeRows(3))
        pace.expect_passes(9)
        pace.map_reduce(SummarizeRows(3))
        pace.map_reduce(SummarizeRows(3))
    row_stats = [line.strip() for line in capsys.readouterr().err.split("\r")]
    assert "treemeans: pass 1" in row_stats
    assert any(line.endswith("15 % 2 of about 10, 8 min left") for line in row_stats)
    assert any(line.endswith("20 % 3 of about 10, 8 min left") for line in row_stats)


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
