"""The doors that a value goes in by: each copies the rows of the source into the middle table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet
import sqlalchemy as sa

import colonnade
from tests.differential.program import colonnade_program
from tests.differential.world import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.world import Subject, Tables, World


@dataclass(frozen=True)
class Way:
    """A door, and whether a numeric keeps the number of its zeros on this way."""

    run: Callable[[World, Subject, Tables], Any]
    keeps_zeros: bool = True


class NoFileError(Exception):
    """The library that writes the file of a way has no form for the type."""


def rows(world: World, tables: Tables) -> list[tuple[int, Any]]:
    """The values that are meant, as the core's rows have them."""
    found = world.subject("neutral").core.fetch(f"SELECT n, v FROM {tables.source} ORDER BY n")
    return [tuple(row) for row in found]


def dbapi_rows(world: World, tables: Tables) -> list[tuple[int, Any]]:
    """The same, as DB-API's rows have them."""
    door = world.subject("neutral").dbapi
    return door.execute(f"SELECT n, v FROM {tables.source} ORDER BY n").fetchall()


def columns(world: World, tables: Tables) -> colonnade.columns.Columns:
    """The same as columns."""
    door = world.subject("neutral").core
    return door.fetch_columns(f"SELECT n, v FROM {tables.source} ORDER BY n")


def name(table: str) -> str:
    """The name of a table without its schema."""
    return table.removeprefix(f"{SCHEMA}.")


def parameters(world: World, subject: Subject, tables: Tables) -> None:
    for row in rows(world, tables):
        subject.core.execute(f"INSERT INTO {tables.middle} VALUES ($1, $2)", *row)


def executemany(world: World, subject: Subject, tables: Tables) -> None:
    subject.core.executemany(f"INSERT INTO {tables.middle} VALUES ($1, $2)", rows(world, tables))


def list_parameter(world: World, subject: Subject, tables: Tables) -> None:
    numbers, values = zip(*rows(world, tables), strict=True)
    # `unnest` would take composites apart.
    subject.core.execute(
        f"INSERT INTO {tables.middle} SELECT n, ($2::{tables.column}[])[place]"
        " FROM pg_catalog.unnest($1::pg_catalog.int4[]) WITH ORDINALITY AS x(n, place)",
        list(numbers),
        list(values),
    )


def records(world: World, subject: Subject, tables: Tables) -> None:
    subject.core.copy_records_to_table(
        name(tables.middle), records=rows(world, tables), schema_name=SCHEMA
    )


def copy_columns(world: World, subject: Subject, tables: Tables) -> None:
    subject.core.copy_columns_to_table(
        name(tables.middle), columns(world, tables), schema_name=SCHEMA
    )


def upsert(world: World, subject: Subject, tables: Tables) -> None:
    subject.core.copy_columns_to_table(
        name(tables.middle),
        columns(world, tables),
        schema_name=SCHEMA,
        on_conflict="update",
        conflict_columns="n",
    )


def frame(convert: Callable[[colonnade.columns.Columns], Any]) -> Way:
    """A frame made of columns, by `write_table`."""

    def run(world: World, subject: Subject, tables: Tables) -> None:
        made = convert(columns(world, tables))
        colonnade.write_table(
            made, name(tables.middle), subject.core, schema_name=SCHEMA, if_exists="append"
        )

    return Way(run, keeps_zeros=False)


def dbapi(world: World, subject: Subject, tables: Tables) -> None:
    for row in dbapi_rows(world, tables):
        subject.dbapi.execute(f"INSERT INTO {tables.middle} VALUES (%s, %s)", row)


def dbapi_many(world: World, subject: Subject, tables: Tables) -> None:
    with subject.dbapi.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {tables.middle} VALUES (%s, %s)", dbapi_rows(world, tables)
        )


