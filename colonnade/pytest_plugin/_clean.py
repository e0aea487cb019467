"""A clean database for the length of a fixture; a cause that denies it to all is told once."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from colonnade._words.shown import class_name
from colonnade.pytest_plugin import _server
from colonnade.pytest_plugin._databases import Databases, TemplateFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.pytest_plugin._databases import Fill

_LATER = "The test server cannot be used: see the first error."
_NO_FUNCTION = (
    "The fixture colonnade_template must return a function that takes the DSN of the template "
    "database and fills it, or None, not {}."
)
_TEMPLATE_FAILED = "The function that fills the template database has failed: see the first error."
# The servers that cannot be used. None stands for one that could not be started.
_UNAVAILABLE = pytest.StashKey[set[str | None]]()


class Servers:
    """The databases of this process on each server that its tests use; usually there is one."""

    def __init__(self) -> None:
        self._databases: dict[str, Databases] = {}

    def databases(self, dsn: str, origin: str) -> Databases:
        """Return the databases on a server, after connecting to it at the first use."""
        if dsn not in self._databases:
            databases = Databases(dsn, origin)
            databases.open()
            self._databases[dsn] = databases
        return self._databases[dsn]

    def close(self) -> None:
        """Drop the databases that are left on each server."""
        with contextlib.ExitStack() as closing:
            for databases in self._databases.values():
                closing.callback(databases.close)


def database(request: pytest.FixtureRequest, fill: Fill | None) -> Iterator[str]:
    """Yield the address of a new database, and drop it."""
    if fill is not None and not callable(fill):
        pytest.fail(_NO_FUNCTION.format(class_name(fill)), pytrace=False)
    unavailable = request.config.stash.setdefault(_UNAVAILABLE, set())
    dsn = None
    try:
        dsn = _address(request, unavailable)
        servers: Servers = request.getfixturevalue("_colonnade_servers")
        databases = servers.databases(dsn, _server.origin(request.config, dsn))
        with databases.copy(fill) as copy:
            yield copy
    except _server.UnavailableError as error:
        failure = _LATER if dsn in unavailable else str(error)
        unavailable.add(dsn)
    except TemplateFailedError:
        failure = _TEMPLATE_FAILED
    else:
        return
    # After the handlers: within them, pytest would print the handled exception as well.
    pytest.fail(failure, pytrace=False)


def _address(request: pytest.FixtureRequest, unavailable: set[str | None]) -> str:
    # Of a server that did not answer, no second test waits for an answer.
    dsn: str = request.getfixturevalue("colonnade_server_dsn")
    if dsn in unavailable:
        pytest.fail(_LATER, pytrace=False)
    return dsn
