"""Nothing is left on the server, whatever a test leaves behind and however the run ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import psycopg
import pytest

from colonnade.pytest_plugin import _databases

if TYPE_CHECKING:
    from tests.pytest_plugin.conftest import Project

pytestmark = pytest.mark.thorough

pytest_plugins = ["pytester"]

AFTER = """
    def test_after(colonnade_sync_connection):
        assert colonnade_sync_connection.fetchval("SELECT 1") == 1
"""


def test_what_a_test_left_open(project: Project) -> None:
    project.write(
        test_left="""
            import asyncio
            import colonnade.sync
            import pytest

            left = []

            def test_connections(colonnade_dsn, colonnade_sync_connection, colonnade_sync_pool):
                left.append(colonnade.sync.connect(colonnade_dsn))
                left.append(colonnade_sync_pool.acquire().__enter__())
                left.append(colonnade_sync_connection)
                for number, connection in enumerate(left):
                    connection.execute(f"BEGIN; CREATE TABLE t{number} ()")

            @pytest.mark.asyncio
            async def test_tasks(colonnade_dsn, colonnade_connection, colonnade_pool):
                borrowed = await colonnade_pool.acquire()
                await borrowed.execute("BEGIN; SELECT pg_advisory_xact_lock(1)")
                lock = colonnade_connection.execute("SELECT pg_advisory_xact_lock(1)")
                statement = asyncio.ensure_future(lock)
                blocked = "SELECT count(*) FROM pg_locks WHERE NOT granted"
                while not await colonnade_pool.fetchval(blocked):
                    assert not statement.done()
                statement.add_done_callback(lambda done: done.exception())
                left.append(statement)

            def test_end(colonnade_sync_connection):
                with pytest.raises(colonnade.errors.ConnectionDoesNotExistError):
                    left[0].execute("SELECT 1")
                others = '''
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname LIKE 'colonnade_test%' AND pid <> pg_backend_pid()
                '''
                assert colonnade_sync_connection.fetchval(others) == 0
        """,
        test_then=AFTER,
    )
    project.run().assert_outcomes(passed=4)


def test_failures(project: Project) -> None:
    project.write(
        test_failures="""
            import asyncio
            import colonnade.sync
            import pytest

            def test_blocking(colonnade_sync_connection):
                colonnade_sync_connection.execute("BEGIN")
                colonnade_sync_connection.execute("SELECT 1 / 0")

            @pytest.mark.asyncio
            async def test_asynchronous(colonnade_connection):
                await colonnade_connection.execute("SELECT 1 / 0")

            @pytest.fixture
            def broken(colonnade_sync_connection):
                raise ValueError

            def test_fixture(broken):
                pass
        """,
        test_then=AFTER,
    )
    project.run().assert_outcomes(passed=1, failed=2, errors=1)


def test_a_test_that_drops_its_own_database(project: Project) -> None:
    project.write(
        test_drop="""
            import colonnade.sync

            def test_drop(colonnade_server_dsn, colonnade_dsn, colonnade_sync_connection):
                name = colonnade_sync_connection.fetchval("SELECT current_database()")
                with colonnade.sync.connect(colonnade_server_dsn) as connection:
                    connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        """,
        test_then=AFTER,
    )
    project.run().assert_outcomes(passed=2)


def test_a_test_that_declares_its_database_a_template(project: Project) -> None:
    project.write(
        test_declare="""
            import colonnade.sync

            def test_declare(colonnade_server_dsn, colonnade_sync_connection):
                name = colonnade_sync_connection.fetchval("SELECT current_database()")
                with colonnade.sync.connect(colonnade_server_dsn) as connection:
                    connection.execute(f"ALTER DATABASE {name} IS_TEMPLATE true")
        """,
        test_then=AFTER,
    )
    project.run().assert_outcomes(passed=2)
    assert project.databases() == set()


def test_the_next_run_drops_what_was_declared_a_template(project: Project) -> None:
    project.write(test_kill=KILLED, test_in_turn=IN_TURN)
    project.run("test_kill.py")
    with psycopg.connect(project.dsn, autocommit=True) as connection:
        for name in project.databases():
            connection.execute(f"ALTER DATABASE {name} IS_TEMPLATE true")
    project.run("test_in_turn.py").assert_outcomes(passed=1)
    assert project.databases() == set()


def test_a_test_that_ends_every_other_connection(project: Project) -> None:
    """The connection that creates the databases among them."""
    project.write(
        test_end="""
            def test_end(colonnade_sync_connection):
                colonnade_sync_connection.execute('''
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid IN (
                        SELECT pid FROM pg_locks WHERE locktype = 'advisory')
                ''')
        """,
        test_then=AFTER,
    )
    project.run().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    "place", ["def test_interrupt(colonnade_pool", "def colonnade_template("], ids=["test", "setup"]
)
def test_ctrl_c(project: Project, place: str) -> None:
    interrupt = "    os.kill(os.getpid(), signal.SIGINT)\n"
    text = f"""\
import os
import signal
import pytest

def fill(dsn):
{interrupt if "template" in place else "    pass"}

@pytest.fixture(scope="session")
def colonnade_template():
    return fill

@pytest.mark.asyncio
async def test_interrupt(colonnade_dsn, colonnade_connection):
    await colonnade_connection.execute("BEGIN")
{interrupt}

