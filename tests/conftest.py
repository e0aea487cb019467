"""Shared by all tests: one server per session, TLS in front of it, both event loops."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import re
import shutil
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from colonnade import embedded
from colonnade.embedded._binaries import BIN_VARIABLE
from tests.support import older_servers, releases
from tests.support.servers import PASSWORD_ROLES, ServerUnderTest
from tests.support.tls_shim import Certificates, TlsShim, TlsVariant, make_certificates
from tools.check import budget
from tools.generate import unasync

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

# A file system in memory, and how much room it has to have for servers of tests.
_MEMORY = Path("/dev/shm")  # noqa: S108
_MEMORY_BYTES = 4 << 30

# A shell makes background processes ignore interrupts, and `nohup` hang-ups. Children inherit
# this, so the tests of interrupts would test nothing.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


# On a crowded machine, values take their time; a test sets its own settings on top of these.
hypothesis.settings.register_profile(
    "colonnade", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("colonnade")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--server=13``, to test against that major version, ``--every-pair``, ``--budget``."""
    parser.addoption(
        "--every-pair",
        action="store_true",
        help="run each test on both loops, and on both layouts in both colours, marked or not",
    )
    parser.addoption(
        "--budget",
        action="store_true",
        help="print the seconds of each folder of tests beside its budget",
    )
    parser.addoption(
        "--server",
        type=int,
        choices=sorted(releases.RELEASES),
        help="the major version of PostgreSQL to test against, downloaded if missing",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the blocking tests, and find no servers but those of the chosen version."""
    if not hasattr(config, "workerinput"):
        unasync.make_tests()
        if config.getoption("--budget"):
            config.pluginmanager.register(budget.FolderTimes())
    major = config.getoption("--server")
    if major is None:
        return
    if embedded.resolve_dsn() is not None:
        raise pytest.UsageError(
            "--server starts servers of its own, and the environment names another one to test"
            " against: unset COLONNADE_DSN, PGHOST, PGHOSTADDR and PGSERVICE"
        )
    try:
        directory = releases.installed(major).directory
    except releases.NotToBeHadError as error:
        raise pytest.UsageError(f"PostgreSQL {major}: {error}") from error
    os.environ[BIN_VARIABLE] = str(directory)


# How a file begins that is thorough as a whole.
_ALL_THOROUGH = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.thorough\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore files in which `-m` deselects every test: to import them takes seconds."""
    wanted = config.option.markexpr
    if wanted not in {"thorough", "not thorough"} or not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text("utf-8")
    if wanted == "thorough":
        is_needless = "pytest.mark.thorough" not in text
    else:
        is_needless = _ALL_THOROUGH.search(text) is not None
    # None asks the other plugins.
    return is_needless or None


def pytest_collection_finish() -> None:
    """Take what the collection has made out of every later garbage collection.

    Twenty thousand tests and the libraries that they import are millions of objects: a full
    collection, which some tests make, took half a second each time.
    """
    _collect_for_the_last_time()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Do so again after each file: its tests have imported and remembered more."""
    if nextitem is None or nextitem.path != item.path:
        _collect_for_the_last_time()


def _collect_for_the_last_time() -> None:
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are processors: one of them mostly waits for its server."""
    return (os.cpu_count() or 1) + 1


def pytest_report_header() -> str:
    """Say which server the tests run against."""
    if embedded.resolve_dsn() is not None:
        return "server: the one that the environment names"
    found = embedded.find_binaries()
    return f"server: PostgreSQL {found.version} ({found.source})"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests that depend on a later version than the chosen one."""
    chosen = item.config.getoption("--server")
    reason = chosen and older_servers.later_answer(item.name, chosen)
    if reason:
        pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a test if the server's error says that the server is too old for it."""
    try:
        return (yield)
    except Exception as error:
        chosen = item.config.getoption("--server")
        reason = chosen and older_servers.refusal(error, chosen)
        if reason:
            pytest.skip(reason)
        raise


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run asynchronous tests on asyncio's own loop or on uvloop's, some on both.

    Loops differ below the driver's transports. So tests of connecting, TLS, flow and cancellation
    have the mark `every_loop`; of the others, half run on each.
    """
    factories: dict[str, Callable[[], asyncio.AbstractEventLoop]]
    factories = {"asyncio": asyncio.new_event_loop}
    with contextlib.suppress(ImportError):
        import uvloop

        factories["uvloop"] = uvloop.new_event_loop
    if config.getoption("--every-pair") or item.get_closest_marker("every_loop"):
        return factories
    names = sorted(factories)
    name = names[len(item.name) % len(names)]
    return {name: factories[name]}


@pytest.fixture(scope="session")
def server() -> Iterator[ServerUnderTest]:
    """The session's server: the one that the environment names, else a private one."""
    dsn = embedded.resolve_dsn()
    if dsn is not None:
        yield ServerUnderTest(dsn)
        return
    with _in_memory():
        started = embedded.start(tcp=True)
    with started:
        yield ServerUnderTest(started.dsn, started.socket_dsn, started)


@contextlib.contextmanager
def _in_memory() -> Iterator[None]:
    """Let a server that is started here keep its files in memory, where there is enough of it.

    Each table and index is a file: on a disk, making and removing them is a tenth of the processor
    time of the tests of queues.
    """
    usual = tempfile.tempdir
    if _MEMORY.is_mount() and shutil.disk_usage(_MEMORY).free >= _MEMORY_BYTES:
        tempfile.tempdir = str(_MEMORY)
    try:
        yield
    finally:
        tempfile.tempdir = usual


@pytest.fixture(scope="session")
def dsn(server: ServerUnderTest) -> str:
    """The address of the session's server, over TCP."""
    return server.dsn


@pytest.fixture(scope="session")
def socket_dsn(server: ServerUnderTest) -> str:
    """The address of the session's server, over its Unix socket."""
    if server.socket_dsn is None:
        pytest.skip("the server of COLONNADE_DSN has no known socket")
    return server.socket_dsn


@pytest.fixture(scope="session")
def password_server() -> Iterator[embedded.Server]:
    """A private server whose `PASSWORD_ROLES` need passwords, over TCP and the socket."""
    _need_binaries()
    with embedded.start(tcp=True, roles=PASSWORD_ROLES) as started:
        yield started


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """The certificates of this test session."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def tls_shim(
    password_server: embedded.Server, certificates: Certificates
) -> Iterator[Callable[[TlsVariant], TlsShim]]:
    """Start TLS shims, by variant, in front of the server with passwords."""
    socket = password_server.socket_dir / f".s.PGSQL.{password_server.port}"
    with contextlib.ExitStack() as shims:
        yield lambda variant: shims.enter_context(TlsShim(socket, certificates, variant))


def _need_binaries() -> None:
    """Skip if the environment names a server and none is installed to start another one."""
    if embedded.resolve_dsn() is None:
        return
    try:
        embedded.find_binaries()
    except embedded.EmbeddedServerError:
        pytest.skip("this needs a private server, and no PostgreSQL was found to start")
