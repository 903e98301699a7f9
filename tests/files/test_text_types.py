"""The type of a column of text does not depend on which values come first."""

import itertools

import pyarrow as pa
import pytest

from treemeans.columns.dates import read_date
from treemeans.files.text_types import TextType


def found(*batches):
    text = TextType()
    for batch in batches:
        text.add(pa.array(batch))
    return text


@pytest.mark.parametrize("values", list(itertools.permutations(["00501", "30330", "99501"])))
def test_leading_zeros_make_codes_wherever_they_stand(values):
    for text in (
        found(values),
        found(values[:1], values[1:]),
        found(*([value] for value in values)),
    ):
        assert text.name == "text"
        assert text.problem("zip") == ""


@pytest.mark.parametrize("values", list(itertools.permutations(["1,200", "350", "12,000"])))
def test_separators_of_thousands_are_refused_wherever_they_stand(values):
    for text in (found(values), found(values[:2], values[2:])):
        assert "holds numbers written like" in text.problem("sales")


def test_durations():
    written = ["02:15:00", "1 days 02:00:00", "-1 days +23:00:00", "3 days", "1 day, 0:00:01.5", ""]
    found = TextType()
    for part in (written[:2], written[2:]):
        found.add(pa.array(part))
    assert found.name == "duration"
    parsed = found.parse(pa.array(written)).to_pylist()
    seconds = [None if value is None else value.total_seconds() for value in parsed]
    assert seconds == [8100.0, 93600.0, -3600.0, 259200.0, 86401.5, None]
    for others in (["12:30"], ["02:15:00", "soon"], ["02:75:00"], ["-"]):
        found = TextType()
        found.add(pa.array(others))
        assert found.name == "text"


@pytest.mark.parametrize("values", list(itertools.permutations(["1,234.50", "350", "12,000"])))
def test_two_separators_in_a_value_show_which_is_which(values):
    for text in (found(values), found(values[:2], values[2:])):
        assert (text.name, text.problem("sales")) == ("separated", "")
        assert sorted(text.parse(pa.array(values)).to_pylist()) == [350.0, 1234.5, 12000.0]


DATES = {
    "day.month.year": ["24.07.2024", "1.8.2024 13:45"],
    "day/month/year": ["24/07/2024", "01/02/2024"],
    "month/day/year": ["01/02/2024", "7/24/2024 01:45 PM"],
    "day-month-year": ["24-07-2024", "01-02-2024"],
    "month-day-year": ["07-24-2024", "01-02-2024"],
    "year-month-day": ["2024-7-24", "2024-8-1"],
    "year/month/day": ["2024/07/24", "2024/8/1"],
    "year.month.day": ["2024.07.24", "9999.12.31"],
    "month day, year": ["Jul 24 2024", "July 24, 2024", "sept. 1, 2024"],
    "day month year": ["24 Jul 2024", "24-JUL-2024", "24. July 2024"],
}


@pytest.mark.parametrize("written", DATES)
def test_dates_in_the_one_format_that_holds_them_all(written):
    values = [*DATES[written], "", "NA"]
    for text in (found(values), found(values[:1], values[1:]), found(values[1:], values[:1])):
        assert (text.name, text.date_format, text.problem("day")) == ("written date", written, "")
        parsed = text.parse(pa.array(values)).to_pylist()
        assert parsed[-2:] == [None, None]
        for value, when in zip(DATES[written], parsed, strict=False):
            read = read_date(value.replace("sept. ", "Sep "), written)
            assert read in (when, None)  # strptime knows fewer forms
        assert read_date(DATES[written][0], written) == parsed[0]


def test_a_date_is_in_the_calendar():
    parsed = found(["01/01/2024 12:30 AM", "12/31/2024 12:30 pm"]).parse(
        pa.array(["01/01/2024 12:30 AM", "12/31/2024 12:30 pm"])
    )
    assert [when.hour for when in parsed.to_pylist()] == [0, 12]
    for others in (["31.02.2024"], ["24.13.2024"], ["1/1/2024 13:00 PM"], ["24.07.2024 25:00"]):
        assert found(others).name == "text"


def test_dates_in_doubt_are_said():
    doubt = found(["01/02/2024", "03/04/2024"])
    assert "may be day/month/year or month/day/year; say --date-order" in doubt.problem("day")
    doubt.choose_order("month-first")
    assert (doubt.date_format, doubt.problem("day")) == ("month/day/year", "")
    for values, said in (
        (["24/07/24", "25/07/24"], "written like '24/07/24'; write them as"),
        (["24.07.2024", "25.07.2024", "31.02.2024"], "but '31.02.2024' is not written like"),
        (["24.07.2024", "2024-07-25"], "but '2024-07-25' is not written like"),
        (["2024-02-28", "2024-02-31"], "but '2024-02-31' is not written like"),
    ):
        for parts in (found(values), found(values[:1], values[1:])):
            assert said in parts.problem("day")
    text = found(["24.07.2024", "25.07.2024", "soon"])
    assert text.problem("day") == ""
    assert text.written == "most values are dates, but 'soon' is not, or not written alike"


