"""The variants of the load test answer the same: only then do their rates compare."""

from __future__ import annotations

import asyncio
import contextlib
import io
from typing import TYPE_CHECKING

import orjson
import pyarrow as pa
import pytest

from benches.service.load.http_client import Client
from benches.service.load.stages import VARIANTS, Stage, running
from benches.service.rivals.frame import loaded
from tests.service.serving import FLIGHTS

if TYPE_CHECKING:
    from benches.service.load.http_client import Reply

pytestmark = pytest.mark.thorough

PATHS = ("/search?dest=D12", "/analytics", "/analytics-sql", "/export", "/livez")


@pytest.fixture(scope="module")
def replies(
    service_dsn: str, quick_suppliers: list[str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Reply]]:
    async def asked(port: int) -> dict[str, Reply]:
        async with Client(port, keep_bodies=True) as client:
            return {path: await client.get(path, seconds_max=60) for path in PATHS}

    found = {}
    # Other tests may hold the processors: no supplier is late here.
    settings = {"SERVICE_DEADLINE": "20", "SERVICE_LOOP_AIM": "60", "SERVICE_POOL_AIM": "60"}
    with contextlib.ExitStack() as stack:
        on = Stage(service_dsn, quick_suppliers, tmp_path_factory.mktemp("beats"))
        for name in VARIANTS:
            service = stack.enter_context(running(name, on, settings))
            found[name] = asyncio.run(asked(service.port))
    return found


@pytest.mark.parametrize("rival", ["asyncpg", "flask"])
def test_the_answers_are_the_same(rival: str, replies: dict[str, dict[str, Reply]]) -> None:
    ours, theirs = replies["colonnade"], replies[rival]
    for path in PATHS:
        if path != "/analytics-sql":
            assert ours[path].status == theirs[path].status == 200, path
    found, expected = (orjson.loads(one["/search?dest=D12"].body) for one in (theirs, ours))
    for answer in (found, expected):
        assert answer.pop("seconds") >= 0
        assert answer["complete"]
        # In which order equal prices come is nobody's promise.
        offers = answer.pop("offers")
        rows = zip(*(offers[name] for name in sorted(offers)), strict=True)
        answer["rows"] = sorted(map(repr, rows))
    assert found == expected
    analytics = loaded(ours["/analytics"].body)
    for path in ("/analytics", "/analytics-sql"):
        answer = loaded(theirs[path].body)
        for name, values in analytics.items():
            assert answer[name] == (pytest.approx(values) if name == "mean_delay" else values)
    tables = [
        pa.ipc.open_stream(io.BytesIO(one["/export"].body)).read_all() for one in (ours, theirs)
    ]
    assert [len(table) for table in tables] == [FLIGHTS, FLIGHTS]
    keys = [(name, "ascending") for name in tables[0].column_names]
    first, second = (table.sort_by(keys).to_pydict() for table in tables)
    assert first == second
