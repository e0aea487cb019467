"""The statements that prepare a table."""

from __future__ import annotations

import hashlib
import re

from colonnade._driver.sql.quoting import check_length, quote_identifier, quote_literal
from colonnade._driver.sql.table_names import is_table, parts_of
from colonnade._words.arguments import check_name, check_switch
from colonnade._words.shown import shown
from colonnade.errors import InterfaceValueError

_NAME_BYTES_MOST = 63

_COLUMN = """\
ALTER TABLE {table} ADD COLUMN {by} pg_catalog.xid8 NOT NULL
    DEFAULT pg_catalog.pg_current_xact_id();
"""
_BODY = """
BEGIN
    NEW.{by} := pg_catalog.pg_current_xact_id();
    RETURN NEW;
END
"""
# Never OR REPLACE: that keeps the owner, who can change what runs with everybody's rights.
_FUNCTION = """\
CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS {body};
CREATE TRIGGER {trigger} BEFORE {events} ON {table}
    FOR EACH ROW EXECUTE FUNCTION {function}();
"""
_INDEX = "CREATE INDEX ON {table} ({by});\n"


def tracking_sql(
    table: str, *, by: str = "changed_in", updates: bool = True, index: bool = True
) -> str:
    """Return the statements that prepare a table for `read_new`; run them in a transaction.

    They add the column `by`, a trigger that sets it for inserted rows, even against the INSERT,
    and with `updates` for updated ones, and an index. The rows that are there belong to this
    transaction, so the first read returns them. The trigger's function is one of the table's own,
    in the table's schema; one of that name is not replaced, and DROP TABLE leaves it.

    The column and the trigger lock the table for a moment, and nothing is rewritten. The index
    locks it until all rows are read: of a large table, leave it out with `index=False`, and then
    run CREATE INDEX CONCURRENTLY, which cannot run in a transaction.
    """
    check_name("table", table)
    check_name("by", by)
    check_switch("updates", updates)
    check_switch("index", index)
    if not is_table(table):
        raise InterfaceValueError(f"table must be the name of a table, not {shown(table)}")
    for part in (*parts_of(table), by):
        check_length(part)
    schema, name = _parts(table)
    trigger = quote_identifier(_short(f"{name}_set_{by}"))
    statements = (_COLUMN, _FUNCTION, _INDEX) if index else (_COLUMN, _FUNCTION)
    return "".join(statements).format(
        table=table,
        by=quote_identifier(by),
        body=quote_literal(_BODY.format(by=quote_identifier(by))),
        function=f"{schema}{trigger}",
        trigger=trigger,
        events="INSERT OR UPDATE" if updates else "INSERT",
    )


def _parts(table: str) -> tuple[str, str]:
    """Return the schema as it is written, with its point, and the name as the server has it."""
    *schema, name = re.findall(r'"(?:[^"]|"")+"|[^\s."]+', table)
    plain = name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()
    return "".join(f"{part}." for part in schema), plain


def _short(name: str) -> str:
    """Return a name that the server does not cut; two names stay two."""
    encoded = name.encode()
    if len(encoded) <= _NAME_BYTES_MOST:
        return name
    mark = hashlib.sha256(encoded).hexdigest()[:8]
    return f"{encoded[: _NAME_BYTES_MOST - 9].decode(errors='ignore')}_{mark}"
