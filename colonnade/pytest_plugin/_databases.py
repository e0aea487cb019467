"""The databases of one run of tests: templates, their copies, and remains of killed runs.

A name is ``colonnade_test_<database>_<run>_<number>``: the OID of the database that the run's own
connection uses, a random number of the run, and a counter. While a run lasts, its connection holds
an advisory lock with the number of the run. Such locks belong to a database, hence the OID in the
name: a run that takes the lock of another one in the same database knows that the other one is
over, and drops its databases.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import re
import secrets
import threading
from typing import TYPE_CHECKING

import colonnade.sync
from colonnade import errors
from colonnade._driver.sql.quoting import quote_identifier
from colonnade.pytest_plugin._server import UnavailableError, with_database

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    #: Fills the database of a DSN. It may be a coroutine function.
    Fill = Callable[[str], Awaitable[None] | None]

_PREFIX = "colonnade_test"
# The upper half of the 64-bit keys of our advisory locks; the lower half is the number of the run.
_LOCK_SPACE = 0x636F6C6F
_RUN_BITS = 32

_OWN_DATABASE = """
    SELECT oid::bigint FROM pg_catalog.pg_database
    WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
"""
_UNUSED_DATABASES = """
    SELECT datname FROM pg_catalog.pg_database d WHERE NOT EXISTS (
        SELECT FROM pg_catalog.pg_stat_activity a WHERE a.datid OPERATOR(pg_catalog.=) d.oid)
"""
_TRY_LOCK = "SELECT pg_catalog.pg_try_advisory_lock($1)"
_UNLOCK = "SELECT pg_catalog.pg_advisory_unlock($1)"
_DISCONNECT_ALL = """
    SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity
    WHERE datname OPERATOR(pg_catalog.=) $1
