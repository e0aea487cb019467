"""The doors and the peers that run the courses of `changing`, each with connections of its own."""

from __future__ import annotations

import asyncio
import contextlib
import io
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import asyncpg
import psycopg
import sqlalchemy as sa

import colonnade.sync
from colonnade import adbc, dbapi
from colonnade.errors import InvalidCachedStatementError

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., list[Any]]
    Door = Callable[[contextlib.ExitStack, str, str], "Link"]


@dataclass(frozen=True)
class Link:
    """A connection of a door."""

    run: Run
    """The rows of a statement with its value, for which `$1` stands, if it has one."""
    end: Callable[[str], object]
    """COMMIT or ROLLBACK."""


def of_core(reading: Callable[[colonnade.sync.Connection], Run]) -> Door:
    def opened(doors: contextlib.ExitStack, dsn: str, schema: str) -> Link:
        made = colonnade.sync.connect(dsn, server_settings={"search_path": schema})
        link = doors.enter_context(made)
        read = reading(link)

        def run(sql: str, *values: Any) -> list[Any]:
            if not link.is_in_transaction():
                link.execute("BEGIN")
            return read(sql, *values)

        return Link(run, link.execute)

    return opened


#: An INSERT without names gives its value to this one.
FIRST_COLUMN = """
SELECT attname FROM pg_attribute
WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum LIMIT 1
"""


def rows(link: colonnade.sync.Connection, sql: str, *values: Any) -> list[Any]:
    return [dict(row.items()) for row in link.fetch(sql, *values)]


def columns(link: colonnade.sync.Connection, sql: str, *values: Any) -> list[Any]:
    return list(link.fetch_columns(sql, *values).to_arrow().to_pylist())


def prepared(link: colonnade.sync.Connection) -> Run:
    """Keep each statement prepared until it fails, or tells that its result has other columns."""
    kept: dict[str, colonnade.sync.PreparedStatement[colonnade.Record]] = {}

    def run(sql: str, *values: Any) -> list[Any]:
        if sql not in kept:
            kept[sql] = link.prepare(sql)
        try:
            return [dict(row.items()) for row in kept[sql].fetch(*values)]
        except BaseException as error:
            del kept[sql]
            if isinstance(error, InvalidCachedStatementError) and error.severity is None:
                # The driver saw it, so the transaction goes on.
                return run(sql, *values)
            raise

    return run


def copied(link: colonnade.sync.Connection, sql: str, *values: Any) -> list[Any]:
    """Let COPY do what it can: the rows of a table in, those of a query out as text."""
    if sql.startswith("INSERT"):
        table = sql.split()[2]
        first = link.fetchval(FIRST_COLUMN, table)
        link.copy_records_to_table(table, records=[values], columns=[first])
        return []
    if not sql.startswith("SELECT"):
        return rows(link, sql, *values)
    out = io.BytesIO()
    link.copy_from_query(sql, *values, output=out)
    return out.getvalue().splitlines()


def by_pool(doors: contextlib.ExitStack, dsn: str, schema: str) -> Link:
    """Borrow the pool's only connection for each block."""
    made = colonnade.sync.create_pool(
        dsn, min_size=1, max_size=1, server_settings={"search_path": schema}
    )
    pool = doors.enter_context(made)
    borrowed = doors.enter_context(contextlib.ExitStack())
    held: list[colonnade.sync.Connection] = []

    def run(sql: str, *values: Any) -> list[Any]:
        if not held:
            held.append(borrowed.enter_context(pool.acquire()))
            held[0].execute("BEGIN")
        return rows(held[0], sql, *values)

    def end(command: str) -> None:
        held.pop().execute(command)
        borrowed.close()

    return Link(run, end)


def on_a_loop(connect: Callable[..., Any]) -> Door:
    def opened(doors: contextlib.ExitStack, dsn: str, schema: str) -> Link:
        loop = doors.enter_context(asyncio.Runner())

        async def begun() -> Any:
            return await connect(dsn, server_settings={"search_path": schema})

        link = loop.run(begun())
        doors.callback(lambda: loop.run(link.close()))

        def run(sql: str, *values: Any) -> list[Any]:
            if not link.is_in_transaction():
                loop.run(link.execute("BEGIN"))
            return [dict(row.items()) for row in loop.run(link.fetch(sql, *values))]

        return Link(run, lambda command: loop.run(link.execute(command)))

    return opened


def with_path(dsn: str, schema: str) -> str:
    """The address with a search path."""
    joint = "&" if "?" in dsn else "?"
    return f"{dsn}{joint}options={quote(f'-c search_path={schema}')}"


def by_dbapi(connect: Callable[[str], Any]) -> Door:
    def opened(doors: contextlib.ExitStack, dsn: str, schema: str) -> Link:
        link = connect(with_path(dsn, schema))
        doors.callback(link.close)

        def run(sql: str, *values: Any) -> list[Any]:
            # psycopg takes no dict; the order of the fields is the type's.
            taken = [tuple(each.values()) if isinstance(each, dict) else each for each in values]
            cursor = link.execute(sql.replace("$1", "%s"), taken or None)
            return cursor.fetchall() if cursor.description else []

        return Link(run, lambda command: getattr(link, command.lower())())

    return opened


def by_text(doors: contextlib.ExitStack, dsn: str, schema: str) -> Link:
    address = with_path(dsn, schema).replace("postgresql:", "postgresql+colonnade:", 1)
    engine = sa.create_engine(address, poolclass=sa.StaticPool)
    doors.callback(engine.dispose)
    link = doors.enter_context(engine.connect())

    def run(sql: str, *values: Any) -> list[Any]:
        given = {"x": values[0]} if values else {}
        result = link.execute(sa.text(sql.replace("$1", ":x")), given)
        return list(map(tuple, result)) if result.returns_rows else []

    return Link(run, lambda command: getattr(link, command.lower())())


def by_adbc(doors: contextlib.ExitStack, dsn: str, schema: str) -> Link:
    link = doors.enter_context(adbc.connect(with_path(dsn, schema)))

    def run(sql: str, *values: Any) -> list[Any]:
        with link.cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetch_arrow_table().to_pylist())

    return Link(run, lambda command: getattr(link, command.lower())())


DOORS: dict[str, Door] = {
    "core": of_core(lambda link: partial(rows, link)),
    "asyncio": on_a_loop(colonnade.connect),
    "columns": of_core(lambda link: partial(columns, link)),
    "prepared": of_core(prepared),
    "COPY": of_core(lambda link: partial(copied, link)),
    "pool": by_pool,
    "DB-API": by_dbapi(dbapi.connect),
    "text()": by_text,
    "ADBC": by_adbc,
}
PEERS: dict[str, Door] = {
    "asyncpg": on_a_loop(asyncpg.connect),
    "psycopg": by_dbapi(psycopg.connect),
}
