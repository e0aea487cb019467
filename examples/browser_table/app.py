"""A page that reads half a million rows from PostgreSQL into typed arrays, and draws them.

Install flechette and a web server first, then open the address that is printed:

    npm install --prefix examples/browser_table
    .venv/bin/python examples/browser_table/app.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, TypeAlias

import uvicorn

import colonnade
from colonnade import embedded, serve

Message: TypeAlias = MutableMapping[str, Any]

FOLDER = Path(__file__).resolve().parent
FLECHETTE = FOLDER / "node_modules/@uwdata/flechette/dist/flechette.mjs"
READINGS = """
    CREATE TABLE IF NOT EXISTS readings AS
    SELECT n AS id,
           timestamptz '2026-01-01 00:00+00' + n * interval '10 seconds' AS measured_at,
           (ARRAY['Arkona', 'Brocken', 'Fehmarn', 'Helgoland', 'Zugspitze'])[n % 5 + 1] AS station,
           round((12 + 9 * sin(n / 8640.0) + n % 7 * 0.3)::numeric, 1)::float8 AS temperature,
           round((70 + 25 * cos(n / 5000.0))::numeric, 1)::float8 AS humidity,
           round((1013 + 12 * sin(n / 20000.0))::numeric, 2)::float8 AS pressure,
           (n * 37 % 180 / 10.0)::float4 AS wind,
           (n * 11 % 360)::int2 AS direction,
           CASE WHEN n % 9 <> 0 THEN (n * 13 % 40 / 10.0)::float8 END AS rain,
           n % 50 <> 0 AS is_valid
    FROM generate_series(1, 500000) AS n
"""


class App:
    """Answers with the files of the page, and with the table."""

    def __init__(self, pool: colonnade.Pool, flechette: Path = FLECHETTE) -> None:
        reader = Path(serve.__file__).with_name("colonnade-reader.js")
        self._pool = pool
        self._files = {
            "/": (FOLDER / "index.html", b"text/html; charset=utf-8"),
            "/grid.js": (FOLDER / "grid.js", b"text/javascript"),
            "/colonnade-reader.js": (reader, b"text/javascript"),
            "/flechette.js": (flechette, b"text/javascript"),
        }

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Answer a request, as an ASGI application."""
        if scope["path"] == "/readings":
            table = serve.TableResponse(
                lambda: self._pool.iter_columns("SELECT * FROM readings ORDER BY id")
            )
            await table(scope, receive, send)
            return
        path, content_type = self._files.get(scope["path"], (None, b"text/plain"))
        status = 200 if path else 404
        headers = [(b"content-type", content_type)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        body = path.read_bytes() if path else b"not found"
        await send({"type": "http.response.body", "body": body})


async def main(dsn: str) -> None:
    """Serve the page until Ctrl-C."""
    async with colonnade.create_pool(dsn) as pool:
        await pool.execute(READINGS)
        config = uvicorn.Config(App(pool), port=8000, lifespan="off", log_level="warning")
        print("http://127.0.0.1:8000/")
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    with embedded.start(tcp=True) as server:
        asyncio.run(main(server.dsn))
