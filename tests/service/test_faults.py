"""The service while parts of it fail; see `benches/service/faults`."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest

from benches.service.faults.__main__ import Finding, open_folder, tried
from benches.service.faults.disk import Disk, can_mount
from benches.service.faults.faults import FAULTS
from benches.service.faults.network import Network
from benches.service.faults.steady import Answered, Record
from benches.service.faults.truth import (
    EXPORT,
    RIGHT,
    WITHOUT_DATABASE,
    Truth,
    WrongAnswerError,
)
from benches.service.load.http_client import Reply

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def findings() -> dict[str, Finding]:
    names = [name for name in FAULTS if name != "disk-full" or can_mount()]
    with open_folder() as folder:
        found = asyncio.run(tried(folder, names, rate=20, flights=20_000))
    return {finding.name: finding for finding in found}


@pytest.mark.parametrize("name", FAULTS)
def test_every_answer_is_right_or_an_honest_error(name: str, findings: dict[str, Finding]) -> None:
    if name not in findings:
        pytest.skip("a small disk needs the right to mount")
    finding = findings[name]
    counts = finding.record.counts()
    assert finding.is_good, str(finding)
    # A 500 would say that the service is wrong, and not what it needs.
    assert "500" not in counts, str(finding)
    assert counts[RIGHT] > 60, str(finding)


def _reply(status: int, body: bytes = b"{}", headers: bytes = b"") -> Reply:
    return Reply(status, headers, body, len(body))


def test_a_wrong_answer_is_found() -> None:
    truth = Truth(b"right", (1, 2, 3.0, 4.0, 1), {"D17": {"AA": 1.0}})
    assert truth.verdict("/analytics", _reply(200, b"right")) == RIGHT
    assert truth.verdict("/analytics", _reply(503, headers=b"\r\nx-shed: pool\r\n")) == "503 pool"
    for path, reply in {
        "/analytics": _reply(200, b"rigth"),
        EXPORT: _reply(200, b"cut"),
        "/search": _reply(404),
    }.items():
        with pytest.raises(WrongAnswerError):
            truth.verdict(path, reply)


def test_a_search_says_what_it_could_not_know() -> None:
    truth = Truth(b"", (), {"D17": {"AA": 1.0}})
    body = (
        b'{"dest":"D17","destination":%s,"complete":false,'
        b'"offers":{"price":[1.0],"carrier":["AA"]%s},'
        b'"suppliers":{"answered":40,"missing":{}},"database":{"missing":{%s}}}'
    )
    missing = b'"delays":"late","destination":"late","schedule":"late"'
    honest = body % (b"null", b"", missing)
    assert truth.verdict("/search", _reply(200, honest)) == WITHOUT_DATABASE
    guessed = body % (b'"Airport D18"', b',"mean_delay":[1.0]', b'"schedule":"late"')
    with pytest.raises(WrongAnswerError):
        truth.verdict("/search", _reply(200, guessed))


def test_a_recovery_lasts_until_the_last_answer_that_was_spoiled() -> None:
    verdicts = [(1.0, 1.5, RIGHT), (2.0, 3.5, "503"), (4.0, 4.1, RIGHT), (5.0, 5.1, "503 loop")]
    record = Record([Answered("/search", due, ended, what) for due, ended, what in verdicts])
    assert record.recovery(3.0) == pytest.approx(0.5)
    assert record.longest == pytest.approx(1.5)
    assert not record.is_well(3.9)
    record.answers += [Answered(path, 6, 6.1, RIGHT) for path in ("/analytics", EXPORT)]
    assert record.is_well(3.9)


def test_only_a_small_disk_is_filled(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="others need"):
        Disk(tmp_path).fill()


async def test_a_network_is_cut_silently_and_heals() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, Network(server.sockets[0].getsockname()[1]) as network:
        reader, writer = await asyncio.open_connection("127.0.0.1", network.port)
        writer.write(b"before")
        assert await reader.readexactly(6) == b"before"
        network.cut("silent")
        writer.write(b"lost")
        waiting = asyncio.create_task(reader.read(4))
        await asyncio.sleep(0)
        assert not waiting.done()
        await network.heal()
        # Connections that were open when the network was cut never come back to life.
        with contextlib.suppress(ConnectionError):
            assert await waiting == b""
        writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", network.port)
        writer.write(b"after")
        assert await reader.readexactly(5) == b"after"
        writer.close()