def test_never(colonnade_sync_connection):
    raise AssertionError
"""
    project.write(test_interrupt=text)
    result = project.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines("*KeyboardInterrupt*")
    result.assert_outcomes()


KILLED = """
    import os
    import signal

    def test_kill(colonnade_dsn, colonnade_sync_connection):
        os.kill(os.getpid(), signal.SIGKILL)
"""
IN_TURN = """
    def test_in_turn(colonnade_sync_connection):
        pass
"""


def test_the_next_run_drops_what_a_killed_run_left(project: Project) -> None:
    project.write(test_kill=KILLED, test_in_turn=IN_TURN)
    project.run("test_kill.py")
    # The template and the copy.
    assert len(project.databases()) == 2
    project.run("test_in_turn.py").assert_outcomes(passed=1)
    # The fixture `project` finds nothing left.


def test_what_is_in_use_or_not_ours_stays(project: Project) -> None:
    project.write(test_kill=KILLED, test_in_turn=IN_TURN)
    project.run("test_kill.py")
    template, copy = sorted(project.databases(), key=lambda name: int(name.rpartition("_")[2]))
    oid, run = copy.split("_")[2:4]
    run_lock = _databases._lock_key(int(run, 16))
    prefix = _databases._PREFIX
    others = [f"{prefix}_{oid}_{run}", f"{prefix}_{oid}_{run}_1x", f"{prefix}_0_{run}_1", prefix]
    with psycopg.connect(project.dsn, autocommit=True) as connection:
        for name in others:
            connection.execute(f"CREATE DATABASE {name}")
        # The run is not over.
        assert connection.execute("SELECT pg_try_advisory_lock(%s)", [run_lock]).fetchone() == (
            True,
        )
        project.run("test_in_turn.py").assert_outcomes(passed=1)
        assert project.databases() == {template, copy, *others}
        connection.execute("SELECT pg_advisory_unlock(%s)", [run_lock])
        # The run is over, and somebody is connected to one of its databases.
        with psycopg.connect(project.dsn, dbname=copy):
            project.run("test_in_turn.py").assert_outcomes(passed=1)
            assert project.databases() == {copy, *others}
        project.run("test_in_turn.py").assert_outcomes(passed=1)
        assert project.databases() == set(others)
        for name in others:
            connection.execute(f"DROP DATABASE {name}")


def test_two_runs_at_once(project: Project) -> None:
    """The second run starts and ends within a test of the first, on one server."""
    project.write(
        test_inner=IN_TURN,
        test_outer="""
            import subprocess
            import sys

            def test_outer(colonnade_server_dsn, colonnade_sync_connection):
                command = [sys.executable, "-m", "pytest", "test_inner.py"]
                command.append(f"--colonnade-dsn={colonnade_server_dsn}")
                done = subprocess.run(command, capture_output=True, text=True)
                assert done.returncode == 0, done.stdout
                assert "1 passed" in done.stdout
                assert colonnade_sync_connection.fetchval("SELECT 1") == 1
        """,
    )
    project.run("test_outer.py").assert_outcomes(passed=1)


@pytest.mark.parametrize("existing", [True, False], ids=["existing", "private"])
def test_xdist(project: Project, existing: bool) -> None:
    """Each worker has its own databases, and its own server unless one is named."""
    project.write(
        conftest="""
            import pytest
            import colonnade.sync

            def fill(dsn):
                with colonnade.sync.connect(dsn) as connection:
                    connection.execute("CREATE TABLE items ()")

            @pytest.fixture(scope="session")
            def colonnade_template():
                return fill
        """,
        test_items="""
            import pathlib
            import pytest

            @pytest.mark.parametrize("number", range(8))
            def test_item(colonnade_server_dsn, colonnade_sync_connection, worker_id, number):
                count = "SELECT count(*) FROM items"
                colonnade_sync_connection.execute("INSERT INTO items DEFAULT VALUES")
                assert colonnade_sync_connection.fetchval(count) == 1
                name = colonnade_sync_connection.fetchval("SELECT current_database()")
                with pathlib.Path(f"{worker_id}.txt").open("a") as log:
                    log.write(f"{colonnade_server_dsn} {name}\\n")
        """,
    )
    # Every other test goes to the other worker, so that both have some.
    distribution = ["-n", "2", "--dist", "load"]
    result = project.run(*distribution) if existing else project.run_alone(*distribution)
    result.assert_outcomes(passed=8)
    logs = [path.read_text("utf-8").splitlines() for path in project.pytester.path.glob("gw*.txt")]
    assert len(logs) == 2
    servers = [{line.split()[0] for line in log} for log in logs]
    assert [len(server) for server in servers] == [1, 1]
    assert (servers[0] == servers[1]) is existing
    names = [line.split()[1] for log in logs for line in log]
    assert len(set(names)) == 8 or not existing
    assert all(re.fullmatch(r"colonnade_test_\d+_[0-9a-f]{8}_\d+", name) for name in names)


def test_a_template_that_is_no_function(project: Project) -> None:
    text = """\
import pytest

@pytest.fixture(scope="session")
def colonnade_template():
    return "CREATE TABLE items ()"

def test_item(colonnade_dsn):
    raise AssertionError
"""
    project.write(test_template=text)
    result = project.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines("*colonnade_template must return a function * or None, not str.*")
