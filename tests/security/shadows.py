"""Shadows: an attacker's objects with the names of PostgreSQL's own.

A user with the right to create objects in a schema of another user's search path can create a
function, an operator, a type or a table there with the name of a built-in one. A statement that
does not name the schema may then use the attacker's object with the rights of its caller. This
module creates all shadows that SQL can create, in `public`, which comes after `pg_catalog`, and in
`evil`, which comes before it. Each records that it was called, and raises.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colonnade import sync

PACKAGE = Path(__file__).resolve().parents[2] / "colonnade"
SCHEMAS = ("public", "evil")
# The minimum number of each kind in a schema: with fewer, the tests would prove little.
LEAST = {"operator": 2000, "function": 2500, "type": 50, "table": 60}

# Types that the driver's internal queries compare and convert. If pg_catalog supports a pair only
# by conversion, PostgreSQL prefers an exact match in another schema.
_TYPES = (
    *("oid", "int2", "int4", "int8", "float8", "numeric", "name", "text", '"char"', "tid"),
    *("regclass", "regproc", "regtype", "json", "bool", "anyelement"),
)
_OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "~~", "!~", "~", "||", "+", "-", "*", "/", "->")

_STRANGER = """
CREATE SCHEMA evil;
CREATE SCHEMA stranger;
CREATE SEQUENCE stranger.called;
CREATE SEQUENCE stranger.numbers;
CREATE TABLE stranger.planted (number integer PRIMARY KEY, schema text, kind text, name text);
CREATE FUNCTION stranger.touch(integer) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE found text;
BEGIN
    -- What a sequence is set to stays, even where the transaction is rolled back.
    PERFORM setval('stranger.called', $1);
    SELECT p.name INTO found FROM stranger.planted p
    WHERE p.number = $1;
    RAISE EXCEPTION 'a stranger was called: %', found;
END $$;
CREATE PROCEDURE stranger.plant(schema text, kind text, name text, statement text)
LANGUAGE plpgsql AS $$
DECLARE number integer := nextval('stranger.numbers');
BEGIN
    BEGIN
        EXECUTE replace(statement, '<number>', number::text);
    EXCEPTION WHEN OTHERS THEN
        -- What SQL cannot make, such as a function of an internal type, a stranger cannot, either.
        RETURN;
    END;
    INSERT INTO stranger.planted VALUES (number, schema, kind, schema || '.' || name);
END $$;
"""

_CATALOG = """
DO $do$
DECLARE
    schema text := '{schema}';
    body text := $$ LANGUAGE plpgsql AS 'BEGIN PERFORM stranger.touch(<number>); END'$$;
    each record;
    pair text;
BEGIN
    FOR each IN SELECT p.proname, oidvectortypes(p.proargtypes) AS args,
        format_type(p.prorettype, NULL) AS result
        FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace
    LOOP
        CALL stranger.plant(schema, 'function', format('%I(%s)', each.proname, each.args),
            format('CREATE FUNCTION %I.%I(%s) RETURNS %s', schema, each.proname, each.args,
                each.result) || body);
    END LOOP;
    FOR each IN SELECT o.oid, o.oprname, o.oprleft, o.oprright,
        format_type(nullif(o.oprleft, 0), NULL) AS l, format_type(o.oprright, NULL) AS r,
        format_type(o.oprresult, NULL) AS result
        FROM pg_operator o WHERE o.oprnamespace = 'pg_catalog'::regnamespace
    LOOP
        pair := concat_ws(', ', each.l, each.r);
        CALL stranger.plant(schema, 'function', format('operator_%s', each.oid),
            format('CREATE FUNCTION %I.operator_%s(%s) RETURNS %s', schema, each.oid, pair,
                each.result) || body);
        CALL stranger.plant(schema, 'operator', format('%s (%s)', each.oprname, pair),
            format('CREATE OPERATOR %I.%s (FUNCTION = %I.operator_%s%s, RIGHTARG = %s)', schema,
                each.oprname, schema, each.oid, ', LEFTARG = ' || each.l, each.r));
    END LOOP;
END $do$
"""
_EXACT_OPERATORS = """
DO $do$
DECLARE
    schema text := '{schema}';
    body text := $$ LANGUAGE plpgsql AS 'BEGIN PERFORM stranger.touch(<number>); END'$$;
    l text; r text; symbol text;
