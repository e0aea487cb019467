"""The shapes that the suite reads."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """A table made on the server by an expression over `generate_series`, the same each time."""

    name: str
    title: str
    #: The reason for the shape.
    purpose: str
    #: `(name, expression over i)`, where `i` is an int8 that counts from 1.
    columns: tuple[tuple[str, str], ...]
    rows: int

    def create_sql(self, table: str, rows: int) -> str:
        """Return the statement that makes the table, unlogged: it need not survive a crash."""
        expressions = ",\n  ".join(f"{expression} AS {name}" for name, expression in self.columns)
        return (
            f"CREATE UNLOGGED TABLE {table} AS SELECT\n  {expressions}\n"
            f"FROM generate_series(1::int8, {rows}::int8) AS series(i)"
        )

    def fingerprint(self, rows: int) -> str:
        """Identify this definition of the table."""
        return hashlib.sha256(self.create_sql("shape", rows).encode()).hexdigest()[:16]


#: The row of asyncpg-rkt's published benchmark: 18 columns, 136 bytes of values, 215 bytes on the
#: wire. There every row is the same constant; here the values vary, at the same sizes, and the
#: rows come from a table, so that the server's part is a plain scan.
SEED = Shape(
    name="seed",
    title="18 columns of common types",
    purpose="the row of asyncpg-rkt's published benchmark",
    columns=(
        ("flag_a", "i % 2 = 0"),
        ("flag_b", "i % 3 = 0"),
        ("id", "i"),
        ("parent", "i * 7919 % 1000003"),
        ("additions", "i % 10007"),
        ("deletions", "-(i % 997)"),
        ("big", "i * 1000000007"),
        ("score", "(i % 1000 / 8.0)::float4"),
        ("digest_a", "decode(md5(i::text), 'hex')"),
        ("digest_b", "decode(md5((-i)::text), 'hex')"),
        ("label_a", "lpad((i % 100000)::text, 5, '0')"),
        ("label_b", "lpad((i * 31 % 100000)::text, 5, '0')"),
        ("created", "timestamp '2015-01-01' + i % 100000000 * interval '1 second'"),
        ("updated", "timestamp '2016-01-01' + i % 100000000 * interval '1.000001 seconds'"),
        ("merged", "timestamp '2017-01-01' + i % 100000000 * interval '1.5 seconds'"),
        ("closed", "timestamp '2018-01-01' + i % 100000000 * interval '0.25 seconds'"),
        ("opens", "time '00:00' + i % 86400 * interval '1 second'"),
        ("closes", "time '00:00' + i % 86399 * interval '1.000001 seconds'"),
    ),
    rows=1_000_000,
)

NARROW = Shape(
    name="narrow",
    title="int8, float8, timestamptz",
    purpose="many short rows: what a row costs before its values do",
    columns=(
        ("id", "i"),
        ("reading", "i * 0.001::float8 - 1000"),
        ("taken", "timestamptz '2020-01-01 00:00:00+00' + i * interval '1 second'"),
    ),
    rows=5_000_000,
)

#: The column types and sizes of TPC-H's lineitem, with our own values.
LINEITEM = Shape(
    name="lineitem",
    title="16 columns with numeric, date and text",
    purpose="a data warehouse: decimal numbers, dates, short texts",
    columns=(
        ("orderkey", "i / 4"),
        ("partkey", "i * 7919 % 200000"),
        ("suppkey", "i * 104729 % 10000"),
        ("linenumber", "(i % 7 + 1)::int4"),
        ("quantity", "(i % 50 + 1)::numeric(15, 2)"),
        ("extendedprice", "((i * 6151 % 9500000 + 90000) / 100.0)::numeric(15, 2)"),
        ("discount", "(i % 11 / 100.0)::numeric(15, 2)"),
        ("tax", "(i % 9 / 100.0)::numeric(15, 2)"),
        ("returnflag", "(ARRAY['N', 'A', 'R'])[i % 3 + 1]"),
        ("linestatus", "(ARRAY['O', 'F'])[i % 2 + 1]"),
        ("shipdate", "date '1992-01-02' + (i % 2526)::int4"),
        ("commitdate", "date '1992-01-31' + (i % 2466)::int4"),
        ("receiptdate", "date '1992-01-04' + (i % 2555)::int4"),
        (
            "shipinstruct",
            "(ARRAY['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'])[i % 4 + 1]",
        ),
        (
            "shipmode",
            "(ARRAY['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'])[i % 7 + 1]",
        ),
        ("comment", "left(md5(i::text), (10 + i % 22)::int4)"),
    ),
    rows=2_000_000,
)

WIDETEXT = Shape(
    name="widetext",
    title="texts of all lengths, with NULLs",
    purpose="long values: copying, checking UTF-8, validity",
    columns=(
        ("id", "i"),
        ("code", "CASE WHEN i % 10 <> 0 THEN left(md5(i::text), 12) END"),
        ("title", "CASE WHEN i % 7 <> 0 THEN repeat(md5(i::text), 2) END"),
        ("city", "CASE WHEN i % 5 <> 0 THEN 'Zürich, Αθήνα, 東京 ' || i END"),
        ("note", "CASE WHEN i % 3 <> 0 THEN repeat(md5((-i)::text), 3) END"),
        ("path", "CASE WHEN i % 4 <> 0 THEN '/var/data/' || md5(i::text) || '/' || i END"),
        ("body", "CASE WHEN i % 2 <> 0 THEN repeat('a line of a letter; ', (i % 20)::int4) END"),
    ),
    rows=500_000,
)

SHAPES = {shape.name: shape for shape in (SEED, NARROW, LINEITEM, WIDETEXT)}
