"""The table of types and a server's catalogs: every row is right, and no type is missing."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from colonnade import _core
from colonnade.errors import PostgresError, UndefinedFunctionError
from tests.types import oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.sync import Connection

# Types without values, not even NULL.
REFUSED_BY_THE_SERVER = {
    *("anyenum", "event_trigger", "fdw_handler", "index_am_handler", "internal"),
    *("language_handler", "table_am_handler", "trigger", "tsm_handler"),
}
# A result can have these types, but only with NULL.
NULL_ALONE = {"anycompatiblearray", "pg_ddl_command"}
# Read as text although there is a binary form, which is only a number valid inside the server.
NUMBERS_AS_TEXT = {
    *("money", "regclass", "regcollation", "regconfig", "regdictionary", "regnamespace"),
    *("regoper", "regoperator", "regproc", "regprocedure", "regrole", "regtype"),
}
# The bytes depend on the server's version, so these are read as text.
BYTES_AS_TEXT = {
    *("anyarray", "pg_brin_bloom_summary", "pg_brin_minmax_multi_summary", "pg_dependencies"),
    *("pg_mcv_list", "pg_ndistinct"),
}
# The server has no operators for these, and their texts are compared.
COMPARED_HERE_ALONE = {
    *("anyarray", "pg_brin_bloom_summary", "pg_brin_minmax_multi_summary", "void"),
}
# No cast gives a value of these types.
MADE_OTHERWISE = {
    "anyarray": "SELECT stavalues1 AS v FROM pg_statistic WHERE stavalues1 IS NOT NULL LIMIT 1",
    "void": "SELECT pg_sleep(0) AS v",
}


def test_every_line_is_the_servers(link: Connection) -> None:
    known = {
        row["name"]: (row["oid"], row["array"], row["send"])
        for row in link.fetch(
            "SELECT typname::text AS name, t.oid, typarray AS array, coalesce(proname, '')::text"
            " AS send FROM pg_type t LEFT JOIN pg_proc p ON p.oid = typsend"
            " WHERE typnamespace = 'pg_catalog'::regnamespace"
        )
    }
    wrong = {}
    for line in _core.TYPES:
        oid, array, send = known[line.name]
        as_text = line.name in NUMBERS_AS_TEXT | BYTES_AS_TEXT
        if (line.oid, line.array_oid, line.send) != (oid, array, "" if as_text else send):
            wrong[line.name] = (oid, array, send)
    assert not wrong


def is_accepted(link: Connection, query: str) -> bool:
    try:
        link.execute(query)
    except UndefinedFunctionError:
        return False
    return True


def test_what_is_compared_here_the_server_compares_too(link: Connection) -> None:
    names = link.fetch("SELECT typname::text FROM pg_type WHERE typnamespace = $1", 11)
    there = {name for (name,) in names}
    not_grouped, not_ordered = set(), set()
    for line in _core.TYPES:
        if line.name not in there or line.comparison == "Neither":
            continue
        query = f'SELECT FROM (SELECT NULL::"{line.name}") AS t (v)'
        if not is_accepted(link, f"{query} GROUP BY v"):
            not_grouped.add(line.name)
        if line.comparison != "EqualityOnly" and not is_accepted(link, f"{query} ORDER BY v"):
            not_ordered.add(line.name)
    assert not_grouped == not_ordered == COMPARED_HERE_ALONE & there


def test_every_range_is_the_servers(link: Connection) -> None:
    rows = link.fetch(
        "SELECT r.typname::text, m.typname::text, rngsubtype, r.oid, r.typarray, m.oid, m.typarray"
        " FROM pg_range JOIN pg_type r ON r.oid = rngtypid JOIN pg_type m ON m.oid = rngmultitypid"
        " WHERE r.typnamespace = 'pg_catalog'::regnamespace ORDER BY r.oid"
    )
    theirs = [(*row[:3], tuple(row[3:])) for row in rows]
    assert [tuple(line) for line in _core.RANGES] == theirs


KINDS = """
    CREATE TYPE table_mood AS ENUM ('sad', 'glad');
    CREATE TYPE table_pair AS (a int4, b text[], c table_mood);
    CREATE DOMAIN table_positive AS int4 CHECK (value > 0);
    CREATE DOMAIN table_moods AS table_mood[];
    CREATE TYPE table_moodrange AS RANGE (subtype = table_mood);
    CREATE TYPE table_textrange AS RANGE (subtype = text, collation = "C");
