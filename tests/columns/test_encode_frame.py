"""Data frames as numbers: the same from every package, and with the columns of another table."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from treemeans import ExKMC
from treemeans.columns.encode_frame import UnseenValues, encode_frame
from treemeans.columns.encoded_table import encode_table
from treemeans.columns.frame_values import open_frame
from treemeans.columns.table_schema import plan_columns, summarize

N = 60
VALUES = {
    "age": [None if i % 7 == 0 else i for i in range(N)],
    "active": [None if i % 9 == 0 else bool(i % 2) for i in range(N)],
    "country": [None if i % 11 == 0 else ["DE", "FR", "US"][i % 3] for i in range(N)],
    "since": [
        dt.datetime(1965, 1, 1) + dt.timedelta(hours=5 * i) if i % 5 else None for i in range(N)
    ],
    "day": [dt.date(2024, 1, 1) + dt.timedelta(days=i) if i % 5 else None for i in range(N)],
    "stay": [dt.timedelta(minutes=i) if i % 4 else None for i in range(N)],
    "money": [1.5 * i for i in range(N)],
    "email": [f"u{i}@example.org" for i in range(N)],
    "nothing": [None] * N,
}
PANDAS = pd.DataFrame(VALUES)
FRAMES = {
    "pandas": PANDAS,
    "pandas nullable": PANDAS.convert_dtypes(),
    "pandas on arrow": PANDAS.convert_dtypes(dtype_backend="pyarrow"),
    "pandas categorical": PANDAS.astype({"country": "category"}),
    "pandas objects": PANDAS.astype(object),
    "polars": pl.DataFrame(VALUES),
    "polars categorical": pl.DataFrame(VALUES).with_columns(pl.col("country").cast(pl.Categorical)),
    "polars enum": pl.DataFrame(VALUES).with_columns(
        pl.col("country").cast(pl.Enum(["US", "FR", "DE", "XX"]))
    ),
    "pyarrow": pa.table(VALUES),
    "pyarrow dictionary": pa.table(
        VALUES | {"country": pa.array(VALUES["country"]).dictionary_encode()}
    ),
}


def schema_of(frame):
    return plan_columns(summarize([frame], frame.columns))


@pytest.mark.parametrize("package", FRAMES)
def test_every_package_gives_the_same_numbers_and_the_same_schema(package):
    expected, found = open_frame(PANDAS), open_frame(FRAMES[package])
    schema = schema_of(found)
    assert str(schema) == str(schema_of(expected))
    np.testing.assert_array_equal(
        encode_frame(found, schema.columns), encode_frame(expected, schema_of(expected).columns)
    )


def test_numbers_are_what_the_values_stand_for():
    frame = open_frame(PANDAS)
    schema = schema_of(frame)
    X = dict(
        zip([c.name for c in schema.columns], encode_frame(frame, schema.columns).T, strict=True)
    )
    assert {c.name: c.kind for c in schema.columns} == {
        "age": "integer", "active": "flag", "country": "codes", "since": "time", "day": "date",
        "stay": "duration", "money": "number",
    }  # fmt: skip
    assert X["age"][1] == 1
    assert np.isnan(X["age"][0])
    assert X["active"][:4].tolist()[1:] == [1, 0, 1]
    assert X["country"][1:4].tolist() == [1, 2, 0]
    assert X["day"][1] == (dt.date(2024, 1, 2) - dt.date(1970, 1, 1)).days
    assert X["since"][1] == (dt.datetime(1965, 1, 1, 5) - dt.datetime(1970, 1, 1)) / dt.timedelta(
        days=1
    )
    assert X["stay"][1] == 1 / 1440
    left_out = {plan.name: plan.becomes for plan in schema.left_out}
    assert "60 different texts in 60 rows" in left_out["email"]
    assert left_out["nothing"] == "left out: it has no values"


NAMING_PEOPLE = {
    "e-mail addresses": ([f"user{i % 30}@mail.example" for i in range(600)], "which name people"),
    "telephone numbers": ([f"+49 170 55501{i % 30:02d}" for i in range(600)], "which name people"),
    "national numbers": ([f"(030) 55501{i % 30:02d}" for i in range(600)], "telephone numbers"),
    "numbers in the USA": ([f"555-123-01{i % 30:02d}" for i in range(600)], "telephone numbers"),
    "accounts": ([f"DE021000001871036476{i % 30:02d}" for i in range(600)], "holds bank accounts"),
    "accounts in groups": (
        [f"GB29 NWBK 6016 1331 9268 {i % 30:02d}" for i in range(600)],
        "accounts",
    ),
    "streets": ([f"Hauptstraße {i % 30}, 50667 Köln" for i in range(600)], "holds addresses"),
    "English streets": ([f"{i % 30} Main Street" for i in range(600)], "holds addresses"),
    "customers": ([f"C{i % 130}" for i in range(600)], "130 different texts in 600 rows, fewer"),
}


@pytest.mark.parametrize(("values", "why"), NAMING_PEOPLE.values(), ids=NAMING_PEOPLE)
def test_texts_that_name_people_are_left_out(values, why):
    frame = open_frame(pd.DataFrame({"x": values, "y": np.arange(600)}))
    schema = schema_of(frame)
    assert [column.name for column in schema.columns] == ["y"]
    assert why in schema.plans[0].becomes
    asked = plan_columns(summarize([frame], ["x"]), asked=["x"])
    assert asked.columns[0].categories == tuple(sorted(set(values)))


def test_texts_that_do_not_name_people_are_kept():
    values = (
        [f"@tag{i % 30}" for i in range(300)],
        [f"city {i % 100}" for i in range(300)],
        [f"10.0.0.{i % 30}" for i in range(300)],
        [f"{1000 + i % 30}-{i % 3}" for i in range(300)],
        [f"DE{10 + i % 30} 3456" for i in range(300)],
    )
    for texts in values:
        schema = schema_of(open_frame(pd.DataFrame({"x": texts})))
        assert [column.kind for column in schema.columns] == ["codes"]


@pytest.mark.parametrize(
    "name", ["First Name", "last_name", "Vorname", "customerLastName", "phone"]
)
def test_columns_of_files_that_are_named_after_people_are_left_out(name):
    table = pd.DataFrame({name: [f"x{i % 10}" for i in range(300)], "y": [1, 2, 3] * 100})
    summaries = summarize([open_frame(table)], [name, "y"])
    plan = plan_columns(summaries, in_file=True).plans[0]
    assert plan.becomes == "left out: its name says that it names people"
    for columns in (
        plan_columns(summaries, in_file=True, asked=[name]).columns,
        plan_columns(summaries).columns,  # of a data frame, which is chosen with more care
    ):
        assert [column.name for column in columns] == [name, "y"]
    summaries[name].texts = {"home": 150, "work": 150}
    assert len(plan_columns(summaries, in_file=True).columns) == 2


@pytest.mark.parametrize(
    ("name", "becomes"),
    [
        *((name, "left out: it looks like an identifier") for name in (
            "Bestellnr", "InvoiceNo", "order number", "Rechnungsnr.", "customer_id", "OrderNumber",
        )),
        *((name, "cut by its values") for name in ("number", "casino", "monkey", "no")),
    ],
)  # fmt: skip
def test_columns_of_files_that_are_named_like_identifiers_are_left_out(name, becomes):
    table = open_frame(pd.DataFrame({name: range(1000, 1300)}))
    assert plan_columns(summarize([table], [name]), in_file=True).plans[0].becomes == becomes


def test_batches_give_the_same_schema_as_the_whole_table():
    table = FRAMES["pyarrow"]
    batches = [open_frame(table.slice(i, 7)) for i in range(0, N, 7)]
    whole = open_frame(table)
    assert str(plan_columns(summarize(batches, whole.columns))) == str(schema_of(whole))


def test_other_rows_are_encoded_with_the_columns_of_the_fit():
    columns = encode_table(PANDAS[["country", "age", "active"]]).columns
    unseen = UnseenValues()
    other = pl.DataFrame({"active": [True], "more": [0], "country": ["XX"], "age": [3.5]})
    assert encode_frame(open_frame(other), columns, unseen, first_row=10).tolist() == [[-1, 3.5, 1]]
    assert unseen.values == {"country": {10: "XX"}}
    with pytest.raises(
        ValueError, match=r"has no columns 'country', 'active', which the model needs"
    ):
        encode_frame(open_frame(other[["age"]]), columns)
    with pytest.raises(
        ValueError, match=r"'age' must hold numbers, as in training, but holds text"
    ):
        encode_frame(open_frame(other.with_columns(age=pl.lit("x"))), columns)


def test_categories_of_numbers_are_found_whatever_type_they_have():
    ratings = pd.DataFrame({"rating": pd.Categorical([1, 2, None, 2]), "x": [1, 2, 3, 4]})
    columns = encode_table(ratings).columns
    assert columns[0].categories == ("1", "2")
    for values in ([2, 1], [2.0, 1.0], ["2", "1"]):
        frame = open_frame(pd.DataFrame({"rating": values, "x": [0, 0]}))
        assert encode_frame(frame, columns)[:, 0].tolist() == [1, 0]


BAD = {
    "lists": ({"x": [[1], [2]]}, r"Column 'x' holds lists.*leave the column out"),
    "mixed": ({"x": [1, "a"]}, r"Column 'x' holds both number and text values; convert"),
    "objects": ({"x": [object(), object()]}, r"Column 'x' holds values of the type object"),
    "infinite": ({"x": [np.inf, 1.0], "c": ["a", "b"]}, r"Column 'x' has 1 infinite value; re"),
    "all missing": ({"x": [None, None]}, r"No column is left to cluster by \('x': left out: it"),
    "no rows": ({"x": pd.Series([], dtype=str)}, r"The table has no rows"),
    "unnamed": ({0: ["a", "b"]}, r"names of columns must be text; 0 is not"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_refused_in_a_sentence(case):
    values, sentence = BAD[case]
    with pytest.raises(ValueError, match=sentence):
        encode_table(pd.DataFrame(values))


def test_all_problems_are_told_at_once():
    with pytest.raises(ValueError, match=r"'a' holds lists.*'b' holds both"):
        encode_table(pd.DataFrame({"a": [[1], [2]], "b": [1, "x"]}))


def test_identifiers_are_left_out_with_a_warning():
    table = pd.DataFrame({"name": [f"n{i}" for i in range(100_000)], "x": range(100_000)})
    with pytest.warns(UserWarning, match=r"Columns left out: 'name' \(it has more than 10,000"):
        assert encode_table(table).names.tolist() == ["x"]


def test_a_category_without_weight_is_said():
    table = pd.DataFrame({"plan": ["a", "b", "c"], "x": [1, 2, 3]})
    with pytest.warns(UserWarning, match="'plan': 'c' occurs only in rows of weight 0"):
        encode_table(table).warn_without_weight(np.array([1.0, 1.0, 0.0]))


def test_arrays_and_frames_of_numbers_are_left_alone():
    for X in (
        [[1.0]],
        np.eye(2),
        pd.DataFrame({"a": [1.5], "b": [True]}),
        pl.DataFrame({"a": [1]}),
    ):
        assert encode_table(X) is None


def test_two_columns_of_one_name_are_refused():
    table = pd.DataFrame(np.eye(4), columns=["a", "b", "c", "a"])
    with pytest.raises(ValueError, match=r"^2 columns are named 'a'; names of columns must differ"):
        ExKMC(2).fit(table)


def test_what_a_column_of_two_kinds_holds_is_said_once():
    table = pd.DataFrame({"a": [1, "x", 3.0, None] * 3, "b": range(12)})
    with pytest.raises(ValueError, match="'a' holds both number and text values"):
        ExKMC(2).fit(table)
