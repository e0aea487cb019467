"""The differences that are accepted; docs/moving/compatibility.md prints this table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.differential.world import SETTINGS

if TYPE_CHECKING:
    from tests.differential.run import Fault


@dataclass(frozen=True)
class Accepted:
    """Values that change on some ways, and why."""

    types: tuple[str, ...]
    doors: tuple[str, ...]
    values: str
    """A regular expression that finds something in the text of such a value."""
    words: str
    """A description of these values, for the page."""
    change: str
    reason: str
    setting: str = ""
    """Only for roles that have this setting."""


#: The doors of rows, whose interval is Python's.
ROWS = (
    *("parameters", "executemany", "list parameter", "COPY records", "DB-API"),
    *("DB-API executemany", "text()", "text() many", "rows", "prepared"),
)
PANDAS = ("pandas", "pandas nullable")
COLUMNS_OF_PYTHON = ("columns as lists", "columns as NumPy", "lists", "NumPy")

ACCEPTED = (
    Accepted(
        ("interval",),
        (*ROWS, *PANDAS, "pandas of Arrow", "Polars", *COLUMNS_OF_PYTHON),
        r"mon|year|day|\d{2,}:|-|\+",
        "with months, or with hours beside days",
        "days and seconds",
        "a duration of Python or Polars has no months, and no hours beside days",
    ),
    Accepted(
        ("float4", "float8"),
        PANDAS,
        "NaN",
        "NaN",
        "NULL",
        "pandas has one value for both",
    ),
    Accepted(
        ("float4", "float8"),
        ("columns as NumPy", "NumPy"),
        "NaN",
        "NaN",
        "NULL",
        "NumPy has no other missing value; `nan_as_null=False` keeps it",
    ),
    Accepted(
        (),
        (),
        "NULL",
        "NULL within an array, in a session with `array_nulls = off`",
        "the text NULL",
        "PostgreSQL takes NULL for a text there, in the text of an array: in CSV, in lists of"
        " strings in `dbapi`, in types without a binary form",
        setting="array_nulls",
    ),
    Accepted(
        (
            *("regclass", "regcollation", "regconfig", "regdictionary", "regoper", "regoperator"),
            *("regproc", "regprocedure", "regtype"),
        ),
        (),
        "",
        "names, in sessions whose `search_path` finds other objects by them",
        "the other object",
        "they are text, as with psycopg and asyncpg, and PostgreSQL prints and reads names by"
        " `search_path`",
        setting="search_path",
    ),
    Accepted(
        ("float4", "float8", "point", "line", "lseg", "box", "circle"),
        ("columns as NumPy", "NumPy"),
        "NULL",
        "NULL within an array",
        "NaN",
        "an array of floats has no other missing value",
    ),
    Accepted(
        ("int2vector", "oidvector"),
        ("NDJSON",),
        "",
        "all",
        "an array that is no vector",
        "PostgreSQL's own `json_populate_record` makes it",
    ),
    Accepted(
        ("json", "jsonb"),
        ("NDJSON",),
        "null",
        "JSON's null, alone or as a part",
        "NULL",
        "JSON has one null for both",
    ),
    Accepted(
        ("json",),
        ("NDJSON",),
        r"\\",
        "strings with escapes",
        "the same string with PostgreSQL's escapes",
        "PostgreSQL's own `json_populate_record` prints a string of JSON anew",
    ),
)


#: PostgreSQL's own `json_populate_record` checks a domain by the binary input function of its base
#: type, and refuses one whose type has none.
REFUSED = {("aclitem", "domain"): {"NDJSON"}}


def never_right(sql_type: str, shape: str) -> set[str]:
    """The ways that change or refuse every value, so that nothing can be compared after them."""
    changed = {
        door
        for known in ACCEPTED
        if sql_type in known.types and not known.values
        for door in known.doors
    }
    return changed | REFUSED.get((sql_type, shape), set())


def accepted(fault: Fault) -> str | None:
    """The reason why a difference is accepted."""
    base, _, _, door = fault.key
    for known in ACCEPTED:
        fits = not known.types or base in known.types
        if (
            fits
            and (not known.doors or door in known.doors)
            and (not known.setting or known.setting in SETTINGS[fault.case.role])
            and re.search(known.values, fault.meant)
        ):
            return known.reason
    return None
