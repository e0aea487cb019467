"""The class `Columns`: names, positions, slices, and errors."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from colonnade.columns import Columns
from colonnade.errors import DecodeError, InterfaceWarning

if TYPE_CHECKING:
    from tests.columns.conftest import Fetch

PEOPLE = "select g as id, 'p' || g as name, g * 1.5::float8 as score from generate_series(0, 9) g"


def test_dimensions_and_names(fetch: Fetch) -> None:
    cols = fetch(PEOPLE)
    assert (len(cols), cols.num_rows, cols.num_columns, cols.shape) == (10, 10, 3, (10, 3))
    assert cols.names == cols.keys() == ("id", "name", "score")
    assert [(field.name, field.type_name, field.arrow_type) for field in cols.fields] == [
        ("id", "int4", "int32"),
        ("name", "text", "utf8"),
        ("score", "float8", "float64"),
    ]
    assert cols.nbytes >= 10 * (4 + 8 + 2 + 4)
    assert cols[:5].nbytes < cols.nbytes


def test_what_frames_have(fetch: Fetch) -> None:
    cols = fetch(PEOPLE)
    assert cols.columns == ["id", "name", "score"]
    assert cols.dtypes == {"id": "int32", "name": "utf8", "score": "float64"}
    assert cols.head()["id"].tolist() == [0, 1, 2, 3, 4]
    assert cols.head(2)["name"].tolist() == ["p0", "p1"]
    assert cols.head(-8)["id"].tolist() == [0, 1]
    assert (len(cols.head(0)), len(cols.head(99))) == (0, 10)
    assert np.shares_memory(cols.head(3)["score"], cols["score"])
    with pytest.raises(ValueError, match="needs unique column names"):
        _ = fetch("select 1 as a, 2 as a").dtypes


def test_columns_by_name_and_position(fetch: Fetch) -> None:
    cols = fetch(PEOPLE)
    assert cols["id"].tolist() == cols[0].tolist() == cols[-3].tolist() == list(range(10))
    assert cols[np.int64(1)].tolist() == cols["name"].tolist()
    assert "name" in cols
    assert "Name" not in cols
    assert 0 not in cols
    assert [name for name, _ in cols.items()] == list(dict(cols)) == list(cols.names)
    assert cols.values()[2].tolist() == cols["score"].tolist()


@pytest.mark.parametrize(
    ("rows", "want"),
    [
        (slice(None), range(10)),
        (slice(2, 5), range(2, 5)),
        (slice(-3, None), range(7, 10)),
        (slice(5, 2), range(0)),
        (slice(8, 100), range(8, 10)),
        (slice(100, 200), range(0)),
    ],
)
def test_slices(fetch: Fetch, rows: slice, want: range) -> None:
    part = fetch(PEOPLE)[rows]
    assert isinstance(part, Columns)
    assert part["id"].tolist() == list(want)
    assert part["name"].tolist() == [f"p{number}" for number in want]
    assert part.to_arrow().column("name").to_pylist() == [f"p{number}" for number in want]


def test_numbers_of_rows_of_numpy(fetch: Fetch) -> None:
    cols = fetch(PEOPLE)
    three = np.int64(3)
    assert cols.head(three)["id"].tolist() == [0, 1, 2]
    assert cols.tail(three)["id"].tolist() == [7, 8, 9]
    assert cols.slice(three, three)["id"].tolist() == [3, 4, 5]
    wrong: Any
    for call in (cols.head, cols.tail, cols.slice):
        for wrong in (1.5, True, "1"):
            with pytest.raises(TypeError, match="must be a whole number, not"):
                call(wrong)


def test_only_columns_are_joined(fetch: Fetch) -> None:
    with pytest.raises(TypeError, match="concat joins Columns, not 3"):
        Columns.concat([fetch(PEOPLE), 3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="nothing to concatenate"):
        Columns.concat([])


def test_slices_of_slices_keep_nulls(fetch: Fetch) -> None:
    query = "select nullif(g % 3, 0) as v, (g % 3 = 1) or null as b from generate_series(0, 29) g"
    whole = fetch(query)
    part = whole[5:25][3:10]
    assert part.to_pylist() == whole.to_pylist()[8:15]
    assert part["b"].tolist() == whole["b"].tolist()[8:15]
    assert part.to_pandas()["b"].tolist() == whole.to_pandas()["b"].tolist()[8:15]


def test_unknown_columns_are_named(fetch: Fetch) -> None:
    cols = fetch(PEOPLE)
    with pytest.raises(KeyError, match='no column "scores": did you mean "score"') as caught:
        cols["scores"]
    assert '"id", "name", "score"' in str(caught.value)
    with pytest.raises(KeyError, match='no column "zzz": there are'):
        cols["zzz"]
    with pytest.raises(IndexError, match="no column 3: there are 3"):
        cols[3]
    with pytest.raises(TypeError, match="name or position, not float"):
        cols[1.0]  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="cannot have a step"):
        cols[::2]


def test_repeated_names(fetch: Fetch) -> None:
    cols = fetch("select 1 as a, 2 as a, 3 as b")
    assert cols[1].tolist() == [2]
    assert cols["b"].tolist() == [3]
    with pytest.raises(KeyError, match=r'several columns are named "a": use cols\[0\], cols\[1\]'):
        cols["a"]
    for refuse in (
        cols.to_numpy,
        cols.to_structured,
        cols.to_polars,
        cols.to_pydict,
        cols.to_pylist,
    ):
        with pytest.raises(ValueError, match='several columns are named "a"'):
            refuse()
    assert list(cols.to_pandas().columns) == ["a", "a", "b"]
    assert cols.to_pandas().iloc[0].tolist() == [1, 2, 3]
    assert cols.to_arrow().column_names == ["a", "a", "b"]


def test_no_columns(fetch: Fetch) -> None:
    cols = fetch("select from generate_series(1, 3)")
    assert cols.shape == (3, 0)
    assert cols.to_pylist() == [{}, {}, {}]
    assert cols.to_pandas().shape == (3, 0)
    assert cols.to_structured().shape == (3,)
    assert repr(cols) == "Columns: 3 rows x 0 columns"
    assert "3 rows x 0 columns" in cols._repr_html_()


def test_iteration_would_be_ambiguous(fetch: Fetch) -> None:
    cols = fetch(PEOPLE)
    with pytest.raises(TypeError):
        iter(cols)
    # Otherwise pandas would make a frame of the names.
    with pytest.raises((TypeError, ValueError)):
        pd.DataFrame(cols)


def test_identity_and_pickle(fetch: Fetch) -> None:
    cols = fetch("select 1 as a")
    assert cols != fetch("select 1 as a")
    assert cols == cols  # noqa: PLR0124
    assert len({cols, cols}) == 1
    with pytest.raises(TypeError, match=r"cannot be pickled: send cols\.to_arrow"):
        pickle.dumps(cols)
    with pytest.raises(TypeError):
        copy.copy(cols)
    with pytest.raises(TypeError, match="not from list"):
        Columns([])  # type: ignore[arg-type]


def test_requested_layouts_of_text_are_followed(fetch: Fetch) -> None:
    cols = fetch("select 'x' as a, 1 as b, 'y' as c, null::text as d")
    wanted = pa.schema(
        [("a", pa.large_string()), ("b", pa.int32()), ("c", pa.string_view()), ("d", pa.string())]
    )
    table = pa.table(cols, schema=wanted)
    assert table.schema == wanted
    table.validate(full=True)
    assert table.to_pylist() == [{"a": "x", "b": 1, "c": "y", "d": None}]
    # Other types ignore the layout, and a schema of other columns is ignored entirely.
    for other in (
        pa.schema([("a", pa.string()), ("b", pa.int64()), ("c", pa.string()), ("d", pa.string())]),
        pa.schema([("a", pa.large_string())]),
    ):
        stream = cols.__arrow_c_stream__(other.__arrow_c_schema__())
        reader = pa.RecordBatchReader._import_from_c_capsule(stream)
        assert reader.schema == pa.schema(cols)


def test_streams_are_made_anew(fetch: Fetch) -> None:
    cols = fetch(PEOPLE)
    assert pa.table(cols).equals(pa.table(cols))


@pytest.mark.parametrize("strings", ["utf8", "", None])
def test_layouts_are_checked(fetch: Fetch, strings: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="strings"):
        fetch(PEOPLE).to_arrow(strings)


def test_dtypes_are_checked(fetch: Fetch) -> None:
    with pytest.raises(ValueError, match='"numpy", "nullable" or "arrow", not \'pyarrow\''):
        fetch(PEOPLE).to_pandas("pyarrow")  # type: ignore[arg-type]


def test_pandas_dtypes(fetch: Fetch) -> None:
    cols = fetch(
        "select 1::int4 as i, null::int8 as n, true as b, null::bool as m, 1::float8 as f,"
        " 'x' as t, now() as z, localtimestamp as s, current_date as d, localtime as h,"
        " 1.5 as q, '1'::json as j"
    )
    shown = {name: str(dtype) for name, dtype in cols.to_pandas().dtypes.items()}
    assert shown == {
        "i": "int32", "n": "Int64", "b": "bool", "m": "boolean", "f": "float64", "t": "str",
        "z": "datetime64[us, UTC]", "s": "datetime64[us]", "d": "datetime64[s]",
        "h": "timedelta64[us]", "q": "float64", "j": "str",
    }  # fmt: skip
    nullable = {name: str(dtype) for name, dtype in cols.to_pandas("nullable").dtypes.items()}
    assert nullable == shown | {
        "i": "Int32", "b": "boolean", "f": "Float64", "q": "Float64", "t": "string", "j": "string"
    }  # fmt: skip
    arrow = {name: str(dtype) for name, dtype in cols.to_pandas("arrow").dtypes.items()}
    assert all("[pyarrow]" in dtype for dtype in arrow.values())


def test_nullable_floats_tell_nan_from_null(fetch: Fetch) -> None:
    cols = fetch("select v from (values ('nan'::float8), (null), (1)) t (v)")
    assert np.isnan(cols["v"][:2]).all()
    assert cols.null_mask("v").tolist() == [False, True, False]
    array = cols.to_pandas("nullable")["v"].array
    assert array._mask.tolist() == [False, True, False]
    assert cols.to_polars()["v"].is_null().to_list() == [False, True, False]
    assert cols.to_polars()["v"].is_nan().to_list() == [True, None, False]


def test_masks_of_small_integers_fill_with_no_wrapped_number(fetch: Fetch) -> None:
    array = fetch("select v::int2 from (values (1), (null)) t (v)")["v"]
    assert isinstance(array, np.ma.MaskedArray)
    assert array.filled().tolist() == [1, -32768]


def test_wide_decimals_for_polars(fetch: Fetch) -> None:
    fits = "select v::numeric(50, 2) from (values (1.25), (null), (-99999999.5)) t (v)"
    frame = fetch(fits).to_polars()
    assert str(frame.dtypes[0]).startswith("Decimal")
    assert [str(value) for value in frame["v"]] == ["1.25", "None", "-99999999.50"]
    past = fetch("select v::numeric as wide, 1 as a from (values ('1e60'), ('0.5'), (null)) t (v)")
    with pytest.warns(InterfaceWarning, match='converted to text for Polars: "wide"') as caught:
        frame = past.to_polars()
    assert caught[0].filename == __file__
    assert frame["wide"].to_list() == ["1" + "0" * 60 + ".0", "0.5", None]
    assert frame["a"].to_list() == [1, 1, 1]


OUT_OF_PYTHON = [
    ("date", "'0044-03-15 BC'", "year 44 BC"),
    ("timestamp", "'290000-12-31 23:59:59.999999'", "year 290000"),
    ("timestamptz", "'4713-01-02 00:00:00+00 BC'", "year 4713 BC"),
]


@pytest.mark.parametrize(("type_name", "literal", "reason"), OUT_OF_PYTHON)
def test_years_that_python_has_not(fetch: Fetch, type_name: str, literal: str, reason: str) -> None:
    cols = fetch(
        f"select case g when 700 then {literal} else '2024-01-01' end::{type_name} as v, g"
        " from generate_series(0, 999) g"
    )
    with pytest.raises(DecodeError, match=reason) as caught:
        cols.to_pydict()
    assert (caught.value.column, caught.value.type_name, caught.value.row) == ("v", type_name, 700)
    with pytest.raises(DecodeError, match="row 100"):
        cols[600:].to_pylist()
    # NumPy, pandas and printing support these years.
    year = cols["v"][700].astype("M8[Y]").astype(int) + 1970
    assert str(year if year > 0 else f"{1 - year} BC") in reason
    assert len(cols.to_pandas()) == 1000
    assert literal.strip("'") in repr(cols[700:701])


@pytest.mark.parametrize("arrow_type", ["utf8", "large_utf8", "utf8_view"])
def test_numpy_strings_of_every_length_and_layout(fetch: Fetch, arrow_type: str) -> None:
    # Around 15 and 255 bytes NumPy changes its storage of a string.
    query = (
        "select case when g % 7 <> 3 then repeat(case g % 2 when 0 then 'ab' else 'é' end, g) end"
        " as v from generate_series(0, 600) g"
    )
    cols = fetch(query, schema={"v": arrow_type})
    want = [None if g % 7 == 3 else ("é" if g % 2 else "ab") * g for g in range(601)]
    assert cols.fields[0].arrow_type == arrow_type
    assert cols["v"].tolist() == want
    assert cols[250:300]["v"].tolist() == want[250:300]
