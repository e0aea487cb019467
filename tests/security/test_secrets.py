"""Nothing shows passwords and keys: no `repr`, no log, no exception, no program.

Every test connects with a secret, and then searches for it in all text that can be read.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import pickle
import traceback
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import adbc_driver_manager
import pytest

import colonnade
from colonnade import adbc, dbapi, embedded, parallel, sync, tracing
from colonnade._driver.connection_options import TlsArguments, resolve
from colonnade.errors import RemoteProtocolError, TargetServerAttributeNotMatched
from tests.cli.program import run
from tests.support.scripted_server import (
    READ_STARTUP,
    Close,
    ReadBytes,
    ScriptedServer,
    Send,
    error,
    message,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "tr0ub4dor/&3: it's"
# The forms of the secret in a text: as is, in a URI, and the parts that a bad DSN may split.
SHAPES = (SECRET, quote(SECRET), quote(SECRET, safe=""), "tr0ub4dor", "it's", "it%27s")
FAILURES = (
    colonnade.PostgresError,
    colonnade.InterfaceError,
    RemoteProtocolError,
    TargetServerAttributeNotMatched,
    OSError,
)
ROLE = embedded.Role("keeper", SECRET, "scram-sha-256")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Hide the files in the caller's home directory."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def server() -> Iterator[embedded.Server]:
    """A server that requires the secret."""
    with embedded.start(tcp=True, roles=[ROLE]) as started:
        yield started


@pytest.fixture(scope="module")
def kept(server: embedded.Server) -> str:
    """A DSN with the secret."""
    return server.dsn_for(ROLE.name, SECRET)


def assert_silent(*texts: object) -> None:
    for text in texts:
        for shape in SHAPES:
            assert shape not in str(text)


def said_by(failure: BaseException) -> Iterator[str]:
    """All text of an exception and of its causes."""
    yield "".join(traceback.format_exception(failure))
    seen: set[int] = set()
    waiting: list[BaseException | None] = [failure]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield from (repr(each), str(each), repr(each.args), repr(vars(each)))
        waiting += [each.__cause__, each.__context__]


# Objects that know a secret


async def test_objects_of_asyncio(kept: str) -> None:
    async with await colonnade.connect(kept) as connection:
        assert_silent(
            repr(connection), repr(connection._params), repr(connection.conversation.session)
        )
        assert_silent(repr(connection.conversation.transport), vars(connection))
        async with connection.transaction() as _, connection.pipeline() as pipeline:
            assert_silent(repr(pipeline))
    async with colonnade.create_pool(kept, min_size=1, max_size=1) as pool:
        assert_silent(repr(pool), str(pool))
        async with pool.acquire() as proxy:
            assert_silent(repr(proxy))
    listening = colonnade.listen(kept, "channel")
    assert_silent(repr(listening))


def test_objects_of_the_blocking_colour(kept: str) -> None:
    with sync.connect(kept) as connection:
        assert_silent(
            repr(connection), repr(connection._params), repr(connection.conversation.session)
        )
    with sync.create_pool(kept, min_size=1, max_size=1) as pool, pool.acquire() as proxy:
        assert_silent(repr(pool), repr(proxy))
    with dbapi.connect(kept) as conn:
        assert_silent(repr(conn), repr(conn.info), repr(conn.cursor()), vars(conn))


def test_what_the_options_become(home: Path, kept: str) -> None:
    passfile = home / "pass"
    passfile.touch(0o600)
    passfile.write_text("*:*:*:*:" + SECRET.replace("\\", "\\\\").replace(":", "\\:") + "\n")
    for dsn, words in (
        (kept, {}),
        ("host=h user=u", {"password": SECRET}),
        ("host=h user=u", {"passfile": str(passfile)}),
    ):
        options = resolve(dsn, words, None, TlsArguments())
        assert options.endpoints[0].password == SECRET
        parameters = options.parameters(SECRET, options.tls)
        assert_silent(repr(options), repr(options.endpoints), repr(options.info), repr(parameters))
        assert_silent(repr(options.tls), repr(dataclasses.fields(options)))
    with_key = resolve(
        f"host=h user=u sslpassword={quote(SECRET, safe='')}", {}, None, TlsArguments()
    )
    assert_silent(repr(with_key), repr(with_key.info), repr(with_key.tls))


def test_partitions(kept: str) -> None:
    """Only a pickle contains the secret, because another process needs it to connect."""
    with parallel.sync.plan("SELECT 1 AS n", kept, parts=1, partition_by="n") as plan:
        (partition,) = plan
        assert_silent(repr(plan), repr(partition), repr(partition.source))
        assert quote(SECRET, safe="").encode() in pickle.dumps(partition)


# Errors

TRUNCATED = message(b"R", b"\0\0")
SCRAM = message(b"R", b"\0\0\0\x0aSCRAM-SHA-256\0\0")
ANSWERS = {
    "a refusal": error("28P01", "password authentication failed", "FATAL"),
    "nonsense": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "a message that is cut off": TRUNCATED,
    "SCRAM, then the end": SCRAM,
    "an unknown question": message(b"R", b"\0\0\0\x63"),
    "a question for the password, then nonsense": message(b"R", b"\0\0\0\x03") + b"\xff" * 20,
}


@pytest.mark.parametrize("kind", ANSWERS)
async def test_errors_of_servers(kind: str) -> None:
    with ScriptedServer([READ_STARTUP, Send(ANSWERS[kind]), ReadBytes(1), Close()]) as server:
        where = f"postgresql://keeper:{quote(SECRET, safe='')}@127.0.0.1:{server.port}/d"
        failures: list[BaseException] = []
        with pytest.raises(FAILURES) as caught:
            await colonnade.connect(f"{where}?sslmode=disable", timeout=20)
        failures.append(caught.value)
        with pytest.raises(FAILURES) as caught:
            sync.connect(f"{where}?sslmode=disable", timeout=20)
        failures.append(caught.value)
        with pytest.raises((dbapi.Error, OSError)) as refused:
            dbapi.connect(f"{where}?sslmode=disable")
        failures.append(refused.value)
    for failure in failures:
        assert_silent(*said_by(failure))


async def test_errors_on_the_way(server: embedded.Server, home: Path) -> None:
    key = home / "broken.key"
    key.touch(0o600)
    key.write_text("no key")
    hidden, port = quote(SECRET, safe=""), server.port
    wrong = f"postgresql://keeper:{hidden}x@127.0.0.1:{port}/postgres"
    right = f"postgresql://keeper:{hidden}@127.0.0.1:{port}/postgres"
    for dsn in (
        wrong,
        f"{right[:-8]}nowhere",
        f"{right}?sslmode=require",
        f"{right}?sslmode=verify-full",
        f"{right}?sslmode=require&sslcert={key}&sslkey={key}&sslpassword={hidden}",
        f"{right}?require_auth=md5",
        f"{right}?channel_binding=require",
        f"{right}?target_session_attrs=standby",
        f"{right}?no_such_setting=1",
        f"{right}?search_path_=1",
        f"postgresql://keeper:{hidden}@127.0.0.1:1/postgres",
    ):
        with pytest.raises(FAILURES) as caught:
            await colonnade.connect(dsn, timeout=20)
        assert_silent(*said_by(caught.value))


# Each has a common mistake, mostly an unescaped secret.
BAD_DSNS = [
    f"postgresql://keeper:{SECRET}@h/d",
    f"postgresql://keeper:{SECRET}@h:x/d",
    f"postgresql:/keeper:{SECRET}@h/d",
    f"postgres//keeper:{SECRET}@h/d",
    f"keeper:{SECRET}@h/d",
    f"postgresql+psycopg://keeper:{SECRET}@h/d",
    f"host=h user=u password={SECRET}",
    f"host=h user=u password='{SECRET}'",
    f"host=h user=u passwrd={quote(SECRET)}",
    f"host=h user=u password=x {SECRET}",
    f"host=h user=u sslpassword={SECRET}",
    f"postgresql://h/d?password={SECRET}",
    f"postgresql://h/d?user=u&password={SECRET}&x",
    f"postgresql://h/d?user=u&passwrd={quote(SECRET)}",
    f"postgresql://u:%zz{SECRET}@h/d",
    f"postgresql://u:{SECRET}%ff@h/d",
    f"postgresql://[{SECRET}]/d",
    f"host=h port={SECRET}",
    f"password={SECRET}",
    SECRET,
    f"DATABASE_URL=postgresql://keeper:{quote(SECRET)}@h/d",
    f"url=keeper:{quote(SECRET)}@h/d",
    f"host=postgresql://keeper:{quote(SECRET, safe='')}@h/d",
    f"postgresql:/keeper:{quote(SECRET, safe='')}@h/d?sslmode=require",
    f"postgresql:///keeper:{quote(SECRET, safe='')}@h/d",
    f"postgresql://keeper:{quote(SECRET, safe='')}/d",
    f"postgresql://keeper:{quote(SECRET, safe='')}@127.0.0.1:1,u2:x@127.0.0.1:1/d",
    f"postgresql://h/d?sslmode=require;password={quote(SECRET, safe='')}",
    f"PGHOST=h PGPASSWORD={quote(SECRET, safe='')}",
]
URI = f"postgresql://keeper:{quote(SECRET, safe='')}@h/d"


@pytest.mark.parametrize("place", ["host", "database", "user", "service", "dsn", "PGHOST"])
@pytest.mark.parametrize("door", ["connect", "dbapi", "command"])
def test_a_uri_in_the_wrong_place_goes_nowhere(
    place: str, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused without a look-up or a connection, and the refusal repeats nothing of it."""
    words = {} if place in {"PGHOST", "dsn"} else {place: URI}
    dsn = f"dbname={URI}" if place == "dsn" else None
    if place == "PGHOST":
        monkeypatch.setenv("PGHOST", URI)
    if door == "command":
        variables = {"host": "PGHOST", "database": "PGDATABASE", "user": "PGUSER"}
        variable = variables.get(place, "PGSERVICE" if place == "service" else "PGHOST")
        for command in (("doctor",), ("doctor", "--json"), ("query", "SELECT 1")):
            done = run(dsn, *command, env={variable: URI})
            assert done.returncode == 1
            assert_silent(done.stdout, done.stderr)
        return
    arguments: Any = words
    with pytest.raises((colonnade.ClientConfigurationError, dbapi.Error)) as caught:
        (dbapi if door == "dbapi" else sync).connect(dsn, **arguments)
    assert "not shown" in str(caught.value)
    assert_silent(*said_by(caught.value))


