"""The condition for new rows, and the state, without a connection."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from colonnade._driver.sql.quoting import quote_identifier
from colonnade._driver.sql.table_names import is_table, quoted
from colonnade._words.arguments import check_name, check_names
from colonnade._words.shown import class_name, shown
from colonnade.errors import InterfaceError, InterfaceValueError, ObjectNotInPrerequisiteStateError
from colonnade.types import TextValue

if TYPE_CHECKING:
    from colonnade import Columns

State: TypeAlias = dict[str, str | int]
"""Where the last read ended; a small value for `json.dumps`."""

_SNAPSHOT = re.compile(r"(\d{1,20}):(\d{1,20}):((?:\d{1,20}(?:,\d{1,20})*)?)", re.ASCII)
_FACTS = """
SELECT
    pg_catalog.pg_current_snapshot()::pg_catalog.text,
    pg_catalog.pg_current_xact_id_if_assigned()::pg_catalog.text,
    pg_catalog.pg_is_in_recovery(),
    (SELECT c.system_identifier::pg_catalog.text FROM pg_catalog.pg_control_system() AS c),
    CASE WHEN NOT pg_catalog.pg_is_in_recovery()
        THEN pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) END,
    CASE WHEN NOT pg_catalog.pg_is_in_recovery()
        THEN pg_catalog.pg_current_wal_insert_lsn() OPERATOR(pg_catalog.<=)
            pg_catalog.pg_current_wal_flush_lsn() END,
    coalesce(
        pg_catalog.date_part('epoch', pg_catalog.pg_stat_get_bgwriter_stat_reset_time()), 0
    )::pg_catalog.text,
    d.oid::pg_catalog.int8,
    t.oid::pg_catalog.int8,
    t.relkind::pg_catalog.text,
    a.attnotnull,
    pg_catalog.format_type(a.atttypid, NULL),
    pg_catalog.format('%I.%I', n.nspname, t.relname)
FROM pg_catalog.pg_class AS t
JOIN pg_catalog.pg_database AS d ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.relnamespace
LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) t.oid
    AND a.attname OPERATOR(pg_catalog.=) $2::pg_catalog.text::pg_catalog.name
    AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2