def sqlalchemy(world: World, subject: Subject, tables: Tables) -> None:
    statement = sa.text(f"INSERT INTO {tables.middle} VALUES (:n, :v)")
    for number, value in dbapi_rows(world, tables):
        subject.sqlalchemy.execute(statement, {"n": number, "v": value})


def sqlalchemy_many(world: World, subject: Subject, tables: Tables) -> None:
    subject.sqlalchemy.execute(
        sa.text(f"INSERT INTO {tables.middle} VALUES (:n, :v)"),
        [{"n": number, "v": value} for number, value in dbapi_rows(world, tables)],
    )


def adbc(method: str) -> Way:
    """The rows of parameters as a table, by `execute` or `executemany`."""

    def run(world: World, subject: Subject, tables: Tables) -> None:
        table = pa.table(columns(world, tables))
        with subject.adbc.cursor() as cursor:
            getattr(cursor, method)(f"INSERT INTO {tables.middle} VALUES ($1, $2)", table)

    return Way(run, keeps_zeros=False)


def adbc_ingest(world: World, subject: Subject, tables: Tables) -> None:
    table = pa.table(columns(world, tables))
    with subject.adbc.cursor() as cursor:
        cursor.adbc_ingest(name(tables.middle), table, mode="append", db_schema_name=SCHEMA)


def csv(world: World, subject: Subject, tables: Tables) -> None:
    file = world.folder / "in.csv"
    sql = f"COPY (SELECT n, v FROM {tables.source} ORDER BY n) TO STDOUT (FORMAT csv, HEADER)"
    with world.judge.cursor() as cursor, cursor.copy(sql.encode()) as lines:
        file.write_bytes(b"".join(lines))
    colonnade_program("import", file, tables.middle, "--dsn", subject.dsn)


def ndjson(world: World, subject: Subject, tables: Tables) -> None:
    file = world.folder / "in.ndjson"
    found = world.ask(f"SELECT row_to_json(s)::text FROM {tables.source} s ORDER BY n")
    file.write_text("".join(f"{line}\n" for (line,) in found), "utf-8")
    colonnade_program("import", file, tables.middle, "--dsn", subject.dsn)


def parquet(world: World, subject: Subject, tables: Tables) -> None:
    file = world.folder / "in.parquet"
    try:
        pa.parquet.write_table(pa.table(columns(world, tables)), file)
    except pa.ArrowNotImplementedError as error:
        raise NoFileError(str(error)) from error
    colonnade_program("import", file, tables.middle, "--dsn", subject.dsn)


def arrow(world: World, subject: Subject, tables: Tables) -> None:
    file = world.folder / "in.arrows"
    table = pa.table(columns(world, tables))
    with pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    colonnade_program("import", file, tables.middle, "--dsn", subject.dsn)


WAYS_IN = {
    "parameters": Way(parameters),
    "executemany": Way(executemany),
    "list parameter": Way(list_parameter),
    "COPY records": Way(records),
    "COPY columns": Way(copy_columns, keeps_zeros=False),
    "upsert": Way(upsert, keeps_zeros=False),
    "pandas": frame(lambda found: found.to_pandas(decimals="decimal")),
    "pandas nullable": frame(lambda found: found.to_pandas(decimals="decimal", dtypes="nullable")),
    "Polars": frame(lambda found: found.to_polars()),
    "Arrow": frame(lambda found: found.to_arrow()),
    "NumPy": frame(lambda found: found.to_numpy()),
    "lists": frame(lambda found: found.to_pydict()),
    "DB-API": Way(dbapi),
    "DB-API executemany": Way(dbapi_many),
    "text()": Way(sqlalchemy),
    "text() many": Way(sqlalchemy_many),
    "ADBC": adbc("execute"),
    "ADBC executemany": adbc("executemany"),
    "ADBC ingest": Way(adbc_ingest, keeps_zeros=False),
    "CSV": Way(csv),
    "NDJSON": Way(ndjson),
    "Parquet": Way(parquet, keeps_zeros=False),
    "Arrow file": Way(arrow, keeps_zeros=False),
}
