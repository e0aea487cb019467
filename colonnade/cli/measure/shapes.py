"""Shapes of results: what a table holds and how it is read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """A table made on the server by an expression over `generate_series`, the same each time."""

    name: str
    title: str
    #: What the shape is there to show.
    purpose: str
    #: `(name, expression over i)`, where `i` is an int8 that counts from 1.
    columns: tuple[tuple[str, str], ...]
    rows: int

    def create_sql(self, table: str, rows: int) -> str:
        """Make the table; nothing is logged, since nothing of it has to outlive a crash."""
        expressions = ",\n  ".join(f"{expression} AS {name}" for name, expression in self.columns)
        return (
            f"CREATE UNLOGGED TABLE {table} AS SELECT\n  {expressions}\n"
            f"FROM generate_series(1::int8, {rows}::int8) AS series(i)"
        )

    def fingerprint(self, rows: int) -> str:
        """Tell one definition of the table from another."""
        return hashlib.sha256(self.create_sql("shape", rows).encode()).hexdigest()[:16]


#: The row that asyncpg-rkt's published benchmark is made of: 18 columns, 136 bytes of values, 215
#: bytes on the wire. There every row is the same constant; here the values vary, at the same sizes,
#: and the rows come from a table, so that the server's part is a plain scan.
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
