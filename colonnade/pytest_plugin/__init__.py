"""Fixtures for tests that need PostgreSQL: a server, and a clean database for each test.

pytest loads this module by itself at every start, so it imports nothing but pytest; the first test
that uses a fixture pays for the rest. Each test gets a copy of a template database, which the
fixture `colonnade_template` fills once.
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    import colonnade
    import colonnade.sync
    from colonnade.pytest_plugin._clean import Servers
    from colonnade.pytest_plugin._databases import Fill


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the setting that name an existing server."""
    parser.getgroup("colonnade", "PostgreSQL for tests (colonnade)").addoption(
        "--colonnade-dsn",
        metavar="URI",
        help="use this PostgreSQL server instead of a private one: postgresql://user@host/database",
    )
    parser.addini(
        "colonnade_dsn", "the PostgreSQL server to use instead of a private one, as a URI"
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say that the tests use an existing server; its address may contain a password."""
    from colonnade.pytest_plugin import _server

    given = _server.given(config)
    return None if given is None else f"colonnade: the server of {given.origin}"


@pytest.fixture(scope="session")
def colonnade_server_dsn(pytestconfig: pytest.Config) -> Iterator[str]:
    """The URI of the test server: an existing one if it is named, else a private one.

    The private server ends with the session. With pytest-xdist each worker has its own.
    """
    from colonnade.pytest_plugin import _server

    with _server.running(pytestconfig) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def colonnade_template() -> Fill | None:
    """The function that fills the template database; override it to create your tables.

    It is called once per session with the template's DSN. None leaves the databases empty.
    """
    return None


@pytest.fixture(scope="session", name="_colonnade_servers")
def servers() -> Iterator[Servers]:
    """The templates and databases that this process has created."""
    from colonnade.pytest_plugin import _clean

    servers = _clean.Servers()
    yield servers
    servers.close()


@pytest.fixture
def colonnade_dsn(request: pytest.FixtureRequest, colonnade_template: Fill | None) -> Iterator[str]:
    """The URI of a clean database for this test, dropped after it."""
    from colonnade.pytest_plugin import _clean

    yield from _clean.database(request, colonnade_template)


@pytest.fixture(scope="module")
def colonnade_module_dsn(
    request: pytest.FixtureRequest, colonnade_template: Fill | None
) -> Iterator[str]:
    """The URI of a clean database for all tests of a module, dropped after the last one."""
    from colonnade.pytest_plugin import _clean

    yield from _clean.database(request, colonnade_template)


@pytest.fixture
def colonnade_sqlalchemy_url(colonnade_dsn: str) -> str:
    """The test's database as a URL for SQLAlchemy's `create_engine` and `create_async_engine`."""
    return colonnade_dsn.replace("postgresql://", "postgresql+colonnade://", 1)


@pytest.fixture
def colonnade_connection(
    request: pytest.FixtureRequest, colonnade_dsn: str
) -> colonnade.Connection:
    """An asyncio connection to the test's database, on the event loop of the test."""
    from colonnade.pytest_plugin import _event_loops

    del colonnade_dsn
    connection: colonnade.Connection = _event_loops.opened(request, "connection")
    return connection


@pytest.fixture
def colonnade_pool(request: pytest.FixtureRequest, colonnade_dsn: str) -> colonnade.Pool:
    """An asyncio pool for the test's database, on the event loop of the test."""
    from colonnade.pytest_plugin import _event_loops

    del colonnade_dsn
    pool: colonnade.Pool = _event_loops.opened(request, "pool")
    return pool


@pytest.fixture
def colonnade_sync_connection(colonnade_dsn: str) -> Iterator[colonnade.sync.Connection]:
    """A blocking connection to the test's database."""
    import colonnade.sync

    connection = colonnade.sync.connect(colonnade_dsn)
    yield connection
    connection.terminate()


@pytest.fixture
def colonnade_sync_pool(colonnade_dsn: str) -> Iterator[colonnade.sync.Pool]:
    """A blocking pool for the test's database."""
    import colonnade.sync

    # `close` would wait for a connection that a failed test has not given back.
    pool = colonnade.sync.create_pool(colonnade_dsn, min_size=0)
    yield pool
    pool.terminate()
