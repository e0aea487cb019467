"""Retries with or without TLS: the answers that cause a second attempt, and its outcome."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import (
    AuthenticationError,
    CannotConnectNowError,
    ConnectionDoesNotExistError,
    InvalidAuthorizationSpecificationError,
    InvalidCatalogNameError,
    InvalidPasswordError,
    TooManyConnectionsError,
)
from tests.support.scripted_server import (
    AUTHENTICATION_OK,
    GREETING,
    READ_STARTUP,
    Close,
    Hang,
    ReadUntilClosed,
    ScriptedServer,
    Send,
    error,
    message,
)

if TYPE_CHECKING:
    from tests.support.scripted_server import Step

pytestmark = pytest.mark.every_loop


def refusing(code: str, before: bytes = b"") -> list[Step]:
    return [READ_STARTUP, Send(before + error(code, "not you", "FATAL"))]


def without_tls(script: list[Step]) -> list[Step]:
    """The same replies, after the server has declined TLS."""
    return [READ_STARTUP, Send(b"N"), *script]


DISCONNECTING: list[Step] = [READ_STARTUP, Close()]
WELCOMING: list[Step] = [READ_STARTUP, Send(GREETING), ReadUntilClosed()]
BEFORE_IT_KNEW_US = ["28000", "28P01", "3D000", "53300"]


@pytest.mark.parametrize(
    "first", [*map(refusing, BEFORE_IT_KNEW_US), DISCONNECTING], ids=[*BEFORE_IT_KNEW_US, "close"]
)
async def test_a_server_that_refuses_is_asked_the_other_way(first: list[Step]) -> None:
    with ScriptedServer(first, without_tls(WELCOMING)) as server:
        connection = await colonnade.connect(server.dsn, ssl="allow")
        connection.terminate()
        assert len(server.received) == 2


@pytest.mark.parametrize("code", ["28000", "3D000", "53300", "57P03", "22023"])
async def test_what_a_server_says_that_knows_us_is_final(code: str) -> None:
    script = refusing(code, AUTHENTICATION_OK)
    with ScriptedServer(script) as server:
        uri = f"postgresql://postgres@127.0.0.1:{server.port},127.0.0.1:{server.port}/postgres"
        with pytest.raises(colonnade.PostgresError) as caught:
            await colonnade.connect(uri, ssl="allow")
        assert caught.value.sqlstate == code
        assert len(server.received) == 1


async def test_a_server_that_starts_up_is_not_asked_the_other_way() -> None:
    with ScriptedServer(refusing("57P03")) as server:
        with pytest.raises(CannotConnectNowError):
            await colonnade.connect(server.dsn, ssl="allow")
        assert len(server.received) == 1


async def test_a_server_without_tls_is_asked_once() -> None:
    with ScriptedServer(without_tls(refusing("28000"))) as server:
        with pytest.raises(InvalidAuthorizationSpecificationError):
            await colonnade.connect(server.dsn, ssl="prefer")
        assert len(server.received) == 1


async def test_an_error_in_place_of_an_answer_for_tls_is_final() -> None:
    script: list[Step] = [READ_STARTUP, Send(error("57P03", "untrusted")), ReadUntilClosed()]
    with ScriptedServer(script) as server:
        with pytest.raises(ConnectionError, match="error response during SSL exchange") as caught:
            await colonnade.connect(server.dsn, ssl="prefer")
        assert "untrusted" not in str(caught.value)
        assert len(server.received) == 1


async def test_a_method_that_we_do_not_know_is_final() -> None:
    unknown = message(b"R", struct.pack("!i", 99))
    with ScriptedServer([READ_STARTUP, Send(unknown), ReadUntilClosed()]) as server:
        with pytest.raises((AuthenticationError, colonnade.InternalClientError)):
            await colonnade.connect(server.dsn, ssl="allow")
        assert len(server.received) == 1


async def test_the_second_refusal_has_the_first_for_its_cause() -> None:
    for second, kind in (("53300", TooManyConnectionsError), ("57P03", CannotConnectNowError)):
        with ScriptedServer(refusing("3D000"), without_tls(refusing(second))) as server:
            with pytest.raises(kind) as caught:
                await colonnade.connect(server.dsn, ssl="allow")
            assert isinstance(caught.value.__cause__, InvalidCatalogNameError)


async def test_a_wrong_password_is_more_to_the_point_than_a_closed_way() -> None:
    wrong = refusing("28P01")
    for second in (refusing("28000"), DISCONNECTING):
        with ScriptedServer(wrong, without_tls(second)) as server:
            with pytest.raises(InvalidPasswordError):
                await colonnade.connect(server.dsn, ssl="allow")
            assert len(server.received) == 2
    with ScriptedServer(wrong, without_tls(refusing("3D000"))) as server:
        with pytest.raises(InvalidCatalogNameError) as caught:
            await colonnade.connect(server.dsn, ssl="allow")
        assert isinstance(caught.value.__cause__, InvalidPasswordError)
    with ScriptedServer(DISCONNECTING, without_tls(DISCONNECTING)) as server:
        with pytest.raises(ConnectionDoesNotExistError):
            await colonnade.connect(server.dsn, ssl="allow")
        assert len(server.received) == 2


async def test_a_cut_second_attempt_has_the_refusal_for_its_cause() -> None:
    hanging: list[Step] = [READ_STARTUP, Hang()]
    with ScriptedServer(refusing("3D000"), hanging) as server:
        with pytest.raises(TimeoutError) as caught:
            await colonnade.connect(server.dsn, ssl="allow", timeout=0.3)
        causes = []
        error: BaseException | None = caught.value
        while error is not None:
            causes.append(type(error))
            error = error.__cause__
        assert InvalidCatalogNameError in causes
        assert len(server.received) == 2
