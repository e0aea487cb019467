"""Connecting: through the hosts, with TLS and without, to a server of the right kind."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from colonnade import _core
from colonnade._async.connection import Connection
from colonnade._async.operation import checked_timeout
from colonnade._connection_options import ConnectionOptions, Endpoint, resolve
from colonnade._transport.asyncio import connect as open_transport, deadline
from colonnade.errors import (
    CannotConnectNowError,
    ClientConfigurationError,
    InterfaceError,
    InvalidAuthorizationSpecificationError,
    TargetServerAttributeNotMatched,
)

if TYPE_CHECKING:
    import os
    import ssl as ssl_module
    from collections.abc import Mapping, Sequence

    from colonnade._connection_options import Password
    from colonnade._transport.tls import TlsPolicy


async def connect(
    dsn: str | None = None,
    *,
    host: str | Sequence[str] | None = None,
    port: int | str | Sequence[int | str] | None = None,
    user: str | None = None,
    password: Password | None = None,
    passfile: str | os.PathLike[str] | None = None,
    service: str | None = None,
    servicefile: str | os.PathLike[str] | None = None,
    database: str | None = None,
    timeout: float | None = 60,
    statement_cache_size: int = 100,
    command_timeout: float | None = None,
    ssl: ssl_module.SSLContext | bool | str | None = None,
    server_settings: Mapping[str, str] | None = None,
    target_session_attrs: str | None = None,
) -> Connection:
    """Connect to a PostgreSQL server.

    `dsn` is a URI (`postgresql://user:password@host:port/database?option=value`) or libpq's pairs
    (`host=localhost dbname=test`). An argument wins over the DSN, the DSN over a service file, that
    over the environment (`PGHOST`, `PGUSER`, `PGPASSWORD`, `PGSSLMODE`, ...) and that over the
    defaults. Without a host the usual Unix sockets are tried, then localhost.

    `password` is a string, or a callable that gives one for each attempt; it may be a coroutine
    function. `ssl` is an `ssl.SSLContext`, True (trusted certificate and right host name), False,
    or one of libpq's modes: "disable", "allow", "prefer" (the default over TCP), "require",
    "verify-ca", "verify-full". `timeout` limits the whole attempt in seconds, `connect_timeout` in
    the DSN the attempt at each host; `command_timeout` is the default for each call on the
    connection. `statement_cache_size` prepared statements are kept; 0 uses the unnamed statement,
    as poolers in transaction mode need it.

    Raises OSError where no server can be reached, TimeoutError, ClientConfigurationError for
    options that cannot be used, and the server's own error where it refuses.
    """
    options = resolve(
        dsn,
        host=host,
        port=port,
        server_settings=server_settings,
        tls=ssl,
        user=user,
        password=password if isinstance(password, str) else None,
        passfile=passfile,
        service=service,
        servicefile=servicefile,
        dbname=database,
        target_session_attrs=target_session_attrs,
    )
    attempt = _Attempt(
        options,
        None if isinstance(password, str) else password,
        _checked_cache_size(statement_cache_size),
        _checked_command_timeout(command_timeout),
    )
    limit = deadline(checked_timeout(timeout))
    try:
        async with limit:
            return await attempt.any_server()
    except TimeoutError as error:
        if attempt.trying is None or not limit.expired():
            raise
        msg = f"no connection to {attempt.trying} within {timeout} s"
        raise TimeoutError(msg) from error


def _checked_cache_size(size: int) -> int:
    if isinstance(size, bool) or size < 0:
        msg = f"statement_cache_size must be 0 or more, not {size!r}"
        raise ValueError(msg)
    return size


def _checked_command_timeout(timeout: float | None) -> float | None:
    checked = checked_timeout(timeout)
    if checked is not None and checked <= 0:
        msg = f"command_timeout must be more than 0, not {timeout!r}"
        raise ValueError(msg)
    return checked


class _Attempt:
    """One call of `connect`, over all hosts."""

    def __init__(
        self,
        options: ConnectionOptions,
        password: Password | None,
        statement_cache_size: int,
        command_timeout: float | None,
    ) -> None:
        self._options = options
        self._password = password
        self._statement_cache_size = statement_cache_size
        self._command_timeout = command_timeout
        self.trying: str | None = None
        """The address under way, for messages."""

    async def any_server(self) -> Connection:
        """The first host that lets us in and is of the kind looked for."""
        wanted = self._options.target_session_attrs
        second_best: list[Connection] = []
        failures: list[Exception] = []
        try:
            for endpoint in self._options.endpoints:
                self.trying = str(endpoint.address)
                limit = deadline(self._options.connect_timeout)
                try:
                    async with limit:
                        connection = await self._one_host(endpoint)
                        is_wanted = await _is_wanted(connection, wanted)
                except (OSError, CannotConnectNowError) as error:
                    if limit.expired():
                        failures.append(_late(endpoint, self._options.connect_timeout))
                    elif isinstance(error, TimeoutError) and error.errno is None:
                        # Not the host's answer: the time for all hosts is up.
                        raise
                    else:
                        failures.append(error)
                    continue
                if is_wanted:
                    return connection
                if wanted == "prefer-standby" and not second_best:
                    second_best.append(connection)
                else:
                    connection.terminate()
            if second_best:
                return second_best.pop()
        finally:
            for connection in second_best:
                connection.terminate()
        if failures:
            raise _told(failures, self._options)
        msg = f"none of the hosts is {wanted}: {self._options!r}"
        raise TargetServerAttributeNotMatched(msg)

    async def _one_host(self, endpoint: Endpoint) -> Connection:
        """Connect to one host, in the ways that the TLS policy has, in order."""
        attempts = self._options.tls.attempts()
        for policy in attempts[:-1]:
            try:
                return await self._one_way(endpoint, policy)
            except TimeoutError:
                raise
            except (OSError, InvalidAuthorizationSpecificationError):
                # The next way may suit the server better; a server that cannot be reached at
                # all says the same again.
                continue
        return await self._one_way(endpoint, attempts[-1])

    async def _one_way(self, endpoint: Endpoint, policy: TlsPolicy) -> Connection:
        session = _core.Session(self._statement_cache_size)
        transport = await open_transport(session, endpoint.address, policy)
        info = self._options.info
        try:
            session.startup(
                info,
                endpoint.password if self._password is None else await self._asked_password(),
                tls=transport.is_tls,
                tls_server_end_point=transport.tls_server_end_point(),
            )
            await transport.next_event()
        except BaseException:
            transport.abort()
            raise
        return Connection(
            session,
            transport,
            address=str(endpoint.address),
            user=info.user,
            database=info.database,
            command_timeout=self._command_timeout,
        )

    async def _asked_password(self) -> str | None:
        if not callable(self._password):
            msg = f"password must be a str or a callable, not {type(self._password).__name__}"
            raise ClientConfigurationError(msg)
        password = self._password()
        # async-only: begin
        if inspect.isawaitable(password):
            password = await password
        # async-only: end
        if inspect.isawaitable(password) or not isinstance(password, str):
            msg = f"the password callable gave {type(password).__name__}, not str"
            raise InterfaceError(msg)
        return password


async def _is_wanted(connection: Connection, wanted: str) -> bool:
    """Whether a server is of the kind that `target_session_attrs` names."""
    if wanted == "any":
        return True
    try:
        if wanted in {"read-write", "read-only"}:
            is_read_only = await connection.fetchval("SHOW transaction_read_only") == "on"
            return bool(is_read_only == (wanted == "read-only"))
        is_standby = await connection.fetchval("SELECT pg_is_in_recovery()")
    except BaseException:
        connection.terminate()
        raise
    return bool(is_standby) == (wanted in {"standby", "prefer-standby"})


def _late(endpoint: Endpoint, seconds: float | None) -> TimeoutError:
    return TimeoutError(f"no connection to {endpoint.address} within {seconds} s (connect_timeout)")


def _told(failures: list[Exception], options: ConnectionOptions) -> Exception:
    """The last failure, with notes on the ones before it and on what was tried."""
    last = failures[-1]
    if len(failures) > 1:
        for error in failures[:-1]:
            last.add_note(f"before that: {type(error).__name__}: {error}")
    elif isinstance(last, OSError):
        last.add_note(f"while connecting to {options.endpoints[-1].address}")
    return last
