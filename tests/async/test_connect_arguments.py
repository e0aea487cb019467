"""Arguments of `connect` besides the address: classes, limits, and invalid values."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import ClientConfigurationError, InterfaceError, UndefinedObjectError

if TYPE_CHECKING:
    from colonnade import embedded

NOWHERE = "postgresql://postgres@127.0.0.1:1/"
REFUSED = r"refused|Connect call failed"


class Watched(colonnade.Connection):
    """A connection of a custom class."""

    greeting = "hello"

    async def fetchval(self, query: str, *args: object, **options: Any) -> Any:
        return await super().fetchval(query, *args, **options)


async def test_a_class_of_the_callers(dsn: str) -> None:
    connection = await colonnade.connect(dsn, connection_class=Watched)
    async with connection:
        assert type(connection) is Watched
        assert connection.greeting == "hello"
        assert await connection.fetchval("SELECT 1") == 1
        assert repr(connection).startswith("<Watched postgres@")
        async with connection.transaction():
            assert await connection.fetchval("SELECT 2") == 2


@pytest.mark.parametrize("wrong", [int, "Connection", None])
async def test_a_class_that_is_none(wrong: Any) -> None:
    text = "connection_class is expected to be a subclass of colonnade"
    with pytest.raises(InterfaceError, match=text):
        await colonnade.connect(NOWHERE, connection_class=wrong)


class Row(colonnade.Record):
    """A row of a custom class."""

    def total(self) -> int:
        return sum(self)


async def test_rows_of_a_class_of_the_callers(dsn: str) -> None:
    async with await colonnade.connect(dsn, record_class=Row) as connection:
        (row,) = await connection.fetch("SELECT 1 AS a, 2 AS b")
        assert type(row) is Row
        assert row.total() == 3


@pytest.mark.parametrize("wrong", [int, "Record"])
async def test_a_class_of_rows_that_is_none(wrong: Any) -> None:
    text = "record_class is expected to be a subclass of colonnade.Record, or tuple, got"
    with pytest.raises(InterfaceError, match=text):
        await colonnade.connect(NOWHERE, record_class=wrong)


# async-only: begin
async def test_the_running_loop_is_taken(dsn: str) -> None:
    import asyncio

    loop = asyncio.get_running_loop()
    async with await colonnade.connect(dsn, loop=loop) as connection:
        assert await connection.fetchval("SELECT 1") == 1


# async-only: end


async def test_what_tools_read(password_server: embedded.Server) -> None:
    dsn = password_server.dsn_for("scram_plain", "correct horse")
    uri = f"{dsn}?sslmode=disable&work_mem=2MB&target_session_attrs=read-write&krbsrvname=pg"
    async with await colonnade.connect(uri, gsslib="gssapi") as connection:
        params = connection._params
        assert connection._addr == ("127.0.0.1", password_server.port)
        assert (params.user, params.database) == ("scram_plain", "postgres")
        assert params.password == "correct horse"
        assert "horse" not in repr(params)
        assert (params.ssl, params.sslmode, params.ssl_negotiation) == (None, "disable", "postgres")
        assert params.server_settings == {"work_mem": "2MB"}
        assert params.target_session_attrs == "read-write"
        assert (params.krbsrvname, params.gsslib) == ("pg", "gssapi")


async def test_the_address_of_a_socket(socket_dsn: str) -> None:
    async with await colonnade.connect(socket_dsn) as connection:
        assert isinstance(connection._addr, str)
        assert ".s.PGSQL." in connection._addr


async def test_any_setting_of_the_server_in_a_dsn(dsn: str) -> None:
    """An unknown name is a server setting, unless it resembles an option's name."""
    async with await colonnade.connect(dsn) as connection:
        rows = await connection.fetch(
            "SELECT name, reset_val FROM pg_settings"
            " WHERE context = 'user' AND vartype IN ('bool', 'integer')"
            # These settings can be changed only within a transaction.
            " AND name NOT IN ('ssl', 'transaction_deferrable', 'transaction_read_only')"
        )
    options = "&".join(f"{row['name']}={row['reset_val']}" for row in rows)
    async with await colonnade.connect(f"{dsn}?{options}") as connection:
        assert await connection.fetchval("SHOW tcp_keepalives_idle")
        assert await connection.fetchval("SHOW enable_tidscan") == "on"
    with pytest.raises(UndefinedObjectError, match="no_such_setting"):
        await colonnade.connect(f"{dsn}?no_such_setting=1")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"statement_cache_size": None}, "statement_cache_size must be a whole number, not None"),
        ({"statement_cache_size": -1}, "statement_cache_size must be 0 or more, not -1"),
        ({"command_timeout": 0}, "invalid command_timeout value: .* more than 0 seconds, got 0"),
        ({"command_timeout": True}, "invalid command_timeout value: .* got True"),
        ({"command_timeout": "x"}, "invalid command_timeout value: .* got 'x'"),
    ],
)
async def test_limits_that_are_none(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ClientConfigurationError, match=text):
        await colonnade.connect(NOWHERE, **options)


async def test_limits_beyond_every_machine(dsn: str) -> None:
    limits: dict[str, Any] = dict.fromkeys(
        ("statement_cache_size", "max_cacheable_statement_size", "max_cached_statement_lifetime"),
        10**30,
    )
    async with await colonnade.connect(dsn, **limits) as connection:
        assert await connection.fetchval("SELECT 1") == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"gsslib": "heimdal"}, "gsslib.*gssapi or sspi.*not shown"),
        ({"user": 5}, "user must be a str, not int"),
        ({"database": 5}, "database must be a str, not int"),
        ({"server_settings": {1: "a"}}, r"expected to be None or a Dict\[str, str\]"),
        ({"direct_tls": True}, "sslnegotiation=direct.*require"),
        ({"direct_tls": True, "ssl": "prefer"}, "sslnegotiation=direct.*require"),
        ({"direct_tls": True, "ssl": False}, "sslnegotiation=direct.*require"),
        ({"ssl": 5}, "ssl must be"),
        ({"ssl": "on"}, "sslmode must be disable, allow"),
    ],
)
async def test_options_that_make_no_sense(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ClientConfigurationError, match=text):
        await colonnade.connect(NOWHERE, **options)


async def test_direct_tls_is_no_word_against_a_context() -> None:
    """A strict enough `sslmode` gets as far as connecting, which fails because nothing listens."""
    context = ssl.create_default_context()
    for arguments in ({"ssl": context}, {"ssl": True}, {"ssl": "require"}):
        with pytest.raises(OSError, match=REFUSED):
            await colonnade.connect(NOWHERE, direct_tls=True, **arguments)
    with pytest.raises(OSError, match=REFUSED):
        await colonnade.connect(
            f"{NOWHERE}?sslnegotiation=direct&sslmode=require", direct_tls=False
        )
    with pytest.raises(OSError, match=REFUSED):
        await colonnade.connect(f"{NOWHERE}?sslrootcert=system", ssl=context)
    with pytest.raises(OSError, match=REFUSED):
        await colonnade.connect(f"{NOWHERE}?sslrootcert=system&sslnegotiation=direct", ssl=False)
