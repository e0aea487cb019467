"""`target_session_attrs` against a primary, a standby, and a server whose sessions only read."""

from __future__ import annotations

import socket
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import embedded
from colonnade.errors import InvalidPasswordError, TargetServerAttributeNotMatched
from tests.support.servers import start_standby

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = ("any", "read-write", "read-only", "primary", "standby", "prefer-standby")

# The servers in the order of the DSN -> the one that each kind selects.
CHOICES = {
    "PS": "PPSPSS",
    "SP": "SPSPSS",
    "P": "PP-P-P",
    "S": "S-S-SS",
    "R": "R-RR-R",
    "RP": "RPRR-R",
    "RS": "R-RRSS",
    "xS": "S-S-SS",
    "xPxS": "PPSPSS",
}


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, int]]:
    """A primary, a standby, a primary with read-only sessions, and an unused port."""
    reads_only = {"default_transaction_read_only": "on"}
    with (
        embedded.start(tcp=True) as primary,
        start_standby(tcp=True) as standby,
        embedded.start(tcp=True, settings=reads_only) as reader,
        socket.socket() as nobody,
    ):
        nobody.bind(("127.0.0.1", 0))
        servers = {"P": primary.port, "S": standby.port, "R": reader.port}
        yield {**servers, "x": nobody.getsockname()[1]}


def uri(ports: dict[str, int], servers: str, options: str) -> str:
    hosts = ",".join(f"127.0.0.1:{ports[name]}" for name in servers)
    return f"postgresql://postgres@{hosts}/postgres?sslmode=disable&{options}"


async def port_of(dsn: str) -> int:
    async with await colonnade.connect(dsn) as connection:
        port: int = await connection.fetchval("SELECT inet_server_port()")
        return port


@pytest.mark.parametrize("servers", CHOICES)
async def test_the_kind_that_is_asked_for(ports: dict[str, int], servers: str) -> None:
    names = {port: name for name, port in ports.items()}
    for kind, expected in zip(KINDS, CHOICES[servers], strict=True):
        dsn = uri(ports, servers, f"target_session_attrs={kind}")
        if expected == "-":
            with pytest.raises(TargetServerAttributeNotMatched if servers[0] != "x" else OSError):
                await colonnade.connect(dsn)
        else:
            assert names[await port_of(dsn)] == expected, kind


async def test_hosts_take_turns(ports: dict[str, int]) -> None:
    dsn = uri(ports, "PRS", "load_balance_hosts=random")
    seen = Counter([await port_of(dsn) for _ in range(30)])
    # The odds against one server never being first are 190,000 to 1.
    assert seen.keys() == {ports["P"], ports["R"], ports["S"]}
    dsn = uri(ports, "PRS", "load_balance_hosts=random&target_session_attrs=standby")
    assert {await port_of(dsn) for _ in range(5)} == {ports["S"]}


async def test_the_password_of_each_host(ports: dict[str, int]) -> None:
    """A callable is called once for each host that is tried."""
    asked = []

    def give() -> str:
        asked.append(True)
        return "not needed"

    dsn = uri(ports, "xPS", "target_session_attrs=standby")
    async with await colonnade.connect(dsn, password=give) as connection:
        assert connection._addr == ("127.0.0.1", ports["S"])
    assert len(asked) == 3


async def test_asked_once_for_all_ways_to_a_host(password_server: embedded.Server) -> None:
    """Two attempts at one host, without and with TLS, use one password."""
    asked = []

    def give() -> str:
        asked.append(True)
        return "wrong"

    dsn = password_server.dsn_for("scram_plain")
    for mode in ("prefer", "allow"):
        with pytest.raises(InvalidPasswordError):
            await colonnade.connect(dsn, ssl=mode, password=give)
    assert len(asked) == 2
