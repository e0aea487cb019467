"""Arrays and composites as JSON from the server, for formats without nested types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import colonnade
from colonnade._driver.sql.quoting import quote_identifier
from colonnade.cli.failures import CommandError
from colonnade.cli.statement import Prepared, Query

if TYPE_CHECKING:
    from colonnade import Attribute

# `to_json` prints floats, intervals and bytes by these settings. They end with the statement, which
# is a transaction of its own.
_SETTINGS = """(
    SELECT pg_catalog.set_config('extra_float_digits', '1', true),
        pg_catalog.set_config('intervalstyle', 'postgres', true),
        pg_catalog.set_config('bytea_output', 'hex', true)
) AS settings"""
_PARTED = {"array", "composite"}


def with_json_of_parts(prepared: Prepared) -> Prepared:
    """Wrap the statement so that the server returns arrays and composites as JSON.

    Raises CommandError if the statement cannot be wrapped.
    """
    attributes = prepared.attributes
    parted = [attribute for attribute in attributes if _has_parts(attribute)]
    if not parted:
        return prepared
    places = [f"column_{number}" for number in range(1, len(attributes) + 1)]
    values = ", ".join(
        f"pg_catalog.to_json({place}) AS {quote_identifier(attribute.name)}"
        if _has_parts(attribute)
        else f"{place} AS {quote_identifier(attribute.name)}"
        for attribute, place in zip(attributes, places, strict=True)
    )
    query = prepared.query
    names = f"query ({', '.join(places)})"
    # INSERT, UPDATE and DELETE can be wrapped only in WITH. A SELECT is wrapped in FROM instead,
    # because WITH may materialize the whole result before the first row.
    sql = (
        f"SELECT {values} FROM {_SETTINGS} CROSS JOIN ({query.sql}\n) AS {names}"
        if query.is_selection
        else f"WITH {names} AS ({query.sql}\n) SELECT {values} FROM {_SETTINGS} CROSS JOIN query"
    )
    try:
        made = Prepared(prepared.connection, Query(sql, query.args))
    except colonnade.PostgresError as error:
        raise CommandError(
            f'the column "{parted[0].name}" has arrays or composites, and this statement cannot be '
            "wrapped to convert them to JSON",
            "call to_json(...) in the statement",
        ) from error
    made.ask_planner()
    return made


def _has_parts(attribute: Attribute) -> bool:
    return attribute.type.kind in _PARTED or attribute.type.name == "record"
