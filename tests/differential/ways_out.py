"""The doors that a value comes back by.

Each reads the middle table as the subject, and what it gives is written to the end table in a way
that the settings of the subject do not reach: by a connection with neutral settings, or, where it
is text, by the judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet
import sqlalchemy as sa

import colonnade
from colonnade import parallel as parallel_reads
from tests.differential.program import colonnade_program
from tests.differential.structs import through_structs
from tests.differential.ways_in import Way, name
from tests.differential.world import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tests.differential.world import Subject, Tables, World


def query(tables: Tables) -> str:
    return f"SELECT n, v FROM {tables.middle} ORDER BY n"


def keep_objects(world: World, tables: Tables, found: Iterable[Iterable[Any]]) -> None:
    world.subject("neutral").core.executemany(
        f"INSERT INTO {tables.end} VALUES ($1, $2)", [tuple(row) for row in found]
    )


def keep_dbapi_objects(world: World, tables: Tables, found: Iterable[Sequence[Any]]) -> None:
    for row in found:
        door = world.subject("neutral").dbapi
        door.execute(f"INSERT INTO {tables.end} VALUES (%s, %s)", tuple(row))


def keep_columns(world: World, tables: Tables, found: Any) -> None:
    world.subject("neutral").core.copy_columns_to_table(name(tables.end), found, schema_name=SCHEMA)


def keep_texts(world: World, tables: Tables, found: Iterable[tuple[int, str | None]]) -> None:
    for number, text in found:
        world.ask(f"INSERT INTO {tables.end} VALUES (%s, %s::text::{tables.column})", number, text)


def rows(world: World, subject: Subject, tables: Tables) -> None:
    keep_objects(world, tables, subject.core.fetch(query(tables)))


def prepared(world: World, subject: Subject, tables: Tables) -> None:
    keep_objects(world, tables, subject.core.prepare(query(tables)).fetch())


def dbapi(world: World, subject: Subject, tables: Tables) -> None:
    keep_dbapi_objects(world, tables, subject.dbapi.execute(query(tables)).fetchall())


def sqlalchemy(world: World, subject: Subject, tables: Tables) -> None:
    keep_dbapi_objects(
        world, tables, map(tuple, subject.sqlalchemy.execute(sa.text(query(tables))))
    )


def columns(convert: Callable[[colonnade.columns.Columns], Any]) -> Way:
    def run(world: World, subject: Subject, tables: Tables) -> None:
        keep_columns(world, tables, convert(subject.core.fetch_columns(query(tables))))

    return Way(run, keeps_zeros=False)


def stream(world: World, subject: Subject, tables: Tables) -> None:
    with subject.core.iter_columns(query(tables), batch_rows=3) as batches:
        for batch in batches:
            keep_columns(world, tables, batch)


def frame(**options: Any) -> Way:
    def run(world: World, subject: Subject, tables: Tables) -> None:
        keep_columns(world, tables, colonnade.read_sql(query(tables), subject.core, **options))

    return Way(run, keeps_zeros=False)


def parallel(world: World, subject: Subject, tables: Tables) -> None:
    found = parallel_reads.sync.read(query(tables), subject.dsn, parts=2, partition_by="n")
    keep_columns(world, tables, found)


def by_value(world: World, subject: Subject, tables: Tables) -> None:
    """As `parallel`, cut by the value itself."""
    with parallel_reads.sync.plan(query(tables), subject.dsn, parts=3, partition_by="v") as plan:
        for part in plan:
            # The worker has other settings than the planner.
            keep_columns(world, tables, part.read_on(world.subject("neutral").core))


def adbc(world: World, subject: Subject, tables: Tables) -> None:
    with subject.adbc.cursor() as cursor:
        cursor.execute(query(tables))
        keep_columns(world, tables, cursor.fetch_arrow_table())


def text_columns(world: World, subject: Subject, tables: Tables) -> None:
    found = subject.core.fetch_columns(query(tables), schema={"v": "utf8"}).to_arrow()
    keep_texts(world, tables, zip(*(column.to_pylist() for column in found.columns), strict=True))


def csv(world: World, subject: Subject, tables: Tables) -> None:
    file = world.folder / "out.csv"
    colonnade_program("export", query(tables), "-o", file, "--overwrite", "--dsn", subject.dsn)
    sql = f"COPY {tables.end} FROM STDIN (FORMAT csv, HEADER)"
    with world.judge.cursor() as cursor, cursor.copy(sql.encode()) as sent:
        sent.write(file.read_bytes())


def elements(value: str, dimensions: int) -> str:
    """SQL for an array of JSON from an array in JSON; NULL for JSON's null."""
    made, each = value, f"e{dimensions}"
    if dimensions:
        made = (
            f"ARRAY(SELECT {elements(each, dimensions - 1)} FROM json_array_elements({value})"
            f" WITH ORDINALITY AS x{dimensions}({each}, place) ORDER BY x{dimensions}.place)"
        )
    return f"CASE WHEN json_typeof({value}) <> 'null' THEN {made} END"


