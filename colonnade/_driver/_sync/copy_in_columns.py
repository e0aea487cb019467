# Generated from colonnade/_driver/_async/copy_in_columns.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""COPY of columns of any library into a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade._driver._sync.copy_ends import CHUNK_BYTES
from colonnade._driver._sync.copy_in import (
    begin_copy_in,
    begin_own,
    close_staging,
    commit_own,
    end_copy_in,
    open_staging,
    roll_back_own,
)
from colonnade._driver._sync.long_names import whole_names, whole_names_within
from colonnade._driver.copy_plan import (
    Conflict,
    Matching,
    check_new_name,
    checked_conflict,
    copy_sql,
    create_sql,
    describe_sql,
    kept_sql,
    staging_for,
    type_names_sql,
    types_to_create,
    types_to_make,
)
from colonnade._driver.sources.piece import Encoding
from colonnade._driver.sql.copy_options import schema_hinted
from colonnade._driver.sql.staging import OwnTransaction
from colonnade._words.arguments import check_callable, check_switch
from colonnade.errors import InterfaceValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from colonnade._driver._sync.connection_base import ConnectionBase
    from colonnade._driver._sync.conversation import Conversation
    from colonnade._driver.sources.piece import Part, Piece, Target

    CheckedPart = tuple[_core.ArrowSource, list[Target]]
    from colonnade._driver.copy_plan import OnConflict

    Progress = Callable[[int], object]

# Checking this much takes less than a millisecond, about as long as a round trip to a thread.
_CHECKED_IN_TURN_BYTES = 1 << 20


def copy_columns_to_table(
    self: ConnectionBase,
    table_name: str,
    source: Any,
    *,
    columns: Sequence[str] | Mapping[str, str] | None = None,
    schema_name: str | None = None,
    nan_as_null: bool | None = None,
    create: bool | Mapping[str, str] = False,
    on_conflict: OnConflict | None = None,
    conflict_columns: str | Sequence[str] | None = None,
    progress: Progress | None = None,
    timeout: float | None = None,
) -> str:
    """Copy columns into a table, and return the status, such as `COPY 1000`.

    `source` is `Columns`, an object with `__arrow_c_stream__` or `__arrow_c_array__` (of
    pyarrow, Polars, DuckDB), a pandas frame (without its index), a mapping of names to arrays
    or lists, a structured array of NumPy, or an (async) iterable of any of these, whose batches
    are copied one after another.

    A column goes to the table's column of the same name; columns of the table that the source lacks
    take their defaults. `columns` names the table's columns in the source's order, or maps names of
    the source to names of the table and omits all others.

    A value is cast if the cast can lose nothing; every other cast is an EncodeError before the
    first byte is sent. An error in the source or in a value aborts the copy: none of its rows stay
    in the table. Masked values, None and pandas' NA are NULL. With `nan_as_null=None`, the default,
    so are NaN and NaT of NumPy's types, in arrays and in pandas' columns; in other libraries'
    columns, and in lists, NaN is a number. With True, both are NULL everywhere; with False, NaN is
    a number everywhere, and NaT an error.

    With `create` the table is created first, from the source's types; a mapping gives the SQL types
    of some of its columns. `on_conflict` decides about rows whose key is already in the table:
    "nothing" keeps the table's row, "update" gives it the source's values; `conflict_columns` are
    the key's. The rows then go through a temporary table, and the status is that of the INSERT.
    Both run in one transaction: the open one, or one of their own.

    `progress` is called with the number of rows sent so far. `colonnade docs copy` has the details.
    """
    check_callable("progress", progress)
    check_switch("nan_as_null", nan_as_null)
    types = types_to_create(create)
    if types is not None:
        check_new_name(table_name, schema_name)
    table_name, schema_name, conflict_columns = whole_names(
        self.conversation, table_name, schema_name, conflict_columns
    )
    conflict = checked_conflict(on_conflict, conflict_columns, create=types is not None)
    matching = Matching(table_name, schema_name, columns)
    own = OwnTransaction()
    try:
        with self.conversation.operation(timeout, copy_sql(matching.table, ())):
            found = _pieces(source)
            first = next(found, None)
            if first is None:
                return "COPY 0"
            matching.names(first)
            begin_own(self.conversation, own)
            if types is not None:
                _create_table(self.conversation, matching, first, types)
            encoding = Encoding(self.conversation.session, nan_as_null)
            copy = _Copy(matching, (first, found), encoding, conflict, own=own, progress=progress)
            with schema_hinted(table_name, schema_name):
                status = _copy_pieces(self.conversation, copy)
            commit_own(self.conversation, own)
            return status
    except BaseException as error:
        roll_back_own(self.conversation, own, error)
        raise


