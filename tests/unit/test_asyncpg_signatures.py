"""Every public method has asyncpg's parameters: their names, kinds and defaults."""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import Any

import pytest

CLASSES = [
    ("connection", "Connection"),
    ("cursor", "Cursor"),
    ("cursor", "CursorFactory"),
    ("pool", "Pool"),
    ("prepared_stmt", "PreparedStatement"),
    ("transaction", "Transaction"),
]
FUNCTIONS = [("connection", "connect"), ("pool", "create_pool")]


def peer_methods(module: str, name: str) -> list[str]:
    cls = getattr(importlib.import_module(f"asyncpg.{module}"), name)
    methods = [key for key in dir(cls) if key[0] != "_" and callable(getattr(cls, key))]
    return sorted(methods)


def callables() -> list[str]:
    methods = [
        f"{module}.{name}.{method}"
        for module, name in CLASSES
        for method in peer_methods(module, name)
    ]
    return [*methods, *(f"{module}.{name}" for module, name in FUNCTIONS)]


def found(package: str, path: str) -> Any:
    module, *names = path.split(".")
    item: Any = importlib.import_module(f"{package}.{module}")
    for name in names:
        item = getattr(item, name)
    return item


def is_coroutine_function(item: Any) -> bool:
    return inspect.iscoroutinefunction(inspect.unwrap(item))


# Parameters required in asyncpg; Colonnade has a default and raises its own error without them.
EXPLAINED = {("connection.Connection.cursor", "query")}


def signature(item: Any) -> inspect.Signature:
    """The signature without evaluated annotations: some of asyncpg's cannot be evaluated."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return inspect.signature(item, annotation_format=annotationlib.Format.STRING)
    return inspect.signature(item)


def comparable(item: Any) -> list[tuple[str, Any, object]]:
    """The parameters; a default that is an object of the driver is compared by name."""
    parameters = signature(item).parameters.values()
    return [(p.name, p.kind, getattr(p.default, "__name__", p.default)) for p in parameters]


@pytest.mark.parametrize("path", callables())
def test_signature(path: str) -> None:
    theirs, ours = comparable(found("asyncpg", path)), comparable(found("colonnade", path))
    assert is_coroutine_function(found("colonnade", path)) == is_coroutine_function(
        found("asyncpg", path)
    )
    names = [name for name, _, _ in theirs]
    own = [parameter for parameter in ours if parameter[0] not in names]
    assert all(kind is inspect.Parameter.KEYWORD_ONLY for _, kind, _ in own), own
    empty = inspect.Parameter.empty.__name__
    shared = [
        (name, kind, empty if (path, name) in EXPLAINED else default)
        for name, kind, default in ours
        if name in names
    ]
    assert sorted(map(str, shared)) == sorted(map(str, theirs))
    # The order matters for parameters that can be positional.
    keyword = inspect.Parameter.KEYWORD_ONLY
    assert [name for name, kind, _ in shared if kind is not keyword] == [
        name for name, kind, _ in theirs if kind is not keyword
    ]
