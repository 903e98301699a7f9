"""Warnings, stability and other trees in the report."""

import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

from treemeans import ExKMC, report_html
from treemeans.report.trust_panel import alternative_entries, trust_entries


@pytest.fixture(scope="module")
def case():
    X = load_iris().data
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
    return model, X, model.stability(X, 8, verbose=0), model.alternatives(X, within=0.2, verbose=0)


def content(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_the_page_holds_what_was_measured(case):
    model, X, stability, alternatives = case
    data = content(report_html(model, X, stability=stability, alternatives=alternatives))
    assert data["trust"]["sentence"] == stability.sentence.replace("cluster", "group")
    assert [row[0] for row in data["trust"]["groups"]] == [0, 1, 2]
    assert data["trust"]["cuts"][0][0] == "x2 ≤ 2.45"
    assert len(data["alternatives"]["trees"]) == 1 + len(alternatives)
    assert data["alternatives"]["trees"][1]["columns"] == ["x3"]
    assert data["warnings"] == []


def test_warnings_call_a_cluster_a_group(case):
    X = np.concatenate([case[1], [[900.0, 900.0, 900.0, 900.0]]])
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
    assert "ask for fewer clusters" in str(model.warnings_[0])
    assert content(report_html(model))["warnings"][0]["advice"].endswith("ask for fewer groups")


def test_without_them_it_holds_nothing(case):
    data = content(report_html(case[0]))
    assert data["trust"] is None
    assert data["alternatives"] is None
    assert trust_entries(None) is None
    assert alternative_entries(None) is None


def test_clusters_without_rows_are_left_out(case):
    stability = case[2]
    empty = [np.nan] * 5
    kind = type(stability.clusters[0])
    more = (*stability.clusters, kind(3, "none", 0.0, *empty))
    found = trust_entries(type(stability)(**(vars(stability) | {"clusters": more})))
    assert len(found["groups"]) == 3


def test_the_panels_in_a_browser(case, tmp_path):
    from selenium.webdriver.common.by import By

    from tests.helpers.browser import open_browser

    _, X, stability, alternatives = case
    far = np.concatenate([X, [[900.0, 900.0, 900.0, 900.0]]])
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(far)
    page = tmp_path / "page.html"
    html = report_html(model, far, stability=stability, alternatives=alternatives)
    page.write_text(html, encoding="utf-8")
    with open_browser() as browser:
        browser.get(page.as_uri())
        assert "only 1 of 151 rows" in browser.find_element(By.ID, "warnings").text
        trust = browser.find_element(By.ID, "trust")
        assert trust.is_displayed()
        assert len(trust.find_elements(By.CSS_SELECTOR, "tbody tr")) >= 3 + len(stability.cuts)
        others = browser.find_element(By.ID, "panel-others")
        assert not others.is_displayed()
        browser.find_element(By.ID, "tab-others").click()
        assert others.is_displayed()
        assert "x3 ≤ 0.8" in others.text
        assert not browser.find_element(By.ID, "panel-words").is_displayed()
        assert [e for e in browser.get_log("browser") if e["level"] == "SEVERE"] == []
