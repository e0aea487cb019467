"""The routes of the live page: its files, and the tables that it reads. They are never shed."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade import serve
from examples.service import parameters as read
from examples.service.answers import Answer, Table, of_problem
from examples.service.page.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from examples.service.runtime import Runtime

FOLDER = Path(__file__).parent
#: Where `npm install --prefix examples/service/page` puts the reader's one dependency.
FLECHETTE = FOLDER / "node_modules/@uwdata/flechette/dist/flechette.mjs"
SCRIPTS = ("live.js", "feed.js", "strips.js", "lanes.js", "drawing.js")
_JAVASCRIPT = "text/javascript; charset=utf-8"
_IMPORT_MAP = re.compile(rb'<script type="importmap">(.*?)</script>', re.DOTALL)


async def page(runtime: Runtime, parameters: Mapping[str, str]) -> Answer:
    """The page, which may load what this service itself has, and nothing else."""
    del runtime
    read.refuse_unknown(parameters, ())
    html = (FOLDER / "live.html").read_bytes()
    headers = {"content-security-policy": _policy(html), "cache-control": "no-cache"}
    return Answer(200, html, "text/html; charset=utf-8", headers)


def _policy(html: bytes) -> str:
    """An import map stands in the page itself, so its hash is allowed."""
    import_map = _IMPORT_MAP.search(html)
    assert import_map is not None
    digest = base64.b64encode(hashlib.sha256(import_map[1]).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self';"
        " connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    )


def _file(path: Callable[[Runtime], Path], content_type: str) -> Handler:
    async def answer(runtime: Runtime, parameters: Mapping[str, str]) -> Answer:
        del parameters
        try:
            body = path(runtime).read_bytes()
        except OSError:
            detail = "run `npm install --prefix examples/service/page`, or set SERVICE_FLECHETTE"
            return of_problem(404, f"{path(runtime).name} is missing", detail)
        headers = {"cache-control": "no-cache", "x-content-type-options": "nosniff"}
        return Answer(200, body, content_type, headers)

    return answer


def _own(name: str) -> Callable[[Runtime], Path]:
    return lambda _: FOLDER / name


def _flechette(runtime: Runtime) -> Path:
    return Path(runtime.settings.flechette or FLECHETTE)


async def _reader(runtime: Runtime, parameters: Mapping[str, str]) -> Answer:
    """The package's own module, wherever it is installed."""
    del runtime, parameters
    return Answer(200, serve.READER_JS.read_bytes(), _JAVASCRIPT, {"cache-control": "no-cache"})


def _table(name: str) -> Handler:
    async def answer(runtime: Runtime, parameters: Mapping[str, str]) -> Table:
        read.refuse_unknown(parameters, {"since", "format"})
        since = read.whole(parameters, "since", 0, 0, 2**40)
        # It reads files, and a disk may take its time.
        reports = await asyncio.to_thread(runtime.reports.all)
        table = TABLES[name](runtime.tables, reports, since)
        return Table(lambda: table, {"headers": {"cache-control": "no-store"}})

    return answer


if TYPE_CHECKING:
    Handler = Callable[[Runtime, Mapping[str, str]], Awaitable[Answer | Table]]

PAGE_ROUTES: Mapping[str, Handler] = {
    "/": page,
    "/live": page,
    "/live/live.css": _file(_own("live.css"), "text/css; charset=utf-8"),
    **{f"/live/{name}": _file(_own(name), _JAVASCRIPT) for name in SCRIPTS},
    "/live/flechette.js": _file(_flechette, _JAVASCRIPT),
    "/live/colonnade-reader.js": _reader,
    **{f"/live/tables/{name}": _table(name) for name in TABLES},
}
