"""The report in a browser shows what Python computes, whatever is clicked or typed."""

import io
import json
import re
import sqlite3

import numpy as np
import pandas as pd
import pytest

from tests.helpers.browser import open_browser
from tests.helpers.random_trees import N_CODES, leaves_by_walking
from tests.helpers.random_trees import mixed_rows as tree_rows
from tests.helpers.report_cases import (
    CLUSTER_NAMES,
    HOSTILE,
    hand_made_model,
    large_model,
    mixed_model,
    mixed_rows,
    tied_model,
)
from treemeans import write_report
from treemeans.cli.names_file import read_names
from treemeans.columns.number_text import format_rows
from treemeans.report.summarize import summarize
from treemeans.tree_layout.colors import contrast

pytestmark = pytest.mark.usefixtures("one_thread")
WIDE, NARROW = 1600, 360


@pytest.fixture(scope="module")
def driver():
    with open_browser() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Models with their rows, and a page about each."""
    folder = tmp_path_factory.mktemp("reports")
    cases = {
        "mixed": mixed_model(),
        "refined": mixed_model(refine="search"),
        "hostile": mixed_model(names=HOSTILE),
        "tied": tied_model(),
        "large": large_model(),
    }
    for name, (model, X) in cases.items():
        names = CLUSTER_NAMES if name == "hostile" else None
        title = f"<i>{name}</i>" if name == "hostile" else name
        write_report(model, folder / f"{name}.html", X, title=title, cluster_names=names, rows=200)
    write_report(cases["mixed"][0], folder / "bare.html")
    write_report(*cases["mixed"][:1], folder / "private.html", cases["mixed"][1])
    cases["bare"] = cases["private"] = cases["mixed"]
    cases["hand-made"] = hand_made_model(), None
    write_report(cases["hand-made"][0], folder / "hand-made.html")
    return folder, cases


class Page:
    """A page that is open, and what a person can do with it."""

    def __init__(self, driver, folder, name):
        self.driver = driver
        self.resize(WIDE, 1000)
        self.emulate({"prefers-reduced-motion": "reduce"})  # so that nothing moves under a click
        self.driver.get_log("browser")  # of the page before
        self.driver.get((folder / f"{name}.html").as_uri())

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def resize(self, width, height):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def emulate(self, features, media=""):
        wanted = [{"name": name, "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": media, "features": wanted}
        )

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def press(self, *keys):
        self.driver.switch_to.active_element.send_keys(*keys)

    def click(self, selector):
        element = self.find(selector)
        self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        element.click()

    def keep_downloads(self):
        self.run(
            "window.blobs = [];"
            "URL.createObjectURL = (blob) => { window.blobs.push(blob); return '#'; };"
        )

    def downloaded(self):
        """Text of the first file that was downloaded."""
        self.driver.set_script_timeout(10)
        return self.driver.execute_async_script(
            "window.blobs[0].text().then(arguments[arguments.length - 1])"
        )

    def choose_size(self, size):
        self.run(
            "const s = document.querySelector('#leaves'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('input'));",
            size,
        )

    def leaves(self):
        """Node and name of the group of each leaf that is drawn."""
        return self.run(
            "return [...document.querySelectorAll('#tree .leaf')].map("
            "  (e) => [Number(e.dataset.node), e.querySelector('.leaf-name').textContent])"
        )

    def errors(self):
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] != "INFO"]


@pytest.fixture
def open_page(driver, pages):
    opened = []

    def open_it(name):
        opened.append(Page(driver, pages[0], name))
        return opened[-1]

    yield open_it
    for page in opened:
        assert page.errors() == []


def keys():
    from selenium.webdriver.common.keys import Keys

    return Keys


def wait(page):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(page.driver, 5)


def leaves_in(model):
    """Leaves of the model, as nodes of the largest tree, with their clusters."""
    full = model._fit_result.tree
    kept = np.unique(full.ancestor_in(model._fit_result.sizes[model.n_leaves_].inner))
    return {int(kept[leaf]): int(model.tree_.label[leaf]) for leaf in model.tree_.leaves}


@pytest.mark.parametrize("name", ["mixed", "refined"])
def test_every_size_is_drawn_as_the_tree_of_that_size(open_page, pages, name):
    model, _ = pages[1][name]
    page = open_page(name)
    for size, row in enumerate(model.path_):
        page.choose_size(size)
        drawn = dict(page.leaves())
        wanted = leaves_in(model.with_leaves(int(row["n_leaves"])))
        names = model._fit_result.shown_names
        assert drawn == {node: names[label] for node, label in wanted.items()}
        assert page.text("#count") == str(row["n_leaves"])
        assert page.text("#verdict") == summarize_size(model, size)["verdict"]


def summarize_size(model, size, known={}):  # noqa: B006
    if id(model) not in known:
        known[id(model)] = summarize(model)
    return known[id(model)]["sizes"][size]


def test_slider_by_keys_and_curve_by_click(open_page, pages):
    model, _ = pages[1]["mixed"]
    page = open_page("mixed")
    last = len(model.path_) - 1
    page.run("document.querySelector('#leaves').focus()")
    page.press(keys().ARROW_LEFT)
    assert page.text("#count") == str(model.path_["n_leaves"][last - 1])
    page.press(keys().HOME)
    assert len(page.leaves()) == model.path_["n_leaves"][0]
    assert page.find("#leaves").get_attribute("aria-valuetext").startswith("5 leaves. ")
    page.run("document.querySelector('#suggested').click()")
    assert page.text("#suggested") == "This is the suggested size"
    marker = page.find("#curve .current").rect
    ring = page.find("#curve .suggested").rect
    assert marker["x"] + marker["width"] / 2 == pytest.approx(ring["x"] + ring["width"] / 2, abs=2)
    from selenium.webdriver.common.action_chains import ActionChains

    curve = page.find("#curve svg")
    edge = curve.rect["width"] // 2 - 20
    ActionChains(page.driver).move_to_element_with_offset(curve, edge, 0).click().perform()
    assert page.text("#count") == str(model.path_["n_leaves"][last])


def test_a_click_on_a_leaf_tells_all_about_its_group(open_page, pages):
    model, X = pages[1]["mixed"]
    page = open_page("mixed")
    page.choose_size(3)
    small = model.with_leaves(int(model.path_["n_leaves"][3]))
    node, name = page.leaves()[2]
    group = int(name.split(":")[0])
    page.click(f"#tree .node[data-node='{node}'] .leaf-name")
    assert page.text("#group h3") == name
    size = format_rows(float(np.sum(small.predict(X) == group)))
    assert page.text("#group > p").startswith(f"{size}, ")
    chosen = page.run(
        "return [...document.querySelectorAll('#tree .leaf.chosen')].map((e) => +e.dataset.node)"
    )
    assert set(chosen) == {n for n, label in leaves_in(small).items() if label == group}
    assert page.count("#group-list [aria-pressed=true]") == 1
    assert page.count("#group .difference-list > li") == 4
    assert page.count("#group .difference-list :is(svg.bars, .hbar)") == 4
    page.click(f"#group-list [data-group='{group}']")
    assert page.count("#tree .chosen") == 0
    assert page.count("#group h3") == 0


def test_histograms_count_the_rows_of_the_group(open_page, pages):
    model, X = pages[1]["mixed"]
    page = open_page("mixed")
    page.choose_size(3)
    page.click("#group-list [data-group='2']")
    small = model.with_leaves(int(model.path_["n_leaves"][3]))
    drawn = page.run(
        "return [...document.querySelectorAll('#group .difference-list > li')].map((li) => [li."
        "querySelector('b').textContent, [...li.querySelectorAll('svg title')].map("
        "(e) => e.textContent), [...li.querySelectorAll('.hbar li')].map((e) => e.title)])"
    )
    assert len(drawn) == 4
    inside = small.predict(X) == 2
    for name, standing, lying in drawn:
        source = name.partition(" = ")[0]
        if standing:
            counts = [title.rpartition(": ")[2].split(" of ") for title in standing]
            assert sum(int(some) for some, _ in counts) == inside.sum()
            assert sum(int(every.split()[0]) for _, every in counts) == len(X)
        for title in lying:
            value, _, count = title.rpartition(": ")
            none = value in ("no", "none of these")
            members = X.filter(regex=f"^{source}" if none or value == "yes" else f"{value}$")
            has = members.sum(axis=1) == (0 if none else 1)
            assert count == f"{(has & inside).sum()} of {format_rows(float(has.sum()))}"


PICK = """
const select = document.querySelector('#pick');
const answer = () => ({
  leaf: Number(document.querySelector('#answer h3').dataset.leaf),
  group: Number(document.querySelector('#answer h3').dataset.group),
  because: [...document.querySelectorAll('#answer .because .condition')].map((e) => e.textContent),
  lit: [...document.querySelectorAll('#tree .node.on-path')].map((e) => Number(e.dataset.node)),
  ways: [...document.querySelectorAll('#answer .ways > li[data-group]')].map((li) => ({
    group: Number(li.dataset.group), leaf: Number(li.dataset.leaf),
    words: [...li.querySelectorAll('li')].map((e) => e.textContent),
  })),
});
return arguments[0].map((i) => {
  select.value = i;
  select.dispatchEvent(new Event('change'));
  return answer();
});
"""


def expected_words(change, column):
    """What the page says of a change; it does not repeat where the row comes from."""
    verb, becomes = change.words.split()[0], change.words.rpartition(" to ")[2]
    if column is not None and column.kind == "flag":
        becomes = {"0": "no", "1": "yes"}[becomes]
    becomes = becomes.replace("none of its categories", "none of these")
    return f"{verb} {change.name} to {becomes}"


def check_answers(model, X, answers):
    """Answers for some rows against ``apply``, ``explain`` and ``counterfactual``."""
    full = model._fit_result.tree
    kept = np.unique(full.ancestor_in(model._fit_result.sizes[model.n_leaves_].inner))
    columns = {column.name: column for column in model.columns_}
    explained = model.explain(X)
    cluster = model.predict(X)
    for i, answer in enumerate(answers):
        assert answer["leaf"] == kept[explained.leaf[i]]
        assert answer["group"] == cluster[i]
        plain = [words.replace("≤", "<=").replace("≥", ">=") for words in answer["because"]]
        plain = [words.replace("≠", "!=") for words in plain]
        flags = [w.replace(" = yes", " = 1").replace(" = no", " = 0") for w in plain]
        assert flags == list(explained[i].because)
        passed = full.decision_path(model._validate(X.iloc[[i]], reset=False)).indices
        assert set(answer["lit"]) == set(passed) & set(kept.tolist())
    for to in range(full.n_clusters):
        changed = model.counterfactual(X, to=to)
        for i, answer in enumerate(answers):
            way = next((w for w in answer["ways"] if w["group"] == to), None)
            if to == cluster[i] or not changed.possible[i]:
                assert way is None
                continue
            assert way["leaf"] == kept[changed.leaf[i]]
            changes = changed[i].features
            words = [expected_words(change, columns.get(change.name)) for change in changes]
            assert way["words"] == words


@pytest.mark.parametrize("name", ["mixed", "refined"])
def test_rows_go_where_python_says_and_change_as_python_says(open_page, pages, name):
    model, X = pages[1][name]
    page = open_page(name)
    names = page.run(
        "return [...document.querySelectorAll('#pick option')].filter((o) => o.value !== '')"
        ".map((o) => [Number(o.value), Number(o.textContent.replace('row ', ''))])"
    )
    places = dict(names)
    assert len(places) >= 150
    for size in (0, 4, 11, len(model.path_) - 1):
        page.choose_size(size)
        some = sorted(places)[size % 3 :: 3]
        answers = page.run(PICK, some)
        small = model.with_leaves(int(model.path_["n_leaves"][size]))
        check_answers(small, X.iloc[[places[i] for i in some]], answers)


def test_of_leaves_at_one_distance_the_first_is_taken(open_page, pages):
    model, X = pages[1]["tied"]
    page = open_page("tied")
    answers = page.run(PICK, list(range(11)))
    assert model.n_leaves_ == 3
    assert [answer["ways"][0]["words"] for answer in answers[4:7]] == [["lower x to 2"]] * 2 + [
        ["raise x to 8"]
    ]
    check_answers(model, X, answers)


TYPE = PICK.replace(
    """  select.value = i;
  select.dispatchEvent(new Event('change'));
