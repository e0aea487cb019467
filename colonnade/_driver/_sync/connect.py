# Generated from colonnade/_driver/_async/connect.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Connecting: trying the hosts, with TLS and without, to reach a server of the right kind."""

from __future__ import annotations

import contextlib
import inspect
import ssl as ssl_module
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from colonnade import _core
from colonnade._driver._sync.connect_address import connect_to
from colonnade._driver._sync.connection import Connection
from colonnade._driver._sync.conversation import Conversation
from colonnade._driver._sync.login import Login
from colonnade._driver._sync.row_making import RowMaking
from colonnade._driver.gss import GssExchange
from colonnade._driver.transport.threads import connect as open_transport, deadline
from colonnade._driver.transport.tls import TlsRefusedError
from colonnade._words.arguments import (
    check_callable,
    check_choice,
    check_class,
    check_lifetime,
    check_size,
    check_switch,
    checked_timeout,
)
from colonnade._words.shown import class_name, shown
from colonnade.errors import (
    AuthenticationError,
    CannotConnectNowError,
    ClientConfigurationError,
    ConfigurationTypeError,
    ConnectionDoesNotExistError,
    InvalidAuthorizationSpecificationError,
    InvalidPasswordError,
    MissingPasswordError,
    PostgresError,
    TargetServerAttributeNotMatched,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Mapping, Sequence

    from colonnade._driver.connection_options import ConnectionOptions, Endpoint, Password
    from colonnade._driver.transport.threads import Transport
    from colonnade._driver.transport.tls import TlsPolicy
    from colonnade.rows import RowFactory

    _Failure = tuple[Endpoint, Exception]

_LIFETIME_SECONDS_MAX = 1e9

_NO_DIRECT_TLS = (
    "sslnegotiation=direct needs PostgreSQL 17 or newer: without it (sslnegotiation=postgres) the "
    "server is asked for TLS first"
)
# Errors of a refused login get a note with host, user and database.
_REFUSALS = (PostgresError, AuthenticationError)


def connect(
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
    max_cached_statement_lifetime: float = 300,
    max_cacheable_statement_size: int = 15 * 1024,
    command_timeout: float | None = None,
    ssl: ssl_module.SSLContext | bool | str | None = None,
    direct_tls: bool | None = None,
    connection_class: type[Connection] = Connection,
    record_class: type[_core.Record | tuple[Any, ...]] = _core.Record,
    row_factory: RowFactory[Any] | None = None,
    server_settings: Mapping[str, str] | None = None,
    target_session_attrs: str | None = None,
    krbsrvname: str | None = None,
    gsslib: str | None = None,
    extension_types: bool = False,
    naive_datetimes: Literal["local", "refuse"] = "local",
) -> Connection:
    """Connect to a PostgreSQL server.

    `dsn` is a URI (`postgresql://user:password@host:port/database?option=value`) or libpq's pairs
    (`host=localhost dbname=test`). Arguments override the DSN, the DSN a service file, that the
    environment (`PGHOST`, `PGUSER`, ...), and that the defaults. Without a host the usual Unix
    sockets are tried, then localhost. `colonnade docs connecting` lists every option.

    `password` is a string, or a callable that returns one, or None, for each host; it may be a
    coroutine function. `ssl` is an `ssl.SSLContext`, True (trusted certificate and matching host
    name), False, or one of libpq's modes, "prefer" by default; `direct_tls` begins TLS without
    asking first. `timeout` limits the whole attempt in seconds, `command_timeout` is the default
    for each call. `statement_cache_size` 0 uses the unnamed statement, as some poolers require; a
    statement or type is known for `max_cached_statement_lifetime` seconds at most, and statements
    are kept up to a length of `max_cacheable_statement_size` bytes (0: no limit). The connection
    is a `connection_class`; its rows are of `record_class`, or made by `row_factory`: see
    `colonnade.rows`. With `extension_types`, rows have an `hstore` as a dict, a `vector` as a list,
    a `geometry` as bytes. With `naive_datetimes` "refuse", a timestamptz needs a time zone.

    Raises OSError if no server can be reached, TimeoutError, ClientConfigurationError for invalid
    options, and the server's own error if it refuses.
    """
    # The arguments by name; `_OF_SESSION` lists those that the session keeps.
    given: dict[str, Any] = locals()
    words: dict[str, object] = {"host": host, "port": port, "user": user, "dbname": database}
    words |= {"service": service, "servicefile": servicefile, "krbsrvname": krbsrvname}
    words |= {"passfile": passfile, "gsslib": gsslib, "target_session_attrs": target_session_attrs}
    words |= _checked_password(password)
    limits = _checked_limits(given, command_timeout)
    options = _resolved(dsn, words, server_settings, (ssl, direct_tls))
    classes = _checked_classes(connection_class, record_class, row_factory)
    return _Attempt(options, password, limits, classes).within(_checked_seconds(timeout))


@contextlib.contextmanager
def _refused_options() -> Generator[None, None, None]:
    """Raise the class of `connect` for each option that a check refuses."""
    try:
        yield
    except TypeError as error:
        raise ConfigurationTypeError(str(error)) from None
    except ValueError as error:
        raise ClientConfigurationError(str(error)) from None


def _resolved(
    dsn: str | None,
    words: Mapping[str, object],
    server_settings: Mapping[str, str] | None,
    tls: tuple[Any, bool | None],
) -> ConnectionOptions:
    with _refused_options():
        check_switch("direct_tls", tls[1])
    # Imported here: it reads files and the environment, with modules that an import can do without.
    from colonnade._driver.connection_options import TlsArguments, resolve

    return resolve(dsn, words, server_settings, TlsArguments(*tls))


class _Limits(NamedTuple):
    """The connection's limits."""

    command_timeout: float | None
    of_session: Mapping[str, Any]
    """The arguments of `_core.Session`."""


class _Classes(NamedTuple):
    """The classes of the connection and of its rows."""

    connection: type[Connection]
    row_making: RowMaking


@_refused_options()
def _checked_classes(
    connection: type[Connection], record: type[_core.Record | tuple[Any, ...]], row_factory: Any
) -> _Classes:
    check_class("connection_class", connection, Connection)
    _core.check_record_class(record)
    check_callable("row_factory", row_factory)
    return _Classes(connection, RowMaking(record, row_factory))


@_refused_options()
def _checked_password(password: object) -> dict[str, object]:
    if isinstance(password, str):
        return {"password": password}
    if password is not None and not callable(password):
        raise TypeError(f"password must be a str or a callable, not {class_name(password)}")
    return {}


@_refused_options()
def _checked_seconds(timeout: float | None) -> float | None:
    return checked_timeout(timeout)


@_refused_options()
def _checked_limits(given: Mapping[str, Any], command_timeout: float | None) -> _Limits:
    seconds = checked_timeout(command_timeout, "command_timeout")
    if seconds is not None and seconds <= 0:
        wanted = "invalid command_timeout value: expected more than 0 seconds"
        raise ValueError(f"{wanted}, got {shown(command_timeout)}")
    of_session = {word: check(name, given[name]) for name, (check, word) in _OF_SESSION.items()}
    return _Limits(seconds, of_session)


def _size(name: str, amount: int) -> int:
    check_size(name, amount)
    # More than any machine holds is as good as no limit.
    return min(amount, sys.maxsize)


def _lifetime(name: str, seconds: float) -> float:
    check_lifetime(name, seconds)
    # A few decades; longer limits never end either.
    return 0.0 if seconds > _LIFETIME_SECONDS_MAX else float(seconds)


def _switch(name: str, value: object) -> bool:
    check_switch(name, value)
    return bool(value)


def _refuses_naive(name: str, meaning: str) -> bool:
    check_choice(name, meaning, ("local", "refuse"))
    return meaning == "refuse"


# The options of `connect` that a session keeps: the check of each, and the session's name for it.
_OF_SESSION: dict[str, tuple[Callable[[str, Any], object], str]] = {
    "statement_cache_size": (_size, "statement_cache_size"),
    "max_cached_statement_lifetime": (_lifetime, "statement_seconds"),
    "max_cacheable_statement_size": (_size, "statement_bytes"),
    "extension_types": (_switch, "extension_values"),
    "naive_datetimes": (_refuses_naive, "refuses_naive_moments"),
}


class _Attempt:
    """One call of `connect`, over all hosts."""

    def __init__(
        self,
        options: ConnectionOptions,
        password: Password | None,
        limits: _Limits,
        classes: _Classes,
    ) -> None:
        self._options = options
        self._password = None if isinstance(password, str) else password
        self._limits = limits
        self._classes = classes
        self._is_tls = False
        """Whether the last socket uses TLS."""
        self._is_tls_made = False
        """Whether the handshake of the last socket has succeeded."""
        self._is_authenticated = False
        """Whether the last server that failed had accepted our authentication."""
        self.trying: str | None = None
        """The address under way, for messages."""

    def within(self, timeout: float | None) -> Connection:
        """Connect within this many seconds in total."""
        limit = deadline(timeout)
        try:
            with limit:
                return self.any_server()
        except TimeoutError as error:
            if self.trying is None or not limit.expired():
                raise
            msg = f"no connection to {self.trying} within {timeout:g} s"
            raise TimeoutError(msg) from error

    def any_server(self) -> Connection:
        """The first host that accepts us and is of the wanted kind."""
        wanted = self._options.target_session_attrs
        second_best: list[Connection] = []
        failures: list[_Failure] = []
        try:
            for endpoint in self._options.endpoints:
                self.trying = str(endpoint.address)
                limit = deadline(self._options.connect_timeout)
                try:
                    with limit:
                        connection = connect_to(
                            endpoint.address.place,
                            self._options.parameters(None, self._options.tls),
                            partial(self._one_host, endpoint),
                        )
                        is_wanted = _is_wanted(connection, wanted)
                except (OSError, CannotConnectNowError) as error:
                    if limit.expired():
                        late = _late(endpoint, self._options.connect_timeout)
                        failures.append((endpoint, late))
                    elif isinstance(error, TimeoutError) and error.errno is None:
                        # Not the host's answer: the time for all hosts has run out.
                        raise
                    elif isinstance(error, PostgresError) and self._is_authenticated:
                        raise
                    else:
                        failures.append((endpoint, error))
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
            raise _told(failures)
        msg = f"none of the hosts is {wanted}: {self._options!r}"
        raise TargetServerAttributeNotMatched(msg)

    def _one_host(self, endpoint: Endpoint) -> Connection:
        """Connect to one host, in the ways that the TLS policy allows, in order."""
        password = endpoint.password if self._password is None else _asked(self._password)
        first, *others = self._options.tls.attempts(endpoint.address)
        try:
            return self._one_way(endpoint, password, first)
        except (OSError, PostgresError) as error:
            if not others or not self._may_try_the_other(error, first):
                raise
            refusal = error
        try:
            return self._one_way(endpoint, password, others[0])
        except BaseException as error:
            if isinstance(refusal, InvalidPasswordError) and _is_closed_way(error):
                # More useful than the other way's refusal.
                raise refusal from None
            # Also for a cancelled task, or after a time limit.
            raise error from refusal

    def _may_try_the_other(self, error: Exception, way: TlsPolicy) -> bool:
        """Whether to try a server the other way, with TLS or without it, after one refusal."""
        if isinstance(error, ConnectionRefusedError | TimeoutError | CannotConnectNowError):
            # The server is missing or not ready, with TLS or without.
            return False
        if isinstance(error, TlsRefusedError | MissingPasswordError) or self._is_authenticated:
            return False
        # A server without TLS was already tried without it.
        return self._is_tls == (way.context is not None)

    def _one_way(self, endpoint: Endpoint, password: str | None, policy: TlsPolicy) -> Connection:
        try:
            return self._attempted(endpoint, password, policy)
        except (ssl_module.SSLError, ConnectionError) as error:
            if policy.is_direct and not self._is_tls_made:
                error.add_note(_NO_DIRECT_TLS)
            raise

    def _attempted(self, endpoint: Endpoint, password: str | None, policy: TlsPolicy) -> Connection:
        session = _core.Session(**self._limits.of_session)
        self._is_tls, self._is_authenticated = policy.context is not None, False
        self._is_tls_made = False
        transport = open_transport(session, endpoint.address, policy)
        self._is_tls_made = self._is_tls = transport.is_tls
        info = self._options.info
        try:
            session.startup(
                info,
                self._options.password_bytes(password),
                tls=transport.is_tls,
                tls_server_end_point=transport.tls_server_end_point(),
            )
            self._get_in(session, transport, endpoint)
            login = Login(
                str(endpoint.address),
                transport.address.place,
                info.user,
                info.database,
                self._options.parameters(self._password or endpoint.password, policy),
            )
            limit = self._limits.command_timeout
            conversation = Conversation(session, transport, login, limit)
            return self._classes.connection(conversation, self._classes.row_making)
        except BaseException as error:
            self._is_authenticated = session.is_authenticated
            transport.abort()
            if isinstance(error, _REFUSALS):
                error.add_note(f"while connecting to {endpoint.address} {info.shown_login()}")
            if isinstance(error, ConnectionDoesNotExistError) and isinstance(
                error.__cause__, ssl_module.SSLError
            ):
                # The handshake had succeeded: since TLS 1.3 a server refuses our certificate only
                # afterwards.
                raise error.__cause__ from None
            raise

    def _get_in(self, session: _core.Session, transport: Transport, endpoint: Endpoint) -> None:
        """Wait until the server is ready, and answer its requests for tokens."""
        event = transport.next_event()
        if not isinstance(event, _core.GssToken):
            return
        info = self._options.info
        exchange = GssExchange(info.krbsrvname, endpoint.address, info.gsslib)
        while isinstance(event, _core.GssToken):
            token = transport.off_loop(exchange.step, event.token)
            if token:
                session.gss_token(token)
            event = transport.next_event()
        exchange.check_end()


def _asked(give: Callable[[], object]) -> str | None:
    password = give()
    if password is None:
        return None
    if inspect.isawaitable(password) or not isinstance(password, str):
        msg = f"the password callable gave {class_name(password)}, not str"
        raise ConfigurationTypeError(msg)
    return password


def _is_closed_way(error: BaseException) -> bool:
    """Whether the server refused this way before checking the password."""
    if isinstance(error, OSError | ConnectionDoesNotExistError):
        return True
    return isinstance(error, InvalidAuthorizationSpecificationError) and not isinstance(
        error, InvalidPasswordError
    )


def _is_wanted(connection: Connection, wanted: str) -> bool:
    """Whether a server is of the kind that `target_session_attrs` names."""
    if wanted == "any":
        return True
    try:
        if wanted in {"read-write", "read-only"}:
            is_read_only = connection.fetchval("SHOW transaction_read_only") == "on"
            return bool(is_read_only == (wanted == "read-only"))
        is_standby = connection.fetchval("SELECT pg_catalog.pg_is_in_recovery()")
    except BaseException:
        connection.terminate()
        raise
    return bool(is_standby) == (wanted in {"standby", "prefer-standby"})


def _late(endpoint: Endpoint, seconds: float | None) -> TimeoutError:
    return TimeoutError(f"no connection to {endpoint.address} within {seconds} s (connect_timeout)")


def _name_place(error: OSError, place: str) -> None:
    """Put the address into the error's own text, which is often all that a program logs."""
    if place in str(error) or isinstance(error, ssl_module.SSLError):
        return
    if error.errno is not None:
        error.filename = place
    else:
        error.args = (f"{error}: {place!r}",)


def _told(failures: list[_Failure]) -> Exception:
    """The last failure, with notes on its place and on the earlier ones."""
    *before, (endpoint, last) = failures
    if isinstance(last, OSError):
        _name_place(last, str(endpoint.address))
        last.add_note(f"while connecting to {endpoint.address}")
    for where, error in before:
        last.add_note(f"before that, at {where.address}: {type(error).__name__}: {error}")
    return last
