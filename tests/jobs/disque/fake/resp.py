"""RESP2, the protocol of Disque, from the side of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import asyncio

Reply: TypeAlias = "Status | Error | NullArray | int | str | bytes | list[Reply] | None"


class Status(str):
    """A simple string, "+OK"."""

    __slots__ = ()


class Error(Exception):
    """An error reply, without its leading "-"."""


class NullArray:
    """The nil of a command that otherwise sends an array."""


def encoded(reply: Reply) -> bytes:
    """Return a reply as it goes over the wire."""
    match reply:
        case Status():
            return b"+%b\r\n" % reply.encode()
        case Error():
            return b"-%b\r\n" % str(reply).encode()
        case NullArray():
            return b"*-1\r\n"
        case None:
            return b"$-1\r\n"
        case int():
            return b":%d\r\n" % reply
        case str():
            return encoded(reply.encode("utf-8", "surrogateescape"))
        case bytes():
            return b"$%d\r\n%b\r\n" % (len(reply), reply)
        case _:
            return b"*%d\r\n" % len(reply) + b"".join(map(encoded, reply))


async def read_command(reader: asyncio.StreamReader) -> list[bytes] | None:
    """Return the next command, None at the end of the stream."""
    line = await reader.readline()
    if not line:
        return None
    words = []
    for _ in range(int(line[1:])):
        size = int((await reader.readline())[1:])
        words.append((await reader.readexactly(size + 2))[:-2])
    return words
