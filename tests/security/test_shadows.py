"""None of the driver's internal queries calls an attacker's object, for any search path."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from colonnade import embedded, sync
from colonnade.errors import PostgresError
from tests.security import roads, shadows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.thorough

# `evil` ahead of PostgreSQL's own names, and the default, which finds only better matches.
PATHS = {"ahead": "evil,pg_catalog", "behind": '"$user",public'}


@pytest.fixture(scope="module")
def haunted() -> Iterator[embedded.Server]:
    """A private server with all shadows, and the objects that the roads use."""
    settings = {"max_prepared_transactions": "5", "statement_timeout": "30s"}
    with embedded.start(tcp=True, settings=settings) as server:
        with sync.connect(server.dsn) as connection:
            connection.execute(roads.SCRIPT)
            shadows.plant(connection)
        yield server


@pytest.fixture(scope="module")
def witness(haunted: embedded.Server) -> Iterator[sync.Connection]:
    """A connection whose search path has no shadows."""
    with sync.connect(haunted.dsn, server_settings={"search_path": "pg_catalog"}) as connection:
        yield connection


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> str:
    found: str = PATHS[request.param]
    return found


@pytest.fixture
def address(haunted: embedded.Server, path: str) -> str:
    """The DSN of the server with a search path."""
    return f"{haunted.dsn}{'&' if '?' in haunted.dsn else '?'}search_path={path}"


def test_the_shadows_are_many(witness: sync.Connection) -> None:
    found = shadows.planted(witness)
    for schema in shadows.SCHEMAS:
        for kind in ("operator", "function"):
            assert found[schema, kind] > shadows.LEAST[kind]
    for kind in ("type", "table"):
        assert found["evil", kind] > shadows.LEAST[kind]


@pytest.mark.parametrize(
    ("query", "ahead_alone"),
    [
        ("SELECT '1'::pg_catalog.oid <> 1", False),
        ("SELECT pg_catalog.pg_typeof(1) = '1'::pg_catalog.oid", False),
        ("SELECT count('1'::pg_catalog.oid)", False),
        ("SELECT '1'::pg_catalog.oid IN (1, 2)", True),
        ("SELECT CASE 1 WHEN 2 THEN 3 END", True),
        ("SELECT 'a' LIKE 'b'", True),
        ("SELECT nullif(1, 2)", True),
        ("SELECT 1 IS DISTINCT FROM 2", True),
        ("SELECT 1 BETWEEN 2 AND 3", True),
        ("SELECT * FROM (VALUES (1)) AS a (v) JOIN (VALUES (1)) AS b (v) USING (v)", True),
        ("SELECT pg_backend_pid()", True),
        ("SELECT 'a'::text", True),
        ("SELECT oid FROM pg_class", True),
    ],
)
def test_what_says_no_schema_calls_them(
    query: str, ahead_alone: bool, address: str, path: str, witness: sync.Connection
) -> None:
    shadows.forget(witness)
    with sync.connect(address) as connection, contextlib.suppress(PostgresError):
        connection.fetch(query)
    is_called = shadows.called(witness) is not None
    assert is_called is (path == PATHS["ahead"] or not ahead_alone)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT v FROM (VALUES (1), (2)) AS a (v) ORDER BY v",
        "SELECT v FROM (VALUES (1), (2)) AS a (v) GROUP BY v",
        "VALUES (1) UNION VALUES (1)",
        "SELECT coalesce(NULL, 1), greatest(1, 2), -1, EXTRACT(year FROM current_date)",
        "SELECT CASE WHEN true THEN 1::integer ELSE 2::bigint END, current_user",
    ],
)
def test_what_has_no_choice_of_schemas(query: str, address: str, witness: sync.Connection) -> None:
    shadows.forget(witness)
    with sync.connect(address) as connection:
        connection.fetch(query)
    assert shadows.called(witness) is None


@pytest.mark.parametrize("road", roads.ROADS, ids=lambda road: road.__name__)
def test_the_driver_calls_none(
    road: Callable[[str, Path], object], address: str, tmp_path: Path, witness: sync.Connection
) -> None:
    shadows.forget(witness)
    try:
        road(address, tmp_path)
    finally:
        found = shadows.called(witness)
        assert found is None, f"a stranger's {found} was called"
