"""A query's result, copied into a table through each library, is unchanged.

This holds for every type, its arrays, domains over it and composites with it; the server compares.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from colonnade.errors import DecodeError, EncodeError, InterfaceWarning
from samples import EXTENSIONS, FOREIGN, SAMPLES, Sample
from tests.types import oracle
from tests.types.test_every_type import (
    PSEUDO_TYPES,
    VECTORS,
    create_extension,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.columns import Columns
    from colonnade.sync import Connection

NUMBERS = itertools.count(1)
COLUMNS = ("alone", "in_domain", "in_array", "in_composite")
SCALARS = {"alone", "in_domain"}
LIBRARIES: dict[str, Callable[[Columns], Any]] = {
    "none": lambda columns: columns,
    "pyarrow": lambda columns: columns.to_arrow(),
    "Polars": lambda columns: columns.to_polars(),
    "pandas": lambda columns: columns.to_pandas(decimals="decimal"),
}
#: The columns that do not come back, by library and type, as listed in docs/data/copy.md.
NOT_HELD: dict[tuple[str, str], set[str]] = {
    # Text, with a warning: Polars' decimals and durations cannot hold these values.
    ("Polars", "numeric(39,0)"): set(COLUMNS),
    ("Polars", "numeric(76,38)"): set(COLUMNS),
    ("Polars", "interval"): set(COLUMNS),
    # In a column of floats, NaN stands for NULL.
    ("pandas", "float4"): SCALARS,
    ("pandas", "float8"): SCALARS,
    # Objects of Python's timedelta.
    ("pandas", "interval"): SCALARS,
}
WITH_EXTENSIONS = [
    *(("", sample) for sample in SAMPLES if sample.base not in PSEUDO_TYPES),
    *EXTENSIONS.values(),
    *(
        (extension, Sample(name, arrow, texts))
        for name, (extension, arrow, texts) in FOREIGN.items()
    ),
]


@pytest.fixture
def made(link: Connection) -> Iterator[str]:
    link.execute("BEGIN")
    yield f"round_trip_{next(NUMBERS)}"
    link.execute("ROLLBACK")


def make_table(link: Connection, made: str, sample: Sample) -> None:
    """Create a table of the sample's numbered values, and an empty one of the same form."""
    kind, base = sample.sql_type, sample.base
    link.execute(f"CREATE DOMAIN {made}_domain AS {kind}")
    link.execute(f"CREATE TYPE {made}_pair AS (a {kind}, b int4)")
    lists = "NULL" if base in VECTORS else f"ARRAY[v, NULL, v]::{base}[]"
    types = (kind, f"{made}_domain", f"{base}[]", f"{made}_pair")
    columns = ", ".join(f"{name} {of}" for name, of in zip(COLUMNS, types, strict=True))
    link.execute(f"CREATE TABLE {made} (n int4, {columns}); CREATE TABLE {made}_copy (LIKE {made})")
    link.execute(
        f"INSERT INTO {made} SELECT n, v, v, {lists}, ROW(v, 7)::{made}_pair FROM (SELECT"
        f" e::{kind} AS v, n FROM jsonb_array_elements_text($1) WITH ORDINALITY x(e, n)) s",
        oracle.json_texts([*sample.in_columns, None]),
    )


def differences(link: Connection, made: str, column: str, sample: Sample) -> int | None:
    """The number of rows that differ between table and copy, compared to the last bit."""
    same = f"record_image_eq(ROW(a.{column}), ROW(b.{column}))"
    if sample.sql_type == "numeric":
        # All values of a decimal column have the same scale.
        same = f"a.{column} IS NOT DISTINCT FROM b.{column}"
    count: int | None = link.fetchval(
        f"SELECT count(*) FROM {made} a FULL JOIN {made}_copy b USING (n) WHERE NOT {same}"
    )
    return count


def copy(link: Connection, library: str, made: str, column: str) -> str:
    columns = link.fetch_columns(f"SELECT n, {column} FROM {made}")
    return link.copy_columns_to_table(f"{made}_copy", LIBRARIES[library](columns))


def test_every_exception_is_a_case() -> None:
    names = {sample.sql_type for _, sample in WITH_EXTENSIONS}
    assert {(library, name) for library in LIBRARIES for name in names} >= NOT_HELD.keys()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("extension", "sample"), WITH_EXTENSIONS, ids=[sample.sql_type for _, sample in WITH_EXTENSIONS]
)
def test_round_trip(
    request: pytest.FixtureRequest, made: str, library: str, extension: str, sample: Sample
) -> None:
    link: Connection = request.getfixturevalue("link")
    if sample.sql_type == "xml" and not request.getfixturevalue("has_xml"):
        pytest.skip("this server was built without XML")
    if extension:
        create_extension(link, extension)
    make_table(link, made, sample)
    changed: dict[str, object] = {}
    for column in COLUMNS:
        link.execute("SAVEPOINT before")
        try:
            copy(link, library, made, column)
            changed[column] = differences(link, made, column, sample)
        except (DecodeError, EncodeError, InterfaceWarning) as error:
            changed[column] = error
        link.execute("ROLLBACK TO before")
    held = {column: 0 for column in COLUMNS if changed[column] == 0}
    expected = NOT_HELD.get((library, sample.sql_type), set())
    assert held.keys() == set(COLUMNS) - expected, changed
