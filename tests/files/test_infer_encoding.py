"""A table that comes some rows at a time is read as the same table in memory is."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemeans.files import encode_table as encode_table_module
from treemeans.files import value_summary
from treemeans.files.encode_table import encode_table, infer_encoding
from treemeans.files.file_errors import InputError

UTC = datetime.UTC
WRITTEN = "red|blue||1|2.5|-3|00501|NA|true|2024-12-31|2020-01-01T05:00|31/12/2024|1,000|$5|é🙂|<b>"
N = 12
VALUES = [
    (pa.float64(), st.floats() | st.none()),
    (pa.float64(), st.sampled_from([0.5, 1, 2])),
    (pa.int64(), st.integers(-3, 30) | st.none()),
    (pa.int8(), st.integers(0, 1)),
    (pa.bool_(), st.booleans() | st.none()),
    (pa.date32(), st.integers(0, 99) | st.none()),
    (pa.timestamp("s", "UTC"), st.integers(0, 99_999)),
    (pa.string(), st.sampled_from(WRITTEN.split("|")) | st.none()),
    (pa.string(), st.sampled_from(["2024-12-31", "2020-01-01"])),
    (pa.string(), st.sampled_from(["1", "2.5", "NA", ""])),
    (pa.null(), st.none()),
    (pa.list_(pa.int64()), st.just([1])),
]
COLUMNS = st.one_of(
    *(st.tuples(st.just(t), st.lists(v, min_size=N, max_size=N)) for t, v in VALUES),
    st.tuples(st.just(pa.int32()), st.permutations(range(N))),
    st.tuples(st.just(pa.string()), st.permutations([f"key {i}" for i in range(N)])),
)
NAMES = st.lists(
    st.sampled_from(["age", "user_id", "color", "color=red", "Key", "orderId"]),
    min_size=1,
    max_size=4,
    unique=True,
)


def outcome(call):
    try:
        return call()
    except InputError as error:
        return str(error)


def batches_of(table, rows):
    return lambda names: iter(table.select(names).to_batches(max_chunksize=rows))


def planned(table, rows, **more):
    return infer_encoding(batches_of(table, rows), table.schema, table.num_rows, **more)


@given(NAMES, st.data(), st.integers(1, 13), st.sampled_from(["refuse", "drop"]), st.booleans())
def test_the_same_as_in_memory(names, data, rows, missing, asked):
    drawn = [data.draw(COLUMNS) for _ in names]
    table = pa.table({n: pa.array(v, t) for n, (t, v) in zip(names, drawn, strict=True)})
    columns = names[::-1] if asked else None
    whole = outcome(lambda: encode_table(table, columns=columns, missing=missing))
    found = outcome(lambda: planned(table, rows, columns=columns, missing=missing))
    if isinstance(whole, str) or isinstance(found, str):
        assert found == whole
        return
    assert found.columns == whole.columns
    assert found.notes == whole.notes
    assert (found.n_rows, found.n_dropped) == (len(whole.X), whole.n_dropped)
    X = np.concatenate([found.encode(each) for each in batches_of(table, rows)(found.inputs)])
    np.testing.assert_array_equal(X, whole.X)
    if found.is_plain:
        kept = [table.column(column.name).to_numpy() for column in found.columns]
        np.testing.assert_array_equal(np.column_stack(kept).astype(float), X)


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_identifiers(rows, monkeypatch):
    monkeypatch.setattr(value_summary, "MAX_KEPT_NUMBERS", 50)
    rng = np.random.default_rng(0)
    shuffled, often = rng.permutation(200) + 1000, rng.integers(0, 10**6, 200)
    often[1] = often[0]
    table = pa.table(
        {
            "rising_id": np.arange(200),
            "falling_id": -np.arange(200),
            "shuffled_id": shuffled,
            "repeated_id": often,
            "narrow_id": np.arange(200) % 130,
            "x": rng.normal(size=200),
        }
    )
    found = planned(table, rows)
    assert [column.name for column in found.columns] == ["repeated_id", "narrow_id", "x"]
    assert sum("looks like an identifier" in note for note in found.notes) == 3


def test_texts_without_end(monkeypatch):
    monkeypatch.setattr(encode_table_module, "MAX_DISTINCT", 60)
    x = np.arange(500) * 1.5
    names = pa.array([f"name {i}" for i in range(500)])
    for column, says in [
        (names, "a different text in nearly every row"),
        (pa.array([f"town {i // 3}" for i in range(500)]), "categories, more than 50"),
        (pa.array([f"{i},5 €" for i in range(500)]), "numbers written like '0,5 €'"),
        (
            pa.array([str(i) if i != 30 else "?" for i in range(500)]),
            "'?' in data row 31 is not one",
        ),
        (
            pa.array([str(i) if i != 333 else "?" for i in range(500)]),
            "'?' in data row 334 is not one",
        ),
    ]:
        assert says in outcome(lambda column=column: planned(pa.table({"t": column, "x": x}), 20))
    found = planned(pa.table({"order_id": names, "x": x}), 20)
    assert [column.name for column in found.columns] == ["x"]
    days = [str(datetime.date(2020, 1, 1) + datetime.timedelta(i)) for i in range(500)]
    numbers = [f"{i}.5" for i in range(500)]
    table = pa.table({"day": days, "number": numbers})
    found = planned(table, 20)
    assert [column.kind for column in found.columns] == ["date", "number"]
    assert found.columns == encode_table(table).columns
    assert not found.is_plain


def test_there_is_no_median_without_the_whole_column():
    with pytest.raises(InputError, match="--missing median needs the whole table in memory"):
        planned(pa.table({"x": [1.5, None, 2.5]}), 1, missing="median")
