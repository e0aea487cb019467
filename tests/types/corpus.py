"""Values at the edges of every type, as the server reads them."""

from __future__ import annotations

import functools
from dataclasses import dataclass

# One character of every plane that may have one, the private ones and the last one included, and
# the ends of each length in UTF-8.
PLANES = (
    "".join(chr(plane << 16 | 0x1234) for plane in range(17)) + "\x01\x7f\x80\u07ff\u0800\uffff"
)
TEXTS = (
    "",
    "a",
    " ",
    "  both ends  ",
    "NULL",
    "tab\tnew\nline\rreturn",
    "back\\slash 'single' \"double\"",
    "\u00e9",
    "e\u0301",
    "\u202eright to left",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\ufeffmark",
    "\U0010ffff",
    PLANES,
    "exactly 12 b",
    "thirteen byte",
    "\u00e4" * 5000,
)


@dataclass(frozen=True)
class Sample:
    """A type, the Arrow type of its columns, and texts of its values."""

    sql_type: str
    arrow: str
    #: Rows and columns have them.
    values: tuple[str, ...]
    #: Columns have them, Python's own types do not.
    rows_refuse: tuple[str, ...] = ()
    #: Rows have them, the Arrow type does not.
    columns_refuse: tuple[str, ...] = ()
    #: PostgreSQL has them, neither rows nor columns do.
    both_refuse: tuple[str, ...] = ()

    @property
    def in_columns(self) -> tuple[str, ...]:
        return self.values + self.rows_refuse

    @property
    def in_rows(self) -> tuple[str, ...]:
        return self.values + self.columns_refuse


def integer(sql_type: str, arrow: str, least: int, most: int) -> Sample:
    middle = (0, 1, -1, 42) if least else (0, 1, 42)
    numbers = (least, least + 1, *middle, most - 1, most)
    return Sample(sql_type, arrow, tuple(map(str, numbers)))


FLOATS = ("0", "-0", "1", "-1.5", "0.1", "NaN", "Infinity", "-Infinity")
MOMENTS = (
    "1970-01-01 00:00:00",
    "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00.000001",
    "2000-01-01 00:00:00",
    "1999-12-31 23:59:59.999999",
    "2000-02-29 12:34:56.789012",
    "1900-02-28 23:59:59.999999",
    "0001-01-01 00:00:00.000001",
    "9999-12-31 23:59:59.999998",
)
MOMENTS_BEYOND_PYTHON = (
    "4714-11-24 00:00:00 BC",
    "4713-01-01 00:00:00 BC",
    "0001-12-31 23:59:59.999999 BC",
    "0005-02-29 12:00:00 BC",
    "10000-01-01 00:00:00",
    "294247-01-10 04:00:54.775806",
)
MOMENTS_BEYOND_ARROW = ("294247-01-10 04:00:54.775808", "294276-12-31 23:59:59.999999")
INFINITIES = ("infinity", "-infinity")
NUMERIC_SPECIALS = ("NaN", "Infinity", "-Infinity")
UUIDS = (
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "00112233-4455-6677-8899-aabbccddeeff",
    "80000000-0000-0000-0000-000000000001",
)
JSONS = (
    "{}",
    "[]",
    "null",
    '""',
    "0",
    "-1.50",
    "1E400",
    '{"b": 1, "a": [true, null, {"c": "d"}], "b": 2}',
    '"\\u00e9\\n\\\\ \U0001f600"',
    '  { "space" :  [ 1 ,2 ]}  ',
    '"' + "x" * 3000 + '"',
)

