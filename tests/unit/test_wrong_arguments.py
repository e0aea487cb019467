"""One class of exception per kind of wrong argument: the rule of `colonnade._words.arguments`.

`test_every_option.py` gives each option of each public call a value of a wrong class. The table
here has wrong values, and wrong classes of calls that no signature there names.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import colonnade
from colonnade import dbapi, errors, incremental, jobs, observe, parallel, rkt, serve, sync
from colonnade.datasets import write as write_dataset
from colonnade.errors import ClientConfigurationError, InterfaceError
from colonnade.formats import by_name
from colonnade.jobs import disque

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAN = math.nan
NUMBER: Any = 1
QUERY = "SELECT 1 AS a"
ONE = {"a": [1]}
TABLE = "wrong_arguments"
NOWHERE = "postgresql://postgres@127.0.0.1:1/"


class Case(NamedTuple):
    """A call with one argument that is wrong, its error, and the word that names the argument."""

    call: Callable[..., Any]
    kinds: tuple[type[Exception], ...]
    word: str

    def check(self, *context: Any) -> None:
        with pytest.raises(self.kinds[0], match=rf"\b{self.word}\b") as caught:
            self.call(*context)
        assert isinstance(caught.value, self.kinds), [type(caught.value), self.kinds]


def cases(
    call: Callable[..., Any], name: str, types: tuple[Any, ...], values: tuple[Any, ...]
) -> list[Case]:
    """Wrong types and wrong values of one argument; `call` gets the context and the argument."""

    def given(value: Any) -> Callable[..., Any]:
        return lambda *context: call(*context, **{name: value})

    return [
        *(Case(given(value), (TypeError,), name) for value in types),
        *(Case(given(value), (ValueError,), name) for value in values),
    ]


def connecting(**options: Any) -> None:
    sync.connect(NOWHERE, **options)


def pooling(**options: Any) -> None:
    sync.create_pool(NOWHERE, **options)


# Wrong options of `connect`: all are ClientConfigurationError, and of a wrong type also TypeError.
CONNECT: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "host": ((3.5, [1.5], {}), ("a b",)),
    "port": ((3.5, True, [None]), ("x", 0, 70_000)),
    "user": ((1, []), ("\0",)),
    "password": ((1, []), ("\ud800",)),
    "passfile": ((1,), ()),
    "database": ((1,), ()),
    "service": ((1,), ("no_such_service",)),
    "timeout": (("x", True, []), (NAN,)),
    "statement_cache_size": (("x", 1.5, True, None, NAN), (-1,)),
    "max_cached_statement_lifetime": (("x", True, None), (-1, NAN)),
    "max_cacheable_statement_size": (("x", 1.5), (-1,)),
    "command_timeout": (("x", True), (0, -1, NAN)),
    "ssl": ((1, []), ("on",)),
    "direct_tls": (("x", []), ()),
    "connection_class": ((1, int, "Connection"), ()),
    "row_factory": ((1,), ()),
    "server_settings": ((1, {1: "a"}, {"a": 1}), ()),
    "target_session_attrs": ((1,), ("x",)),
    "krbsrvname": ((1,), ()),
    "gsslib": ((1,), ("x",)),
    "extension_types": (("x", []), ()),
    "naive_datetimes": ((1, None), ("x",)),
}
# Words of messages that name an option otherwise.
_NAMED = {"ssl": "ssl(mode)?", "service": "service"}


@pytest.mark.parametrize("name", CONNECT)
def test_options_of_connect(name: str) -> None:
    types, values = CONNECT[name]
    for value in (*types, *values):
        kinds = (ClientConfigurationError, *((TypeError,) if value in types else ()))
        if isinstance(value, float) and math.isnan(value) and name != "statement_cache_size":
            kinds = (ClientConfigurationError,)
        case = Case(lambda value=value: connecting(**{name: value}), kinds, _NAMED.get(name, name))
        case.check()
        assert issubclass(ClientConfigurationError, (InterfaceError, ValueError))


def test_the_address() -> None:
    Case(lambda: sync.connect(NUMBER), (ClientConfigurationError, TypeError), "dsn").check()
    Case(lambda: sync.connect("ftp://x"), (ClientConfigurationError,), "URI").check()


@pytest.mark.parametrize(
    ("options", "word"),
    [({"user": 1}, "user"), ({"statement_cache_size": "x"}, "statement_cache_size")],
)
def test_pep_249_has_classes_of_its_own(options: dict[str, Any], word: str) -> None:
    with pytest.raises(dbapi.ProgrammingError, match=word) as caught:
        dbapi.connect(NOWHERE, **options)
    assert isinstance(caught.value.__cause__, errors.ConfigurationTypeError)


POOL = [
    *cases(pooling, "min_size", ("x", 1.5, True), (-1, 11)),
    *cases(pooling, "max_size", ("x", 1.5, None), (0, -1)),
    *cases(pooling, "init_size", ("x", 1.5), (-1, 11)),
    *cases(pooling, "max_queries", ("x", None, True), (0, NAN)),
    *cases(pooling, "max_inactive_connection_lifetime", ("x", None), (-1, NAN)),
    *cases(pooling, "max_lifetime", ("x", True), (0, -1, NAN)),
    *cases(pooling, "max_waiting", ("x", 1.5, True), (-1,)),
    *cases(pooling, "setup", (1,), ()),
    *cases(pooling, "init", (1,), ()),
    *cases(pooling, "reset", (1,), ()),
    *cases(pooling, "connection_class", (1, int), ()),
    *cases(pooling, "record_class", (1, int), ()),
]


def of_connection(method: str, *args: Any, **more: Any) -> Callable[..., Any]:
    def call(connection: Any, **options: Any) -> Any:
        result = getattr(connection, method)(*args, **more, **options)
        if method in {"iter_columns", "pipeline", "notifications"}:
            with result as entered:
                return list(entered)
        return list(result) if method == "cursor" else result

    return call


FETCHES = [
    of_connection(name, QUERY)
    for name in (
        *("fetch", "fetchrow", "fetchval", "fetch_columns", "iter_columns", "execute", "cursor"),
        *("prepare", "fetch_plain", "fetch_plain_columns", "fetch_result", "hold_result"),
    )
]
COPYING = of_connection("copy_columns_to_table", TABLE, ONE)
UPSERTING = of_connection("copy_columns_to_table", TABLE, ONE, on_conflict="update")
RECORDS = of_connection("copy_records_to_table", TABLE, records=[(1,)])
WRITING = of_connection("write_table", ONE, TABLE, if_exists="append")
CODEC = of_connection("set_type_codec", "int4", schema="pg_catalog", encoder=str, decoder=str)
ALIAS = of_connection("set_builtin_type_codec", "int4", schema="pg_catalog")
CONNECTION = [
    *(case for call in FETCHES for case in cases(call, "timeout", ("x", True, []), (NAN,))),
    *cases(
        of_connection("fetch_columns", QUERY), "schema", (1, {1: "int4"}), ({"b": "int4"}, {"a": 5})
    ),
    *cases(of_connection("fetch_columns", QUERY), "infinity", (1,), ("x",)),
    *cases(of_connection("iter_columns", QUERY), "batch_rows", ("x", 1.5, True), (0, -1, 2**63)),
    *cases(of_connection("cursor", QUERY), "prefetch", ("x", 1.5, True), (0, -1)),
    *cases(of_connection("fetchmany", QUERY), "args", (1,), ()),
    *cases(of_connection("executemany", QUERY), "args", (1,), ()),
    *cases(of_connection("hold_result", QUERY), "expect", (1,), ("x",)),
    *cases(of_connection("transaction"), "isolation", (1, []), ("x", "")),
    *cases(of_connection("transaction"), "readonly", ("x",), ()),
    *cases(CODEC, "format", (1, None), ("x",)),
    *cases(ALIAS, "codec_name", (1,), ()),
    *cases(of_connection("add_listener", callback=print), "channel", (1,), ("", "\0", "x" * 64)),
    *cases(RECORDS, "columns", (1,), ()),
    *cases(RECORDS, "schema_name", (1,), ("\0",)),
    *cases(COPYING, "columns", (1, "a", [1]), (["a", "b"], {"b": "a"})),
    *cases(COPYING, "on_conflict", (1,), ("x", "update")),
    *cases(COPYING, "conflict_columns", (), ("a",)),
    *cases(UPSERTING, "conflict_columns", (5, [5]), ((), "b")),
    *cases(COPYING, "create", ("x",), ({"b": "int4"},)),
    *cases(COPYING, "schema_name", (1,), ("\0",)),
    *cases(of_connection("write_table", ONE, TABLE), "if_exists", (1, None), ("x",)),
    *cases(WRITING, "on_conflict", (1,), ("x",)),
    *cases(of_connection("write_table", ONE), "table_name", (1,), ("\0",)),
    *cases(of_connection("copy_from_table", output=bytes), "table_name", (1,), ("\0",)),
    *cases(of_connection("notifications", "x"), "queue_size", ("x", 1.5), (0,)),
]
# asyncpg's InterfaceError and ValueError are among the classes, too.
AS_ASYNCPG = [
    (of_connection("cursor", QUERY, prefetch=0), InterfaceError),
    (of_connection("cursor", QUERY, timeout="x"), ValueError),
    (of_connection("fetch", QUERY, timeout=True), ValueError),
    (of_connection("transaction", isolation=1), ValueError),
    (of_connection("add_listener", "x", 1), InterfaceError),
    (of_connection("add_query_logger", 1), InterfaceError),
    (of_connection("add_log_listener", 1), InterfaceError),
    (of_connection("add_termination_listener", 1), InterfaceError),
    (of_connection("set_type_codec", "int4", encoder=str, decoder=str, format=1), InterfaceError),
    (of_connection("set_type_codec", "int4", encoder=str, decoder=str, format="x"), InterfaceError),
    (of_connection("set_builtin_type_codec", "int4", codec_name=1), InterfaceError),
    (lambda _: connecting(connection_class=int), InterfaceError),
    (lambda _: connecting(server_settings=1), ClientConfigurationError),
    (lambda _: connecting(statement_cache_size=True), ValueError),
]


@pytest.fixture(scope="module")
def connection(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {TABLE}; CREATE TABLE {TABLE} (a int)")
        yield connection
        connection.execute(f"DROP TABLE {TABLE}")


def numbered(group: list[Case]) -> list[Any]:
    return [pytest.param(case, id=f"{case.word}-{place}") for place, case in enumerate(group)]


@pytest.mark.parametrize("case", numbered(POOL))
def test_options_of_a_pool(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", numbered(CONNECTION))
def test_arguments_of_a_connection(case: Case, connection: sync.Connection) -> None:
    """An argument is refused before the server can refuse it: a transaction goes on."""
    with connection.transaction():
        case.check(connection)
        assert connection.fetchval(QUERY) == 1


@pytest.mark.parametrize(("call", "kind"), AS_ASYNCPG)
def test_asyncpgs_classes_are_kept(
    call: Callable[..., Any], kind: type[Exception], connection: sync.Connection
) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call(connection)
    assert isinstance(caught.value, kind)
    assert connection.fetchval(QUERY) == 1


def of_job(**options: Any) -> Any:
    return jobs.Retry(**options)


def reading(**options: Any) -> Any:
    return colonnade.read_sql(QUERY, NOWHERE, **options)


def planning(**options: Any) -> Any:
    return parallel.sync.plan("a", NOWHERE, **{"parts": 2, **options})


def exporting(**options: Any) -> Any:
    return write_dataset("build/none", NOWHERE, "a", **options)


def increments(**options: Any) -> Any:
    return incremental.sync.read_new(**{"table": "a", "con": NOWHERE, "by": "b", **options})


def responding(**options: Any) -> Any:
    return serve.TableResponse(**{"source": lambda: None, **options})


def fetching(**options: Any) -> Any:
    return asyncio.run(serve.read("http://127.0.0.1:1/", **options))


def adding(**options: Any) -> Any:
    return disque.sync.Disque("127.0.0.1:1").add("queue", b"", **options)


ELSEWHERE = [
    *cases(reading, "into", (1, ["pandas"]), ("x",)),
    *cases(reading, "batch_rows", ("x", 1.5), (0,)),
    *cases(reading, "params", (5, "a"), ()),
    *cases(reading, "dtypes", (1,), ("x",)),
    *cases(reading, "decimals", (1,), ("x",)),
    *cases(planning, "parts", ("x", 1.5, True), (0,)),
    *cases(planning, "cuts", (1,), ("x",)),
    *cases(planning, "partition_by", (1,), ("\0",)),
    *cases(exporting, "max_rows", ("x", 1.5), (0,)),
    *cases(exporting, "batch_rows", ("x",), (0,)),
    *cases(exporting, "compression", (1,), ("x",)),
    *cases(exporting, "partition_by", (1, [1]), ()),
    *cases(increments, "table", (1,), ("select 1",)),
    *cases(increments, "state", (1, "{}"), ({},)),
    *cases(increments, "columns", (1, "a"), ()),
    *cases(incremental.tracking_sql, "table", (1,), ("select 1",)),
    *cases(responding, "source", (1,), ()),
    *cases(responding, "formats", (1, "csv"), ([],)),
    *cases(responding, "numbers", (1,), ("x",)),
    *cases(responding, "stall_timeout", ("x", True), (0, NAN)),
    *cases(responding, "json_rows_max", ("x",), (0,)),
    *cases(responding, "filename", (1,), ("\0",)),
    *cases(fetching, "codec", (1,), ("x",)),
    *cases(fetching, "max_bytes", ("x",), (0,)),
    *cases(of_job, "max_attempts", ("x", 1.5), (0,)),
    *cases(of_job, "delay", ("x", True), (-1, NAN, math.inf)),
    *cases(of_job, "jitter", ("x",), (2,)),
    *cases(adding, "timeout", ("x", True), (0, NAN, math.inf)),
    *cases(adding, "delay", ("x", 1.5), (-1,)),
    *cases(disque.sync.Disque, "nodes", (1,), ()),
    *cases(observe.LoopMonitor, "interval", ("x", True), (0, NAN, math.inf)),
    *cases(observe.LoopMonitor, "keep", ("x", 1.5), (0,)),
    *cases(lambda **given: observe.Beat("x", **given), "interval", ("x", True), (0, NAN)),
    *cases(lambda **given: observe.JobsMonitor([], **given), "every", ("x",), (0, NAN, math.inf)),
    *cases(lambda **given: observe.is_alive("x", **given), "max_age", ("x",), (0, NAN)),
    *cases(
        lambda **given: rkt.set_query_dtype("", [("a", "i4")], **given), "infinity", (1,), ("x",)
    ),
    *cases(lambda **given: colonnade.Query("", **given), "kind", (1,), ("x",)),
    *cases(lambda **given: colonnade.Query("", **given), "cost", ("x",), (-1, NAN)),
    *cases(lambda **given: colonnade.BitString.from_int(1, 8, **given), "bitorder", (1,), ("x",)),
    Case(lambda: by_name(NUMBER), (TypeError,), "format"),
    Case(lambda: by_name("x"), (ValueError,), "format"),
]


@pytest.mark.parametrize("case", numbered(ELSEWHERE))
def test_arguments_of_other_calls(case: Case) -> None:
    case.check()