BEGIN
    FOREACH l IN ARRAY $1 LOOP FOREACH r IN ARRAY $1 LOOP
        CALL stranger.plant(schema, 'function', format('exact(%s, %s)', l, r),
            format('CREATE FUNCTION %I.exact(%s, %s) RETURNS boolean', schema, l, r) || body);
        FOREACH symbol IN ARRAY $2 LOOP
            CALL stranger.plant(schema, 'operator', format('%s (%s, %s)', symbol, l, r),
                format('CREATE OPERATOR %I.%s (FUNCTION = %I.exact, LEFTARG = %s, RIGHTARG = %s)',
                    schema, symbol, schema, l, r));
        END LOOP;
    END LOOP; END LOOP;
END $do$
"""
_EXACT_FUNCTIONS = """
DO $do$
DECLARE
    schema text := '{schema}';
    body text := $$ LANGUAGE plpgsql AS 'BEGIN PERFORM stranger.touch(<number>); END'$$;
    called text; arg text;
BEGIN
    FOREACH called IN ARRAY $1 LOOP FOREACH arg IN ARRAY $2 LOOP
        CALL stranger.plant(schema, 'function', format('%s(%s)', called, arg),
            format('CREATE FUNCTION %I.%I(%s) RETURNS boolean', schema, called, arg) || body);
        CALL stranger.plant(schema, 'function', format('%s(%s[])', called, arg),
            format('CREATE FUNCTION %I.%I(%s[]) RETURNS boolean', schema, called, arg) || body);
        CALL stranger.plant(schema, 'function', format('%s(text, %s)', called, arg),
            format('CREATE FUNCTION %I.%I(text, %s) RETURNS boolean', schema, called, arg)
                || body);
    END LOOP; END LOOP;
END $do$
"""
_TYPES_AND_TABLES = """
DO $do$
DECLARE
    each record;
BEGIN
    FOR each IN SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind IN ('r', 'v')
    LOOP
        CALL stranger.plant('{schema}', 'table', each.relname,
            format('CREATE VIEW {schema}.%1$I AS SELECT * FROM pg_catalog.%1$I '
                'WHERE stranger.touch(<number>)', each.relname));
    END LOOP;
    FOR each IN SELECT t.typname FROM pg_type t
        WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype = 'b' AND t.typelem = 0
    LOOP
        CALL stranger.plant('{schema}', 'type', each.typname,
            format('CREATE DOMAIN {schema}.%1$I AS pg_catalog.%1$I '
                'CHECK (stranger.touch(<number>))', each.typname));
    END LOOP;
END $do$
"""


def plant(connection: sync.Connection) -> None:
    """Create all shadows in both schemas.

    From then on the connection itself finds none of them, so it can query them safely.
    """
    connection.execute("SET search_path TO pg_catalog")
    connection.execute(_STRANGER)
    for schema in SCHEMAS:
        connection.execute(_CATALOG.format(schema=schema))
        for statement, lists in (
            (_EXACT_OPERATORS, (_TYPES, _OPERATORS)),
            (_EXACT_FUNCTIONS, (_functions(), _TYPES)),
        ):
            text = statement.format(schema=schema)
            for number, names in enumerate(lists, 1):
                quoted = ", ".join("'" + name + "'" for name in names)
                text = text.replace(f"ARRAY ${number}", f"ARRAY ARRAY[{quoted}]")
            connection.execute(text)
    # In `public` they would not be found, because `pg_catalog` comes first.
    connection.execute(_TYPES_AND_TABLES.format(schema="evil"))
    connection.execute("GRANT ALL ON SCHEMA evil, public TO PUBLIC")


def planted(connection: sync.Connection) -> dict[tuple[str, str], int]:
    """The number of shadows by schema and kind."""
    rows = connection.fetch("SELECT schema, kind, count(*) FROM stranger.planted GROUP BY 1, 2")
    return {(row[0], row[1]): row[2] for row in rows}


def forget(connection: sync.Connection) -> None:
    """Forget the recorded calls."""
    connection.execute("SELECT setval('stranger.called', 1, false)")


def called(connection: sync.Connection) -> str | None:
    """The last shadow that was called, if any was."""
    found: str | None = connection.fetchval(
        "SELECT p.name FROM stranger.planted p, stranger.called c "
        "WHERE c.is_called AND p.number = c.last_value"
    )
    return found


def _functions() -> list[str]:
    """The functions to shadow."""
    texts = [path.read_text("utf-8") for path in PACKAGE.rglob("*.py")]
    found = set(re.findall(r"pg_catalog\.([a-z_]+)\(", "\n".join(texts)))
    return sorted(found | {"unnest", "array_agg"})
