"""Pages and tables: the pages in the repository are those of the summaries beside them."""

import re
import subprocess
import sys

import pytest

from benchmarks import __main__, pages
from benchmarks.command_line import parser
from benchmarks.pages import HERE, PAGES, Summary, fill
from benchmarks.runner import CACHE, ROOT
from benchmarks.tables import Table, n_bytes, number


@pytest.mark.parametrize("name", PAGES)
def test_a_page_comes_from_its_summary_byte_for_byte(name):
    page = (HERE / PAGES[name]).read_bytes().decode()
    path = HERE / "results" / f"{name}.json"
    summary = Summary.read(path)
    assert fill(page, summary) == page
    places = [found[2] for found in pages.MARKED.finditer(page)]
    assert sorted(places) == sorted(summary.blocks())
    assert "Not measured in this run." not in page


@pytest.mark.parametrize("name", PAGES)
def test_a_summary_is_small_and_is_written_as_it_was_read(name, tmp_path):
    path = HERE / "results" / f"{name}.json"
    assert path.stat().st_size < 50_000
    Summary.read(path).write(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_links_of_the_pages_lead_somewhere():
    for path in HERE.glob("*.md"):
        linked = re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
        assert all((HERE / link).exists() for link in linked), path


def test_a_page_keeps_its_prose_and_takes_new_tables():
    page = (
        "Prose.\n\n<!-- begin a -->\nold\n<!-- end a -->\n<!-- begin b -->\n<!-- end b -->\nEnd.\n"
    )
    table = Table(("name", "x"), [["one", "1"], ["a|b\nc", "2.5"]])
    filled = fill(page, Summary({"a": table}))
    assert filled == (
        "Prose.\n\n<!-- begin a -->\n| name | x |\n| :-- | --: |\n| one | 1 |\n| a\\|b c | 2.5 |\n"
        "<!-- end a -->\n<!-- begin b -->\nNot measured in this run.\n<!-- end b -->\nEnd.\n"
    )
    assert fill(filled, Summary({"a": table})) == filled


def test_tables_on_a_terminal():
    table = Table(("name", "x"), [["one", "1"], ["three", "25"]])
    assert table.text() == "name    x\n---------\none     1\nthree  25"
    assert Table(("name", "x"), []).markdown().count("\n") == 1


def test_numbers():
    assert [number(x) for x in (None, float("nan"), 0.0123456, 1.0, 999.0, 1234.5)] == [
        *("-", "-", "0.0123", "1.00", "999", "1234")
    ]
    assert [n_bytes(x) for x in (None, 0, 950, 999.6, 5e9, 2e12)] == [
        *("-", "-", "950 B", "1 kB", "5 GB", "2 TB")
    ]


def test_publish_writes_page_and_summary_to_a_folder(tmp_path):
    summary = Summary.read(HERE / "results" / "speed.json")
    paths = pages.publish("speed", summary, tmp_path)
    assert [path.name for path in paths] == ["SPEED.md", "speed.json"]
    assert paths[0].read_bytes() == (HERE / "SPEED.md").read_bytes()


@pytest.mark.parametrize("arguments", [["--quick"], ["--only", "x"]])
def test_quick_and_partial_runs_do_not_touch_the_repository(arguments):
    reader = parser("speed", "", "")
    reader.add_argument("--only", default="")
    assert reader.parse_args(arguments).out == CACHE / "speed" / "page"
    assert reader.parse_args([]).out is None
    assert reader.parse_args(["--quick"]).results != reader.parse_args([]).results


def test_the_command_lists_all_benchmarks():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks"], capture_output=True, text=True, cwd=ROOT
    )
    assert all(name in done.stdout for name in __main__.COMMANDS)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "sped"], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "There is no command 'sped'.")