""",
    """  for (const input of document.querySelectorAll('#row-form [data-field]')) {
    const name = input.closest('label').textContent;
    const value = i[Object.keys(i).find((key) => name.startsWith(key))];
    if (input.type === 'checkbox') input.checked = value === 1;
    else if (input.tagName === 'SELECT') {
      input.value = [...input.options].find((o) => o.textContent === value).value;
    } else input.value = value;
    input.dispatchEvent(new Event('input'));
  }
""",
)


def typed(row):
    """A row as a person types it."""
    values = {name: row[name] for name in ("height", "width", "visits", "member")}
    values["since"] = row["since"].strftime("%Y-%m-%d")
    values["seen"] = row["seen"].strftime("%Y-%m-%dT%H:%M:%S")
    for source, separator in (("color", "_"), ("size", "=")):
        chosen = [c for c in row.index if c.startswith(source + separator) and row[c] == 1]
        values[source] = chosen[0].split(separator)[1] if chosen else "none of these"
    return values


@pytest.mark.parametrize("name", ["mixed", "bare"])
def test_typed_rows_go_where_python_says(open_page, pages, name):
    model, _ = pages[1][name]
    fresh = mixed_rows(60, seed=7)
    tree = model.tree_
    for column, place in (("height", 0), ("width", 1)):  # some rows right on a threshold
        cuts = tree.threshold[tree.feature == place]
        fresh.loc[20 * place : 20 * place + len(cuts) - 1, column] = cuts
    page = open_page(name)
    answers = page.run(TYPE, [typed(row) for _, row in fresh.iterrows()])
    check_answers(model, fresh, answers)


TYPE_BY_NAME = """
return arguments[0].map((row) => {
  for (const input of document.querySelectorAll('#row-form [data-field]')) {
    input.value = row[input.closest('label').querySelector('.field-name').textContent];
    input.dispatchEvent(new Event('input'));
  }
  return Number(document.querySelector('#answer h3').dataset.leaf);
});
"""


def test_sets_of_categories_and_missing_values_take_their_side(open_page, pages):
    model, _ = pages[1]["hand-made"]
    page = open_page("hand-made")
    X = tree_rows(np.random.default_rng(0), 200)
    X = X[~(X[:, 1::2] >= N_CODES).any(axis=1)]
    options = page.run(
        "return Object.fromEntries([...document.querySelectorAll('#row-form select')].map((s) => "
        "[s.closest('label').querySelector('.field-name').textContent, "
        "Object.fromEntries([...s.options].map((o) => [o.textContent, o.value]))]))"
    )
    typed_rows = []
    for row in X:
        texts = {f"x{i}": "" if np.isnan(x) else repr(float(x)) for i, x in enumerate(row)}
        for name, values in options.items():
            code = row[int(name[1:])]
            texts[name] = values["unknown" if np.isnan(code) else f"it's {int(code)}"]
        typed_rows.append(texts)
    assert page.run(TYPE_BY_NAME, typed_rows) == leaves_by_walking(model.tree_, X).tolist()


def test_typing_by_hand(open_page):
    page = open_page("mixed")
    page.click("#tab-row")
    page.run(PICK, [5])
    field = page.find("#row-form input[type=number]")
    field.send_keys(keys().CONTROL + "a", keys().DELETE)
    assert "needs a number" in page.text("#answer")
    field.send_keys("1000")
    assert page.text("#answer").startswith("It goes to ")
    whole = page.find("#row-form input[step='1']")
    whole.send_keys(keys().CONTROL + "a")
    whole.send_keys("2.5")
    assert page.text("#answer") == "visits needs a whole number."
    whole.send_keys(keys().BACKSPACE, keys().BACKSPACE)
    assert page.text("#answer").startswith("It goes to ")
    assert page.run("return document.querySelector('#pick').value") == ""
    page.click("#clear-row")
    assert page.text("#answer").startswith("It goes to ")
    assert page.run("return document.querySelector('#row-form input[type=number]').value") != "1000"


def test_without_rows_there_is_nothing_to_pick(open_page):
    page = open_page("bare")
    assert page.count("#pick") == 0
    assert page.count("#row-form [data-field]") > 5
    page.run("document.querySelector('#tree .leaf').click()")
    assert page.count("#group .difference-list > li") > 0
    assert page.count("svg.bars") == 0


def test_a_page_without_rows_says_so_and_tells_nothing_of_a_few(open_page, pages):
    model, X = pages[1]["private"]
    assert "contains 200 rows of the table" in open_page("mixed").text("footer")
    page = open_page("private")
    assert "contains no rows of the table" in page.text("footer")
    assert page.count("#pick") == 0
    full = model._fit_result.tree
    arrived = full.decision_path(model._validate(X, reset=False)).toarray().sum(axis=0)
    for node in np.flatnonzero(~full.is_leaf).tolist():
        page.run("document.querySelector(`#tree .node[data-node='${arguments[0]}']`).focus()", node)
        few = arrived[node] < 5
        assert ("fewer than 5 rows are not shown" in page.text("#tooltip")) == few
        assert page.count("#tooltip .bars, #tooltip .hbar") == (0 if few else 1)
        assert "Here:" not in page.text("#tooltip")
    assert (arrived[~full.is_leaf] < 5).any()
    page.click("#tab-row")
    page.run("document.querySelector('#row-form [data-field]').dispatchEvent(new Event('input'))")
    assert page.text("#answer").startswith("It goes to ")


def test_the_tree_by_keys_with_hints(open_page, pages):
    model, _ = pages[1]["mixed"]
    page = open_page("mixed")
    assert page.count("#tree [tabindex='0']") == 1
    page.run("document.querySelector('#tree [tabindex=\"0\"]').focus()")
    tooltip = page.find("#tooltip")
    assert tooltip.is_displayed()
    assert page.text(".tooltip-title") == "500 rows, 100 % of all"
    page.press(keys().ARROW_RIGHT)
    tree = model.tree_
    first = page.run("return Number(document.activeElement.dataset.node)")
    assert model.columns_[tree.feature[0]].kind == "category"  # of which yes is to the right
    assert first == tree.right[0]
    assert page.text(".tooltip-title").startswith(format_rows(tree.weight[first]))
    assert page.run("return document.activeElement.getAttribute('aria-describedby')") == "tooltip"
    page.press(keys().ESCAPE)
    assert not tooltip.is_displayed()
    page.press(keys().ARROW_LEFT)
    assert page.run("return Number(document.activeElement.dataset.node)") == 0
    page.press(keys().END)
    assert "leaf" in page.run("return document.activeElement.className")
    page.press(keys().ENTER)
    assert page.count("#group h3") == 1
    levels = page.run(
        "return [...document.querySelectorAll('#tree [role=treeitem]')]"
        ".map((e) => [+e.dataset.node, +e.getAttribute('aria-level')])"
    )
    assert {n: level - 1 for n, level in levels} == dict(enumerate(tree.depth.tolist()))


def test_everything_is_reached_by_tab(open_page):
    page = open_page("mixed")
    seen = []
    for _ in range(60):
        page.press(keys().TAB)
        ident = page.run("const e = document.activeElement; return e.id || e.className")
        seen.append(ident)
        assert page.run(
            "const e = document.activeElement;"
            "return e === document.body || getComputedStyle(e).outlineStyle !== 'none'"
        ), f"no visible focus on {ident}"
        if ident == "rules":
            break
    wanted_ids = (
        "theme",
        "download",
        "leaves",
        "suggested",
        "zoom-fit",
        "tab-groups",
        "copy-rules",
    )
    for wanted in (*wanted_ids, "group-line"):
        assert wanted in seen
    assert any("node" in ident for ident in seen)
    page.run("document.querySelector('#tab-groups').focus()")
    page.press(keys().ARROW_RIGHT)
    assert page.find("#panel-row").is_displayed()
    assert not page.find("#panel-groups").is_displayed()


def test_changes_are_told_to_those_who_listen(open_page):
    page = open_page("mixed")
    page.choose_size(2)
    live = "return document.querySelector('#live').textContent"
    wait(page).until(lambda _: page.run(live).startswith("7 leaves. This tree follows"))
    page.run("document.querySelector('.group-line').click()")
    wait(page).until(lambda _: page.run(live).startswith("0: "))


def test_rules_and_sql_are_copied_and_the_sql_is_right(open_page, pages):
    model, X = pages[1]["mixed"]
    page = open_page("mixed")
    page.driver.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    table = X.drop(columns=[c for c in X if c.startswith(("color_", "size="))])
    for column in ("since", "seen"):
        table[column] = table[column].dt.strftime("%Y-%m-%d %H:%M:%S.000000")
    for source, separator in (("color", "_"), ("size", "=")):
        members = X.filter(regex=f"^{source}{separator}")
        names = members.columns.str.split(separator).str[1]
        table[source] = np.where(members.any(axis=1), names[members.to_numpy().argmax(axis=1)], "-")
    unknown = table.iloc[[0]].assign(color=None)
    table = pd.concat([table, unknown])
    page.click("#tab-sql")
    lite = page.run(
        "const d = document.querySelector('#dialect');"
        "d.value = [...d.options].find((o) => o.textContent === 'SQLite').value;"
        "d.dispatchEvent(new Event('change')); return d.value"
    )
    assert lite
    with sqlite3.connect(":memory:") as database:
        table.to_sql("your_table", database, index=False)
        for size in (0, 9, len(model.path_) - 1):
            page.choose_size(size)
            page.click("#copy-sql")
            page.run("return navigator.clipboard.readText()")
            sql = page.run("return navigator.clipboard.readText()")
            assert sql == page.text("#sql")
            found = pd.read_sql(sql, database)["cluster"]
            small = model.with_leaves(int(model.path_["n_leaves"][size]))
            assert found[:-1].tolist() == small.predict(X).tolist()
            assert np.isnan(found.iloc[-1])  # there is no color, and every size asks for it
    page.click("#tab-words")
    page.click("#copy-rules")
    text = page.run("return navigator.clipboard.readText()")
    conditions = page.run(
        "return [...document.querySelectorAll('#rules .condition')].map((e) => e.textContent)"
    )
    names = [f"{i}: {name}" for i, name in enumerate(model.cluster_names_)]
    assert [text.count(f"{name}: ") for name in names] == [1] * 5
    assert all(condition in text for condition in conditions)


def test_hostile_names_are_text(open_page):
    page = open_page("hostile")
    for tab in ("#tab-row", "#tab-groups"):
        page.click(tab)
    page.run("document.querySelector('#tree .leaf').click()")
    page.run("document.querySelector('#tree .split').focus()")
    page.run(PICK, [3])
    assert page.run("return document.title") == "<i>hostile</i>"
    assert page.text("h1") == "<i>hostile</i>"
    assert page.count("img") == page.count("body script:not([id])") - 1 == 0
    text = page.run("return document.body.innerText") + page.text("#row-form")
    for name in (HOSTILE["height"], HOSTILE["visits"], "<b>bold</b>", "</script>"):
        assert name in text
    assert (
        page.run("return document.querySelector('#tree').querySelectorAll('b img, i').length") == 0
    )


def test_nothing_else_can_run_or_load(driver, pages):
    page = Page(driver, pages[0], "mixed")
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    page.run(
        "const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        "document.body.append(s);"
        "const i = document.createElement('img'); i.src = 'data:image/gif;base64,R0lGOD';"
        "document.body.append(i);"
    )
    assert page.run("return window.ran === undefined")
    blocked = [error for error in page.errors() if "Content Security Policy" in error]
    assert len(blocked) == 2


OVERFLOW = "return document.documentElement.scrollWidth - innerWidth"
OVERLAPS = """
const cards = [...document.querySelectorAll('#tree .node')].map((e) => {
  const parts = e.matches('.leaf') ? [e.querySelector('.leaf-name')] : [e];
  return [e.dataset.node, parts[0].getBoundingClientRect()];
});
const tree = document.querySelector('#tree').getBoundingClientRect();
const before = (a, b) => a.right <= b.left + 1 || a.bottom <= b.top + 1;
const apart = (a, b) => before(a, b) || before(b, a);
const found = [];
cards.forEach(([n, a], i) => {
  if (a.left < tree.left - 1 || a.right > tree.right + 1) found.push([n, 'outside']);
  for (const [m, b] of cards.slice(i + 1)) if (!apart(a, b)) found.push([n, m]);
});
return found;
"""


@pytest.mark.parametrize(
    ("name", "width"),
    [
        *(("mixed", width) for width in (NARROW, 768, 1200, WIDE)),
        *((name, width) for name in ("hostile", "large") for width in (NARROW, WIDE)),
    ],
)
def test_it_fits_and_nothing_overlaps(open_page, pages, name, width):
    page = open_page(name)
    page.resize(width, 900)
    n_sizes = len(pages[1][name][0].path_)
    for size in sorted({0, 1, 4, n_sizes // 2, n_sizes - 1}):
        page.choose_size(size)
        page.run("document.querySelector('#tree .leaf').click()")
        assert page.run(OVERFLOW) <= 0
        assert page.run(OVERLAPS) == []
    page.click("#tab-row")
    page.run(PICK, [1])
    assert page.run(OVERFLOW) <= 0


def test_large_reports_answer_the_slider(open_page):
    page = open_page("large")
    assert len(page.leaves()) == 200
    assert page.count("#group-list li") == 50
    for size in (0, 70, 7):
        page.choose_size(size)
        shown = page.find("#leaves").get_attribute("aria-valuetext")
        assert shown.startswith(f"{len(page.leaves())} leaves. ")


def colours(page):
    return page.run(
        "const rgb = (e) => getComputedStyle(e).backgroundColor.match(/\\d+/g).map(Number);"
        "return [rgb(document.body), rgb(document.querySelector('.card'))]"
    )


def test_dark_and_light(open_page):
    page = open_page("mixed")
    page.emulate({"prefers-color-scheme": "light"})
    assert min(map(min, colours(page))) > 200
    page.emulate({"prefers-color-scheme": "dark"})
    assert max(map(max, colours(page))) < 60
    wait(page).until(lambda _: page.find("#theme").get_attribute("aria-pressed") == "true")
    page.click("#theme")
    assert min(map(min, colours(page))) > 200
    page.click("#theme")
    assert max(map(max, colours(page))) < 60
    page.emulate({}, media="print")
    assert not page.find(".side.card").is_displayed()
    assert page.find("#findings").is_displayed()
    assert page.run("return getComputedStyle(document.body).color") == "rgb(29, 37, 48)"


def test_printed_pages_hold_the_tree_and_all_rules(open_page):
    page = open_page("mixed")
    page.choose_size(5)
    pdf = page.driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    assert len(pdf["data"]) > 10_000
    assert page.run(OVERFLOW) <= 0  # the page on the screen is as it was
    assert json.loads(page.text("#data"))["title"] == "mixed"


# ---- findings, profiles, zoom, sliders -----------------------------------------------------------


def test_findings_and_profiles_are_those_of_the_size(open_page, pages):
    model, X = pages[1]["mixed"]
    page = open_page("mixed")
    page.choose_size(3)
    small = model.with_leaves(int(model.path_["n_leaves"][3]))
    sizes = np.bincount(small.predict(X), minlength=5)
    findings = page.run(
        "return [...document.querySelectorAll('#findings > li')].map((e) => e.textContent)"
    )
    assert len(findings) == 5
    for group, finding in enumerate(findings):
        name = f"{group}: {model.cluster_names_[group]}"
        assert finding.startswith(f"{name} {format_rows(float(sizes[group]))}, ")
        assert "It differs by " in finding
    assert page.run(TABLE, 1) == [f"{size:,}" for size in sizes]
    heads = page.run(
        "return [...document.querySelectorAll('#profiles thead button')].map("
        "(e) => e.firstChild.textContent)"
    )
    means = X.groupby(small.predict(X))["height"].mean()
    shown = [float(text) for text in page.run(TABLE, heads.index("height"))]
    np.testing.assert_allclose(shown, means, rtol=1e-3)
    assert page.count("#profiles .small-bars") == 5 * (len(heads) - 4)


TABLE = (
    "return [...document.querySelectorAll('#profiles tbody tr')].map("
    "(row) => row.children[arguments[0]].firstChild.textContent)"
)


def test_profiles_are_sorted_and_downloaded(open_page, pages):
    page = open_page("hostile")
    page.keep_downloads()
    page.run("document.querySelectorAll('#profiles thead button')[1].click()")
    rows = [int(text.replace(",", "")) for text in page.run(TABLE, 1)]
    assert rows == sorted(rows, reverse=True)
    page.run("document.querySelectorAll('#profiles thead button')[1].click()")
    assert [int(text.replace(",", "")) for text in page.run(TABLE, 1)] == sorted(rows)
    assert page.count("#profiles th[aria-sort=ascending]") == 1
    page.run("document.querySelector('#download').click()")
    text = page.downloaded()
    table = pd.read_csv(io.StringIO(text), dtype=str)
    assert table["Rows"].str.replace(",", "").astype(int).tolist() == sorted(rows)
    assert set(table["Group"]) == set(CLUSTER_NAMES)
    assert table.shape[0] == 5


def test_a_group_is_renamed_and_the_file_of_names_is_read_by_the_commands(
    open_page, pages, tmp_path
):
    page = open_page("hostile")
    model, _ = pages[1]["hostile"]
    page.keep_downloads()
    page.run("document.querySelectorAll('#group-list button')[1].click()")
    rename = (
        "document.querySelector('#new-name').value = arguments[0];"
        "document.querySelector('.name-form button[type=submit]').click()"
    )
    assert page.run("return document.querySelector('#save-names').disabled")
    page.run(rename, f" {CLUSTER_NAMES[0]} ")
    assert "Another group" in page.run(
        "return document.querySelector('.name-editor p').textContent"
    )
    page.run(rename, "   ")
    assert "letter" in page.run("return document.querySelector('.name-editor p').textContent")
    name = "loyal  <b>&</b> 'new'"
    page.run(rename, name)
    shown = " ".join(name.split())
    chips = page.run("return [...document.querySelectorAll('.chip')].map((c) => c.textContent)")
    assert shown in chips
    assert CLUSTER_NAMES[1] not in chips
    page.run("document.querySelector('#save-names').click()")
    text = page.downloaded()
    (tmp_path / "names.json").write_text(text, encoding="utf-8")
    named = model.with_names(read_names(str(tmp_path / "names.json")))
    assert named.cluster_names_[1] == shown
    assert named.cluster_names_[0] == model.cluster_names_[0]


def test_a_cell_of_the_csv_is_no_formula(open_page, pages, tmp_path):
    model, X = pages[1]["tied"]
    names = ["=1+1", "@home"]
    write_report(model, tmp_path / "formula.html", X, cluster_names=names)
    page = Page(open_page("tied").driver, tmp_path, "formula")
    page.keep_downloads()
    page.run("document.querySelector('#download').click()")
    text = page.downloaded()
    assert pd.read_csv(io.StringIO(text), dtype=str)["Group"].tolist() == ["'=1+1", "'@home"]


def test_a_row_is_answered_at_once_and_by_sliders(open_page):
    page = open_page("private")
    page.click("#tab-row")
    assert page.text("#answer").startswith("It goes to ")
    sliders = page.count("#row-form [data-slider]")
    assert sliders >= 4
    said = page.run(
        "const slider = document.querySelector('#row-form [data-slider]');"
        "return [slider.min, slider.max].map((value) => {"
        "  slider.value = value; slider.dispatchEvent(new Event('input', {bubbles: true}));"
        "  const typed = slider.closest('label').querySelector('[data-field]').value;"
        "  return [value, typed, document.querySelector('#answer').textContent];"
        "})"
    )
    for value, typed_value, answer in said:
        assert float(value) == float(typed_value)
        assert answer.startswith("It goes to ")


def test_deep_trees_open_small_and_can_be_zoomed_and_panned(open_page):
    page = open_page("large")
    scale = "return document.querySelector('#tree').getBoundingClientRect().width / "
    scale += "document.querySelector('#tree').offsetWidth"
    assert page.run(scale) < 0.9
    page.run("document.querySelector('#zoom-fit').click()")
    whole = page.run(
        "const w = document.querySelector('#tree-window');"
        "return [w.scrollHeight - w.clientHeight, w.scrollWidth - w.clientWidth]"
    )
    assert page.run(scale) == pytest.approx(0.15, abs=0.02) or max(whole) <= 8
    before = page.run(scale)
    page.run("document.querySelector('#zoom-in').click()")
    assert page.run(scale) == pytest.approx(1.25 * before, rel=1e-3)
    assert page.text("#zoom-level") == f"{round(125 * before)} %"
    for _ in range(8):
        page.run("document.querySelector('#zoom-in').click()")
    start = page.run("return document.querySelector('#tree-window').scrollTop")
    from selenium.webdriver.common.action_chains import ActionChains

    page.run("document.querySelector('#tree-window').scrollIntoView({block: 'center'})")
    window = page.find("#tree-window")
    chain = ActionChains(page.driver).move_to_element_with_offset(window, 0, 40)
    page.run(
        "for (const e of document.querySelectorAll('#tree .node')) e.style.pointerEvents = 'none'"
    )
    chain.click_and_hold().move_by_offset(0, -120).release().perform()
    assert page.run("return document.querySelector('#tree-window').scrollTop") > start
    assert page.count(".panning") == 0


def test_a_split_shows_its_column_by_group_with_the_cut(open_page, pages):
    model, X = pages[1]["mixed"]
    page = open_page("mixed")
    page.choose_size(0)
    tree = model.with_leaves(int(model.path_["n_leaves"][0]))
    nodes = page.run(
        "return [...document.querySelectorAll('#tree .split')].map((e) => Number(e.dataset.node))"
    )
    labels = tree.predict(X)
    path = model._fit_result.tree.decision_path(model._validate(X, reset=False)).tocsc()
    for node in nodes:
        page.run("document.querySelector(`#tree .node[data-node='${arguments[0]}']`).focus()", node)
        titles = page.run(
            "return [...document.querySelectorAll('#tooltip .bars title')]"
            ".map((e) => e.textContent)"
            ".concat([...document.querySelectorAll('#tooltip .hbar li')].map((e) => e.title))"
        )
        here = path[:, node].nonzero()[0]
        for group in range(5):
            name = re.escape(model._fit_result.shown_names[group])
            counts = re.findall(rf"^{name}: ([\d,]+)$", "\n".join(titles), re.MULTILINE)
            assert sum(int(n.replace(",", "")) for n in counts) == np.sum(labels[here] == group)


def test_every_group_is_on_paper(open_page):
    page = open_page("mixed")
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    assert page.count("#printed-groups .printed-group") == 5
    assert page.count("#printed-groups .printed-group .rule-list") == 5
    assert page.count("#printed-groups .difference-list") >= 4
    page.run("window.dispatchEvent(new Event('afterprint'))")
    assert page.count("#printed-groups > *") == 0


def test_colours_of_groups_stand_out(open_page):
    page = open_page("large")
    groups = json.loads(page.text("#data"))["groups"]
    for i, group in enumerate(groups):
        assert contrast(group["edge"], "#ffffff") >= 3
        assert contrast(group["edge_dark"], "#191f26") >= 3
        assert contrast(group["text"], group["fill"]) >= 4.2
        assert group["pattern"] == min(i // 8, 4)
    cards = page.run(
        "const hex = (c) => '#' + c.match(/\\d+/g).slice(0, 3).map((x) => (+x).toString(16)"
        ".padStart(2, '0')).join('');"
        "return [...document.querySelectorAll('.chip')].slice(0, 20).map("
        "(e) => hex(getComputedStyle(e).borderTopColor))"
    )
    assert min(contrast(color, "#ffffff") for color in cards) >= 3
