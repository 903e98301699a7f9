"""The pages of the documentation say what the code says."""

import doctest
import re
import shlex
import shutil
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import treemeans
from treemeans import ExKMC, baselines
from treemeans.cli.app import app

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXTS = {
    path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(DOCS.rglob("*.md"))
    if "_build" not in path.parts
}
PAGES = [page for page, text in TEXTS.items() if ">>> " in text]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SESSIONS = {page: CONSOLE.findall(text) for page, text in TEXTS.items() if CONSOLE.search(text)}


def test_there_are_pages_to_run():
    assert {"segmentation.md", "howto/rows.md"} <= set(PAGES)
    assert "tutorial.md" in SESSIONS


@pytest.mark.parametrize("page", PAGES)
def test_examples_of(page, monkeypatch):
    monkeypatch.chdir(DOCS.parent)
    found = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert found.attempted > 0
    assert found.failed == 0


def commands(block):
    """The commands of a block, each with what it prints."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    assert parts[0] == "", f"a block begins with a command: {block}"
    return list(zip(parts[1::2], parts[2::2], strict=True))


def printed(command):
    """What a command prints, run here."""
    program, *arguments = shlex.split(command)
    if program == "head":
        number, path = arguments
        lines = Path(path).read_text(encoding="utf-8").splitlines(keepends=True)
        return "".join(lines[: -int(number)])
    assert program == "treemeans", command
    with warnings.catch_warnings():
        result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def without_times(text):
    """Tables that end in a column of seconds, without it."""
    return re.sub(r" +\d+\.\d\d(   <- lowest)?$", r"\1", text, flags=re.MULTILINE)


@pytest.mark.parametrize("page", SESSIONS)
def test_commands_of(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    shutil.copy(DOCS / "data" / "cdnow.csv", tmp_path)
    for block in SESSIONS[page]:
        for command, shown in commands(block):
            found = printed(command)
            if command.startswith("treemeans compare"):
                found, shown = without_times(found), without_times(shown)
            assert found.rstrip() == shown.rstrip(), command


def test_pictures_exist_and_are_small():
    for page, text in TEXTS.items():
        for names in re.findall(r"!\[[^\]]*\]\(([^)]+)\)|```\{image\} (\S+)", text):
            picture = (DOCS / page).parent / "".join(names)
            assert picture.is_file(), (page, names)
            assert picture.stat().st_size < 100_000, picture


REFERENCE = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("api/*.rst"))
PUBLIC = [name for name in treemeans.__all__ if name != "baselines"] + baselines.__all__
METHODS = [
    f"ExKMC.{name}"
    for name in dir(ExKMC)
    if not name.startswith("_") and callable(getattr(ExKMC, name))
    if getattr(ExKMC, name).__module__.startswith("treemeans")
]


@pytest.mark.parametrize("name", PUBLIC + METHODS)
def test_reference_lists(name):
    assert re.search(rf":: {re.escape(name)}$", REFERENCE, re.MULTILINE)
