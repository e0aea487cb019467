"""The question of a search, and the suppliers' answers before the deadline."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

import aiohttp

from examples.service import parameters as read
from examples.service.data import ORIGINS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: All parameters, each character in percent-encoding, take less.
_QUERY_BYTES_MAX = 256
_KNOWN = frozenset({"origin", "dest", "month", "day", "max_price"})


@dataclass(frozen=True)
class Route:
    """The subject of a search; equal searches share an answer."""

    origin: str
    dest: str
    month: int
    day: int
    max_price: float

    @property
    def path(self) -> str:
        """The path to ask a supplier for."""
        route, day = f"{self.origin}-{self.dest}", f"{self.month}-{self.day}"
        return f"/offers?{urlencode({'route': route, 'day': day})}"


@dataclass(frozen=True)
class Answers:
    """The bodies that came, whose they are, and why the others are missing."""

    bodies: list[bytes]
    senders: list[int]
    missing: Mapping[str, str]


def route_of(parameters: Mapping[str, str]) -> Route:
    """Read what is searched for; raises BadRequestError for wrong parameters."""
    read.refuse_unknown(parameters, _KNOWN)
    return Route(
        origin=read.one_of(parameters, "origin", "EWR", ORIGINS),
        dest=read.text(parameters, "dest", "D17", 8),
        month=read.whole(parameters, "month", 6, 1, 12),
        day=read.whole(parameters, "day", 15, 1, 31),
        max_price=read.number(parameters, "max_price", 1000, 0, 1e6),
    )


def route_of_query(query: bytes) -> Route | None:
    """Read a query string; None if it is wrong, names a value twice, or is longer than any need be.

    It is called before anything is admitted, so what it remembers is small.
    """
    return _route_of_query(query) if len(query) <= _QUERY_BYTES_MAX else None


@lru_cache(maxsize=4_096)
def _route_of_query(query: bytes) -> Route | None:
    """Read a query string, once for all equal ones."""
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True)
        parameters = dict(pairs)
        return route_of(parameters) if len(parameters) == len(pairs) else None
    except ValueError:
        return None


async def asked(
    client: aiohttp.ClientSession, addresses: Sequence[str], route: Route, deadline: float
) -> Answers:
    """Ask every supplier; those that have not answered at the deadline are let go."""
    tasks = {
        asyncio.create_task(_ask(client, address + route.path), name=f"supplier {number}"): number
        for number, address in enumerate(addresses)
    }
    try:
        await asyncio.wait(tasks, timeout=deadline)
    finally:
        for task in tasks:
            task.cancel()
    answers = Answers([], [], missing := {})
    for task, number in tasks.items():
        if not task.done() or task.cancelled():
            missing[str(number)] = "late"
        elif isinstance(found := task.result(), str):
            missing[str(number)] = found
        else:
            answers.bodies.append(found)
            answers.senders.append(number)
    return answers


async def _ask(client: aiohttp.ClientSession, address: str) -> bytes | str:
    """The body of a supplier's answer, or the reason why there is none."""
    try:
        async with client.get(address) as response:
            if response.status != 200:
                return f"status {response.status}"
            return await response.read()
    except (aiohttp.ClientError, OSError) as error:
        return f"unreachable: {type(error).__name__}"
