"""The pages of the documentation say what the code says."""

import re

import pytest

import treemeans
from docs.draw_tree import readme_model
from docs.rewrite import BLOCK, PAGES, ROOT, rewritten
from docs.write_commands import commands_page
from treemeans import ExKMC, baselines
from treemeans.cli.app import app
from treemeans.cli.fit_command import DEMO_FILE

DOCS = ROOT / "docs"
TEXTS = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
RUN = [page for page, text in TEXTS.items() if BLOCK.search(text)]


def test_there_are_pages_to_run():
    assert {"README.md", "docs/segmentation.md", "docs/howto/rows.md", "docs/tutorial.md"} <= set(
        RUN
    )


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", RUN)
def test_examples_of(page):
    """Every block runs as it stands, in order, in one process, and prints what the page says."""
    assert rewritten(TEXTS[page]) == TEXTS[page], "python docs/rewrite.py writes the new outputs"


def test_a_wrong_output_is_noticed():
    right = "```python\n>>> 1 + 1\n2\n```\n\n```python\nprint(3)\n```\n\n```text\n3\n```\n"
    assert rewritten(right) == right
    assert rewritten(right.replace("2", "4")) == right
    assert rewritten(right.replace("text\n3", "text\n5")) == right
    with pytest.raises(NameError):
        rewritten("```python\nX\n```\n")


def test_the_picture_in_the_readme_is_of_its_code(monkeypatch):
    monkeypatch.chdir(ROOT)
    from PIL import Image

    with Image.open(DOCS / "tree.png") as picture:
        assert picture.info["Description"] == readme_model().to_text()


def test_the_included_table_is_that_of_the_docs():
    assert DEMO_FILE.read_bytes() == (DOCS / "data" / "cdnow.csv").read_bytes()


# ---- the README's claims are those of the benchmark pages ---------------------------------------

README = TEXTS["README.md"]
QUALITY, RESULTS, RIVALS, SPEED = (
    (ROOT / "benchmarks" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("QUALITY", "RESULTS", "RIVALS", "SPEED")
)


def table_row(page, begin, *first):
    """Cells of a row of a table, found by its title and first cells; with the head of the table."""
    lines = page[page.index(begin) :].splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "|" in line]
    for row in cells:
        if tuple(row[: len(first)]) == first:
            return dict(zip(cells[0], row, strict=False))
    raise AssertionError(f"no row {first}")


def readme_row(title):
    return table_row(README, "## Beside other packages", title)


def numbers(cell):
    return [float(found) for found in re.findall(r"\d+\.\d+", cell)]


def excess(data, leaves, method):
    row = table_row(QUALITY, "## Excess over the reference", data, leaves)
    return round(1 + float(row[method].split()[0]), 3)


@pytest.mark.parametrize(("leaves", "n_leaves"), [("k", "10"), ("2 k", "20")])
def test_costs_on_digits(leaves, n_leaves):
    found = readme_row(f"cost / k-means, Digits, {leaves} leaves")
    ours, official, shallow, kauri, cart = (numbers(cell) for cell in list(found.values())[1:])
    wanted = table_row(RESULTS, "## Other packages", "Digits", leaves)
    assert ours[0] == float(wanted["ExKMC (base: IMM)"])
    assert official == numbers(wanted["ExKMC, official package"])
    assert shallow == numbers(wanted["ShallowTree"])
    assert kauri == numbers(wanted["Kauri (gemclus)"])
    assert cart == [excess("digits", n_leaves, "CART on labels")]
    search = table_row(RIVALS, "## Excess over the reference", "digits", "raw", n_leaves)["search"]
    assert ours[1:] == [1 + float(search)]


def test_costs_and_seconds_on_large_tables():
    ours, official, _, _, cart = list(readme_row("cost / k-means, Avila, 2 k leaves").values())[1:]
    wanted = table_row(SPEED, "<!-- begin times -->", "avila")
    search = table_row(QUALITY, "## The present search", "avila", "24")["IMM, search"]
    refined = round(1 + float(search.split()[0]), 3)
    assert numbers(ours) == [float(wanted["cost"]), refined]
    assert numbers(official) == [float(wanted["official cost"])]
    assert numbers(cart) == [excess("avila", "24", "CART on labels")]
    seconds = readme_row("seconds, Covtype (581,012 rows), 2 k leaves")
    wanted = table_row(SPEED, "<!-- begin times -->", "covtype")
    assert numbers(list(seconds.values())[1]) == [float(wanted["1 thread s"])]
    assert numbers(list(seconds.values())[2]) == [float(wanted["official s"])]
    ratios = [
        float(table_row(RIVALS, "## Targets", cells)["measured"])
        for cells in ("all cells", "k leaves")
    ]
    assert f"the search has {ratios[0]:.2f} of IMM's excess over k-means" in README
    assert f"at k leaves alone {ratios[1]:.2f}" in README


def test_the_readme_fits_on_a_screen_and_names_extras_that_exist():
    words = re.sub(r"```.*?```|\|.*", "", README, flags=re.DOTALL | re.MULTILINE).split()
    assert len(words) < 450
    extras = re.findall(r'"\.\[(\w+)\]"', README)
    assert set(extras) == {"cli", "test"}


# ---- pictures and reference ----------------------------------------------------------------------


def test_pictures_exist_and_are_small():
    for page, text in TEXTS.items():
        for names in re.findall(r"!\[[^\]]*\]\(([^)]+)\)|```\{image\} (\S+)", text):
            picture = (ROOT / page).parent / "".join(names)
            assert picture.is_file(), (page, names)
            assert picture.stat().st_size < 100_000, picture


def test_the_page_of_commands_has_every_command_and_option():
    from typer.main import get_command

    page = commands_page()
    commands = get_command(app).commands
    assert {"fit", "predict", "report"} <= commands.keys()
    for name, command in commands.items():
        section = page.partition(f"## treemeans {name}\n")[2].partition("\n## ")[0]
        assert command.help.split()[0] in section
        for option in command.params:
            if option.name not in ("help", "debug"):
                wanted = option.opts[0] if option.opts[0].startswith("-") else option.name.upper()
                assert f"`{wanted}`" in section, (name, option.name)


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
