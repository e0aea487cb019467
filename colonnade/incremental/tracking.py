"""The statements that prepare a table."""

from __future__ import annotations

from colonnade._arguments import check_name, check_switch
from colonnade._quoting import quote_identifier, quote_literal
from colonnade._shown import shown
from colonnade.errors import InterfaceError
from colonnade.parallel.names import is_table

_COLUMN = """\
ALTER TABLE {table} ADD COLUMN {by} pg_catalog.xid8 NOT NULL
    DEFAULT pg_catalog.pg_current_xact_id();
CREATE INDEX ON {table} ({by});
"""
_BODY = """
BEGIN
    NEW.{by} := pg_catalog.pg_current_xact_id();
    RETURN NEW;
END
"""
_FUNCTION = """\
CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS {body};
CREATE TRIGGER {trigger} BEFORE {events} ON {table}
    FOR EACH ROW EXECUTE FUNCTION {function}();
"""


def tracking_sql(table: str, *, by: str = "changed_in", updates: bool = True) -> str:
    """Return the statements that prepare a table for `read_new`; run them in a transaction.

    They add the column `by`, an index, and a trigger that sets it for inserted rows, whatever the
    INSERT says, and with `updates` for updated ones. The rows that are there belong to this
    transaction, so the first read returns them. The table is locked for a moment, not rewritten.
    """
    check_name("table", table)
    check_name("by", by)
    check_switch("updates", updates)
    if not is_table(table):
        raise InterfaceError(f"table must be the name of a table, not {shown(table)}")
    events = "INSERT OR UPDATE" if updates else "INSERT"
    column = _COLUMN.format(table=table, by=quote_identifier(by))
    body = quote_literal(_BODY.format(by=quote_identifier(by)))
    return column + _FUNCTION.format(
        table=table,
        body=body,
        function=quote_identifier(f"set_{by}"),
        trigger=quote_identifier(f"set_{by}"),
        events=events,
    )
