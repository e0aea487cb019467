"""No argument takes more than linear time to refuse or to encode.

With quadratic time, each of these arguments would take minutes; a child process has half a minute
of processor time for all of them.
"""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
sys.set_int_max_str_digits(0)
from decimal import Decimal
from fractions import Fraction
import colonnade
from colonnade.errors import EncodeError, InterfaceError

LONG = 1 << 4_000_000
DEEP = []
for _ in range(100_000):
    DEEP = [DEEP]
CYCLE = []
CYCLE.append(CYCLE)
TYPES = [
    "numeric", "int2", "int4", "int8", "oid", "xid8", "float4", "float8", "text", "bytea", "bool",
    "uuid", "date", "time", "timestamp", "timestamptz", "interval", "inet", "bit(8)", "point",
    "json", "tid", "int4range", "int4multirange", "numrange", "numeric[]", "int4[]", "text[]",
    "float8[]",
]
REFUSED = [
    LONG, -LONG, Decimal("1E+1000000000"), Decimal("-1E+999999999999999999"),
    Fraction(LONG, 3), Fraction(3, LONG), DEEP, CYCLE,
]
link = colonnade.sync.connect(sys.argv[1])
refused = 0
for type_name in TYPES:
    for value in REFUSED:
        for given in (value, [value], (value, value)):
            try:
                link.fetchval(f"SELECT $1::{type_name} IS NULL", given)
            except EncodeError as error:
                assert len(str(error)) < 1000, type_name
                refused += 1
link.execute("CREATE TEMPORARY TABLE costly (n numeric, i int8, f float8, j jsonb)")
for column in "nifj":
    for value in REFUSED:
        for copy in (
            lambda: link.copy_records_to_table("costly", records=[(value,)], columns=[column]),
            lambda: link.copy_columns_to_table("costly", {column: [value]}),
            lambda: link.executemany(f"INSERT INTO costly ({column}) VALUES ($1)", [(value,)]),
        ):
            try:
                copy()
            except EncodeError as error:
                refused += 1
print(refused)
# Numbers in range come back unchanged.
for value in (10**131071, -(10**131072 - 1), 3**270000, 10**3000 + 7, 2**8192, 2**8191, -(10**20)):
    assert link.fetchval("SELECT $1::numeric", value) == value
    assert link.fetchval("SELECT $1::numeric[]", [value]) == [value]
for value, text in ((Decimal("1E-16383"), 1), (Decimal("-1E+131071"), 1)):
    assert link.fetchval("SELECT $1::numeric", value) == value
for value in (10**131072, Decimal("1E-16384"), Decimal("1E-100000000"), Decimal("1E+131072")):
    try:
        link.fetchval("SELECT $1::numeric", value)
    except EncodeError:
        refused += 1
    else:
        raise AssertionError("taken")
text = "x" * 50_000_000
for type_name in ("uuid", "inet", "cidr", "bit(8)", "numeric", "int4", "date", "point", "bool"):
    try:
        link.fetchval(f"SELECT $1::{type_name} IS NULL", text)
    except (EncodeError, colonnade.errors.DataError) as error:
        assert len(str(error)) < 1000, type_name
    else:
        raise AssertionError(type_name)
assert link.fetchval("SELECT 1") == 1
print("done")
"""


def test_a_child_has_half_a_minute(dsn: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, dsn], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    refused, done = ran.stdout.split()
    assert done == "done"
    assert int(refused) > 500
