"""The benchmark of drift and refits finds what it plants."""

from benchmarks.monitor import detection, false_alarms, refits


def test_alarms_and_planted_changes():
    assert false_alarms(2, 400, 200)["usual limits"] == 0
    assert detection(2, 500)["one column + 2"] == (1, 0)
    found = refits(2, 500)
    assert found["same rows in another order: all ids kept"] == 1
    assert set(found.values()) == {1}
