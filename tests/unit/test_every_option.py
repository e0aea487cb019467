"""Every option of every public call with a value of a wrong class: the error names the option."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import colonnade
from colonnade import dbapi, parallel, sync

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUERY = "SELECT 1 AS a"
ONE: dict[str, Any] = {"a": [1]}
NOTHING = object()
# PEP 249 has a class of its own for an option of `sync.connect`.
IN_PEP_249 = ("dbapi.connect", "dsn")
TABLE = "option_survey"
CHANNEL = "option_survey"


class Call(NamedTuple):
    """A call that is valid except for the option."""

    args: tuple[Any, ...] = ()
    more: dict[str, Any] = {}  # noqa: RUF012 - never changed


# The calls of methods that need more than their options.
CALLS: dict[str, Call] = {
    "Columns.group_by": Call(("a",)),
    "Columns.slice": Call((0,)),
    "Connection.copy_columns_to_table": Call((TABLE, ONE)),
    "Connection.copy_from_query": Call((QUERY,), {"output": bytes}),
    "Connection.copy_from_table": Call((TABLE,), {"output": bytes}),
    "Connection.copy_records_to_table": Call((TABLE,), {"records": [(1,)]}),
    "Connection.copy_to_table": Call((TABLE,), {"source": [b"1\n"]}),
    "Connection.cursor": Call((QUERY,)),
    "Connection.execute": Call((QUERY,)),
    "Connection.executemany": Call(("SELECT $1::int4", [(1,)])),
    "Connection.fetch": Call((QUERY,)),
    "Connection.fetch_columns": Call((QUERY,)),
    "Connection.fetch_plain": Call((QUERY,)),
    "Connection.fetch_plain_columns": Call((QUERY,)),
    "Connection.fetch_result": Call((QUERY,)),
    "Connection.fetchmany": Call(("SELECT $1::int4", [(1,)])),
    "Connection.fetchmany_result": Call(("SELECT $1::int4", [(1,)])),
    "Connection.fetchrow": Call((QUERY,)),
    "Connection.fetchval": Call((QUERY,)),
    "Connection.hold_result": Call((QUERY,)),
    "Connection.iter_columns": Call((QUERY,)),
    "Connection.notifications": Call((CHANNEL,)),
    "Connection.parameter_types": Call((QUERY,)),
    "Connection.prepare": Call((QUERY,)),
    "Connection.reset_type_codec": Call(("int4",)),
    "Connection.set_builtin_type_codec": Call(("int4",), {"codec_name": "int4"}),
    "Connection.set_type_codec": Call(("int4",), {"encoder": str, "decoder": str}),
    "Connection.write_table": Call((ONE, "option_survey_made"), {"if_exists": "replace"}),
    "Pool.gather": Call(({"a": colonnade.Query.value(QUERY)},)),
    "PreparedStatement.executemany": Call(([()],)),
    "PreparedStatement.fetchmany": Call(([()],)),
    "read_sql": Call((QUERY,)),
    "write_table": Call((ONE, "option_survey_made"), {"if_exists": "replace"}),
}
# Parameters for which no class is wrong, with the reason.
ANY_CLASS = {
    "Connection.copy_columns_to_table": {"conflict_columns": 'needs on_conflict="update"'},
    "Connection.copy_to_table": {"source": "anything that can be iterated over"},
}


class Option(NamedTuple):
    """An option, and the path of its method."""

    call: str
    name: str


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "connect": sync.connect,
    "create_pool": sync.create_pool,
    "listen": sync.listen,
    "read_sql": colonnade.read_sql,
    "write_table": colonnade.write_table,
    "parallel.sync.read": parallel.sync.read,
    "parallel.sync.plan": parallel.sync.plan,
    "dbapi.connect": dbapi.connect,
}
CLASSES: dict[str, type] = {
    "Connection": sync.Connection,
    "Pool": sync.Pool,
    "PreparedStatement": sync.PreparedStatement,
    "Columns": colonnade.Columns,
}


def options_of(call: str, function: Callable[..., Any]) -> list[Option]:
    kinds = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [
        Option(call, name)
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind in kinds
        and (parameter.kind is kinds[0] or parameter.default is not parameter.empty)
        and name not in ANY_CLASS.get(call, {})
    ]


def every_option() -> list[Option]:
    found = [option for name, call in FUNCTIONS.items() for option in options_of(name, call)]
    for kind, owner in CLASSES.items():
        for name, method in inspect.getmembers(owner, inspect.isfunction):
            # Methods that a pool forwards have the connection's options.
            is_passed_on = kind == "Pool" and hasattr(sync.Connection, name) and name != "close"
            if not name.startswith("_") and not is_passed_on:
                found += options_of(f"{kind}.{name}", method)
    return found


OPTIONS = every_option()


def used(result: Any) -> None:
    """Consume a result: some options are checked only then."""
    if hasattr(result, "__enter__") and not hasattr(result, "__next__"):
        with result as entered:
            used(iter(entered) if entered is result and hasattr(result, "__iter__") else entered)
    elif hasattr(result, "__next__") or type(result).__name__ in {"CursorFactory", "Notifications"}:
        next(iter(result), None)


@pytest.fixture(scope="module")
def surveyed(dsn: str) -> Iterator[str]:
    with sync.connect(dsn) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {TABLE}; CREATE TABLE {TABLE} (a int)")
        yield dsn
        connection.execute(f"DROP TABLE IF EXISTS {TABLE}, option_survey_made")


def bound(kind: str, name: str, block: contextlib.ExitStack, dsn: str) -> Callable[..., Any]:
    """The method of an object that lives as long as the block."""
    if kind == "Pool":
        owner: Any = block.enter_context(sync.create_pool(dsn, min_size=1, max_size=1))
    else:
        owner = block.enter_context(sync.connect(dsn))
        if kind == "PreparedStatement":
            owner = owner.prepare(QUERY)
        if kind == "Columns":
            owner = owner.fetch_columns(QUERY)
    method: Callable[..., Any] = getattr(owner, name)
    if (kind, name) == ("Pool", "release"):
        lent = owner.acquire()
        block.callback(owner.release, lent)
        return lambda **options: method(lent, **options)
    return method


@pytest.mark.parametrize("option", OPTIONS, ids="-".join)
def test_the_option_is_named(option: Option, surveyed: str) -> None:
    call = CALLS.get(option.call, Call())
    more = {**call.more, option.name: NOTHING}
    args = call.args
    with contextlib.ExitStack() as block:
        if option.call in FUNCTIONS:
            function = FUNCTIONS[option.call]
            if option.call in {"read_sql", "write_table"}:
                args = (*args, surveyed)
            elif option.call.startswith("parallel."):
                args, more = (TABLE, surveyed), {"parts": 2, **more}
            elif option.call == "listen":
                args = (surveyed, CHANNEL)
            elif option.name != "dsn":
                args = (surveyed,)
        else:
            kind, _, name = option.call.partition(".")
            function = bound(kind, name, block, surveyed)
        refusals: tuple[type[Exception], ...] = (TypeError,)
        if option == IN_PEP_249:
            refusals = (dbapi.ProgrammingError,)
        with pytest.raises(refusals, match=rf"\b{option.name}\b") as caught:
            used(function(*args, **more))
        assert "object object at" not in str(caught.value)


def test_the_survey_is_whole() -> None:
    """Each described call exists, and each reason belongs to a parameter."""
    calls = {option.call for option in OPTIONS}
    assert len(OPTIONS) > 150
    assert set(CALLS) <= calls
    for call, options in ANY_CLASS.items():
        function = getattr(sync.Connection, call.partition(".")[2])
        assert set(options) <= set(inspect.signature(function).parameters)
