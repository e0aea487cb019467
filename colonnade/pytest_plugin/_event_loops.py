"""Connections and pools on the event loop of the test, whichever plugin runs it.

An asynchronous fixture has to run on the loop of its test. pytest-asyncio has a loop for each
scope, and decides by the fixture, not by the test, which one a fixture runs on; anyio runs
asynchronous fixtures of tests that use its fixture `anyio_backend`. So there is one fixture for
each loop, and the test's marker says which is right.
"""

from __future__ import annotations

import importlib.metadata
import re
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import pytest

import colonnade

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

Kind = Literal["connection", "pool"]
Scope = Literal["function", "class", "module", "package", "session"]

_LOOP_SCOPES: tuple[Scope, ...] = ("function", "class", "module", "package", "session")
_NO_LOOP = (
    "{fixture} is for asynchronous tests that pytest-asyncio or anyio runs, and neither runs this"
    " one. Mark it with @pytest.mark.asyncio or @pytest.mark.anyio (and install the plugin), or use"
    " the blocking {blocking}."
)
_OTHER_BACKEND = (
    "Colonnade runs on asyncio, and anyio runs this test on {backend}. Define the fixture"
    " anyio_backend so that it returns 'asyncio'."
)
# Older ones find asynchronous fixtures when they collect tests; ours are defined at the first use.
_OLDEST_PYTEST_ASYNCIO = (1, 1)
_TOO_OLD = "{fixture} needs pytest-asyncio 1.1 or newer; this is {version}."
_TWO_PLUGINS = (
    "anyio runs this test, and pytest-asyncio in its automatic mode runs all asynchronous fixtures,"
    " on another event loop. Set asyncio_mode = strict, or do not mark this test with anyio."
)


def opened(request: pytest.FixtureRequest, kind: Kind) -> Any:
    """Return a new connection or pool for the test's database, closed after the test."""
    plugins = request.config.pluginmanager
    # anyio runs these tests, even those that pytest-asyncio has marked as its own.
    if "anyio_backend" in request.fixturenames and plugins.hasplugin("anyio"):
        _check_anyio(request)
        _register_for_anyio(plugins)
        return request.getfixturevalue(f"_colonnade_{kind}_of_anyio")
    fixture = request.fixturename or f"colonnade_{kind}"
    marker = request.node.get_closest_marker("asyncio")
    if marker is not None and plugins.hasplugin("asyncio"):
        _check_pytest_asyncio(fixture)
        scope = marker.kwargs.get("loop_scope")
        scope = scope or request.config.getini("asyncio_default_test_loop_scope")
        _register_for_asyncio(plugins)
        return request.getfixturevalue(f"_colonnade_{kind}_of_{scope}_loop")
    pytest.fail(_NO_LOOP.format(fixture=fixture, blocking=f"colonnade_sync_{kind}"), pytrace=False)


def _check_pytest_asyncio(fixture: str) -> None:
    version = importlib.metadata.version("pytest-asyncio")
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < _OLDEST_PYTEST_ASYNCIO:
        pytest.fail(_TOO_OLD.format(fixture=fixture, version=version), pytrace=False)


def _check_anyio(request: pytest.FixtureRequest) -> None:
    backend = request.getfixturevalue("anyio_backend")
    name = backend if isinstance(backend, str) else backend[0]
    if name != "asyncio":
        pytest.fail(_OTHER_BACKEND.format(backend=name), pytrace=False)
    if request.config.pluginmanager.hasplugin("asyncio"):
        mode = request.config.getoption("asyncio_mode") or request.config.getini("asyncio_mode")
        if mode == "auto":
            pytest.fail(_TWO_PLUGINS, pytrace=False)


def _openers() -> dict[Kind, Callable[[str], AsyncIterator[Any]]]:
    """Return new functions: pytest-asyncio keeps the scope of the loop in the function itself."""

    async def connection(colonnade_dsn: str) -> AsyncIterator[colonnade.Connection]:
        async with await colonnade.connect(colonnade_dsn) as connection:
            yield connection

    async def pool(colonnade_dsn: str) -> AsyncIterator[colonnade.Pool]:
        pool = await colonnade.create_pool(colonnade_dsn, min_size=0)
        yield pool
        # `close` would wait for a connection that a failed test has not given back.
        pool.terminate()

    return {"connection": connection, "pool": pool}


def _register_for_asyncio(plugins: pytest.PytestPluginManager) -> None:
    """Define fixtures for each scope of pytest-asyncio's loops, at the first use of one.

    A project that uses none of them may have an older pytest-asyncio, without such scopes.
    """
    plugin = "colonnade fixtures for pytest-asyncio"
    if plugins.hasplugin(plugin):
        return
    import pytest_asyncio

    holder = ModuleType(plugin)
    for scope in _LOOP_SCOPES:
        for kind, opener in _openers().items():
            name = f"_colonnade_{kind}_of_{scope}_loop"
            setattr(holder, name, pytest_asyncio.fixture(opener, loop_scope=scope, name=name))
    plugins.register(holder, plugin)


def _register_for_anyio(plugins: pytest.PytestPluginManager) -> None:
    """Define the fixtures that anyio itself recognizes as asynchronous."""
    plugin = "colonnade fixtures for anyio"
    if plugins.hasplugin(plugin):
        return
    holder = ModuleType(plugin)
    for kind, opener in _openers().items():
        name = f"_colonnade_{kind}_of_anyio"
        setattr(holder, name, pytest.fixture(opener, name=name))
    plugins.register(holder, plugin)
