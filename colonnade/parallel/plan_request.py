"""The arguments of a plan, checked, and the partitioning of a table or query by them."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from colonnade._driver.sql.quoting import quote_identifier
from colonnade._driver.sql.table_names import derived, found_table, is_table
from colonnade._words.arguments import (
    check_choice,
    check_count,
    check_mapping,
    check_name,
    check_text,
    check_values,
)
from colonnade._words.shown import class_name
from colonnade._words.signatures import check_options, options_of
from colonnade.errors import InterfaceError, InterfaceValueError, ObjectNotInPrerequisiteStateError
from colonnade.parallel.agreement import check_agreement
from colonnade.parallel.cuts import (
    block_conditions,
    key_conditions,
    key_order,
    quantile_literals,
    range_literals,
    sampled,
)
from colonnade.parallel.partition import Partition, PartitionField, PlannedQuery
from colonnade.parallel.snapshot_plan import Plan, Planned, close

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from colonnade import Columns, sync
    from colonnade.parallel.cuts import Cuts
    from colonnade.types import Infinity

    Snapshot = str | None

_EXPORT = "export"
_CUTS = ("quantile", "range")
# As `read_sql` and DB-API name them.
_OTHER_WORDS = {"params": "args", "parameters": "args"}


class Options(TypedDict, total=False):
    """The options of all calls that make a plan; `Request` has their defaults."""

    partition_by: str | None
    cuts: Cuts
    args: Sequence[object]
    snapshot: Snapshot
    schema: Any
    infinity: Infinity
    connect_options: Mapping[str, Any] | None


class Request:
    """The checked arguments of `plan`."""

    def __init__(
        self,
        table_or_query: str,
        dsn: str,
        *,
        parts: int,
        partition_by: str | None = None,
        cuts: Cuts = "quantile",
        args: Sequence[object] = (),
        snapshot: Snapshot = "export",
        schema: Any = None,
        infinity: Infinity = "raise",
        connect_options: Mapping[str, Any] | None = None,
    ) -> None:
        check_text("table_or_query", table_or_query)
        _check_dsn(dsn)
        check_choice("cuts", cuts, _CUTS)
        check_count("parts", parts)
        for option, name in (("partition_by", partition_by), ("snapshot", snapshot)):
            if name is not None:
                check_name(option, name)
        check_values("args", args)
        check_mapping("connect_options", connect_options)
        is_named = is_table(table_or_query)
        if partition_by is None and not is_named:
            msg = "a query has no physical rows to split: name one of its columns in partition_by="
            raise InterfaceValueError(msg)
        relation = table_or_query if is_named else derived(table_or_query)
        options = dict(connect_options or {})
        self.source = PlannedQuery(dsn, options, relation, tuple(args), None, schema, infinity, ())
        self._cutting = _Cutting(is_named, parts, partition_by, cuts)
        self._snapshot = snapshot

    def plan(self, connection: sync.Connection) -> Planned:
        """The parts of a plan; they own the connection from now on."""
        source = self.source
        try:
            if self._cutting.is_table:
                table = found_table(connection, source.relation)
                source = dataclasses.replace(source, relation=table)
            return _planned(connection, source, self._cutting, self._snapshot)
        except BaseException:
            # This cancels a running query.
            close(connection)
            raise


@options_of(Request)
def plan(table_or_query: str, dsn: str, *, parts: int, **options: Unpack[Options]) -> Plan:
    """As `colonnade.parallel.plan`, without `await`."""
    check_request(plan, options)
    request = Request(table_or_query, dsn, parts=parts, **options)
    return Plan(*request.plan(request.source.connect()))


def check_request(call: Callable[..., object], options: Options) -> None:
    """Raise TypeError, in the name of the call, for an option that it does not have."""
    check_options(call, options, other_words=_OTHER_WORDS)


def _check_dsn(dsn: object) -> None:
    if not isinstance(dsn, str):
        msg = f"dsn is the address that each partition connects to, a str, not {class_name(dsn)}"
        raise TypeError(msg)


@dataclasses.dataclass(frozen=True)
class _Cutting:
    """The relation to split, and the method."""

    is_table: bool
    parts: int
    key: str | None
    cuts: Cuts

    def conditions(
        self, connection: sync.Connection, source: PlannedQuery
    ) -> tuple[list[str], int | None]:
        """The conditions of the parts, and the number of all rows if they were counted."""
        relation, parts, rows = source.relation, self.parts, None
        if self.key is None:
            return block_conditions(connection, relation, parts), None
        operators = key_order(connection, relation, source.args, self.key)
        if parts == 1:
            return ["true"], None
        if self.cuts == "range":
            literals = range_literals(connection, relation, source.args, self.key, parts)
        else:
            counted = sampled(connection, relation) if self.is_table else relation
            literals, rows = quantile_literals(connection, counted, source.args, self.key, parts)
            rows = rows if counted == relation else None
        return key_conditions(self.key, literals, operators), rows


def _planned(
    connection: sync.Connection, source: PlannedQuery, cutting: _Cutting, snapshot: Snapshot
) -> Planned:
    if snapshot is None:
        made = _made(connection, source, cutting)
        connection.close()
        return made(None)
    transaction = connection.transaction(isolation="repeatable_read", readonly=True)
    transaction.start()
    if snapshot == _EXPORT:
        name = _exported(connection)
        return _made(connection, dataclasses.replace(source, snapshot=name), cutting)(connection)
    # The session that exported it keeps it.
    transaction.rollback()
    source = dataclasses.replace(source, snapshot=snapshot)
    with source.within(connection):
        made = _made(connection, source, cutting)
    connection.close()
    return made(None)


def _exported(connection: sync.Connection) -> str:
    try:
        ((name,),) = connection.fetch_plain("SELECT pg_catalog.pg_export_snapshot()")
    except ObjectNotInPrerequisiteStateError as error:
        msg = f"the server exports no snapshot: {error}"
        raise InterfaceError(
            msg, hint="Read with snapshot=None, which is not consistent."
        ) from error
    return str(name)


def _made(
    connection: sync.Connection, source: PlannedQuery, cutting: _Cutting
) -> Callable[[sync.Connection | None], Planned]:
    # After this read, the table's rows keep their positions until the transaction ends.
    empty = connection.fetch_columns(
        f"SELECT * FROM {source.relation} LIMIT 0",
        *source.args,
        schema=source.schema,
        infinity=source.infinity,
    )
    source = dataclasses.replace(source, fields=_fields(empty))
    top = connection.prepare(f"SELECT * FROM {source.relation}").explain(*source.args)[0]["Plan"]
    if cutting.parts > 1:
        check_agreement(connection, source.relation, top, is_query=not cutting.is_table)
    conditions, counted = cutting.conditions(connection, source)
    # The server's estimates, the width in bytes.
    rows, width = int(top["Plan Rows"]), int(top["Plan Width"])
    order = "" if cutting.key is None else f" ORDER BY {quote_identifier(cutting.key)}"
    share = round(rows / len(conditions))
    partitions = [
        Partition(source, number, condition, order, share, share * width)
        for number, condition in enumerate(conditions)
    ]
    # Without a snapshot, rows may come and go between the count and the parts.
    return functools.partial(Planned, partitions, empty, counted if source.snapshot else None)


def _fields(empty: Columns) -> tuple[PartitionField, ...]:
    return tuple(
        PartitionField(field.name, field.type_name, field.type_modifier, field.arrow_type)
        for field in empty.fields
    )
