# async-only: file
"""The types of `colonnade.rkt`: the dtype, the value and the value for NULL of each."""

from __future__ import annotations

import datetime as dt
import ipaddress
import struct
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import colonnade
from colonnade.rkt import set_query_dtype

UUID = uuid.UUID("00112233-4455-6677-8899-aabbccddee00")
FFS = b"\xff"
NANS = struct.pack("<d", float("nan"))


# NumPy's types, untyped: its stubs accept only literal units.
M8: Any = np.datetime64
m8: Any = np.timedelta64


NAT = np.datetime64("NaT", "us").view("i8").tobytes()
NUMBERS: list[tuple[str, str, Any]] = [
    ("true::bool", "?", True),
    ("(-1024)::int2", "i2", -1024),
    ("(-1024)::int2", "u2", 64512),
    ("(-5)::int4", "i4", -5),
    ("(-5)::int4", "u4", 2**32 - 5),
    ("(-5)::int8", "i8", -5),
    ("(-5)::int8", "u8", 2**64 - 5),
    ("4294967295::oid", "u4", 2**32 - 1),
    ("4294967295::oid", "i4", -1),
    ("'7'::xid", "u4", 7),
    ("'7'::xid", "i4", 7),
    ("'7'::cid", "u4", 7),
    ("'7'::xid8", "u8", 7),
    ("'7'::xid8", "i8", 7),
    ("'16/B374D848'::pg_lsn", "u8", 0x16B374D848),
    ("'FFFFFFFF/FFFFFFFF'::pg_lsn", "i8", -1),
    ("1.5::float4", "f4", 1.5),
    ("'-inf'::float8", "f8", float("-inf")),
]
MOMENTS: list[tuple[str, str, Any]] = [
    *(
        (f"'{text}'::{name}", f"M8[{unit}]", M8(text, "us").astype(f"M8[{unit}]"))
        for text in ("2022-05-22 14:28:13.700001", "1969-12-31 23:59:59.5", "1823-01-01 00:00:00")
        for name in ("timestamp", "timestamptz")
        for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")
    ),
    *(
        (f"'{text}'::date", f"M8[{unit}]", M8(text, "D").astype(f"M8[{unit}]"))
        for text in ("2022-05-22", "1823-01-01")
        for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")
    ),
    ("'0044-03-15 BC'::date", "M8[D]", M8("-043-03-15", "D")),
    ("'0044-03-15 BC'::timestamp", "M8[s]", M8("-043-03-15", "s")),
    ("'2022-05-22 12:00+02'::timestamptz", "M8[h]", M8("2022-05-22T10", "h")),
    *(
        ("'14:28:13.7'::time", f"m8[{unit}]", m8(52_093_700_000, "us").astype(f"m8[{unit}]"))
        for unit in ("W", "D", "h", "m", "s", "ms", "us", "ns")
    ),
    ("'24:00'::time", "m8[h]", m8(24, "h")),
    ("'12:00+02'::timetz", "m8[s]", m8(36_000, "s")),
    ("'01:00+02'::timetz", "m8[m]", m8(-60, "m")),
    ("'1 year 2 mons 3 days 04:05:06.7'::interval", "m8[us]", m8(36_561_906_700_000, "us")),
    ("'-1.5 s'::interval", "m8[s]", m8(-1, "s")),
    ("'-1.5 s'::interval", "m8[D]", m8(0, "D")),
    ("'-2 days'::interval", "m8[D]", m8(-2, "D")),
    ("'-1.5 s'::interval", "m8[ns]", m8(-1_500_000_000, "ns")),
]
TEXTS: list[tuple[str, str, Any]] = [
    *(
        (f"$${text}$$::{name}", dtype, text if dtype[0] == "U" else text.encode())
        for name, text in (
            ("text", "añ日"),
            ("varchar", "añ日"),
            ("name", "añ日"),
            ("refcursor", "añ日"),
            ("rkt_mood", "żle"),
            ("regclass", "pg_class"),
            ("regproc", "now"),
            ("regtype", "integer"),
            ("regrole", "pg_monitor"),
            ("regnamespace", "pg_catalog"),
            ("tsvector", "'a' 'b'"),
            ("tsquery", "'a' & 'b'"),
            ("citext", "CaSe"),
        )
        for dtype in ("U12", "S12")
    ),
    ("'ab'::char(4)", "U4", "ab  "),
    ("'ab'", "S2", b"ab"),
    ("12.5::money", "U8", "$12.50"),
    ("'=r/postgres'::aclitem", "U40", None),
    (r"'\x610000'::bytea", "S3", b"a"),
    (r"'\x0061'::bytea", "S4", b"\0a"),
    ("'a'::\"char\"", "S1", b"a"),
    (f"'{UUID}'::uuid", "S16", UUID.bytes.rstrip(b"\0")),
    (f"'{UUID}'::uuid", "S20", UUID.bytes.rstrip(b"\0")),
    ("B'10101'", "S2", b"\xa8"),
    ("B'1010111110'::varbit", "S5", b"\xaf\x80"),
    ("B''::varbit", "S1", b""),
]
VOIDS: list[tuple[str, Any, bytes]] = [
    ("'(7,3)'::tid", "V6", struct.pack("=IH", 7, 3)),
    ("'(7,3)'::tid", [("block", "u4"), ("at", "u2")], struct.pack("=IH", 7, 3)),
    ("point(1, 2)", "V16", struct.pack("2d", 1, 2)),
    ("point(1, 2)", [("x", "f8"), ("y", "f8")], struct.pack("2d", 1, 2)),
    ("'{1,2,3}'::line", "V24", struct.pack("3d", 1, 2, 3)),
    ("'<(1,2),3>'::circle", "V24", struct.pack("3d", 1, 2, 3)),
    ("'[(1,2),(3,4)]'::lseg", "V32", struct.pack("4d", 1, 2, 3, 4)),
    ("'(3,4),(1,2)'::box", "V32", struct.pack("4d", 3, 4, 1, 2)),
]
OBJECTS: list[tuple[str, Any]] = [
    ("1.50::numeric", Decimal("1.50")),
    ("'NaN'::numeric", Decimal("NaN")),
    ("1e400::numeric", Decimal(10) ** 400),
    ("'{\"a\": 1}'::json", '{"a": 1}'),
    ("'{\"a\": 1}'::jsonb", '{"a": 1}'),
    ("'$.a'::jsonpath", '$."a"'),
    ("'10.0.0.1'::inet", ipaddress.ip_address("10.0.0.1")),
    ("'10.0.0.0/8'::cidr", ipaddress.ip_network("10.0.0.0/8")),
    ("'08:00:2b:01:02:03'::macaddr", "08:00:2b:01:02:03"),
    ("'{1,2}'::int4[]", [1, 2]),
    ("'{{a},{NULL}}'::text[]", [["a"], [None]]),
    ("'[1,5)'::int4range", colonnade.Range(1, 5)),
    ("'((1,2),(3,4))'::path", None),
    ("'a=>1'::hstore", {"a": "1"}),
    ("(1, 'x')::rkt_pair", (1, "x")),
    ("1::int4", 1),
    ("true", True),
    ("1.5::float8", 1.5),
    ("'text'", "text"),
    (r"'\x00ff'::bytea", b"\0\xff"),
    ("'a'::\"char\"", b"a"),
    (f"'{UUID}'::uuid", UUID),
    ("'2022-05-22'::date", dt.date(2022, 5, 22)),
    ("'2022-05-22 14:28'::timestamptz", None),
    ("'1 mon'::interval", dt.timedelta(days=30)),
    ("'12:00+02'::timetz", None),
    ("'(7,3)'::tid", (7, 3)),
    ("point(1, 2)", colonnade.Point(1, 2)),
    ("B'101'", colonnade.BitString("101")),
    ("'żle'::rkt_mood", "żle"),
]
TYPES = """
    SET timezone = 'UTC';
    CREATE EXTENSION IF NOT EXISTS hstore;
    CREATE EXTENSION IF NOT EXISTS citext;
    CREATE TYPE pg_temp.rkt_mood AS ENUM ('żle', 'dobrze');
    CREATE TYPE pg_temp.rkt_pair AS (i int, t text);
    SET search_path = pg_temp, public
"""