def _create_table(
    conversation: Conversation, matching: Matching, first: Piece, types: Mapping[str, str]
) -> None:
    (names,) = whole_names_within(conversation, matching.names(first))
    wanted = types_to_make(names, first, types)
    known = [kind for _, kind in wanted if isinstance(kind, tuple)]
    if known:
        rows = conversation.plain_rows(type_names_sql(known), ())
        spelled = dict(zip(known, (row[0] for row in rows), strict=True))
        wanted = [
            (name, spelled[kind] if isinstance(kind, tuple) else kind) for name, kind in wanted
        ]
    conversation.script(create_sql(matching.table, wanted))


def _copy_pieces(conversation: Conversation, copy: _Copy) -> str:
    matching = copy.matching
    matching.describe((conversation.describe(describe_sql(matching))).columns)
    columns = matching.columns(copy.first)
    filled = [column for column in columns if column is not None]
    kept: list[str] = []
    if copy.conflict is not None and copy.conflict.action == "update":
        rows = conversation.plain_rows(kept_sql(matching.table), ())
        kept = [row[0] for row in rows]
    staging = staging_for(matching.table, filled, copy.conflict, kept)
    parts = _checked(conversation, copy.parts())
    part = next(parts)
    encoder = _core.CopyEncoder(
        *part,
        nan_as_null=bool(copy.encoding.nan_as_null),
        nat_as_null=bool(copy.encoding.nan_as_null),
        more=True,
    )
    if staging is not None:
        open_staging(conversation, staging)
    table = matching.table if staging is None else staging.table
    # Every part has the piece's order of columns, and so has every piece.
    begin = copy_sql(table, [column.name for column in filled])
    begin_copy_in(conversation, begin, copy.own if staging is None else None)
    _send_parts(conversation, copy, encoder, parts)
    status = end_copy_in(conversation)
    if staging is not None:
        inserted = close_staging(conversation, staging)
        # An INSERT that only a type requires needs the user's consent.
        status = inserted if copy.conflict is not None else f"COPY {inserted.split()[-1]}"
    return status


def _send_parts(
    conversation: Conversation,
    copy: _Copy,
    encoder: _core.CopyEncoder,
    parts: Iterator[CheckedPart],
) -> None:
    while _send_chunks(conversation, copy, encoder):
        copy.rows_done = encoder.rows_done
        part = next(parts, None)
        # Making small parts must not hold the loop either.
        conversation.transport.give_turn()
        if part is None:
            encoder.finish()
            _send_chunks(conversation, copy, encoder)
            return
        encoder.feed(*part)


def _send_chunks(conversation: Conversation, copy: _Copy, encoder: _core.CopyEncoder) -> bool:
    """Send the encoder's output; False if the server has refused the copy."""
    while waiting := conversation.session.copy_rows(encoder, CHUNK_BYTES):
        if waiting >= CHUNK_BYTES:
            conversation.transport.flush()
            # A socket that accepts everything must not starve the loop's other tasks.
            conversation.transport.give_turn()
        if copy.progress is not None:
            copy.progress(encoder.rows_done)
    return waiting is not None


def _checked(conversation: Conversation, parts: Iterator[Part]) -> Iterator[CheckedPart]:
    """The parts, each checked when it is requested."""
    for found, targets in parts:
        if isinstance(found, _core.ArrowSource):
            yield found, targets
        elif found.size_bytes <= _CHECKED_IN_TURN_BYTES:
            yield found.checked(), targets
        else:
            # The interpreter is released meanwhile; the event loop must be, too.
            yield conversation.transport.off_loop(found.checked), targets


class _Copy:
    """The state of a copy."""

    def __init__(
        self,
        matching: Matching,
        pieces: tuple[Piece, Iterator[Piece]],
        encoding: Encoding,
        conflict: Conflict | None,
        *,
        own: OwnTransaction,
        progress: Progress | None,
    ) -> None:
        self.matching = matching
        self.first, self.rest = pieces
        self.encoding = encoding
        self.conflict = conflict
        self.own = own
        self.progress = progress
        self.rows_done = 0

    def parts(self) -> Iterator[Part]:
        """The parts of all pieces, each made once the previous one has been sent."""
        for part in self._parts_of(self.first):
            yield part
        for following in self.rest:
            self._check_names(following)
            for part in self._parts_of(following):
                yield part

    def _parts_of(self, which: Piece) -> Any:
        return which.parts(self.matching.columns(which), self.encoding, self.rows_done)

    def _check_names(self, following: Piece) -> None:
        if following.names != self.first.names:
            msg = f"a batch has the columns {following.names}, the first one {self.first.names}"
            raise InterfaceValueError(msg)


def _pieces(source: Any) -> Iterator[Piece]:
    """The rows of any kind of source."""
    # Imported here: recognizing all kinds loads much that programs without COPY do not need.
    from colonnade._driver.sources.recognition import pieces

    for one in pieces(source):
        yield one