AMOUNTS = {  # values, the mark before decimals, unit, numbers
    "Swiss": (["CHF 1'234.50", "CHF 0.75", "-CHF 20"], ".", "CHF", [1234.5, 0.75, -20]),
    "typographic": (["1’234.50 Fr", "\u22127 Fr"], ".", "Fr", [1234.5, -7]),  # noqa: RUF001
    "French": (["1\u202f234,50 €", "12\xa0345 €", "7€"], ",", "€", [1234.5, 12345, 7]),
    "Indian": (["₹1,23,456.00", "₹12,34,56,789"], ".", "₹", [123456, 123456789]),
    "German": (["1.234,50 EUR", "EUR 7"], ",", "EUR", [1234.5, 7]),
    "Brazilian": (["R$ 1.234,50", "R$ 7,1"], ",", "R$", [1234.5, 7.1]),
    "losses": (["($1,234.50)", "$7", "-$8", "$-9"], ".", "$", [-1234.5, 7, -8, -9]),
    "weights": (["54 kg", "5.5kg", "1,000 kg"], ".", "kg", [54, 5.5, 1000]),
    "areas": (["54 m²", "7 m²"], ".", "m²", [54, 7]),
    "areas in plain letters": (["54 m2", "7 m2"], ".", "m2", [54, 7]),
    "speeds": (["54 km/h", "7 km/h"], ".", "km/h", [54, 7]),
    "terms": (["36 months", "60 months"], ".", "months", [36, 60]),
}


@pytest.mark.parametrize("case", AMOUNTS)
def test_amounts(case):
    values, decimal, unit, numbers = AMOUNTS[case]
    for batches in ([values], [[value] for value in values], [values[::-1]]):
        text = TextType(decimal)
        for batch in batches:
            text.add(pa.array(batch))
        assert (text.name, text.unit, text.problem("x")) == ("amount", unit, "")
        assert text.parse(pa.array([*values, ""])).to_pylist() == [*numbers, None]
        # As in predict, which knows the unit: with or without it.
        known = TextType(decimal, ["number"], unit, n_values=1)
        assert known.parse(pa.array([*values, "8"])).to_pylist() == [*numbers, 8]


@pytest.mark.parametrize(
    "values",
    [
        ["C0012", "C0013"],
        ["007 kg", "012 kg"],
        ["4/5", "3/5"],
        ["10x7", "12x7"],
        ["5 kg", "soon"],
        ["€5 kg", "€6 kg"],
        ["3A", "7B", "9C", "1D"],
        ["12:30", "13:00"],
        ["5-10 kg", "10-20 kg"],
        ["kg", "CHF"],
    ],
)
def test_what_is_no_amount(values):
    for text in (found(values), found(values[:1], values[1:])):
        assert (text.name, text.written, text.problem("x")) == ("text", "", "")


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["1'234", "7"], [1234, 7]),
        (["1\u202f234", "7"], [1234, 7]),
        (["1,23,456", "7"], [123456, 7]),
        (["(1,234)", "7"], [-1234, 7]),
        (["1 234.5", "7"], [1234.5, 7]),
    ],
)
def test_separators_that_can_be_read_in_one_way_only(values, numbers):
    for text in (found(values), found(values[:1], values[1:]), found(values[1:], values[:1])):
        assert (text.name, text.problem("x")) == ("separated", "")
        assert text.parse(pa.array(values)).to_pylist() == numbers


@pytest.mark.parametrize(
    ("values", "units"),
    [(["$5", "€6", "$7"], "$ and €"), (["5%", "6", "7%"], "% and nothing")],
)
def test_amounts_with_several_signs_are_said_to_be_text(values, units):
    for text in (found(values), found(values[:1], values[1:]), found(values[1:], values[:1])):
        assert (text.name, text.written) == (
            "text",
            f"written with {units}, so not read as numbers",
        )


WRITTEN = {
    "date": ["2024-07-24", "2023-01-02", None],
    "date of another order": ["24.07.2024", "02.01.2023", None],
    "date with a month's name": ["Jul 24, 2024", "Jan 2, 2023", None],
    "time": ["2024-07-24 13:45:00", "2023-01-02 00:00:01", None],
    "duration": ["02:15:00", "3 days", None],
    "money": ["€271.64", "€1,000.50", None],
    "percent": ["5.0%", "12%", None],
    "flag": ["True", "False", None],
    "number": ["1.5", "-2e3", None],
    "code": ["00501", "30330", None],
    "category": ["DE", "FR", None],
}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_large_strings_are_read_like_strings(written):
    # pandas and polars write text as large strings.
    text, large = TextType(), TextType()
    text.add(pa.array(written, pa.string()))
    large.add(pa.array(written, pa.large_string()))
    assert large.name == text.name
    assert large.problem("x") == text.problem("x")
    parsed = large.parse(pa.array(written, pa.large_string()))
    assert parsed.to_pylist() == text.parse(pa.array(written, pa.string())).to_pylist()
