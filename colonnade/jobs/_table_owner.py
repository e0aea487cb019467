"""Whose table of queues it is: one that a stranger made is refused before it is read.

A role that may create schemas, or tables in a shared one, can make a table of queues first. As a
view, or with a trigger, it would run that role's code with the rights of the role that opens a
queue; and the owner of the schema can put another table in its place later. So it must be a plain
table, and it and its schema must belong to a role that is trusted: the connection's own, one that
it is a member of, the owner of the database, or a superuser.

A membership that a role has given out of itself proves nothing: servers before 15 let every role
do so. Nor does one that is for administration alone, as servers from 16 on give to the creator of
a role.
"""

from __future__ import annotations

from typing import NamedTuple

from colonnade._driver.sql.quoting import quote_identifier, quote_literal
from colonnade.jobs.definition import REGISTRY
from colonnade.jobs.errors import QueueDefinitionError

# The columns of the options are as new as the server 16.
_IS_FOR_USE = " OR ".join(
    [
        "NOT m.admin_option",
        *(
            "coalesce((pg_catalog.to_jsonb(m) OPERATOR(pg_catalog.->>)"
            f" '{option}_option')::pg_catalog.bool, true)"
            for option in ("inherit", "set")
        ),
    ]
)
_ROLES = (
    "WITH RECURSIVE ours AS ("
    "SELECT r.oid AS role FROM pg_catalog.pg_roles AS r"
    " WHERE r.rolname OPERATOR(pg_catalog.=) current_user"
    " UNION SELECT m.roleid FROM pg_catalog.pg_auth_members AS m"
    " JOIN ours AS o ON m.member OPERATOR(pg_catalog.=) o.role"
    f" WHERE m.grantor OPERATOR(pg_catalog.<>) m.roleid AND ({_IS_FOR_USE})),"
    " owning AS (SELECT d.datdba AS role FROM pg_catalog.pg_database AS d"
    " WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()),"
    " trusted AS (SELECT role FROM ours UNION SELECT role FROM owning"
    " UNION SELECT r.oid FROM pg_catalog.pg_roles AS r"
    # This one has a single member, the owner of the database, and owns the schema public.
    " WHERE r.rolsuper OR r.rolname OPERATOR(pg_catalog.=) 'pg_database_owner')"
)
_FLAW = (
    "CASE WHEN c.relkind OPERATOR(pg_catalog.<>) 'r' THEN 'is no table'"
    " WHEN c.relrowsecurity THEN 'has row security'"
    " WHEN EXISTS (SELECT FROM pg_catalog.pg_rewrite AS r"
    " WHERE r.ev_class OPERATOR(pg_catalog.=) c.oid) THEN 'has rules'"
    " WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger AS t"
    " WHERE t.tgrelid OPERATOR(pg_catalog.=) c.oid AND NOT t.tgisinternal) THEN 'has triggers'"
    " WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits AS i"
    " WHERE i.inhparent OPERATOR(pg_catalog.=) c.oid) THEN 'has heirs' END"
)
_IS_STRANGER = "{} OPERATOR(pg_catalog.<>) ALL (SELECT role FROM trusted)"


def _asked(schema: str) -> str:
    """A query of one row if there is such a schema, an expression of text."""
    return (
        f"{_ROLES} SELECT c.oid IS NOT NULL, {_FLAW},"
        f" CASE WHEN {_IS_STRANGER.format('n.nspowner')}"
        " THEN pg_catalog.pg_get_userbyid(n.nspowner)"
        f" WHEN {_IS_STRANGER.format('c.relowner')}"
        " THEN pg_catalog.pg_get_userbyid(c.relowner) END::pg_catalog.text,"
        " EXISTS (SELECT FROM pg_catalog.pg_roles AS r"
        " WHERE r.rolname OPERATOR(pg_catalog.=) current_user AND r.rolsuper)"
        " OR EXISTS (SELECT FROM ours AS o JOIN owning AS d"
        " ON o.role OPERATOR(pg_catalog.=) d.role), current_user::pg_catalog.text"
        " FROM pg_catalog.pg_namespace AS n LEFT JOIN pg_catalog.pg_class AS c"
        " ON c.relnamespace OPERATOR(pg_catalog.=) n.oid"
        f" AND c.relname OPERATOR(pg_catalog.=) '{REGISTRY}'"
        f" WHERE n.nspname OPERATOR(pg_catalog.=) {schema}::pg_catalog.text::pg_catalog.name"
    )


PLACE = _asked("$1")
"""A query about the schema's table of queues; `place_from` reads its rows."""


class Place(NamedTuple):
    """The state of a schema of queues."""

    has_schema: bool
    has_registry: bool


def place_from(rows: list[tuple[object, ...]], schema: str, *, is_read_only: bool) -> Place:
    """Read the answer to `PLACE`. Raises QueueDefinitionError for a stranger's table.

    A worker has only the rights that its queue gives to it, and trusts the giver: where it only
    reads, a plain table may be anybody's, unless the role is a superuser or owns the database.
    """
    if not rows:
        return Place(has_schema=False, has_registry=False)
    ((has_registry, flaw, stranger, is_mighty, role),) = rows
    if flaw is not None:
        msg = (
            f'the table of queues "{schema}.{REGISTRY}" {flaw}, so it is none that create_queue '
            "has made, and nothing was read from it: drop it, or take another schema"
        )
        raise QueueDefinitionError(msg)
    if stranger is not None and (not is_read_only or (has_registry and is_mighty)):
        msg = (
            f'the queues of the schema "{schema}" belong to the role "{stranger}", whose code '
            f'could run with the rights of "{role}": it is neither that role, nor one that it is '
            "a member of, nor the owner of the database, nor a superuser. Connect as it, or "
            f"let schema and table belong to one of these: ALTER SCHEMA {quote_identifier(schema)}"
            f" OWNER TO ..., ALTER TABLE {quote_identifier(schema)}.{REGISTRY} OWNER TO ..."
        )
        raise QueueDefinitionError(msg)
    return Place(has_schema=True, has_registry=bool(has_registry))


def guard_ddl(schema: str) -> str:
    """A statement that fails if schema or table of queues are a stranger's by now."""
    asked = _asked(quote_literal(schema))
    body = f"""
DECLARE
    found pg_catalog.text := (
        SELECT coalesce(
            a.flaw, pg_catalog.format('belongs to %I, who could change it later', a.stranger)
        )
        FROM ({asked}) AS a (is_there, flaw, stranger)
        WHERE a.flaw IS NOT NULL OR a.stranger IS NOT NULL
    );
BEGIN
    IF found IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = pg_catalog.format(
                'the table of queues in the schema %I %s',
                {quote_literal(schema)}::pg_catalog.text, found
            );
    END IF;
END
"""
    return f"DO LANGUAGE plpgsql {quote_literal(body)};"
