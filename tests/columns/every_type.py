"""Literals of every type that a server can make values of, and of types made of others."""

from __future__ import annotations

from colonnade import _core

# What a sample may be made of besides the server's own types.
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
    "bool": ("t", "f"),
    "bytea": ("\\x00ff", "\\x"),
    '"char"': ("a", "z"),
    "name": ("n", "ñ"),
    "int8": ("-9223372036854775808", "9007199254740993"),
    "int2": ("-32768", "7"),
    "int4": ("-2147483648", "7"),
    "regproc": ("now", "pg_backend_pid"),
    "text": ("", "naïve 日本語 🐘, longer than twelve bytes"),
    "oid": ("0", "4294967295"),
    "tid": ("(0,1)", "(4294967295,65535)"),
    "xid": ("0", "4294967295"),
    "cid": ("0", "4294967295"),
    "json": ('{"a": 1}', "[]"),
    "point": ("(1,2.5)", "(-0.5,1e300)"),
    "lseg": ("[(0,0),(1,1)]", "[(1,2),(3,4)]"),
    "path": ("[(0,0),(1,1)]", "((0,0),(1,1),(2,0))"),
    "box": ("(1,1),(0,0)", "(3,4),(1,2)"),
    "polygon": ("((0,0),(1,1),(2,0))", "((5,6))"),
    "line": ("{1,2,3}", "{4,5,6}"),
    "cidr": ("10.0.0.0/8", "2001:db8::/32"),
    "float4": ("1.5", "-0.25"),
    "float8": ("1.1", "1e300"),
    "circle": ("<(0,0),5>", "<(1,2),0>"),
    "macaddr8": ("08:00:2b:01:02:03:04:05", "ff:ff:ff:ff:ff:ff:ff:ff"),
    "money": ("1.50", "-2"),
    "macaddr": ("08:00:2b:01:02:03", "ff:ff:ff:ff:ff:ff"),
    "inet": ("10.0.0.1/8", "::1"),
    "bpchar(3)": ("a", "abc"),
    "varchar": ("", "é"),
    "date": ("0001-01-01", "2024-02-29"),
    "time": ("00:00", "23:59:59.999999"),
    "timestamp": ("1999-12-31 23:59:59.999999", "2024-02-29 12:00"),
    "timestamptz": ("1999-12-31 23:59:59+00", "2024-02-29 12:00+02"),
    "interval": ("1 day 02:00:00.5", "-3 days"),
    "timetz": ("12:00+02", "23:59:59.5-03:30"),
    "bit(5)": ("10101", "00000"),
    "varbit": ("", "101100111"),
    "numeric(12,2)": ("1.50", "-9999999999.99"),
    "numeric(60,2)": ("1.50", "12345678901234567890123456789012345.25"),
    "numeric": ("1.5", "-0.001"),
    "refcursor": ("c", "d"),
    "regprocedure": ("now()", "pg_backend_pid()"),
    "regoper": ("|/", "||/"),
    "regoperator": ("+(integer,integer)", "-(integer,integer)"),
    "regclass": ("pg_class", "pg_type"),
    "regtype": ("integer", "text"),
    "uuid": _UUIDS,
    "txid_snapshot": ("10:20:10,14,15", "1:1:"),
    "pg_lsn": ("16/B374D848", "FFFFFFFF/FFFFFFFF"),
    "tsvector": ("a fat cat", ""),
    "tsquery": ("a & b", "!c"),
    "regconfig": ("simple", "english"),
    "regdictionary": ("simple", "english_stem"),
    "jsonb": ('{"a": 1}', "null"),
    "jsonpath": ("$.a", "$"),
    "regnamespace": ("pg_catalog", "public"),
    "regrole": ("pg_monitor", "pg_signal_backend"),
    "regcollation": ('"C"', '"POSIX"'),
    "pg_snapshot": ("10:20:10,14,15", "1:1:"),
    "xid8": ("0", "18446744073709551615"),
    "int2vector": ("1 2", ""),
    "oidvector": ("1 4294967295", "7"),
    "int4range": ("[1,5)", "empty"),
    "int8range": ("[1,5)", "(,3)"),
    "numrange": ("[1.5,)", "(1.25,2]"),
    "daterange": ("[2024-01-01,2024-02-01)", "empty"),
    "tsrange": ("[2024-01-01 00:00,)", "empty"),
    "tstzrange": ("[2024-01-01 00:00+00,)", "(,)"),
    "int4multirange": ("{[1,3),[5,7)}", "{}"),
    "nummultirange": ("{[1.5,2]}", "{}"),
    "tstzmultirange": ("{[2024-01-01 00:00+00,)}", "{}"),
}

# Of each shape that PostgreSQL can build, over elements that some library treats in its own way.
MADE: dict[str, tuple[str, str]] = {
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

# No literal of these makes a value, or they are there for the server alone.
WITHOUT_LITERALS = {
    "xml",
    "aclitem",
    "unknown",
    "cstring",
    "anyarray",
    "void",
    "gtsvector",
    "pg_node_tree",
    "pg_ndistinct",
    "pg_dependencies",
    "pg_brin_bloom_summary",
    "pg_brin_minmax_multi_summary",
    "pg_mcv_list",
}


def missing() -> set[str]:
    """Types of the table that have no sample."""
    listed = {name.partition("(")[0].strip('"') for name in SCALARS}
    return {line.name for line in _core.TYPES} - listed - WITHOUT_LITERALS


def query(sql_type: str) -> str:
    """A query for both values of a type, with a NULL before, between and behind them."""
    first, second = (
        f"${quoted}$::{sql_type}" for quoted in (f"q${text}$q" for text in EVERY[sql_type])
    )
    null = f"null::{sql_type}"
    values = ", ".join(
        f"({row}, {value})" for row, value in enumerate((null, first, null, second, null))
    )
    return f"select v from (values {values}) t (i, v) order by i"