def test_white_space_around_a_uri_is_nothing(kept: str) -> None:
    with sync.connect(f" \n{kept}\t") as connection:
        assert connection.fetchval("SELECT 1") == 1
    with dbapi.connect(f" {kept}", application_name="stripped") as conn:
        found = conn.execute("SHOW application_name").fetchone()
        assert found == ("stripped",)


@pytest.mark.parametrize(
    "words",
    [
        (URI,),
        ("export", "table", URI),
        ("query", "SELECT 1", URI),
        ("query", "SELECT 1", "--format", URI),
        ("query", "SELECT 1", f"--dns={URI}"),
        ("import", "a.csv", "t", URI),
        ("docs", URI),
        ("doctor", "--service", URI),
    ],
)
def test_a_uri_in_the_wrong_place_of_a_command(words: tuple[str, ...]) -> None:
    done = run("host=127.0.0.1 port=1", *words)
    assert done.returncode
    assert_silent(done.stdout, done.stderr)


def test_the_doctor_shows_no_values_of_custom_settings(kept: str) -> None:
    done = run(f"{kept}?our.token={quote(SECRET, safe='')}", "doctor", "--json")
    assert '"our.token"' in done.stdout
    assert_silent(done.stdout, done.stderr)


@pytest.mark.parametrize("dsn", BAD_DSNS)
async def test_errors_of_options(dsn: str) -> None:
    try:
        resolved = resolve(dsn, {}, None, TlsArguments())
    except colonnade.ClientConfigurationError as refused:
        assert_silent(*said_by(refused))
    else:
        assert_silent(repr(resolved.info))


