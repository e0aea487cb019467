"""Samples of the common types."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

from hypothesis import strategies as st

from samples import strategies
from samples.sample import Facts, Sample

# One character of every Unicode plane, private planes included, and the first and last character
# of each UTF-8 length.
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

INTEGER = Facts(
    "`int`",
    "`int`, any object with `__index__`, such as NumPy's integers, and a `float` or "
    "`Decimal` that is whole: 5.0, not 1.5",
    "out of range is refused",
)
UNSIGNED = Facts("`int`", "the same, from 0 to 4294967295", "out of range is refused")
FLOAT = Facts(
    "`float`",
    "`float`, any other real number or object with `__float__`, rounded to the nearest; an `int`, "
    "and a whole `Decimal` or `Fraction`, that a float holds exactly; no datetime, duration or "
    "complex number",
    "NaN, infinities, -0.0 and subnormals are kept; out of the type's range is refused, "
    "and so is a number that would become 0",
)
TEXT = Facts("`str`", "`str`", "any character but NUL, which the server cannot store")
JSON = Facts(
    "`str`: the text",
    "`str`, such as that of `json.dumps`",
    "`json` as stored, with blanks and repeated keys",
)
INFINITE_MOMENTS = "infinities: `infinity=`; years BC and from 10000 on have no Python object"


def integer(
    sql_type: str,
    arrow: str,
    bits: int,
    *,
    facts: Facts | None = None,
    objects: tuple[int, ...] = (),
    plain: tuple[str, str] | None = None,
    is_ordered: bool = True,
) -> Sample:
    """An integer type of this many bits, signed unless the Arrow type is unsigned."""
    is_signed = not arrow.startswith("uint")
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    middle = (0, 1, -1, 42) if is_signed else (0, 1, 42)
    numbers = (least, least + 1, *middle, most - 1, most)
    drawn = st.integers(least, most)
    return Sample(
        sql_type,
        arrow,
        tuple(map(str, numbers)),
        plain=plain or (str(least), "7"),
        objects=tuple((number, str(number)) for number in objects or (least, 0, most)),
        texts=drawn.map(str),
        drawn=drawn,
        is_ordered=is_ordered,
        facts=facts,
    )


COMMON = (
    Sample(
        "bool",
        "bool",
        ("t", "f", "true", "false"),
        plain=("t", "f"),
        objects=((True, "true"), (False, "false"), (True, "true")),
        texts=st.sampled_from(["t", "f"]),
        drawn=st.booleans(),
        facts=Facts("`bool`", "`bool`, NumPy's boolean"),
    ),
    integer("int2", "int16", 16, facts=INTEGER),
    integer("int4", "int32", 32, facts=INTEGER),
    integer(
        "int8",
        "int64",
        64,
        facts=INTEGER,
        objects=(-(2**63), 2**53 + 1, 1),
        plain=("-9223372036854775808", "9007199254740993"),
    ),
    integer("oid", "uint32", 32, facts=UNSIGNED, plain=("0", "4294967295")),
    integer("xid", "uint32", 32, facts=UNSIGNED, plain=("0", "4294967295"), is_ordered=False),
    Sample(
        "float4",
        "float32",
        (
            *FLOATS,
            *("3.4028235e38", "-3.4028235e38", "1.1754944e-38", "1e-45", "-1e-45"),
            *("16777216", "16777218", "1.1754942e-38"),
        ),
        plain=("1.5", "-0.25"),
        objects=((1.5, "1.5"), (float("-inf"), "-Infinity"), (0.0, "0")),
        texts=strategies.FLOAT4.map(strategies.float4_text),
        drawn=strategies.FLOAT4,
        facts=FLOAT,
    ),
    Sample(
        "float8",
        "float64",
        (
            *FLOATS,
            *("1.7976931348623157e308", "-1.7976931348623157e308", "2.2250738585072014e-308"),
            *("2.225073858507201e-308", "5e-324", "-5e-324"),
            *("9007199254740993", "123456789.123456789"),
        ),
        plain=("1.1", "1e300"),
        objects=((1.1, "1.1"), (1e300, "1e+300"), (float("inf"), "Infinity")),
        texts=strategies.FLOAT8.map(repr),
        drawn=strategies.FLOAT8,
        facts=FLOAT,
    ),
    Sample(
        "text",
        "utf8",
        TEXTS,
        plain=("", "naïve 日本語 🐘, longer than twelve bytes"),
        objects=(("", ""), ("naïve 日本語 🐘", "naïve 日本語 🐘"), ("x" * 200, "x" * 200)),
        texts=strategies.TEXT,
        drawn=strategies.TEXT,
        facts=TEXT,
    ),
    Sample(
        "varchar",
        "utf8",
        TEXTS,
        plain=("", "é"),
        objects=(("", ""), ("12345", "12345"), ("é", "é")),
        texts=strategies.TEXT,
        drawn=strategies.TEXT,
        facts=TEXT,
    ),
    Sample("varchar(3)", "utf8", ("", "a", "abc", "abcd", "\U0001f600\u00e9x")),
    Sample(
        "bpchar",
        "utf8",
        ("", "a", "a  ", "\u00e9 "),
        texts=strategies.TEXT,
        facts=Facts("`str`", "`str`", "with its trailing blanks"),
    ),
    Sample(
        "char(5)",
        "utf8",
        ("", "a", "abcde", "ab   ", "\U0001f600\u00e9"),
        plain=("a", "abcde"),
        objects=(("a    ", "a"), ("abcde", "abcde"), ("     ", "")),
        texts=strategies.TEXT,
    ),
    Sample(
        "name",
        "utf8",
        ("", "a", "x" * 63, "x" * 70, "\u00e9" * 31),
        plain=("n", "ñ"),
        objects=(("n", "n"), ("", ""), ("ñ", "ñ")),
        texts=strategies.TEXT,
        facts=TEXT,
    ),
    Sample(
        '"char"',
        "utf8",
        ("", "a", "~", "\\200", "\\377", "\\001"),
        plain=("a", "z"),
        texts=st.characters(min_codepoint=1, max_codepoint=127),
        drawn=st.binary(min_size=1, max_size=1),
        facts=Facts(
            "`bytes`, one",
            "`bytes`, one or none",
            r"columns print it: empty for 0, `\377` above 127",
        ),
    ),
    Sample(
        "xml",
        "utf8",
        ("<a/>", "<a>\u00e9 &amp; <![CDATA[<]]></a>", "text"),
        is_ordered=False,
        facts=TEXT,
    ),
    Sample(
        "bytea",
        "binary",
        ("", "\\x", "\\x00", "\\xff", "\\x00ff00", "\\x" + "00ff" * 5000),
        plain=("\\x00ff", "\\x"),
        objects=((b"\x00\xff\x00", "\\x00ff00"), (b"", "\\x"), (b"a", "\\x61")),
        texts=st.binary(max_size=60).map(lambda data: "\\x" + data.hex()),
        drawn=st.binary(max_size=60),
        facts=Facts("`bytes`", "`bytes`, `bytearray`, and other buffers of bytes", "any byte"),
    ),
    Sample(
        "uuid",
        "fixed_size_binary[16]",
        (
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "00112233-4455-6677-8899-aabbccddeeff",
            "80000000-0000-0000-0000-000000000001",
        ),
        plain=("12345678-9abc-def0-1234-56789abcdef0", "00000000-0000-0000-0000-000000000001"),
        objects=tuple(
            (number, str(number))
            for number in (
                UUID(int=0),
                UUID("12345678-9abc-def0-1234-56789abcdef0"),
                UUID(int=2**128 - 1),
            )
        ),
        texts=st.uuids().map(str),
        drawn=st.uuids(),
        facts=Facts("`uuid.UUID`", "`uuid.UUID`, `str`"),
    ),
    Sample(
        "json",
        "utf8",
        JSONS,
        plain=('{"a": 1}', "[]"),
        objects=tuple((text, text) for text in ('{"a": 1}', "null", "[]")),
        texts=strategies.JSON.map(strategies.json_text),
        drawn=strategies.JSON.map(strategies.json_text),
        is_ordered=False,
        facts=JSON,
    ),
    Sample(
        "jsonb",
        "utf8",
        (*JSONS[:6], *JSONS[7:]),
        plain=('{"a": 1}', "null"),
        objects=tuple((text, text) for text in ('{"a": 1}', "null", "[]")),
        texts=strategies.JSON.map(strategies.json_text),
        facts=JSON,
    ),
    Sample(
        "date",
        "date32",
        ("1970-01-01", "1969-12-31", "2000-01-01", "2000-02-29", "1900-03-01", "0001-01-02"),
        rows_refuse=(
            *("4714-11-24 BC", "0001-12-31 BC", "0005-02-29 BC", "10000-01-01"),
            "5874897-12-31",
        ),
        columns_refuse=INFINITIES,
        plain=("0001-01-01", "2024-02-29"),
        objects=tuple(
            (day, day.isoformat())
            for day in (date(1, 1, 2), date(1969, 12, 31), date(9999, 12, 30))
        ),
        texts=strategies.DATE.map(str),
        column_texts=strategies.DAY_TEXT,
        drawn=strategies.DATE,
        facts=Facts("`datetime.date`", "`date`, `datetime` (its day)", INFINITE_MOMENTS),
    ),
    Sample(
        "time",
        "time64[us]",
        ("00:00:00", "00:00:00.000001", "12:34:56.789012", "23:59:59.999999"),
        both_refuse=("24:00:00",),
        plain=("00:00", "23:59:59.999999"),
        objects=(
            (time(0, 0), "00:00:00"),
            (time(12, 30, 0, 250_000), "12:30:00.25"),
            (time(23, 59, 59, 999_999), "23:59:59.999999"),
        ),
        texts=st.times().map(str),
        drawn=st.times(),
        facts=Facts("`datetime.time`", "`time` without time zone", "24:00 is refused"),
    ),
    Sample("time(0)", "time64[us]", ("00:00:00.4", "12:34:56.789", "23:59:59")),
    Sample(
        "timestamp",
        "timestamp[us]",
        MOMENTS,
        rows_refuse=MOMENTS_BEYOND_PYTHON,
        columns_refuse=INFINITIES,
        both_refuse=MOMENTS_BEYOND_ARROW,
        plain=("1999-12-31 23:59:59.999999", "2024-02-29 12:00"),
        objects=tuple(
            (moment, str(moment))
            for moment in (
                datetime(1, 1, 2),
                datetime(1999, 12, 31, 23, 59, 59, 999_999),
                datetime(9999, 12, 31),
            )
        ),
        texts=strategies.TIMESTAMP.map(str),
        column_texts=strategies.MOMENT_TEXT,
        drawn=strategies.TIMESTAMP,
        facts=Facts("`datetime` without time zone", "the same, `date`", INFINITE_MOMENTS),
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
        plain=("1999-12-31 23:59:59+00", "2024-02-29 12:00+02"),
        objects=tuple(
            (moment, f"{moment:%Y-%m-%d %H:%M:%S}+00")
            for moment in (
                datetime(1900, 1, 1, tzinfo=UTC),
                datetime(2024, 2, 29, 10, tzinfo=UTC),
                datetime(2262, 4, 12, tzinfo=UTC),
            )
        ),
        texts=strategies.TIMESTAMP.map("{}+00".format),
        column_texts=strategies.MOMENT_TEXT,
        drawn=strategies.TIMESTAMPTZ,
        facts=Facts(
            "`datetime` in UTC",
            "`datetime`, `date` ([without a zone](edges.md#naive-moments) they are local time)",
            INFINITE_MOMENTS,
        ),
    ),
    Sample(
        "numeric",
        "decimal128(38, 6)",
        (
            *("0", "-0", "0.000", "1", "-1", "1.5", "1.500", "-123456789.123456", "9" * 32),
            *("0.000001", "1e10"),
        ),
        columns_refuse=NUMERIC_SPECIALS,
        plain=("1.5", "-0.001"),
        objects=tuple(
            (Decimal(text), text) for text in ("1.5", "12345678901234567890.123456789", "-0.001")
        ),
        texts=strategies.DECIMAL.map(str),
        drawn=strategies.DECIMAL | st.decimals(allow_nan=False, allow_infinity=False, places=7),
        facts=Facts(
            "`Decimal`, with its scale",
            "`Decimal`, `int`, `float` (its shortest digits), `str`",
            "NaN and infinities: `infinity=`; no decimal holds more than 76 digits",
        ),
    ),
    Sample(
        "numeric(15,2)",
        "decimal128(15, 2)",
        ("0", "9999999999999.99", "-9999999999999.99", "0.01", "1.005"),
        columns_refuse=("NaN",),
        plain=("1.50", "-9999999999.99"),
        objects=tuple((Decimal(text), text) for text in ("1.50", "-9999999999.99", "0.00")),
        texts=strategies.bounded_decimal(15, 2),
    ),
    Sample("numeric(38,0)", "decimal128(38, 0)", ("0", "9" * 38, "-" + "9" * 38)),
    Sample(
        "numeric(38,10)",
        "decimal128(38, 10)",
        ("0", "9" * 28 + "." + "9" * 10, "-1.0000000001"),
        texts=strategies.bounded_decimal(38, 10),
    ),
    Sample("numeric(38,38)", "decimal128(38, 38)", ("0", "0." + "9" * 38, "-0." + "0" * 37 + "1")),
    Sample("numeric(39,0)", "decimal256(39, 0)", ("0", "9" * 39, "-" + "9" * 39)),
    Sample(
        "numeric(60,2)",
        "decimal256(60, 2)",
        ("0", "-0.01", "12345678901234567890123456789012345.25"),
        plain=("1.50", "12345678901234567890123456789012345.25"),
    ),
    Sample(
        "numeric(76,38)",
        "decimal256(76, 38)",
        ("0", "9" * 38 + "." + "9" * 38, "-1"),
        texts=strategies.bounded_decimal(76, 38),
    ),
    Sample(
        "numeric(5,-2)",
        "decimal128(7, 0)",
        ("0", "12345", "-9999949", "49", "50", "9999900"),
        texts=strategies.bounded_decimal(5, -2),
    ),
    Sample(
        "numeric(3,5)",
        "decimal128(5, 5)",
        ("0", "0.00999", "-0.00999", "0.00001"),
        texts=strategies.bounded_decimal(3, 5),
    ),
    Sample("numeric(100,2)", "decimal128(38, 2)", ("0", "1.5", "-" + "9" * 36 + ".99")),
)

# Without a declared scale, a column takes the largest scale of its values, and 256 bits if 128 are
# too few. So each of these values needs its own column.
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
# Rows and text hold these exactly; no Arrow decimal does.
HUGE_NUMERICS = (
    "1e76",
    "1e131071",
    "9" * 200,
    "1e-77",
    "1e-16383",
    "-" + "9" * 131072,
    "9" * 100 + ".5",
)
