"""Structured arrays: every value checked, nothing cut off, no NULL lost."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pytest

from colonnade.errors import DecodeError, SchemaError

if TYPE_CHECKING:
    from tests.columns.conftest import Fetch


def values(sql_type: str, *literals: str | None) -> str:
    rows = ", ".join(
        f"({row}, null)" if literal is None else f"({row}, '{literal}')"
        for row, literal in enumerate(literals)
    )
    return f"select v::{sql_type} as v from (values {rows}) t (i, v) order by i"


def test_natural_types(fetch: Fetch) -> None:
    cols = fetch(
        "select 1::int2 as i, 1.5::float4 as f, true as b, '2024-02-29'::date as d,"
        " '12:00'::time as h, '2024-02-29 12:00'::timestamp as s, 'text' as t, 1.50 as n,"
        " '\\x00'::bytea as y, '00000000-0000-0000-0000-000000000001'::uuid as u, 7::oid as o"
    )
    array = cols.to_structured()
    assert array.dtype == np.dtype(
        [
            ("i", "i2"), ("f", "f4"), ("b", "?"), ("d", "M8[D]"), ("h", "m8[us]"), ("s", "M8[us]"),
            ("t", "O"), ("n", "O"), ("y", "O"), ("u", "O"), ("o", "u4"),
        ]
    )  # fmt: skip
    row = array[0].tolist()
    assert row[:4] == (1, 1.5, True, date(2024, 2, 29))
    assert row[6:] == ("text", Decimal("1.50"), b"\0", UUID(int=1), 7)


def test_fields_choose_and_order_columns(fetch: Fetch) -> None:
    cols = fetch("select g as a, g::text as b, -g as c from generate_series(1, 3) g")
    dtype = np.dtype([("c", ">i8"), ("a", "f4")], align=True)
    array = cols.to_structured(dtype)
    assert array.dtype == dtype
    assert array.tolist() == [(-1, 1.0), (-2, 2.0), (-3, 3.0)]
    assert cols[:0].to_structured([("b", "U1")]).tolist() == []


@pytest.mark.parametrize(
    ("sql_type", "dtype", "literals", "want"),
    [
        ("bool", "?", ("true", "false"), [True, False]),
        ("bool", "i1", ("true", "false"), [1, 0]),
        ("int8", "i1", ("-128", "127"), [-128, 127]),
        ("int8", "u8", ("0", "9223372036854775807"), [0, 2**63 - 1]),
        ("int4", ">i2", ("-32768", "1"), [-32768, 1]),
        ("int8", "f8", ("9007199254740992", "-9223372036854775808"), [2.0**53, -(2.0**63)]),
        ("int4", "f4", ("16777216", "33554432"), [2.0**24, 2.0**25]),
        ("int2", "O", ("1", None), [1, None]),
        ("int4", "f8", ("1", None), [1.0, "NaN"]),
        ("float8", "f4", ("0.1", "inf"), [np.float32(0.1), float("inf")]),
        ("float8", "O", ("0.1", None), [0.1, None]),
        ("numeric", "f8", ("1.5", None), [1.5, "NaN"]),
        ("numeric", "i8", ("12.00", "-3"), [12, -3]),
        ("text", "U3", ("日本語", ""), ["日本語", ""]),
        ("text", "<U1", ("🐘", "a"), ["🐘", "a"]),
        ("text", "S3", ("abc", ""), [b"abc", b""]),
        ("text", "S2", ("é", "a"), ["é".encode(), b"a"]),
        ("jsonb", "U4", ("null", "1"), ["null", "1"]),
        ("bytea", "S3", ("\\x0061", "\\x"), [b"\0a", b""]),
        ("bytea", "V2", ("\\x0061", "\\x6100"), [np.void(b"\0a"), np.void(b"a\0")]),
        ("uuid", "U36", (str(UUID(int=5)),), [str(UUID(int=5))]),
        ("uuid", "S36", (str(UUID(int=5)),), [str(UUID(int=5)).encode()]),
        ("uuid", "V16", (str(UUID(int=5)),), [np.void(UUID(int=5).bytes)]),
        ("date", "M8[s]", ("2024-02-29", None), [np.datetime64("2024-02-29T00:00:00"), "NaT"]),
        ("timestamp", "M8[s]", ("2024-02-29 01:00",), [np.datetime64("2024-02-29T01:00:00")]),
        ("timestamptz", "M8[ns]", ("2024-02-29 01:00+01",), [np.datetime64("2024-02-29", "ns")]),
        ("time", "m8[m]", ("01:30", None), [np.timedelta64(90, "m"), "NaT"]),
    ],
)
def test_values_that_fit(
    fetch: Fetch, sql_type: str, dtype: str, literals: tuple[str | None, ...], want: list[Any]
) -> None:
    field = fetch(values(sql_type, *literals)).to_structured([("v", dtype)])["v"]
    assert field.dtype == np.dtype(dtype)
    for given, wanted in zip(field, want, strict=True):
        if isinstance(wanted, str) and wanted in {"NaN", "NaT"}:
            assert given != given  # noqa: PLR0124
        else:
            assert given == wanted


@pytest.mark.parametrize(
    ("sql_type", "dtype", "literals", "row", "reason"),
    [
        ("int4", "i1", ("1", "-129"), 1, "-129 does not fit into int8"),
        ("int4", "u8", ("1", None, "-1"), 2, "-1 does not fit into uint64"),
        ("oid", "i4", ("4294967295",), 0, "4294967295 does not fit"),
        ("int8", "f8", ("1", "9007199254740993"), 1, "9007199254740993 does not fit"),
        ("int8", "f8", ("9223372036854775807",), 0, "does not fit into float64"),
        ("int8", "f2", ("1", "70000"), 1, "does not fit into float16"),
        ("float8", "f4", ("inf", "1e300"), 1, "does not fit into float32"),
        ("numeric", "f4", ("1", "1e40"), 1, "does not fit into float32"),
        ("numeric", "i4", ("1", "1.5"), 1, "1.5 does not fit"),
        ("numeric", "i1", ("1", None, "128"), 2, "128.* does not fit"),
        ("text", "U3", ("abc", None, "abcd"), 2, "4 characters do not fit into <U3"),
        ("text", "U", ("", "a"), 1, "1 characters do not fit"),
        ("text", "S2", ("ab", "日"), 1, "3 bytes in UTF-8 do not fit into .S2"),
        ("bytea", "S2", ("\\x61", "\\x6100"), 1, "drops zero bytes"),
        ("bytea", "S1", ("\\x6161",), 0, "2 bytes do not fit"),
        ("bytea", "V2", ("\\x6161", "\\x61"), 1, "needs exactly 2 bytes, not 1"),
        ("uuid", "U35", (str(UUID(int=5)),), 0, "36 characters do not fit"),
        ("timestamp", "M8[s]", ("2024-01-01", "2024-01-01 00:00:00.5"), 1, "does not fit"),
        ("timestamp", "M8[ns]", ("2024-01-01", "9999-01-01"), 1, "datetime64.ns"),
        ("date", "M8[ns]", ("2024-01-01", None, "0001-01-01"), 2, "datetime64.ns"),
        ("date", "M8[M]", ("2024-01-01", "2024-01-02"), 1, "does not fit"),
        ("time", "m8[s]", ("00:00", "00:00:00.1"), 1, "does not fit"),
    ],
)
def test_values_that_do_not(
    fetch: Fetch,
    sql_type: str,
    dtype: str,
    literals: tuple[str | None, ...],
    *,
    row: int,
    reason: str,
) -> None:
    cols = fetch(values(sql_type, *literals))
    null: dict[str, Any] = {}
    null = {"v": 0} if None in literals and np.dtype(dtype).kind in "iu" else null
    null = {"v": ""} if None in literals and dtype.startswith("U") else null
    with pytest.raises(DecodeError, match=reason) as caught:
        cols.to_structured([("v", dtype)], null=null)
    assert (caught.value.column, caught.value.type_name, caught.value.row) == ("v", sql_type, row)


@pytest.mark.parametrize(
    ("sql_type", "dtype", "literal"),
    [
        ("int4", "i4", "1"),
        ("bool", "?", "true"),
        ("text", "U3", "abc"),
        ("text", "S3", "abc"),
        ("bytea", "V1", "\\x61"),
        ("uuid", "V16", str(UUID(int=1))),
        ("numeric", "i4", "1"),
    ],
)
def test_null_needs_a_form(fetch: Fetch, sql_type: str, dtype: str, literal: str) -> None:
    cols = fetch(values(sql_type, literal, literal, None, None))
    with pytest.raises(DecodeError, match="cannot hold NULL") as caught:
        cols.to_structured([("v", dtype)])
    assert caught.value.row == 2


def test_null_takes_a_value(fetch: Fetch) -> None:
    cols = fetch("select case g when 1 then 1 end as i, case g when 1 then 'x' end as t,"
                 " case g when 1 then now() end as z from generate_series(1, 2) g")  # fmt: skip
    dtype = [("i", "i8"), ("t", "U4"), ("z", "M8[us]")]
    epoch = np.datetime64("1970-01-01", "us")
    array = cols.to_structured(dtype, null={"i": -1, "t": "none", "z": epoch})
    assert array[1].tolist() == (-1, "none", epoch.item())
    assert array[0].tolist()[:2] == (1, "x")
    assert np.isnat(cols.to_structured(dtype, null={"i": -1, "t": ""})["z"]).tolist() == [
        False,
        True,
    ]
    objects = cols.to_structured([("i", "O"), ("t", "O")], null={"t": "missing"})
    assert objects[1].tolist() == (None, "missing")


@pytest.mark.parametrize(
    ("dtype", "null", "reason"),
    [
        ("f8", None, "needs a structured dtype"),
        ([("w", "i4")], None, 'dtype has "w"'),
        ([("i", "i4")], {"w": 1}, 'null has "w"'),
        ([("i", "i4")], {"t": ""}, 'null has "t"'),
        ([("i", "i1")], {"i": 300}, "does not fit into int8"),
        ([("i", "i4")], {"i": None}, "does not fit into int32"),
        ([("i", "i4")], {"i": 1.5}, "does not fit into int32"),
        ([("t", "U2")], {"t": "none"}, "does not fit into <U2"),
        ([("i", "U2")], None, r"column .i. \(int4\) cannot become <U2"),
        ([("i", "M8[s]")], None, "Possible: signed integers, unsigned integers, floats, object"),
        ([("f", "i8")], None, r"column .f. \(float8\) cannot become int64"),
        ([("i", "i4", (2,))], None, "cannot become"),
        ([("t", [("x", "i4")])], None, "cannot become"),
        ([("z", "M8")], None, "needs a unit"),
        ([("u", "V15")], None, "needs a field of 16 bytes"),
    ],
)
def test_impossible_requests(fetch: Fetch, dtype: Any, null: Any, reason: str) -> None:
    cols = fetch("select 1 as i, 'x' as t, 1.5::float8 as f, now() as z, gen_random_uuid() as u")
    with pytest.raises(SchemaError, match=reason):
        cols.to_structured(dtype, null=null)


def test_years_past_python_are_no_obstacle(fetch: Fetch) -> None:
    cols = fetch(values("date", "0044-03-15 BC"))
    assert str(cols.to_structured()["v"][0]) == "-043-03-15"
