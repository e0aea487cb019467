# Generated from tests/async/test_authentication.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Authentication of client and server: every method, with and without TLS."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import embedded
from colonnade.errors import (
    AuthenticationError,
    InvalidAuthorizationSpecificationError,
    InvalidPasswordError,
    MissingPasswordError,
)
from tests.support.scripted_server import (
    READ_MESSAGE,
    READ_STARTUP,
    ReadUntilClosed,
    ScriptedServer,
    Send,
    message,
)
from tests.support.servers import PASSWORD_ROLES
from tests.support.tls_shim import Certificates, TlsVariant

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.scripted_server import Step
    from tests.support.tls_shim import TlsShim

roles = pytest.mark.parametrize("role", PASSWORD_ROLES, ids=lambda role: role.name)


@roles
def test_the_right_password(password_server: embedded.Server, role: embedded.Role) -> None:
    for tcp in (True, False):
        dsn = password_server.dsn_for(role.name, role.password, tcp=tcp)
        with colonnade.sync.connect(dsn) as connection:
            assert connection.fetchval("SELECT current_user::text") == role.name
    with colonnade.sync.connect(
        password_server.dsn_for(role.name), password=role.password
    ) as connection:
        assert connection.fetchval("SELECT 1") == 1


@roles
@pytest.mark.parametrize("password", ["wrong", "", "pässwörd 密码 ", "\N{SOFT HYPHEN}"])
def test_a_wrong_password(
    password_server: embedded.Server, role: embedded.Role, password: str
) -> None:
    dsn = password_server.dsn_for(role.name, password)
    with pytest.raises((InvalidPasswordError, AuthenticationError)) as caught:
        colonnade.sync.connect(dsn)
    if not isinstance(caught.value, MissingPasswordError):
        assert isinstance(caught.value, InvalidPasswordError)
        assert caught.value.sqlstate == "28P01"
        assert f'password authentication failed for user "{role.name}"' in str(caught.value)
        assert isinstance(caught.value, InvalidAuthorizationSpecificationError)
    else:
        assert not password


@roles
def test_no_password(password_server: embedded.Server, role: embedded.Role) -> None:
    with pytest.raises(MissingPasswordError, match="no password was given") as caught:
        colonnade.sync.connect(password_server.dsn_for(role.name))
    # A caller that handles a wrong password, as with asyncpg, also handles a missing one.
    assert isinstance(caught.value, InvalidPasswordError)
    assert isinstance(caught.value, AuthenticationError)
    assert caught.value.sqlstate == "28P01"


def test_an_unknown_role(dsn: str) -> None:
    with pytest.raises(InvalidAuthorizationSpecificationError, match='"nobody_here"'):
        colonnade.sync.connect(dsn, user="nobody_here")


@roles
def test_only_the_methods_that_are_asked_for(
    password_server: embedded.Server, role: embedded.Role
) -> None:
    dsn = password_server.dsn_for(role.name, role.password)
    with colonnade.sync.connect(f"{dsn}?require_auth={role.method}"):
        pass
    with colonnade.sync.connect(f"{dsn}?require_auth=!none"):
        pass
    with pytest.raises(AuthenticationError, match="require_auth"):
        colonnade.sync.connect(f"{dsn}?require_auth=!{role.method}")
    with pytest.raises(AuthenticationError, match="require_auth"):
        colonnade.sync.connect(f"{dsn}?require_auth=none")


def test_a_server_that_asks_for_nothing(dsn: str) -> None:
    with colonnade.sync.connect(f"{dsn}?require_auth=none"):
        pass
    with pytest.raises(AuthenticationError, match="require_auth"):
        colonnade.sync.connect(f"{dsn}?require_auth=scram-sha-256")


@pytest.mark.parametrize("kind", [2, 9, 6])
def test_methods_that_are_not_supported(kind: int) -> None:
    demand = Send(message(b"R", struct.pack("!i", kind) + b"\0\0\0\0"))
    with (
        ScriptedServer([READ_STARTUP, demand, ReadUntilClosed()]) as server,
        pytest.raises(AuthenticationError, match=r"(?i)support"),
    ):
        colonnade.sync.connect(f"{server.dsn}?sslmode=disable", password="secret")


def test_a_server_that_does_not_know_the_password() -> None:
    """The server accepts in the middle of SCRAM, without proving that it knows the password."""
    mechanisms = message(b"R", struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0")
    yes = message(b"R", struct.pack("!i", 0))
    script: list[Step] = [
        READ_STARTUP,
        Send(mechanisms),
        READ_MESSAGE,
        Send(yes),
        ReadUntilClosed(),
    ]
    with ScriptedServer(script) as server:
        with pytest.raises(AuthenticationError):
            colonnade.sync.connect(f"{server.dsn}?sslmode=disable", password="secret")
        assert b"secret" not in server.received[0]


# Channel binding


def test_channel_binding_without_tls(password_server: embedded.Server) -> None:
    dsn = password_server.dsn_for("scram_plain", "correct horse")
    for word in ("disable", "prefer"):
        with colonnade.sync.connect(f"{dsn}?channel_binding={word}"):
            pass
    with pytest.raises(AuthenticationError, match=r"channel.binding"):
        colonnade.sync.connect(f"{dsn}?channel_binding=require")


def test_channel_binding_where_tls_ends_before_the_server(
    tls_shim: Callable[[TlsVariant], TlsShim], certificates: Certificates
) -> None:
    shim = tls_shim(TlsVariant.GOOD)
    dsn = (
        f"postgresql://scram_plain:correct%20horse@localhost:{shim.port}/postgres"
        f"?sslmode=verify-full&sslrootcert={certificates.ca_file}"
    )
    with colonnade.sync.connect(dsn) as connection:
        assert connection.fetchval("SELECT 1") == 1
    with pytest.raises(AuthenticationError, match=r"channel.binding"):
        colonnade.sync.connect(f"{dsn}&channel_binding=require")


@pytest.mark.parametrize("word", ["disable", "prefer", "require"])
def test_channel_binding_with_a_server_under_tls(
    tls_server: embedded.Server, certificates: Certificates, word: str
) -> None:
    dsn = (
        f"postgresql://scram_plain:correct%20horse@localhost:{tls_server.port}/postgres"
        f"?sslmode=verify-full&sslrootcert={certificates.ca_file}&channel_binding={word}"
    )
    with colonnade.sync.connect(dsn) as connection:
        assert connection.fetchval("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")


def test_channel_binding_is_required_of_methods_without(
    tls_server: embedded.Server, certificates: Certificates
) -> None:
    dsn = (
        f"postgresql://md5_plain:correct%20horse@localhost:{tls_server.port}/postgres"
        f"?sslmode=verify-full&sslrootcert={certificates.ca_file}"
    )
    with colonnade.sync.connect(dsn):
        pass
    with pytest.raises(AuthenticationError, match=r"channel.binding"):
        colonnade.sync.connect(f"{dsn}&channel_binding=require")
