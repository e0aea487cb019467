"""The server that the tests use, and the message if it cannot be used."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

    import pytest

#: Not COLONNADE_DSN: that may name the server on which somebody works, and tests create databases.
VARIABLE = "COLONNADE_TEST_DSN"

# PostgreSQL's grammar: the user name and password end at "@", the hosts at "/" or "?".
_URI = re.compile(
    r"postgres(?:ql)?://(?P<place>(?:[^@/]*@)?[^/?]*)(?:/(?P<database>[^?]*))?(?:\?(?P<options>.*))?",
    re.DOTALL,
)


class UnavailableError(Exception):
    """The test server cannot be used; the message says what to do."""


@dataclass(frozen=True)
class Given:
    """An existing server that was named for the tests, and the origin of the name."""

    dsn: str
    origin: str


def given(config: pytest.Config) -> Given | None:
    """Return the server that the command line, the environment or the settings name, if any."""
    named = {
        "--colonnade-dsn": config.getoption("--colonnade-dsn"),
        f"the environment variable {VARIABLE}": os.environ.get(VARIABLE),
        "the setting colonnade_dsn": config.getini("colonnade_dsn"),
    }
    return next((Given(dsn, origin) for origin, dsn in named.items() if dsn), None)


def origin(config: pytest.Config, dsn: str) -> str:
    """Say where the address of a test server comes from."""
    named = given(config)
    if named is None or named.dsn != dsn:
        return "the fixture colonnade_server_dsn"
    return named.origin


@contextlib.contextmanager
def running(config: pytest.Config) -> Generator[str]:
    """Yield the address of the named server, else of a private one that ends with the block."""
    named = given(config)
    if named is not None:
        yield named.dsn
        return
    # Not above: this module is imported at every start of pytest.
    from colonnade import embedded

    try:
        server = embedded.start()
    except embedded.EmbeddedServerError as error:
        raise UnavailableError(
            f"The private PostgreSQL server for the tests cannot be started. To use an existing"
            f" server, name it with --colonnade-dsn or {VARIABLE}; no other variable counts for"
            f" tests.\n{error}"
        ) from error
    with server:
        yield server.dsn


def with_database(dsn: str, database: str, origin: str) -> str:
    """Return the same address with another database; every such URI begins "postgresql://".

    Raises `UnavailableError` if `dsn` is not a URI; `origin` is named in its message.
    """
    parts = _URI.fullmatch(dsn)
    if parts is None:
        # The text itself may contain a password.
        raise UnavailableError(
            f"The address of the test server ({origin}) does not begin with postgresql://. Write it"
            " as a URI: postgresql://user:password@host:port/database."
        )
    options = (parts["options"] or "").split("&")
    kept = "&".join(option for option in options if not option.startswith("dbname="))
    return f"postgresql://{parts['place']}/{database}" + (f"?{kept}" if kept else "")
