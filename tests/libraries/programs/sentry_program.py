"""Sentry's asyncpg integration: the spans and breadcrumbs of queries of every kind."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from tests.libraries.answers import DSN, answer, stand_in_for_asyncpg

stand_in_for_asyncpg()

import asyncpg  # noqa: E402
import sentry_sdk  # noqa: E402
from sentry_sdk.integrations.asyncpg import AsyncPGIntegration  # noqa: E402
from sentry_sdk.transport import Transport  # noqa: E402

_EVENTS: list[Any] = []
_KEPT = {"db.driver.name", "db.executemany", "db.params", "db.system", "db.user"}
# Each driver has different names.
_SAVEPOINT = re.compile(r"__\w+?_savepoint_\w+?__")


class Kept(Transport):
    """Keeps the events instead of sending them."""

    def capture_envelope(self, envelope: Any) -> None:
        _EVENTS.extend(item.payload.json for item in envelope.items)


async def talk() -> None:
    """Every kind of query that the integration records."""
    connection = await asyncpg.connect(DSN)
    await connection.execute("CREATE TABLE users (id serial PRIMARY KEY, name text)")
    await connection.execute("INSERT INTO users (name) VALUES ($1)", "ann")
    await connection.executemany("INSERT INTO users (name) VALUES ($1)", [("bob",), ("cy",)])
    await connection.fetch("SELECT * FROM users WHERE name = $1", "ann")
    await connection.fetchrow("SELECT * FROM users")
    await connection.fetchval("SELECT count(*) FROM users")
    statement = await connection.prepare("SELECT * FROM users WHERE id = $1")
    await statement.fetch(1)
    async with connection.transaction():
        async for _row in connection.cursor("SELECT * FROM users WHERE id > $1", 0):
            pass
        cursor = await connection.cursor("SELECT * FROM users")
        await cursor.fetch(2)
        async with connection.transaction():
            await connection.execute("SELECT 1")
    try:
        await connection.execute("SELECT * FROM no_such_table")
    except asyncpg.PostgresError as error:
        answer("error", error)
    await connection.close()


async def main() -> None:
    sentry_sdk.init(
        dsn="http://key@localhost/1",
        integrations=[AsyncPGIntegration(record_params=True)],
        default_integrations=False,
        traces_sample_rate=1.0,
        transport=Kept,
    )
    with sentry_sdk.start_transaction(name="talk"):
        await talk()
    sentry_sdk.capture_message("end")
    sentry_sdk.flush()


asyncio.run(main())
for event in _EVENTS:
    for span in event.get("spans", ()):
        kept = {name: span["data"][name] for name in sorted(span["data"]) if name in _KEPT}
        answer("span", [span["op"], _SAVEPOINT.sub("savepoint", span["description"]), kept])
    for crumb in event.get("breadcrumbs", {}).get("values", ()):
        answer("breadcrumb", [crumb["category"], _SAVEPOINT.sub("savepoint", crumb["message"])])