# Options that accept a number, some words, or a file; whatever else they get may be a secret.
CLOSED_OPTIONS = (
    *("port", "connect_timeout", "sslmode", "sslnegotiation", "sslsni", "channel_binding"),
    *("require_auth", "target_session_attrs", "load_balance_hosts", "gsslib", "client_encoding"),
    *("ssl_min_protocol_version", "ssl_max_protocol_version", "keepalives_idle", "requirepeer"),
    *("max_protocol_version", "sslrootcert", "sslcert", "sslcrl", "sslcrldir", "service"),
    *("scram_client_key", "oauth_client_secret", "oauth_issuer", "sslcertmode", "gssencmode"),
)
WORD = "hunter2secret"


@pytest.mark.parametrize("option", CLOSED_OPTIONS)
def test_a_word_that_an_option_does_not_accept(option: str) -> None:
    """No door repeats it: a password is often a plain word."""
    dsns = [
        f"host=127.0.0.1 port=1 sslmode=require {option}={WORD}",
        f"postgresql://127.0.0.1:1/?{option}={WORD}",
    ]
    texts: list[object] = []
    for dsn in dsns:
        for connect in (sync.connect, dbapi.connect, adbc.connect):
            with pytest.raises((*FAILURES, dbapi.Error, adbc_driver_manager.Error)) as caught:
                connect(dsn)
            texts += said_by(caught.value)
    try:
        resolve("host=h sslmode=verify-full", {option: WORD}, None, TlsArguments())
    except colonnade.ClientConfigurationError as refused:
        texts += said_by(refused)
    assert not [text for text in texts if WORD in str(text).replace(dsns[0], "")]


