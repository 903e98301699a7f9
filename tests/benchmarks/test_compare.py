"""The comparison of two builds notices what differs, and nothing else."""

import json

import pytest

from benchmarks import compare

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "before.json"
    compare.main(["--write", str(path), "--only", "given centers", "frame, rounded"])
    return path


def status(record, *arguments):
    with pytest.raises(SystemExit) as ended:
        compare.main(["--against", str(record), "--only", "given centers", *arguments])
    return ended.value.code


def changed(record, folder, change):
    content = json.loads(record.read_text())
    change(content["given centers"])
    path = folder / "changed.json"
    path.write_text(json.dumps(content))
    return path


def test_the_same_build_is_identical(record, capsys):
    assert status(record, "--only", "given centers", "frame, rounded") == 0
    assert capsys.readouterr().out == "2 identical, 0 rounding, 0 different\n"


def test_a_threshold_that_moved_is_a_difference(record, tmp_path, capsys):
    def change(fit):
        fit["tree.threshold"]["values"][0] += 0.05

    assert status(changed(record, tmp_path, change)) == 1
    out = capsys.readouterr().out
    assert "[different] tree.threshold: 1 of" in out
    assert status(changed(record, tmp_path, change), "--ignore", "tree.threshold") == 0


def test_a_last_bit_is_rounding(record, tmp_path, capsys):
    def change(fit):
        fit["inertia_"]["values"][0] *= 1 + 1e-15

    assert status(changed(record, tmp_path, change)) == 0
    assert "[rounding] inertia_" in capsys.readouterr().out


def test_a_number_that_cancels_to_zero_is_rounding_beside_larger_ones():
    def kinds(one, other):
        return [kind for kind, _ in compare._differences("mean", one, other)]

    one = {"mean": 2e-14, "others": 11.5, "size": 3}
    assert kinds(one, one | {"mean": 1e-14}) == ["rounding"]
    assert kinds(one, one | {"mean": 1e-6}) == ["different"]
    assert kinds({"mean": 2e-14}, {"mean": 1e-14}) == ["different"]


def test_a_changed_text_shows_its_first_line_that_differs(record, tmp_path, capsys):
    def change(fit):
        fit["sql, DuckDB"] = fit["sql, DuckDB"].replace("CASE", "CASTLE", 1)

    assert status(changed(record, tmp_path, change)) == 1
    assert "CASTLE" in capsys.readouterr().out


def test_a_saved_model_that_no_longer_loads_is_a_difference(record, tmp_path, capsys):
    def change(fit):
        fit["saved"] = fit["saved"][:-20]

    assert status(changed(record, tmp_path, change)) == 1
    assert "error" in capsys.readouterr().out
