"""The report in Firefox: the same answers as in Chromium, and no complaint of the page."""

import json

import numpy as np
import pytest

from tests.helpers.firefox import open_firefox
from tests.helpers.report_cases import CLUSTER_NAMES, HOSTILE, mixed_model
from treemeans import write_report

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def firefox():
    with open_firefox() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    cases = {"mixed": mixed_model(), "hostile": mixed_model(names=HOSTILE)}
    for name, (model, X) in cases.items():
        names = CLUSTER_NAMES if name == "hostile" else None
        write_report(model, folder / f"{name}.html", X, cluster_names=names, rows=60)
    return folder, cases


@pytest.mark.parametrize("name", ["mixed", "hostile"])
def test_every_state_is_shown_without_a_complaint(firefox, pages, name):
    firefox.complaints.clear()
    firefox.get((pages[0] / f"{name}.html").as_uri())
    tabs = firefox.run(
        "return [...document.querySelectorAll('[role=tab]:not([hidden])')].map((tab) => {"
        "  tab.click();"
        "  const panel = document.getElementById(tab.getAttribute('aria-controls'));"
        "  return [tab.textContent, panel.getBoundingClientRect().height];"
        "});"
    )
    assert len(tabs) >= 4
    assert all(height > 0 for _, height in tabs), tabs
    firefox.run("document.querySelector('#group-list button').click()")
    assert firefox.run("return document.querySelectorAll('#group h3').length") == 1
    firefox.run("document.documentElement.dataset.theme = 'dark'")
    assert firefox.complaints == []


def test_sizes_and_rows_are_answered_as_python_does(firefox, pages):
    model, X = pages[1]["mixed"]
    firefox.complaints.clear()
    firefox.get((pages[0] / "mixed.html").as_uri())
    rows = firefox.run(
        "return [...document.querySelectorAll('#pick option')].filter((o) => o.value !== '')"
        ".map((o) => [o.value, Number(o.textContent.replace('row ', ''))]);"
    )
    assert len(rows) == 60
    for size in (0, len(model.path_) // 2, len(model.path_) - 1):
        n_leaves = int(model.path_["n_leaves"][size])
        drawn, groups = firefox.run(
            "const set = (id, value, event) => {"
            "  const element = document.querySelector(id);"
            "  element.value = value;"
            "  element.dispatchEvent(new Event(event));"
            "};"
            f"set('#leaves', {size}, 'input');"
            f"return [document.querySelectorAll('#tree .leaf').length,"
            f"  {json.dumps([value for value, _ in rows])}.map((value) => {{"
            "    set('#pick', value, 'change');"
            "    return Number(document.querySelector('#answer h3').dataset.group);"
            "  })];"
        )
        assert drawn == n_leaves
        predicted = model.with_leaves(n_leaves).predict(X.iloc[[place for _, place in rows]])
        np.testing.assert_array_equal(groups, predicted)
    assert firefox.complaints == []