"""


@pytest.fixture(scope="module")
def every_type(link: Connection) -> Iterator[list[tuple[str, str]]]:
    """All types of the server, by their names and their SQL names."""
    link.execute(KINDS)
    rows = link.fetch(
        "SELECT typname::text AS name, quote_ident(nspname) || '.' || quote_ident(typname) AS sql"
        " FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace"
        " WHERE nspname !~ '^pg_(toast|temp)' ORDER BY t.oid"
    )
    yield [(row["name"], row["sql"]) for row in rows]
    link.execute("DROP TYPE table_pair, table_mood CASCADE; DROP TYPE table_textrange")
    link.execute("DROP DOMAIN table_positive")


def holds_opaque(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        return bool(kind.extension_name == "arrow.opaque")
    return any(holds_opaque(kind.field(index).type) for index in range(kind.num_fields))


def test_every_type_of_the_server_can_be_selected(
    link: Connection, every_type: list[tuple[str, str]]
) -> None:
    """Each as NULL, which needs the column's Arrow type, and in an array, a composite and a row."""
    assert len(every_type) > 500
    refused, wrong = set(), []
    for name, sql in every_type:
        query = MADE_OTHERWISE.get(name, f"SELECT NULL::{sql} AS v")
        try:
            link.execute(query)
        except PostgresError:
            refused.add(name)
            continue
        table = oracle.arrow_table(link.fetch_columns(query))
        rows = [tuple(row.values()) for row in link.fetch(query)]
        kind = table.schema.field("v").type
        if holds_opaque(kind) and name not in NULL_ALONE:
            wrong.append((sql, str(kind)))
        if name not in MADE_OTHERWISE and (table["v"].null_count, rows) != (1, [(None,)]):
            wrong.append((sql, repr(rows)))
    assert not wrong
    assert refused == REFUSED_BY_THE_SERVER


def test_values_that_only_the_server_makes(link: Connection) -> None:
    """Node trees and statistics: the server's own text in rows and columns."""
    with contextlib.suppress(PostgresError):
        link.execute("DROP TABLE table_statistics")
    link.execute(
        "CREATE TABLE table_statistics AS SELECT g % 5 AS a, g % 10 AS b, g AS c"
        " FROM generate_series(1, 500) g"
    )
    link.execute(
        "CREATE STATISTICS table_kept (ndistinct, dependencies, mcv) ON a, b FROM table_statistics"
    )
    link.execute("ANALYZE table_statistics")
    columns = ("stxdndistinct", "stxddependencies", "stxdmcv")
    outputs = ", ".join(f"{column}, {column}::text" for column in columns)
    queries = [
        f"SELECT {outputs} FROM pg_statistic_ext_data",
        "SELECT ev_action, ev_action::text FROM pg_rewrite LIMIT 5",
        "SELECT stavalues1, stavalues1::text FROM pg_statistic WHERE stavalues1 IS NOT NULL",
    ]
    for query in queries:
        table = oracle.arrow_table(link.fetch_columns(query))
        assert table.num_rows
        for index in range(0, table.num_columns, 2):
            assert table[index].to_pylist() == table[index + 1].to_pylist()
        assert [tuple(row.values()) for row in link.fetch(query)] == [
            tuple(row)
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
        ]
    link.execute("DROP TABLE table_statistics")