async def fetched(
    connection: colonnade.Connection, value: str, dtype: Any, *, is_columnar: bool = False
) -> tuple[Any, list[int]]:
    """Fetch the value between two NULLs."""
    field = np.dtype([("v", dtype)], metadata={"blocks": is_columnar})
    query = f"SELECT CASE g WHEN 1 THEN {value} END AS v FROM generate_series(0, 2) g ORDER BY g"
    found, nulls = await connection.fetch(set_query_dtype(query, field))
    assert nulls == [0, 2]
    return found["v"], nulls


def bytes_of(values: Any) -> list[bytes]:
    """The bytes of each element."""
    data = np.ascontiguousarray(values).tobytes()
    size = values.dtype.itemsize
    return [data[start : start + size] for start in range(0, len(data), size)]


def surrogate(dtype: np.dtype[Any]) -> bytes:
    """The bytes of the value for NULL."""
    size = dtype.itemsize
    if dtype.kind == "b":
        return b"\x80"
    if dtype.kind in "iumM":
        return bytes(size - 1) + b"\x80"
    if dtype.kind == "f":
        return np.array(np.nan, dtype).tobytes()
    if dtype.kind == "V":
        return NANS * (size // 8) if size % 8 == 0 else b"\x80" * size
    return FFS * size if dtype.kind == "S" else bytes(size)


@pytest.mark.parametrize("samples", [NUMBERS, MOMENTS, TEXTS], ids=["numbers", "moments", "texts"])
async def test_values_and_nulls(
    connection: colonnade.Connection, samples: list[tuple[str, str, Any]]
) -> None:
    await connection.execute(TYPES)
    for value, dtype, want in samples:
        for is_columnar in (False, True):
            values, _ = await fetched(connection, value, dtype, is_columnar=is_columnar)
            sample = (value, dtype, is_columnar)
            assert values.dtype == np.dtype(dtype), sample
            assert want is None or values[1] == want, sample
            null, _, last = bytes_of(values)
            assert null == last == surrogate(values.dtype), sample


async def test_voids(connection: colonnade.Connection) -> None:
    for value, dtype, want in VOIDS:
        for is_columnar in (False, True):
            values, _ = await fetched(connection, value, dtype, is_columnar=is_columnar)
            null = surrogate(values.dtype)
            assert bytes_of(values) == [null, want, null], (value, dtype, is_columnar)


async def test_objects_are_those_of_records(connection: colonnade.Connection) -> None:
    await connection.execute(TYPES)
    for value, want in OBJECTS:
        for is_columnar in (False, True):
            values, _ = await fetched(connection, value, "O", is_columnar=is_columnar)
            null, found, last = values
            sample = (value, found)
            assert (null, last) == (None, None), sample
            of_record = await connection.fetchval(f"SELECT {value}")
            if not value.endswith("::hstore"):  # hstore is text in rows by default
                assert type(found) is type(of_record), sample
                assert repr(found) == repr(of_record), sample
            is_same = found == want or found != found  # noqa: PLR0124
            assert want is None or is_same, sample


async def test_moments_without_a_unit_are_microseconds(connection: colonnade.Connection) -> None:
    for value, dtype in (
        ("'1970-01-02'::date", "M8"),
        ("'1970-01-02'::timestamp", "M8"),
        ("'1 day'::interval", "m8"),
    ):
        values, _ = await fetched(connection, value, dtype)
        assert values.view("i8")[1] == 86_400_000_000


async def test_a_domain_is_its_base_type(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE DOMAIN pg_temp.rkt_positive AS int4 CHECK (value > 0)")
    values, _ = await fetched(connection, "5::pg_temp.rkt_positive", "i4")
    assert values[1] == 5