@pytest.mark.parametrize("arguments", [{"ssl": WORD}, {"port": {WORD: 1}}, {"port": WORD.encode()}])
def test_a_word_that_an_argument_does_not_accept(arguments: dict[str, Any]) -> None:
    with pytest.raises(colonnade.ClientConfigurationError) as refused:
        sync.connect("host=127.0.0.1", **arguments)
    assert WORD not in str(refused.value)


@pytest.mark.parametrize("arguments", [{"password": SECRET.encode()}, {"password": [SECRET]}])
async def test_passwords_of_other_classes(arguments: dict[str, Any]) -> None:
    with pytest.raises(colonnade.ClientConfigurationError) as caught:
        await colonnade.connect("postgresql://h/d", **arguments)
    assert_silent(*said_by(caught.value))


# Logs, traces and programs


async def test_logs_of_the_loop(kept: str, caplog: pytest.LogCaptureFixture) -> None:
    """In debug mode, asyncio logs slow callbacks and objects left open."""
    caplog.set_level(logging.DEBUG)
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    loop.slow_callback_duration = 0.0
    told: list[object] = []
    told_by_loop: list[object] = []
    loop.set_exception_handler(lambda _loop, context: told_by_loop.append(context))
    connection = await colonnade.connect(kept)
    with connection.query_logger(told.append):
        await connection.fetch("SELECT 1")
        with contextlib.suppress(colonnade.PostgresError):
            await connection.fetch("SELECT nothing_there")
    # The warning about a connection left open.
    assert_silent(connection.conversation.transport.origin)
    await connection.close()
    async with colonnade.create_pool(kept, min_size=1, max_size=2) as pool:
        await asyncio.gather(*(pool.fetchval("SELECT 1") for _ in range(4)))
    assert caplog.records
    assert told
    assert_silent(caplog.text, told, told_by_loop)


def test_traces(kept: str) -> None:
    events: list[object] = []
    with contextlib.closing(sync.connect(kept)) as connection:
        for name in ("fetch", "execute", "fetch_columns"):
            with connection.query_logger(events.append):
                getattr(connection, name)("SELECT 1")
    assert events
    assert_silent(events, [vars(tracing)])


def test_programs(kept: str) -> None:
    wrong = kept.replace("tr0ub", "tr0ubx")
    for dsn, words in (
        (wrong, ("doctor", "--json")),
        (kept, ("query", "SELECT nothing_there")),
        (BAD_DSNS[0], ("doctor",)),
    ):
        done = run(dsn, *words)
        assert_silent(done.stdout, done.stderr)
    by_environment = {"PGPASSWORD": SECRET, "PGHOST": "127.0.0.1", "PGPORT": "1"}
    done = run(None, "query", "SELECT 1", env=by_environment)
    assert_silent(done.stdout, done.stderr)