WHERE t.oid OPERATOR(pg_catalog.=) $1::pg_catalog.text::pg_catalog.regclass::pg_catalog.oid
"""
# Values that no transaction of this server can have written yet; and NULLs, which a parent's NOT
# NULL allows if it is not valid for older rows, or not for the children.
_ODD = """
SELECT EXISTS (
    SELECT FROM {table} WHERE {by} OPERATOR(pg_catalog.>=) pg_catalog.pg_snapshot_xmax(
        pg_catalog.pg_current_snapshot()
    ) AND {by} OPERATOR(pg_catalog.<>) coalesce(
        pg_catalog.pg_current_xact_id_if_assigned(), '0'::pg_catalog.xid8
    )
), EXISTS (SELECT FROM {table} WHERE {by} IS NULL)
"""
_TYPE = "xid8"
_ANEW = "read everything again with state=None"


class New(NamedTuple):
    """The new rows, and the state for the next read."""

    rows: Columns
    state: State


def check_state(state: object) -> None:
    """Raise TypeError for anything but a mapping."""
    if not isinstance(state, Mapping):
        hint = ": json.loads makes one of its text" if isinstance(state, str) else ""
        msg = f"state must be the mapping that a read returned, not {class_name(state)}{hint}"
        raise TypeError(msg)


class Request:
    """One read: its arguments are checked, and its queries are made here."""

    def __init__(
        self, table: str, *, by: str, state: Mapping[str, Any] | None, columns: Sequence[str] | None
    ) -> None:
        check_name("table", table)
        check_name("by", by)
        if state is not None:
            check_state(state)
        check_names("columns", columns)
        if isinstance(columns, str):
            raise TypeError(f"columns must be a sequence of names, not one: [{shown(columns)}]")
        if not is_table(table):
            raise InterfaceValueError(f"table must be the name of a table, not {shown(table)}")
        self._table = table.strip()
        quoted(table)  # Raises for a name that the server would cut.
        self._table_sql = ""
        self._by = quote_identifier(by)
        self._by_name = by
        self._columns = None if columns is None else tuple(columns)
        self._before = None if state is None else _Before(state)

    @property
    def facts(self) -> tuple[str, str, str]:
        """A query about server and table, with its two arguments."""
        return _FACTS, self._table, self._by_name

    @property
    def odd_sql(self) -> str:
        """A query, after `check`: whether the column has values of another server, and NULLs."""
        return _ODD.format(table=self._table_sql, by=self._by)

    def asked(self, found: Sequence[Sequence[Any]], odd: Sequence[Sequence[Any]]) -> Asked:
        """Return the query for the new rows, by the answers to the two above.

        Raises InterfaceError if the rows, or the state, are those of another server.
        """
        facts = _Facts(*found[0])
        ((is_foreign, has_nulls),) = odd
        if has_nulls:
            raise self._may_be_null()
        if is_foreign:
            raise InterfaceError(
                f"{self._table}.{self._by_name} has transactions that this server has not begun: "
                "its rows were copied from another server",
                hint=f"update them to pg_current_xact_id(), then {_ANEW}",
            )
        now = _Snapshot.of(facts.snapshot).without(facts.own)
        state: State = {
            "snapshot": str(now),
            "system": facts.system,
            "timeline": facts.timeline,
            "database": facts.database,
            "table": facts.table,
            "by": self._by_name,
            "unflushed": "" if facts.is_flushed else facts.reset,
        }
        if self._before is None:
            condition, args = self._first(now)
        else:
            self._before.check(state, now, facts.reset)
            condition, args = self._later(self._before.snapshot, now)
        listed = "*" if self._columns is None else ", ".join(map(quote_identifier, self._columns))
        return Asked(f"SELECT {listed} FROM {self._table_sql} WHERE {condition}", args, state)

    def check(self, found: Sequence[Sequence[Any]]) -> None:
        """Raise InterfaceError, or ObjectNotInPrerequisiteStateError, if the table cannot tell."""
        facts = _Facts(*found[0])
        self._table_sql = facts.table_sql
        if facts.is_replica:
            raise ObjectNotInPrerequisiteStateError(
                "a replica's snapshot does not tell which transactions are running: read new rows "
                "from the primary"
            )
        if facts.type is None:
            raise InterfaceError(f'{self._table} has no column "{self._by_name}"', hint=_HINT)
        if facts.type != _TYPE:
            raise InterfaceError(
                f'the column "{self._by_name}" has the type {facts.type}, and must be xid8: a '
                "number or a time is taken before its transaction commits, so that rows with an "
                "earlier one may appear later",
                hint=_HINT,
            )
        if facts.kind not in {"r", "p"} or not facts.is_not_null:
            raise self._may_be_null()

    def _may_be_null(self) -> InterfaceError:
        return InterfaceError(
            f'"{self._by_name}" of {self._table} may be NULL, and such rows would never come',
            hint=_HINT,
        )

    def _first(self, now: _Snapshot) -> tuple[str, tuple[object, ...]]:
        # Rows of later transactions are those of the next read.
        visible = f"pg_catalog.pg_visible_in_snapshot({self._by}, $1::pg_catalog.pg_snapshot)"
        return visible, (TextValue(str(now)),)

    def _later(self, before: _Snapshot, now: _Snapshot) -> tuple[str, tuple[object, ...]]:
        by = self._by
        # The bounds are for an index; the snapshots decide about transactions that ran before them.
        conditions = (
            f"{by} OPERATOR(pg_catalog.>=) $1::pg_catalog.xid8",
            f"{by} OPERATOR(pg_catalog.<) $2::pg_catalog.xid8",
            f"NOT pg_catalog.pg_visible_in_snapshot({by}, $3::pg_catalog.pg_snapshot)",
            f"pg_catalog.pg_visible_in_snapshot({by}, $4::pg_catalog.pg_snapshot)",
        )
        bounds = (str(before.oldest), str(now.end), str(before), str(now))
        return " AND ".join(conditions), tuple(map(TextValue, bounds))


_HINT = "incremental.tracking_sql(table) returns the statements that add such a column"


class Asked(NamedTuple):
    """The query for the new rows, and the state after it."""

    sql: str
    args: tuple[object, ...]
    state: State


class _Facts(NamedTuple):
    snapshot: str
    own: str | None
    is_replica: bool
    system: str
    wal_file: str
    is_flushed: bool | None
    reset: str
    database: int
    table: int
    kind: str
    is_not_null: bool | None
    type: str | None
    table_sql: str

    @property
    def timeline(self) -> int:
        return int(self.wal_file[:8], 16)


class _Snapshot(NamedTuple):
    """Transactions below `oldest` have ended, those from `end` on had not begun."""

    oldest: int
    end: int
    running: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> _Snapshot:
        found = _SNAPSHOT.fullmatch(text)
        if found is None:
            raise InterfaceValueError(f"state has no snapshot, but {shown(text)}", hint=_ANEW)
        running = tuple(map(int, found[3].split(","))) if found[3] else ()
        oldest, end = int(found[1]), int(found[2])
        in_order = (oldest, *running, end)
        is_open = not running or running[-1] < end
        if oldest == 0 or end >> 64 or not is_open or list(in_order) != sorted(in_order):
            raise InterfaceValueError(f"state has no snapshot, but {shown(text)}", hint=_ANEW)
        return cls(oldest, end, running)

    def sees(self, transaction: int) -> bool:
        """Whether the transaction had ended."""
        is_over = transaction < self.oldest or transaction not in self.running
        return transaction < self.end and is_over

    def without(self, own: str | None) -> _Snapshot:
        """The snapshot with one more running transaction.

        PostgreSQL counts the reader's own transaction as visible. It may write more rows after the
        read, so all of its rows are those of a later read.
        """
        if own is None or int(own) >= self.end:
            return self
        running = tuple(sorted({*self.running, int(own)}))
        return _Snapshot(min(self.oldest, int(own)), self.end, running)

    def __str__(self) -> str:
        return f"{self.oldest}:{self.end}:{','.join(map(str, self.running))}"


_OTHER = {
    "system": "of another server",
    "database": "of another database",
    "table": "of another table, or the table was created again",
    "by": "for another column",
    "timeline": (
        "from before the server was promoted or restored, which may have lost transactions and "
        "used their numbers again"
    ),
}


class _Before:
    """A state that the caller gives back."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        missing = {"snapshot", *_OTHER} - set(state)
        texts = (state.get("snapshot"), state.get("unflushed", ""))
        if missing or not all(isinstance(text, str) for text in texts):
            raise InterfaceValueError("state is not one that an earlier read returned", hint=_ANEW)
        self._state = state
        self.snapshot = _Snapshot.of(state["snapshot"])

    def check(self, now: State, snapshot: _Snapshot, reset: str) -> None:
        """Raise InterfaceError if the state is not for this table on this server, or is newer.

        A crash loses transactions that a read has seen and that had not reached the disk: aborted
        ones, and those of `synchronous_commit = off`. The server then gives others their numbers. A
        crash also resets the server's statistics, and so it is noticed here.
        """
        for name, said in _OTHER.items():
            if self._state[name] == now[name]:
                continue
            hint = _ANEW
            if name == "timeline":
                hint += (
                    f". If the standby had every commit that was read (synchronous replication), "
                    f'set state["timeline"] to {now[name]}, and state["unflushed"] to ""'
                )
            raise InterfaceError(f"the state is {said}", hint=hint)
        if self._state.get("unflushed", "") not in {"", reset}:
            raise InterfaceError(
                "the server has crashed since the read that the state is of, may have lost "
                "transactions that were seen then, and may have used their numbers again",
                hint=f'{_ANEW}. If only its statistics were reset, set state["unflushed"] to ""',
            )
        if snapshot.end < self.snapshot.end or any(map(self.snapshot.sees, snapshot.running)):
            raise InterfaceError(
                "the state is newer than the moment that the open transaction sees",
                hint="read new rows outside of it, or in a transaction of READ COMMITTED",
            )