"""


class TemplateFailedError(Exception):
    """The function that fills a template has already raised an exception."""


class Databases:
    """Creates and drops databases on one server, over one blocking connection."""

    def __init__(self, dsn: str, origin: str) -> None:
        self._dsn = dsn
        self._origin = origin
        self._run = secrets.randbits(_RUN_BITS)
        self._numbers = itertools.count(1)
        self._created: set[str] = set()
        # None stands for a template whose function failed.
        self._templates: dict[Fill | None, str | None] = {}
        self._connection: colonnade.sync.Connection | None = None
        self._own_oid = 0

    def open(self) -> None:
        """Connect, and drop what killed runs left. Raises `UnavailableError` if it cannot."""
        with_database(self._dsn, "", self._origin)
        self._drop_leftovers(self._connected())

    def close(self) -> None:
        """Drop the databases that are left, unless the server has already ended."""
        connection, self._connection = self._connection, None
        if connection is None or connection.is_closed():
            return
        failures: list[Exception] = []
        with connection:
            for name in self._created:
                try:
                    _drop(connection.execute, name, _drop_command(name))
                except (OSError, errors.PostgresError, errors.InterfaceError) as error:
                    if connection.is_closed():
                        return
                    # The other databases are dropped all the same.
                    failures.append(error)
        if failures:
            raise failures[0]

    @contextlib.contextmanager
    def copy(self, fill: Fill | None) -> Generator[str]:
        """Yield the address of a copy of the template that `fill` fills; drop it at the end.

        Raises `UnavailableError` if the server cannot be used, `TemplateFailedError` if `fill`
        failed before, and the error of `fill` when it fails for the first time.
        """
        name = self._create(self._template(fill))
        try:
            yield self._address(name)
        finally:
            self._drop(name)

    def _template(self, fill: Fill | None) -> str:
        if fill not in self._templates:
            name = self._create("template1")
            try:
                if fill is not None:
                    self._templates[fill] = None
                    _call(fill, self._address(name))
                self._seal(name)
            except BaseException:
                self._drop(name)
                raise
            self._templates[fill] = name
        template = self._templates[fill]
        if template is None:
            raise TemplateFailedError
        return template

    def _create(self, template: str) -> str:
        self._connected()
        name = f"{_PREFIX}_{self._own_oid}_{self._run:08x}_{next(self._numbers)}"
        # Before the server does it: an interrupted CREATE may have succeeded.
        self._created.add(name)
        command = f"CREATE DATABASE {quote_identifier(name)} TEMPLATE {quote_identifier(template)}"
        try:
            self._execute(command)
        except errors.InsufficientPrivilegeError as error:
            raise UnavailableError(
                f"The user of the test server ({self._origin}) may not create databases: {error}\n"
                "A superuser can allow it: ALTER ROLE <user> CREATEDB."
            ) from error
        return name

    def _drop(self, name: str) -> None:
        _drop(self._execute, name, _drop_command(name))
        self._created.discard(name)

    def _seal(self, name: str) -> None:
        """End all connections to a template, and allow no new ones: one would prevent copies."""
        self._execute(f"ALTER DATABASE {quote_identifier(name)} ALLOW_CONNECTIONS false")
        self._connected().fetch(_DISCONNECT_ALL, name)

    def _execute(self, command: str) -> None:
        connection = self._connected()
        try:
            connection.execute(command)
        except (OSError, errors.PostgresError, errors.InterfaceError):
            if not connection.is_closed():
                raise
            # A test may have ended it, which is noticed only now.
            self._connected().execute(command)

    def _connected(self) -> colonnade.sync.Connection:
        """Return the run's own connection, made anew if a test has ended the last one."""
        if self._connection is None or self._connection.is_closed():
            try:
                self._connection = colonnade.sync.connect(self._dsn)
                self._mark_run(self._connection)
            except (OSError, errors.PostgresError, errors.InterfaceError) as error:
                raise UnavailableError(
                    f"The test server ({self._origin}) cannot be used: "
                    f"{type(error).__name__}: {error}"
                ) from error
        return self._connection

    def _mark_run(self, connection: colonnade.sync.Connection) -> None:
        self._own_oid = connection.fetchval(_OWN_DATABASE)
        while not connection.fetchval(_TRY_LOCK, _lock_key(self._run)):
            self._run = secrets.randbits(_RUN_BITS)

    def _drop_leftovers(self, connection: colonnade.sync.Connection) -> None:
        """Drop databases of runs that are over, unless somebody is connected to them."""
        ours = re.compile(rf"{_PREFIX}_{self._own_oid}_([0-9a-f]{{8}})_[0-9]+")
        for (name,) in connection.fetch(_UNUSED_DATABASES):
            found = ours.fullmatch(name)
            if found is None:
                continue
            key = _lock_key(int(found[1], 16))
            if key == _lock_key(self._run) or not connection.fetchval(_TRY_LOCK, key):
                continue
            # Another role's database, or one that somebody has connected to, is left alone.
            with contextlib.suppress(errors.InsufficientPrivilegeError, errors.ObjectInUseError):
                command = f"DROP DATABASE IF EXISTS {quote_identifier(name)}"
                _drop(connection.execute, name, command)
            connection.fetchval(_UNLOCK, key)

    def _address(self, name: str) -> str:
        return with_database(self._dsn, name, self._origin)


def _drop_command(name: str) -> str:
    # FORCE ends connections that a test has left open.
    return f"DROP DATABASE IF EXISTS {quote_identifier(name)} WITH (FORCE)"


def _drop(execute: Callable[[str], object], name: str, command: str) -> None:
    try:
        execute(command)
    except errors.WrongObjectTypeError:
        # A test has declared it a template, which PostgreSQL does not drop.
        execute(f"ALTER DATABASE {quote_identifier(name)} IS_TEMPLATE false")
        execute(command)


def _lock_key(run: int) -> int:
    return _LOCK_SPACE << _RUN_BITS | run


def _call(fill: Callable[[str], Awaitable[None] | None], dsn: str) -> None:
    result = fill(dsn)
    if inspect.isawaitable(result):
        _run_in_thread(result)


def _run_in_thread(result: Awaitable[None]) -> None:
    """Await a result on a loop of its own; this thread's loop belongs to the tests' plugin."""

    async def wait() -> None:
        await result

    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(wait())
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            failures.append(error)

    thread = threading.Thread(target=run, name="colonnade_template")
    thread.start()
    thread.join()
    for failure in failures:
        raise failure
