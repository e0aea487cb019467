"""The right answers, and the verdict on an answer: right, an honest error, or wrong."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa

import colonnade
from examples.service.handlers.search import DELAYS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benches.service.load.http_client import Client, Reply

RIGHT = "right"
WITHOUT_DATABASE = "right, without the database"
ANALYTICS = "/analytics"
EXPORT = "/export?months=2-2"
DESTINATIONS = [f"D{number:02}" for number in range(10, 20)]
_SUMS = """
    SELECT count(*), sum(flight), sum(distance), sum(arr_delay), count(arr_delay)
    FROM flights WHERE month = 2
"""
_ORIGIN, _MONTH, _SUPPLIERS = "EWR", 6, 40


class WrongAnswerError(AssertionError):
    """An answer that says what is not so."""


@dataclass(frozen=True)
class Truth:
    """The right answers, taken before anything fails."""

    analytics: bytes
    sums: tuple[Any, ...]
    delays: Mapping[str, Mapping[str, float]]

    @classmethod
    async def of(cls, dsn: str, client: Client) -> Truth:
        """Ask the database, and the service while it is well."""
        connection = await colonnade.connect(dsn)
        try:
            sums = await connection.fetchrow(_SUMS)
            delays = {
                dest: {row["carrier"]: row["mean_delay"] for row in rows}
                for dest in DESTINATIONS
                for rows in (await connection.fetch(DELAYS, _ORIGIN, dest, _MONTH),)
            }
        finally:
            await connection.close()
        assert sums is not None
        return cls((await client.get(ANALYTICS)).body, tuple(sums), delays)

    def verdict(self, path: str, reply: Reply) -> str:
        """The verdict on an answer; raises WrongAnswerError for a wrong one."""
        if reply.status >= 500:
            shed = reply.header("x-shed")
            return f"{reply.status} {shed}".rstrip()
        if reply.status != 200:
            raise WrongAnswerError(f"{path}: status {reply.status}")
        if path == ANALYTICS:
            _expect(path, reply.body == self.analytics)
        elif path == EXPORT:
            _expect(path, _sums_of(reply.body) == self.sums)
        elif path.startswith("/search"):
            return self._of_search(path, orjson.loads(reply.body))
        return RIGHT

    def _of_search(self, path: str, found: Mapping[str, Any]) -> str:
        offers, missing = found["offers"], found["database"]["missing"]
        suppliers = found["suppliers"]
        _expect(path, suppliers["answered"] + len(suppliers["missing"]) == _SUPPLIERS)
        _expect(path, suppliers["answered"] > 0)
        _expect(path, found["complete"] == (not missing and not suppliers["missing"]))
        _expect(path, offers["price"] == sorted(offers["price"]) and len(offers["price"]) > 0)
        dest = found["dest"]
        if "destination" not in missing:
            _expect(path, found["destination"] == f"Airport {dest}")
        if "delays" not in missing:
            known = self.delays[dest]
            for carrier, delay in zip(offers["carrier"], offers["mean_delay"], strict=True):
                expected = known.get(carrier)
                same = delay is expected if expected is None else math.isclose(delay, expected)
                _expect(path, same)
        else:
            _expect(path, "mean_delay" not in offers)
        return WITHOUT_DATABASE if missing else RIGHT


def _expect(path: str, holds: object) -> None:
    if not holds:
        raise WrongAnswerError(f"{path}: a wrong answer")


def _sums_of(body: bytes) -> tuple[Any, ...]:
    """The sums of a stream that is whole; raises WrongAnswerError for one that only looks so."""
    try:
        table = pa.ipc.open_stream(io.BytesIO(body)).read_all()
    except pa.ArrowInvalid as error:
        raise WrongAnswerError(f"{EXPORT}: {error}") from error
    names = ("flight", "distance", "arr_delay")
    (total,) = table.group_by([]).aggregate([(name, "sum") for name in names]).to_pylist()
    return table.num_rows, *total.values(), len(table) - table["arr_delay"].null_count
