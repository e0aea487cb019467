"""Each fixture in use: clean databases, filled once, on the right event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.processes import is_alive

if TYPE_CHECKING:
    from tests.pytest_plugin.conftest import Project

pytest_plugins = ["pytester"]

# Counts its calls in a file, for the test that reads it.
TEMPLATE = """
    import pathlib
    import pytest
    import colonnade.sync

    def fill(dsn):
        with colonnade.sync.connect(dsn) as connection:
            connection.execute("CREATE TABLE items (name text); INSERT INTO items VALUES ('given')")
        with pathlib.Path("calls.txt").open("a") as calls:
            calls.write("call\\n")

    @pytest.fixture(scope="session")
    def colonnade_template():
        return fill
"""
COUNT = "SELECT count(*) FROM items"
ADD = "INSERT INTO items VALUES ('added')"
ASYNC_TESTS = f"""
    import asyncio
    import pytest

    {{mark}}
    @pytest.mark.parametrize("round", range(2))
    async def test_connection(colonnade_connection, round):
        await colonnade_connection.execute("{ADD}")
        assert await colonnade_connection.fetchval("{COUNT}") == 2

    {{mark}}
    @pytest.mark.parametrize("round", range(2))
    async def test_pool(colonnade_pool, colonnade_connection, round):
        await asyncio.gather(*[colonnade_pool.execute("{ADD}") for _ in range(4)])
        assert await colonnade_connection.fetchval("{COUNT}") == 5
