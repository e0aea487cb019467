# Generated from tests/async/test_connect.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Connecting: every way to give the address, several hosts, and kinds of servers."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import socket
import warnings
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import pytest

import colonnade
from colonnade import embedded
from colonnade.errors import (
    AuthenticationError,
    ClientConfigurationError,
    InterfaceError,
    InterfaceWarning,
    InvalidCatalogNameError,
    InvalidPasswordError,
    TargetServerAttributeNotMatched,
)
from tests.support.scripted_server import READ_STARTUP, Hang, ScriptedServer, Send, error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.scripted_server import Step
    from tests.support.servers import ServerUnderTest

STARTING_UP: list[Step] = [
    READ_STARTUP,
    Send(error("57P03", "the database system is starting up", "FATAL")),
]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Isolate the test from the caller's environment variables and files."""
    import os

    for name in list(os.environ):
        if name.startswith("PG"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def place(dsn: str) -> dict[str, Any]:
    """The arguments of `connect` that correspond to the DSN."""
    parts = urlsplit(dsn)
    return {
        "host": parts.hostname,
        "port": parts.port,
        "user": parts.username,
        "database": parts.path[1:],
    }


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A bound port of 127.0.0.1 on which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def server_pid_by(*args: str, **options: Any) -> int | None:
    """Connect, ask for the server's process id, and close."""
    with colonnade.sync.connect(*args, **options) as connection:
        assert connection.get_server_pid() == connection.fetchval("SELECT pg_backend_pid()")
        return connection.get_server_pid()


def test_by_uri(dsn: str) -> None:
    assert server_pid_by(dsn)
    assert server_pid_by(dsn.replace("postgresql://", "postgres://"))


def test_by_unix_socket(socket_dsn: str) -> None:
    with colonnade.sync.connect(socket_dsn) as connection:
        assert connection.fetchval("SELECT inet_client_addr()::text") is None
        columns = connection.fetch_columns("SELECT generate_series(1, 100000) AS i")
        assert len(columns) == 100_000


def test_by_keywords(place: dict[str, Any]) -> None:
    pairs = f"host = {place['host']} port={place['port']} user={place['user']} dbname='postgres'"
    assert server_pid_by(pairs)


def test_by_arguments(place: dict[str, Any]) -> None:
    assert server_pid_by(**place)


def test_by_environment(place: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", place["host"])
    monkeypatch.setenv("PGPORT", str(place["port"]))
    monkeypatch.setenv("PGUSER", place["user"])
    monkeypatch.setenv("PGDATABASE", place["database"])
    monkeypatch.setenv("PGAPPNAME", "by environment")
    with colonnade.sync.connect() as connection:
        assert connection.fetchval("SHOW application_name") == "by environment"
    with colonnade.sync.connect("postgresql://?application_name=by%20uri") as connection:
        assert connection.fetchval("SHOW application_name") == "by uri"


def test_by_service_file(
    place: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{'dbname' if name == 'database' else name}={value}" for name, value in place.items()]
    file = tmp_path / "services.conf"
    file.write_text("\n".join(["# services", "[here]", *lines, "application_name=served"]))
    with colonnade.sync.connect(service="here", servicefile=file) as connection:
        assert connection.fetchval("SHOW application_name") == "served"
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    assert server_pid_by("service=here")
    monkeypatch.setenv("PGSERVICE", "here")
    assert server_pid_by()
    with pytest.raises(ClientConfigurationError, match=r"services\.conf.*defined there: here"):
        colonnade.sync.connect(service="there")


def test_by_an_ipv6_address_without_a_server() -> None:
    with pytest.raises(OSError, match=r"\[::1\]:1|Connect call failed|refused|Cannot assign"):
        colonnade.sync.connect("postgresql://postgres@[::1]:1/")


def test_server_settings_and_options(dsn: str) -> None:
    settings = {"application_name": "a test", "work_mem": "2MB", "our.name": "größe"}
    with colonnade.sync.connect(dsn, server_settings=settings) as connection:
        assert connection.fetchval("SHOW our.name") == "größe"
        assert connection.fetchval("SHOW work_mem") == "2MB"
        assert connection.get_settings()["application_name"] == "a test"
    uri = f"{dsn}?options={quote('-c work_mem=3MB -c search_path=a,b')}"
    with colonnade.sync.connect(uri) as connection:
        assert connection.fetchval("SHOW work_mem") == "3MB"
        assert connection.fetchval("SHOW search_path") == "a,b"


def test_what_a_connection_knows(connection: colonnade.sync.Connection, dsn: str) -> None:
    assert not connection.is_closed()
    assert not connection.is_in_transaction()
    assert connection.get_settings()["client_encoding"] == "UTF8"
    pid, parts = connection.get_server_pid(), urlsplit(dsn)
    where = f"postgres@{parts.hostname}:{parts.port}/postgres"
    assert repr(connection) == f"<Connection {where} pid={pid} idle>"
    connection.execute("BEGIN")
    assert connection.is_in_transaction()
    assert repr(connection).endswith("in transaction>")
    connection.execute("ROLLBACK")
    connection.close()
    assert connection.is_closed()
    connection.close()


def test_secrets_are_not_shown(password_server: embedded.Server) -> None:
    dsn = password_server.dsn_for("scram_plain", "correct horse")
    with colonnade.sync.connect(dsn) as connection:
        assert "horse" not in repr(connection)
    dsn = password_server.dsn_for("scram_plain", "wrong horse")
    with pytest.raises(InvalidPasswordError) as caught:
        colonnade.sync.connect(dsn)
    assert "horse" not in repr(caught.value)
    assert "horse" not in str(caught.value)


# Passwords


def test_password_from_a_callable(password_server: embedded.Server) -> None:
    asked = []

    def give() -> str:
        asked.append(True)
        return "correct horse"

    dsn = password_server.dsn_for("scram_plain")
    assert server_pid_by(f"{dsn}?sslmode=disable", password=give)
    assert len(asked) == 1


def test_a_callable_that_gives_no_password(dsn: str) -> None:
    def give() -> Any:
        return 5

    with pytest.raises(InterfaceError, match="the password callable gave int, not str"):
        colonnade.sync.connect(dsn, password=give)
    wrong: Any = 5
    with pytest.raises(ClientConfigurationError, match="must be a str or a callable, not int"):
        colonnade.sync.connect(dsn, password=wrong)


def test_a_callable_that_has_no_password(dsn: str, password_server: embedded.Server) -> None:
    assert server_pid_by(dsn, password=lambda: None)
    with pytest.raises(AuthenticationError, match="password"):
        colonnade.sync.connect(password_server.dsn_for("scram_plain"), password=lambda: None)


def test_an_error_of_the_password_callable_arrives(dsn: str) -> None:
    def give() -> str:
        raise LookupError("the vault is closed")

    with pytest.raises(LookupError, match="the vault is closed"):
        colonnade.sync.connect(dsn, password=give)


def test_password_file(password_server: embedded.Server, tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    file.write_text(
        "# host:port:database:user:password\n"
        f"elsewhere:{password_server.port}:*:scram_plain:wrong\n"
        f"127.0.0.1:{password_server.port}:*:scram_plain:correct horse\n"
        "*:*:*:*:wrong\n"
    )
    file.chmod(0o600)
    dsn = password_server.dsn_for("scram_plain")
    assert server_pid_by(dsn, passfile=file)
    with pytest.raises(InvalidPasswordError):
        server_pid_by(password_server.dsn_for("md5_plain"), passfile=file)


def test_the_usual_password_file(password_server: embedded.Server, tmp_path: Path) -> None:
    file = tmp_path / ".pgpass"
    file.write_text("*:*:*:scram_plain:correct horse\n")
    file.chmod(0o600)
    assert server_pid_by(password_server.dsn_for("scram_plain"))


def test_a_password_that_is_not_utf8(
    password_server: embedded.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    password, dsn = b"caf\xe9", password_server.dsn_for("scram_plain")
    key = hashlib.pbkdf2_hmac("sha256", password, b"salt", 4096)
    stored = hashlib.sha256(hmac.digest(key, b"Client Key", "sha256")).digest()
    proof = hmac.digest(key, b"Server Key", "sha256")
    salt, *keys = (base64.b64encode(part).decode() for part in (b"salt", stored, proof))
    file = tmp_path / "passwords"
    file.write_bytes(b"*:*:*:caf\xe9:wrong\n*:*:*:*:" + password + b"\n")
    file.chmod(0o600)
    with colonnade.sync.connect(password_server.dsn) as owner:
        secret = f"SCRAM-SHA-256$4096:{salt}${':'.join(keys)}"
        owner.execute(f"ALTER ROLE scram_plain PASSWORD '{secret}'")
        try:
            assert server_pid_by(dsn, passfile=file)
            monkeypatch.setenv("PGPASSWORD", os.fsdecode(password))
            assert server_pid_by(dsn)
        finally:
            owner.execute("ALTER ROLE scram_plain PASSWORD 'correct horse'")


def test_a_variable_that_is_not_utf8(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGAPPNAME", os.fsdecode(b"caf\xe9"))
    with pytest.raises(ClientConfigurationError, match="variable PGAPPNAME is not UTF-8"):
        colonnade.sync.connect(dsn)
    monkeypatch.delenv("PGAPPNAME")
    with pytest.raises(ClientConfigurationError, match="password has half"):
        colonnade.sync.connect(dsn, password=lambda: "\ud800")


def test_a_password_file_that_others_can_read(
    password_server: embedded.Server, tmp_path: Path
) -> None:
    file = tmp_path / "passwords"
    file.write_text("*:*:*:*:correct horse\n")
    file.chmod(0o640)
    dsn = password_server.dsn_for("scram_plain")
    with (
        pytest.warns(InterfaceWarning, match=r"has group or world access and is ignored.*0600"),
        pytest.raises(InterfaceError, match="password"),
    ):
        colonnade.sync.connect(dsn, passfile=file)


def test_a_password_file_that_is_not_needed(
    password_server: embedded.Server, tmp_path: Path
) -> None:
    file = tmp_path / "passwords"
    file.write_text("")
    file.chmod(0o644)
    dsn = password_server.dsn_for("scram_plain", "correct horse")
    with warnings.catch_warnings():
        # If a password is given, the file is not read.
        warnings.simplefilter("error")
        assert server_pid_by(dsn, passfile=file)


# Several hosts


def test_a_dead_host_first(server: ServerUnderTest, closed_port: int) -> None:
    port = urlsplit(server.dsn).port
    uri = f"postgresql://postgres@127.0.0.1:{closed_port},127.0.0.1:{port}/postgres"
    assert server_pid_by(uri)
    assert server_pid_by(host=["127.0.0.1", "127.0.0.1"], port=[closed_port, port], user="postgres")


def test_a_host_that_hangs_first(dsn: str) -> None:
    port = urlsplit(dsn).port
    with ScriptedServer([READ_STARTUP, Hang()]) as hanging:
        hosts = f"127.0.0.1:{hanging.port},127.0.0.1:{port}"
        uri = f"postgresql://postgres@{hosts}/postgres?sslmode=disable&connect_timeout=1"
        assert server_pid_by(uri)


def test_only_hosts_that_hang() -> None:
    with ScriptedServer([READ_STARTUP, Hang()]) as hanging:
        uri = f"{hanging.dsn}?sslmode=disable"
        with pytest.raises(TimeoutError, match=rf"{hanging.port} within 1.0 s \(connect_timeout\)"):
            colonnade.sync.connect(f"{uri}&connect_timeout=1")
        with pytest.raises(TimeoutError, match=rf"{hanging.port} within 0.05 s$"):
            colonnade.sync.connect(f"{uri}&connect_timeout=1", timeout=0.05)


def test_a_host_that_starts_up_first(dsn: str) -> None:
    port = urlsplit(dsn).port
    with ScriptedServer(STARTING_UP) as starting:
        hosts = f"127.0.0.1:{starting.port},127.0.0.1:{port}"
        assert server_pid_by(f"postgresql://postgres@{hosts}/postgres")


def test_only_dead_hosts(closed_port: int) -> None:
    ports = [closed_port, closed_port]
    with pytest.raises(ConnectionRefusedError) as caught:
        colonnade.sync.connect(host=["127.0.0.1", "127.0.0.1"], port=ports, user="postgres")
    assert any(
        f"before that, at 127.0.0.1:{closed_port}: ConnectionRefusedError" in n
        for n in caught.value.__notes__
    )


def test_a_host_that_refuses_is_the_last(dsn: str, closed_port: int) -> None:
    """If a server rejects the login, no other host is tried."""
    port = urlsplit(dsn).port
    uri = f"postgresql://postgres@127.0.0.1:{port},127.0.0.1:{closed_port}/nowhere"
    with pytest.raises(InvalidCatalogNameError, match='database "nowhere" does not exist'):
        colonnade.sync.connect(uri)


@pytest.mark.parametrize("kind", ["any", "read-write", "primary", "prefer-standby"])
def test_a_kind_of_server_that_there_is(dsn: str, kind: str) -> None:
    assert server_pid_by(dsn, target_session_attrs=kind)


@pytest.mark.parametrize("kind", ["read-only", "standby"])
def test_a_kind_of_server_that_there_is_not(dsn: str, kind: str) -> None:
    with pytest.raises(TargetServerAttributeNotMatched, match=f"none of the hosts is {kind}"):
        colonnade.sync.connect(f"{dsn}?target_session_attrs={kind}")


def test_a_read_only_server_is_passed_over(dsn: str) -> None:
    settings = {"default_transaction_read_only": "on"}
    only, both = f"{dsn}?target_session_attrs=read-only", f"{dsn}?target_session_attrs=read-write"
    assert server_pid_by(only, server_settings=settings)
    with pytest.raises(TargetServerAttributeNotMatched):
        colonnade.sync.connect(both, server_settings=settings)


def test_the_first_choice_is_closed_when_the_second_fails(
    dsn: str, password_server: embedded.Server
) -> None:
    hosts = f"127.0.0.1:{urlsplit(dsn).port},127.0.0.1:{password_server.port}"
    uri = f"postgresql://postgres@{hosts}/postgres?target_session_attrs=prefer-standby"
    assert server_pid_by(uri)

    given = iter(["anything"])
    with pytest.raises(RuntimeError, match="no more"):
        colonnade.sync.connect(f"{uri}&sslmode=disable", password=lambda: _next(given))


def _next(given: Iterator[str]) -> str:
    for password in given:
        return password
    raise RuntimeError("no more")


# Invalid arguments


@pytest.mark.parametrize(
    ("dsn", "options", "text"),
    [
        ("postgresql//localhost", {}, "neither a URI .* nor pairs"),
        ("mysql://localhost/test", {}, 'must be "postgresql" or "postgres"'),
        ("host=localhost port", {}, 'lacks "=".*character 16'),
        ("postgresql://localhost:54x2/", {}, "port.*1 to 65535"),
        ("postgresql://localhost:99999/", {}, "port.*1 to 65535"),
        ("postgresql://localhost/?sslmod=require", {}, "sslmod.*sslmode"),
        ("postgresql://localhost/?sslmode=requird", {}, "sslmode.*require.*not shown"),
        ("postgresql://localhost/?connect_timeout=soon", {}, "connect_timeout.*number.*not shown"),
        ("postgresql://u:a/b@localhost/", {}, "%2F"),
        ("postgresql://localhost/%zz", {}, "%25"),
        (None, {"target_session_attrs": "fast"}, "target_session_attrs.*read-write.*not shown"),
        (None, {"host": ["a", "b"], "port": [1, 2, 3]}, "2 hosts.*3|3 ports.*2"),
        (None, {"host": 5.0}, "host must be a value or a list of values, not float"),
        (None, {"host": "localhost", "port": True}, "port must be a value"),
        (None, {"server_settings": {"a": 1}}, "None or a Dict"),
        (None, {"server_settings": ["a"]}, "None or a Dict"),
        (None, {"ssl": "verify_full"}, "verify-full"),
        (None, {"host": "localhost", "ssl": "verify-full"}, "root"),
    ],
)
def test_options_that_cannot_be_used(dsn: str | None, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ClientConfigurationError, match=text):
        colonnade.sync.connect(dsn, user="postgres", **options)


def test_a_timeout_that_cannot_be_used(dsn: str) -> None:
    wrong: Any = "1"
    with pytest.raises(ValueError, match="expected a number of seconds or None, got '1'"):
        colonnade.sync.connect(dsn, timeout=wrong)
