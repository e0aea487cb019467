"""Literals of every type, and of types made of other types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade import Columns, _core
from samples import SAMPLES, SERVER_ONLY

if TYPE_CHECKING:
    from collections.abc import Iterator

# Types that samples use besides the server's own.
MADE_TYPES = """
create type every_mood as enum ('sad', 'glad');
create domain every_small as int2 check (value > 0);
create type every_pair as (a int4, b text);
create type every_numbers as (a int4, f float8, d date);
create type every_deep as (id uuid, total numeric(50,2), length interval, moods every_mood[]);
create type every_range as range (subtype = float8);
"""

_UUIDS = ("12345678-9abc-def0-1234-56789abcdef0", "00000000-0000-0000-0000-000000000001")

SCALARS: dict[str, tuple[str, str]] = {
    sample.sql_type: sample.plain for sample in SAMPLES if sample.plain is not None
}

# Every kind of constructed type, with elements that some library treats specially.
MADE: dict[str, tuple[str, str]] = {
    "int4range": ("[1,5)", "empty"),
    "int8range": ("[1,5)", "(,3)"),
    "numrange": ("[1.5,)", "(1.25,2]"),
    "daterange": ("[2024-01-01,2024-02-01)", "empty"),
    "tsrange": ("[2024-01-01 00:00,)", "empty"),
    "tstzrange": ("[2024-01-01 00:00+00,)", "(,)"),
    "int4multirange": ("{[1,3),[5,7)}", "{}"),
    "nummultirange": ("{[1.5,2]}", "{}"),
    "tstzmultirange": ("{[2024-01-01 00:00+00,)}", "{}"),
    "int4[]": ("{1,NULL,3}", "{}"),
    "int4[][]": ("{{1,2},{3,NULL}}", "{{5,6}}"),
    "bool[]": ("{t,f}", "{NULL}"),
    "float8[]": ("{1.5,NULL}", "{}"),
    "text[]": ('{a,NULL,"longer than twelve bytes"}', "{}"),
    "date[]": ("{2024-02-29,NULL}", "{}"),
    "time[]": ("{12:30,NULL}", "{}"),
    "timestamp[]": ("{2024-02-29 12:00}", "{}"),
    "timestamptz[]": ("{2024-02-29 12:00+00,NULL}", "{}"),
    "numeric(12,2)[]": ("{1.50,NULL}", "{}"),
    "numeric(50,2)[]": ("{1.50,NULL}", "{}"),
    "uuid[]": (f"{{{_UUIDS[0]},NULL}}", "{}"),
    "json[]": ('{"{}",NULL}', "{}"),
    "bytea[]": ('{"\\\\x00ff"}', "{}"),
    "interval[]": ("{1 day,NULL,02:00:00}", "{}"),
    "timetz[]": ("{12:00+02}", "{}"),
    "inet[]": ("{10.0.0.1/8}", "{}"),
    "bit(3)[]": ("{101}", "{}"),
    "point[]": ('{"(1,2)","(3,4)"}', "{}"),
    "path[]": ('{"[(0,0),(1,1)]"}', "{}"),
    "polygon[]": ('{"((0,0),(1,1))"}', "{}"),
    "int4range[]": ('{"[1,5)",empty}', "{}"),
    "int4multirange[]": ('{"{[1,3),[5,7)}"}', "{}"),
    "every_mood": ("glad", "sad"),
    "every_mood[]": ("{sad,glad,NULL}", "{}"),
    "every_small": ("7", "32767"),
    "every_pair": ("(1,x)", "(,)"),
    "every_pair[]": ('{"(1,x)",NULL}', "{}"),
    "every_numbers": ("(1,2.5,2024-02-29)", "(,,)"),
    "every_deep": (
        f'({_UUIDS[0]},1.50,1 day,"{{sad,glad}}")',
        "(,,,)",
    ),
    "every_deep[]": (
        f'{{"({_UUIDS[0]},1.50,\\"1 day\\",\\"{{sad}}\\")"}}',
        "{}",
    ),
    "every_range": ("[1.5,2.5)", "empty"),
}

EVERY = {**SCALARS, **MADE}

# These types have no literals, or cannot be columns of a table.
WITHOUT_LITERALS = {
    *(sample.sql_type for sample in SERVER_ONLY),
    *(sample.sql_type for sample in SAMPLES if sample.base in {"xml", "aclitem", "cstring"}),
}


def missing() -> set[str]:
    """Types of the core's table without a sample."""
    listed = {sample.base.strip('"') for sample in SAMPLES if sample.plain is not None} | {"bpchar"}
    return {line.name for line in _core.TYPES} - listed - WITHOUT_LITERALS


def query(sql_type: str) -> str:
    """A query for both values of a type, with a NULL before, between and after them."""
    first, second = (
        f"${quoted}$::{sql_type}" for quoted in (f"q${text}$q" for text in EVERY[sql_type])
    )
    null = f"null::{sql_type}"
    values = ", ".join(
        f"({row}, {value})" for row, value in enumerate((null, first, null, second, null))
    )
    return f"select v from (values {values}) t (i, v) order by i"


def in_chunks(columns: Columns) -> Iterator[Columns]:
    """Five rows in two chunks, in five, and in two after their columns were joined."""
    halves = [columns[:2], columns[2:2], columns[2:]]
    yield Columns.concat(halves)
    yield Columns.concat([columns[row : row + 1] for row in range(5)])
    joined = Columns.concat(halves)
    for index in range(joined.num_columns):
        joined.null_mask(index)
    yield joined