SAMPLES = (
    Sample("bool", "bool", ("t", "f", "true", "false")),
    integer("int2", "int16", -(2**15), 2**15 - 1),
    integer("int4", "int32", -(2**31), 2**31 - 1),
    integer("int8", "int64", -(2**63), 2**63 - 1),
    integer("oid", "uint32", 0, 2**32 - 1),
    integer("xid", "uint32", 0, 2**32 - 1),
    Sample(
        "float4",
        "float32",
        (
            *FLOATS,
            "3.4028235e38",
            "-3.4028235e38",
            "1.1754944e-38",
            "1e-45",
            "-1e-45",
            "16777216",
            "16777218",
            "1.1754942e-38",
        ),
    ),
    Sample(
        "float8",
        "float64",
        (
            *FLOATS,
            "1.7976931348623157e308",
            "-1.7976931348623157e308",
            "2.2250738585072014e-308",
            "2.225073858507201e-308",
            "5e-324",
            "-5e-324",
            "9007199254740993",
            "123456789.123456789",
        ),
    ),
    Sample("text", "utf8", TEXTS),
    Sample("varchar", "utf8", TEXTS),
    Sample("varchar(3)", "utf8", ("", "a", "abc", "abcd", "\U0001f600\u00e9x")),
    Sample("bpchar", "utf8", ("", "a", "a  ", "\u00e9 ")),
    Sample("char(5)", "utf8", ("", "a", "abcde", "ab   ", "\U0001f600\u00e9")),
    Sample("name", "utf8", ("", "a", "x" * 63, "x" * 70, "\u00e9" * 31)),
    Sample('"char"', "utf8", ("", "a", "~", "\\200", "\\377", "\\001")),
    Sample("xml", "utf8", ("<a/>", "<a>\u00e9 &amp; <![CDATA[<]]></a>", "text")),
    Sample("bytea", "binary", ("", "\\x", "\\x00", "\\xff", "\\x00ff00", "\\x" + "00ff" * 5000)),
    Sample("uuid", "fixed_size_binary[16]", UUIDS),
    Sample("json", "utf8", JSONS),
    Sample("jsonb", "utf8", (*JSONS[:6], *JSONS[7:])),
    Sample(
        "date",
        "date32",
        ("1970-01-01", "1969-12-31", "2000-01-01", "2000-02-29", "1900-03-01", "0001-01-02"),
        rows_refuse=(
            "4714-11-24 BC",
            "0001-12-31 BC",
            "0005-02-29 BC",
            "10000-01-01",
            "5874897-12-31",
        ),
        columns_refuse=INFINITIES,
    ),
    Sample(
        "time",
        "time64[us]",
        ("00:00:00", "00:00:00.000001", "12:34:56.789012", "23:59:59.999999"),
        both_refuse=("24:00:00",),
    ),
    Sample("time(0)", "time64[us]", ("00:00:00.4", "12:34:56.789", "23:59:59")),
    Sample(
        "timestamp",
        "timestamp[us]",
        MOMENTS,
        rows_refuse=MOMENTS_BEYOND_PYTHON,
        columns_refuse=INFINITIES,
        both_refuse=MOMENTS_BEYOND_ARROW,
    ),
    Sample(
        "timestamp(3)", "timestamp[us]", ("2000-01-01 00:00:00.123456", "1969-12-31 23:59:59.9996")
    ),
    Sample(
        "timestamptz",
        "timestamp[us, UTC]",
        (*MOMENTS, "2024-03-31 02:30:00 Europe/Berlin", "2024-01-01 00:00:00+15:59:59"),
        rows_refuse=MOMENTS_BEYOND_PYTHON,
        columns_refuse=INFINITIES,
        both_refuse=MOMENTS_BEYOND_ARROW,
    ),
    Sample(
        "numeric",
        "decimal128(38, 6)",
        (
            "0",
            "-0",
            "0.000",
            "1",
            "-1",
            "1.5",
            "1.500",
            "-123456789.123456",
            "9" * 32,
            "0.000001",
            "1e10",
        ),
        columns_refuse=NUMERIC_SPECIALS,
    ),
    Sample(
        "numeric(15,2)",
        "decimal128(15, 2)",
        ("0", "9999999999999.99", "-9999999999999.99", "0.01", "1.005"),
        columns_refuse=("NaN",),
    ),
    Sample("numeric(38,0)", "decimal128(38, 0)", ("0", "9" * 38, "-" + "9" * 38)),
    Sample("numeric(38,38)", "decimal128(38, 38)", ("0", "0." + "9" * 38, "-0." + "0" * 37 + "1")),
    Sample("numeric(39,0)", "decimal256(39, 0)", ("0", "9" * 39, "-" + "9" * 39)),
    Sample("numeric(76,38)", "decimal256(76, 38)", ("0", "9" * 38 + "." + "9" * 38, "-1")),
    Sample("numeric(5,-2)", "decimal128(7, 0)", ("0", "12345", "-9999949", "49", "50", "9999900")),
    Sample("numeric(3,5)", "decimal128(5, 5)", ("0", "0.00999", "-0.00999", "0.00001")),
    Sample("numeric(100,2)", "decimal128(38, 2)", ("0", "1.5", "-" + "9" * 36 + ".99")),
)
BY_TYPE = {sample.sql_type: sample for sample in SAMPLES}

# Without a declared scale the column takes the largest one of its values, and 256 bits where 128
# are too few: each of these is a column of its own.
WIDE_NUMERICS = (
    (("9" * 38, "-" + "9" * 38), "decimal128(38, 0)"),
    (("1" + "0" * 38,), "decimal256(76, 0)"),
    (("9" * 76, "-" + "9" * 76), "decimal256(76, 0)"),
    (("0." + "9" * 76,), "decimal256(76, 76)"),
    (("1e-76", "-1e-76", "0"), "decimal256(76, 76)"),
    (("9" * 38, "0." + "9" * 38), "decimal256(76, 38)"),
    (("1", "1.0", "1.0000"), "decimal128(38, 4)"),
    (("1e-38", "0"), "decimal128(38, 38)"),
    (("1e-39", "0"), "decimal256(76, 39)"),
    (("1e36", "1e-1"), "decimal128(38, 1)"),
    (("1e37", "1e-1"), "decimal256(76, 1)"),
)
# Exact in rows and as text; no decimal of Arrow's holds them.
HUGE_NUMERICS = (
    "1e76",
    "1e131071",
    "9" * 200,
    "1e-77",
    "1e-16383",
    "-" + "9" * 131072,
    "9" * 100 + ".5",
)


@functools.cache
def query(sql_type: str) -> str:
    """Values of a type beside the server's own text of them, from a JSON array of texts."""
    return (
        f"SELECT v, CASE WHEN v IS NOT NULL THEN concat(v) END AS t FROM "
        f"(SELECT e::{sql_type} AS v, n FROM jsonb_array_elements_text($1) "
        "WITH ORDINALITY x(e, n)) s ORDER BY n"
    )
