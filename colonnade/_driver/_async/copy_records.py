"""COPY of Python records into a table, in the server's binary format."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade._driver._async.copy_ends import CHUNK_BYTES
from colonnade._driver._async.copy_in import (
    begin_copy_in,
    begin_own,
    close_staging,
    commit_own,
    end_copy_in,
    open_staging,
    roll_back_own,
)
from colonnade._driver._async.long_names import whole_names
from colonnade._driver.copy_plan import copy_sql
from colonnade._driver.sql.copy_options import (
    check_where,
    copy_statement,
    schema_hinted,
    table_target,
)
from colonnade._driver.sql.quoting import quote_identifier, reported
from colonnade._driver.sql.staging import OwnTransaction, StagedColumn, Staging
from colonnade._words.arguments import check_values

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence

    from colonnade._driver._async.connection_base import ConnectionBase
    from colonnade._driver._async.conversation import Conversation

    Values = Sequence[Any] | Mapping[str, Any]
    Records = Iterable[Values] | AsyncIterable[Values]
    Batches = AsyncGenerator[Iterator[Values]]

# The number of records taken from an asynchronous source before they are encoded.
_RECORDS_TOGETHER = 512

# The number of tables whose generated columns are remembered.
_KEPT_TABLES = 100

# The columns of a table that COPY cannot fill.
_GENERATED = (
    "SELECT attname::pg_catalog.text FROM pg_catalog.pg_attribute "
    "WHERE attrelid OPERATOR(pg_catalog.=) $1::pg_catalog.text::pg_catalog.regclass "
    "AND attgenerated OPERATOR(pg_catalog.<>) ''"
)


async def copy_records_to_table(
    self: ConnectionBase,
    table_name: str,
    *,
    records: Records,
    columns: Sequence[str] | None = None,
    schema_name: str | None = None,
    timeout: float | None = None,
    where: str | None = None,
) -> str:
    """Copy records into a table, and return the status, such as `COPY 1000`.

    `records` is an iterable or async iterable of sequences of values (tuples, lists, `Record`), or
    of mappings from column names to values. `columns` names the table's columns in the records'
    order; the default is all columns that are not generated. A value is encoded like the parameter
    of a query, by the column's type and with the user's codec; None is NULL. The format is the
    binary one. If a type (`money`, `regclass`, `tsvector`) or a codec has text only, the records go
    through a temporary table, and are cast on the way.

    `where` is a condition; rows that do not fulfil it are left out.

    Records are taken as fast as they can be sent, about 256 KiB at a time, so a source may be
    larger than memory; the event loop gets a turn each millisecond. An error of the source, or of a
    value (EncodeError, which names row and column), aborts the copy: none of its rows stay in the
    table.

    Raises TypeError for `records` that cannot be iterated over, and UnsupportedServerFeatureError
    for `where` with a server before PostgreSQL 12.
    """
    check_where(where, self.conversation.session.parameters)
    source = _batches(records)
    table_name, schema_name, columns = await whole_names(
        self.conversation, table_name, schema_name, columns
    )
    options = {"format": "binary", "where": where}
    told = copy_statement(table_target(table_name, columns, schema_name), "FROM STDIN", options)
    own = OwnTransaction()
    try:
        async with self.conversation.operation(timeout, told):
            table = table_target(table_name, None, schema_name)
            await begin_own(self.conversation, own)
            with schema_hinted(table_name, schema_name):
                kinds = await _column_types(self.conversation, table, columns)
            encoder = self.conversation.session.record_encoder(kinds)
            try:
                if any(kind.is_sent_as_text for _, kind in kinds):
                    staging = _staging(table, table_name, kinds, where)
                    status = await _copy_staged(self.conversation, staging, encoder, source, kinds)
                    await commit_own(self.conversation, own)
                    return status
                target = table_target(table_name, [name for name, _ in kinds], schema_name)
                begin = copy_statement(target, "FROM STDIN", options)
                return await _copy_records(self.conversation, begin, encoder, source, own)
            except BaseException:
                self.conversation.generated_columns.clear()
                raise
            finally:
                await source.aclose()
    except BaseException as error:
        await roll_back_own(self.conversation, own, error)
        raise


async def _copy_records(
    conversation: Conversation,
    begin: str,
    encoder: _core.RecordEncoder,
    source: Batches,
    own: OwnTransaction | None = None,
) -> str:
    await begin_copy_in(conversation, begin, own)
    async for batch in source:
        if not await _send_records(conversation, encoder, batch):
            break
    encoder.finish()
    conversation.session.copy_records(encoder)
    return await end_copy_in(conversation)


async def _copy_staged(
    conversation: Conversation,
    staging: Staging,
    encoder: _core.RecordEncoder,
    source: Batches,
    kinds: list[tuple[str, _core.PgType]],
) -> str:
    """Copy records into a staging table; the server casts the values sent as text."""
    await open_staging(conversation, staging)
    begin = copy_sql(staging.table, [name for name, _ in kinds])
    await _copy_records(conversation, begin, encoder, source)
    return f"COPY {(await close_staging(conversation, staging)).split()[-1]}"


async def _column_types(
    conversation: Conversation, table: str, columns: Sequence[str] | None
) -> list[tuple[str, _core.PgType]]:
    """The columns that the records fill, which the server is asked for each time."""
    listed = ", ".join(map(quote_identifier, columns)) if columns else "*"
    statement = await conversation.describe(f"SELECT {listed} FROM {table}")
    kinds = [(reported(name), kind) for name, kind, _ in statement.columns]
    if columns:
        return kinds
    generated = await _generated(conversation, table, frozenset(name for name, _ in kinds))
    return [(name, kind) for name, kind in kinds if name not in generated]


async def _generated(
    conversation: Conversation, table: str, names: frozenset[str]
) -> frozenset[str]:
    """The columns of a table that COPY cannot fill.

    They are kept until something is altered here, or a copy fails: if they are out of date, records
    have too many or too few values, or the server refuses to fill the column.
    """
    key = (conversation.session.place, table, names)
    found = conversation.generated_columns.get(key)
    if found is None:
        found = frozenset(row[0] for row in await conversation.plain_rows(_GENERATED, (table,)))
        if len(conversation.generated_columns) >= _KEPT_TABLES:
            conversation.generated_columns.clear()
        conversation.generated_columns[key] = found
    return found


async def _send_records(
    conversation: Conversation, encoder: _core.RecordEncoder, batch: Iterator[Values]
) -> bool:
    """Send all records of a batch; False if the server has refused the copy."""
    has_more = True
    while has_more:
        has_more = encoder.take(batch, CHUNK_BYTES)
        waiting = conversation.session.copy_records(encoder)
        if waiting is None:
            return False
        if waiting >= CHUNK_BYTES:
            await conversation.transport.flush()
        # A socket that accepts everything must not starve the loop's other tasks.
        await conversation.transport.give_turn()
    return True


def _staging(
    table: str, table_name: str, kinds: list[tuple[str, _core.PgType]], where: str | None
) -> Staging:
    columns = [
        StagedColumn(name, kind.sql if kind.is_sent_as_text else None) for name, kind in kinds
    ]
    return Staging(table, columns, table_name, "" if where is None else f" WHERE {where}")


def _batches(records: Records) -> AsyncGenerator[Iterator[Values]]:
    """The records in iterators; each is sent before the next one is requested."""
    # async-only: begin
    if isinstance(records, AsyncIterable):
        return _gathered(records)
    # async-only: end
    check_values("records", records)
    return _single(iter(records))


async def _single(records: Iterator[Values]) -> AsyncGenerator[Iterator[Values]]:
    yield records


# async-only: begin
async def _gathered(records: AsyncIterable[Values]) -> AsyncGenerator[Iterator[Values]]:
    batch: list[Values] = []
    async for record in records:
        batch.append(record)
        if len(batch) == _RECORDS_TOGETHER:
            yield iter(batch)
            batch = []
    yield iter(batch)


# async-only: end
