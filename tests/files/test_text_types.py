"""The type of a column of text does not depend on which values come first."""

import itertools

import pyarrow as pa
import pytest

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
