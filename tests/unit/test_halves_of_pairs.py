"""Half of a surrogate pair, which no text in UTF-8 has, is refused by the name of its place.

So is a NUL in a name.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

import adbc_driver_manager as manager
import pytest

import colonnade
from colonnade import adbc, dbapi, sync
from colonnade.errors import ClientConfigurationError, EncodeError, InterfaceError
from colonnade.jobs.sync import create_queue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection

HALF = "has half of a surrogate pair, which is not valid UTF-8: PostgreSQL cannot hold it"
BAD = "a\ud800"
FAULTS = [(BAD, HALF), ("a\0", "has a NUL character, which PostgreSQL cannot hold")]


@pytest.fixture
def link(dsn: str) -> Iterator[Connection]:
    with sync.connect(dsn) as made:
        yield made


QUERIES: list[Callable[[Connection, str], Any]] = [
    lambda link, sql: link.fetch(sql),
    lambda link, sql: link.execute(sql),
    lambda link, sql: link.fetch_columns(sql),
    lambda link, sql: list(link.iter_columns(sql)),
    lambda link, sql: link.prepare(sql),
    lambda link, sql: link.fetchmany(sql, [()]),
    lambda link, sql: link.executemany(sql, [()]),
    lambda link, sql: link.hold_result(sql),
    lambda link, sql: link.copy_from_query(sql, output=print),
]


@pytest.mark.parametrize("run", QUERIES)
def test_the_text_of_a_query(link: Connection, run: Callable[[Connection, str], Any]) -> None:
    for sql in (f"SELECT '{BAD}'", f"SELECT '{BAD}' WHERE $1::int IS NULL"):
        with pytest.raises(UnicodeEncodeError) as caught:
            run(link, sql)
        told = [note for note in caught.value.__notes__ if "surrogate" in note]
        assert told == [f"the query {HALF}: '\\ud800'"]
    assert link.fetchval("SELECT 1") == 1


NAMES: list[Callable[[Connection, str], Any]] = [
    lambda link, bad: link.prepare("SELECT 1", name=bad),
    lambda link, bad: link.copy_records_to_table(bad, records=[(1,)]),
    lambda link, bad: link.copy_records_to_table("t", records=[(1,)], columns=[bad]),
    lambda link, bad: link.copy_columns_to_table(bad, {"a": [1]}),
    lambda link, bad: link.copy_columns_to_table("halves", {bad: [1]}, create=True),
    lambda link, bad: link.copy_from_table("t", output=print, delimiter=bad),
    lambda link, bad: link.copy_from_table("t", output=print, schema_name=bad),
    lambda link, bad: link.set_type_codec("int4", schema=bad, encoder=str, decoder=str),
    lambda link, bad: colonnade.write_table({"a": [1]}, bad, link),
]


@pytest.mark.parametrize("run", NAMES)
@pytest.mark.parametrize(("bad", "fault"), FAULTS)
def test_names(
    link: Connection, run: Callable[[Connection, str], Any], bad: str, fault: str
) -> None:
    with pytest.raises((InterfaceError, ValueError), match=fault):
        run(link, bad)
    assert link.fetchval("SELECT 1") == 1


@pytest.mark.parametrize(("bad", "fault"), FAULTS)
def test_names_of_other_doors(dsn: str, bad: str, fault: str) -> None:
    with sync.create_pool(dsn) as pool, pytest.raises((InterfaceError, ValueError), match=fault):
        create_queue(pool, "halves", {bad: "int8"})
    with dbapi.connect(dsn) as connection:
        with pytest.raises(dbapi.Error, match=fault):
            connection.cursor(bad).execute("SELECT 1")
        with pytest.raises(dbapi.Error, match=fault), connection.transaction(bad):
            pass


async def test_channels(dsn: str) -> None:
    async with await colonnade.connect(dsn) as connection:
        with pytest.raises((InterfaceError, ValueError), match=HALF):
            await connection.add_listener(BAD, print)


def test_values_name_their_place(link: Connection, dsn: str) -> None:
    with pytest.raises(EncodeError, match=r"argument \$1 of type text"):
        link.fetch("SELECT $1::text", BAD)
    link.execute("CREATE TEMP TABLE halves (v text)")
    with pytest.raises(EncodeError, match='column "v", row 1'):
        link.copy_records_to_table("halves", records=[("a",), (BAD,)])
    with adbc.connect(dsn) as connection, connection.cursor() as cursor:
        for value in (BAD, [None, BAD]):
            with pytest.raises(manager.DataError, match=f"parameter '0', row 1: .* {HALF}"):
                cursor.executemany("SELECT $1", [(None,), (value,)])


@pytest.mark.parametrize("option", ["user", "password", "database", "host", "server_settings"])
def test_options_of_a_connection(dsn: str, option: str) -> None:
    given: Any = {"application_name": BAD} if option == "server_settings" else f"s3cret{BAD}"
    with pytest.raises(ClientConfigurationError, match=HALF) as caught:
        sync.connect(dsn, **{option: given})
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("option", ["user", "password", "database", "server_settings"])
def test_a_nul_in_an_option(dsn: str, option: str) -> None:
    is_setting = option == "server_settings"
    given: Any = {"our.name": "a\0"} if is_setting else "s3cret\0"
    place = "a server setting" if is_setting else option.replace("database", "dbname")
    with pytest.raises(ClientConfigurationError, match=f"{place} has a NUL") as caught:
        sync.connect(dsn, **{option: given})
    assert "s3cret" not in str(caught.value)


def test_a_dsn() -> None:
    with pytest.raises(ClientConfigurationError, match=f"dsn {HALF}"):
        sync.connect(f"postgresql://x:s3cret{BAD}@h/b")