def ndjson(world: World, subject: Subject, tables: Tables) -> None:
    file = world.folder / "out.ndjson"
    colonnade_program("export", query(tables), "-o", file, "--overwrite", "--dsn", subject.dsn)
    # `json_populate_record` would take JSON's arrays in an array for its dimensions.
    is_json = tables.column in {"json[]", "jsonb[]"}
    value = (
        elements("(o->'v')", tables.dimensions) + f"::{tables.column}"
        if is_json
        else f"(json_populate_record(NULL::{tables.end}, o)).v"
    )
    for line in file.read_text("utf-8").split("\n"):
        if line:
            world.ask(
                f"INSERT INTO {tables.end} SELECT (o->>'n')::int4, {value}"
                " FROM (SELECT %s::json AS o) AS line",
                line,
            )


def parquet(world: World, subject: Subject, tables: Tables) -> None:
    file = world.folder / "out.parquet"
    colonnade_program("export", query(tables), "-o", file, "--overwrite", "--dsn", subject.dsn)
    keep_columns(world, tables, pa.parquet.read_table(file))


def feather(world: World, subject: Subject, tables: Tables) -> None:
    file = world.folder / "out.arrow"
    colonnade_program("export", query(tables), "-o", file, "--overwrite", "--dsn", subject.dsn)
    with pa.ipc.open_file(file) as found:
        keep_columns(world, tables, found.read_all())


def printed(world: World, subject: Subject, tables: Tables) -> None:
    """The output of `colonnade query` into a pipe."""
    file = world.folder / "printed.csv"
    file.unlink(missing_ok=True)
    colonnade_program("query", query(tables), "-o", file, "--dsn", subject.dsn)
    sql = f"COPY {tables.end} FROM STDIN (FORMAT csv, HEADER)"
    with world.judge.cursor() as cursor, cursor.copy(sql.encode()) as sent:
        sent.write(file.read_bytes())


def structs(world: World, subject: Subject, tables: Tables) -> None:
    keep_objects(world, tables, through_structs(subject.core, query(tables), tables.column))


WAYS_OUT = {
    "rows": Way(rows),
    "prepared": Way(prepared),
    "DB-API": Way(dbapi),
    "text()": Way(sqlalchemy),
    "columns": columns(lambda found: found),
    "columns as lists": columns(lambda found: found.to_pydict()),
    "columns as NumPy": columns(lambda found: found.to_numpy()),
    "iter_columns": Way(stream, keeps_zeros=False),
    "pandas": frame(decimals="decimal"),
    "pandas nullable": frame(decimals="decimal", dtypes="nullable"),
    "pandas of Arrow": frame(decimals="decimal", dtypes="arrow"),
    "Polars": frame(into="polars"),
    "Arrow": frame(into="arrow"),
    "parallel": Way(parallel, keeps_zeros=False),
    "parallel by value": Way(by_value, keeps_zeros=False),
    "ADBC": Way(adbc, keeps_zeros=False),
    "as utf8": Way(text_columns),
    "CSV": Way(csv),
    "query": Way(printed),
    "NDJSON": Way(ndjson),
    "Parquet": Way(parquet, keeps_zeros=False),
    "Arrow file": Way(feather, keeps_zeros=False),
    "structs": Way(structs),
}