"""


def test_blocking(project: Project) -> None:
    project.write(
        conftest=TEMPLATE,
        test_items=f"""
            import pytest

            @pytest.mark.parametrize("round", range(2))
            def test_connection(colonnade_sync_connection, round):
                colonnade_sync_connection.execute("{ADD}")
                assert colonnade_sync_connection.fetchval("{COUNT}") == 2

            @pytest.mark.parametrize("round", range(2))
            def test_pool(colonnade_sync_pool, colonnade_sync_connection, round):
                with colonnade_sync_pool.acquire() as one, colonnade_sync_pool.acquire() as two:
                    one.execute("{ADD}")
                    two.execute("{ADD}")
                assert colonnade_sync_connection.fetchval("{COUNT}") == 3
        """,
    )
    project.run().assert_outcomes(passed=4)
    assert project.pytester.path.joinpath("calls.txt").read_text("utf-8") == "call\n"


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_asyncio_on_the_loop_of_the_test(project: Project, mode: str) -> None:
    scopes = ("function", "class", "module", "package", "session")
    project.write(conftest=TEMPLATE, **{f"test_{scope}": of_scope(scope) for scope in scopes})
    project.run("-o", f"asyncio_mode={mode}").assert_outcomes(passed=4 * len(scopes))


def of_scope(scope: str) -> str:
    """The tests, on a loop of this scope; that of a class needs one."""
    text = ASYNC_TESTS.format(mark=f"@pytest.mark.asyncio(loop_scope='{scope}')")
    if scope != "class":
        return text
    imports, _, tests = text.partition("import pytest\n")
    tests = tests.replace("\n", "\n    ").replace("(colonnade", "(self, colonnade")
    return f"{imports}import pytest\n\n    class TestItems:\n{tests}"


def test_asyncio_on_the_default_loop_of_tests(project: Project) -> None:
    project.write(conftest=TEMPLATE, test_items=ASYNC_TESTS.format(mark=""))
    settings = ["asyncio_mode=auto", "asyncio_default_test_loop_scope=session"]
    result = project.run(*[part for setting in settings for part in ("-o", setting)])
    result.assert_outcomes(passed=4)


def test_anyio(project: Project) -> None:
    backend = """
    @pytest.fixture
    def anyio_backend():
        return "asyncio"
    """
    text = ASYNC_TESTS.format(mark="@pytest.mark.anyio")
    project.write(conftest=TEMPLATE + backend, test_items=text)
    project.run().assert_outcomes(passed=4)


def test_an_asynchronous_fixture_of_the_project(project: Project) -> None:
    project.write(
        conftest=TEMPLATE,
        test_items=f"""
            import pytest
            import pytest_asyncio

            @pytest_asyncio.fixture
            async def added(colonnade_connection):
                await colonnade_connection.execute("{ADD}")
                yield colonnade_connection
                await colonnade_connection.execute("{ADD}")

            @pytest.mark.asyncio
            async def test_added(added):
                assert await added.fetchval("{COUNT}") == 2
        """,
    )
    project.run().assert_outcomes(passed=1)


def test_a_database_for_a_module(project: Project) -> None:
    module = f"""
        import colonnade.sync
        import pytest

        @pytest.mark.parametrize("count", [2, 3])
        def test_shared(colonnade_module_dsn, count):
            with colonnade.sync.connect(colonnade_module_dsn) as connection:
                connection.execute("{ADD}")
                assert connection.fetchval("{COUNT}") == count

        def test_own(colonnade_module_dsn, colonnade_dsn):
            assert colonnade_module_dsn != colonnade_dsn
    """
    project.write(conftest=TEMPLATE, test_one=module, test_two=module)
    project.run().assert_outcomes(passed=6)
    assert project.pytester.path.joinpath("calls.txt").read_text("utf-8") == "call\n"


def test_a_template_for_some_tests(project: Project) -> None:
    """A coroutine function fills it, and leaves a connection open that would prevent copies."""
    project.write(
        conftest=TEMPLATE,
        test_general=f"""
            def test_before(colonnade_sync_connection):
                assert colonnade_sync_connection.fetchval("{COUNT}") == 1
        """,
        test_special="""
            import colonnade
            import pytest

            kept = []

            async def fill(dsn):
                async with await colonnade.connect(dsn) as connection:
                    await connection.execute("CREATE TABLE special ()")
                kept.append(colonnade.sync.connect(dsn))

            @pytest.fixture(scope="session")
            def colonnade_template():
                return fill

            @pytest.mark.parametrize("round", range(2))
            def test_special(colonnade_sync_connection, round):
                tables = "SELECT relname FROM pg_class WHERE relname IN ('items', 'special')"
                assert colonnade_sync_connection.fetchval(tables) == "special"
                assert len(kept) == 1
                kept[0].terminate()
        """,
        test_without="""
            import pytest

            @pytest.fixture(scope="session")
            def colonnade_template():
                return None

            def test_empty(colonnade_sync_connection):
                tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
                assert colonnade_sync_connection.fetchval(tables) == 0
        """,
    )
    project.run().assert_outcomes(passed=4)


def test_addresses_for_other_libraries(project: Project) -> None:
    tests = f"""
        import asyncio
        import asyncpg
        import colonnade
        import psycopg
        import pytest
        import sqlalchemy as sa
        from sqlalchemy.ext.asyncio import create_async_engine

        def test_psycopg(colonnade_dsn):
            with psycopg.connect(colonnade_dsn) as connection:
                assert connection.execute("{COUNT}").fetchone() == (1,)

        @pytest.mark.asyncio
        async def test_asyncpg(colonnade_dsn):
            connection = await asyncpg.connect(colonnade_dsn)
            assert await connection.fetchval("{COUNT}") == 1
            await connection.close()

        def test_frames(colonnade_dsn):
            assert len(colonnade.read_sql("TABLE items", colonnade_dsn, into="numpy")) == 1

        def test_sqlalchemy(colonnade_sqlalchemy_url):
            engine = sa.create_engine(colonnade_sqlalchemy_url)
            with engine.connect() as connection:
                assert connection.scalar(sa.text("{COUNT}")) == 1
            engine.dispose()

        @pytest.mark.asyncio
        async def test_asynchronous_sqlalchemy(colonnade_sqlalchemy_url):
            engine = create_async_engine(colonnade_sqlalchemy_url)
            async with engine.connect() as connection:
                assert await connection.scalar(sa.text("{COUNT}")) == 1
            await engine.dispose()

        def test_psycopg_under_sqlalchemy(colonnade_dsn):
            url = colonnade_dsn.replace("postgresql://", "postgresql+psycopg://", 1)
            engine = sa.create_engine(url)
            with engine.connect() as connection:
                assert connection.scalar(sa.text("{COUNT}")) == 1
            engine.dispose()
    """
    project.write(conftest=TEMPLATE, test_libraries=tests)
    project.run().assert_outcomes(passed=6)
    # A private server has no port, only a socket.
    project.run_alone().assert_outcomes(passed=6)


def test_the_private_server_ends_with_the_session(project: Project) -> None:
    project.write(
        test_server="""
            import pathlib

            def test_server(colonnade_server_dsn, colonnade_sync_connection):
                assert "host=%2F" in colonnade_server_dsn or "host=/" in colonnade_server_dsn
                directory = colonnade_sync_connection.fetchval("SHOW data_directory")
                process = pathlib.Path(directory, "postmaster.pid").read_text().splitlines()[0]
                pathlib.Path("server.txt").write_text(f"{process} {directory}")
        """
    )
    project.run_alone().assert_outcomes(passed=1)
    process, _, directory = (
        project.pytester.path.joinpath("server.txt").read_text("utf-8").partition(" ")
    )
    assert not is_alive(int(process))
    assert not project.pytester.path.joinpath(directory).exists()


def test_a_server_of_the_projects_own(project: Project) -> None:
    project.write(
        conftest="""
            import pytest
            from colonnade import embedded

            @pytest.fixture(scope="session")
            def colonnade_server_dsn():
                with embedded.start(tcp=True, settings={"work_mem": "5MB"}) as server:
                    yield server.dsn
        """,
        test_server="""
            def test_server(colonnade_sync_connection, colonnade_dsn):
                assert colonnade_sync_connection.fetchval("SHOW work_mem") == "5MB"
                assert "@127.0.0.1:" in colonnade_dsn
        """,
    )
    project.run_alone().assert_outcomes(passed=1)


def test_the_names_of_the_fixtures(project: Project) -> None:
    """They all begin in the same way, say what they are, and show no fixtures of the inside."""
    lines = project.run_alone("--fixtures").outlines
    ours = [number for number, line in enumerate(lines) if "colonnade/pytest_plugin" in line]
    assert sorted(lines[number].split()[0] for number in ours) == [
        "colonnade_connection",
        "colonnade_dsn",
        "colonnade_module_dsn",
        "colonnade_pool",
        "colonnade_server_dsn",
        "colonnade_sqlalchemy_url",
        "colonnade_sync_connection",
        "colonnade_sync_pool",
        "colonnade_template",
    ]
    assert not [number for number in ours if "no docstring" in lines[number + 1]]
