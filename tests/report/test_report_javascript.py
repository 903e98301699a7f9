"""The script of the report passes a linter, and the page the checks of axe."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.helpers.browser import missing, open_browser
from tests.helpers.report_cases import large_model, mixed_model
from treemeans.report.html_page import page_script

pytestmark = pytest.mark.usefixtures("one_thread")
ROOT = Path(__file__).resolve().parents[2]
MODULES = Path(os.environ.get("TREEMEANS_NODE_MODULES", ROOT / "node_modules"))


def lint(script, folder):
    """What the linter says of a script: its exit code and its messages."""
    linter = MODULES / ".bin" / "oxlint"
    if not linter.exists() or shutil.which("node") is None:
        missing("the packages of package.json (`npm install`)")
    path = folder / "report.js"
    path.write_text(script, encoding="utf-8")
    command = [linter, "-c", ROOT / ".oxlintrc.json", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


def test_the_script_passes_the_linter(tmp_path):
    code, said = lint(page_script(), tmp_path)
    assert code == 0, said


@pytest.mark.parametrize(
    "mistake", ["undefinedName();", "if (data == 1) { update({}); }", "const unused = 1;"]
)
def test_the_linter_finds_mistakes(tmp_path, mistake):
    script = page_script().replace("startTabs();\n", f"startTabs();\n{mistake}\n")
    assert lint(script, tmp_path)[0] != 0


AXE = """
const done = arguments[arguments.length - 1];
const short = (nodes) => nodes.slice(0, 3).map((node) => node.html.slice(0, 160));
axe.run({ resultTypes: ["violations"] }).then(
  ({ violations }) => done(JSON.stringify(violations.map(({ id, nodes }) => [id, short(nodes)]))));
"""
STATES = {
    "start": "",
    "group": "document.querySelector('#group-list button').click()",
    "split": "document.querySelector('#tree .split').focus()",
    "row": "document.querySelector('#tab-row').click()",
    "sql": "document.querySelector('#tab-sql').click()",
    "dark": "document.documentElement.dataset.theme = 'dark'",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("accessible")
    for name, (model, X) in {"mixed": mixed_model(), "large": large_model()}.items():
        model.report(folder / f"{name}.html", X, title=name)
    return folder


def test_axe_finds_nothing(pages):
    """Names, roles, contrast, order of headings: in every state of the page."""
    script = MODULES / "axe-core" / "axe.min.js"
    if not script.exists():
        missing("the packages of package.json (`npm install`)")
    axe = script.read_text(encoding="utf-8")
    found = {}
    with open_browser() as driver:
        driver.set_script_timeout(60)
        still = [{"name": "prefers-reduced-motion", "value": "reduce"}]  # no card half faded in
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": still})
        cases = [("mixed", state) for state in STATES] + [("large", "start")]
        for name, state in cases:
            driver.get((pages / f"{name}.html").as_uri())
            driver.execute_script(STATES[state])
            driver.execute_script(axe)
            found[name, state] = json.loads(driver.execute_async_script(AXE))
    assert {case: each for case, each in found.items() if each} == {}
