"""OpenTelemetry's asyncpg instrumentation: the spans of queries of every kind."""

from __future__ import annotations

import asyncio

from tests.libraries.answers import DSN, answer, stand_in_for_asyncpg

stand_in_for_asyncpg()

import asyncpg  # noqa: E402
from opentelemetry.instrumentation.asyncpg import AsyncPGInstrumentor  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (  # noqa: E402
    InMemorySpanExporter,
)

_EXPORTER = InMemorySpanExporter()
_PROVIDER = TracerProvider()
_PROVIDER.add_span_processor(SimpleSpanProcessor(_EXPORTER))


async def main() -> None:
    AsyncPGInstrumentor(capture_parameters=True).instrument(tracer_provider=_PROVIDER)
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
        await cursor.fetchrow()
    try:
        await connection.execute("SELECT * FROM no_such_table")
    except asyncpg.PostgresError as error:
        answer("error", error)
    await connection.close()
    async with asyncpg.create_pool(DSN, min_size=1, max_size=1) as pool:
        await pool.fetchval("SELECT 1")
    left_out = {"server.port", "net.peer.port", "db.name", "db.namespace", "net.peer.name"}
    for span in _EXPORTER.get_finished_spans():
        if "pg_advisory_unlock_all" in str((span.attributes or {}).get("db.statement")):
            # The reset of Colonnade's pool makes no span, as docs/moving/asyncpg.md says.
            continue
        kept = dict(sorted((span.attributes or {}).items()))
        answer(
            span.name.replace("libraries_usual", "db").replace("libraries_colonnade", "db"),
            [
                span.kind.name,
                span.status.status_code.name,
                {name: str(kept[name]) for name in kept if name not in left_out},
            ],
        )


asyncio.run(main())
