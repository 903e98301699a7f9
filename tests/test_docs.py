"""The pages of the documentation say what the code says."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted(
    path.name for path in DOCS.glob("*.md") if ">>> " in path.read_text(encoding="utf-8")
)


def test_there_are_pages_to_run():
    assert "segmentation.md" in PAGES


@pytest.mark.parametrize("page", PAGES)
def test_examples_of(page, monkeypatch):
    monkeypatch.chdir(DOCS.parent)
    found = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert found.attempted > 0
    assert found.failed == 0
