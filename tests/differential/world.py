"""The server of a differential run: its tables, its judge, and roles whose settings are hostile.

The judge is psycopg with settings of its own, and only has the server compare what it stores.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import psycopg
import sqlalchemy as sa
from psycopg import sql as composed

import colonnade.sync
from colonnade import adbc, dbapi
from samples import SAMPLES, Sample
from tests.types.test_every_type import PSEUDO_TYPES, UNORDERED, VECTORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

SCHEMA = "differential"
NEUTRAL = {
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "search_path": "public",
}
#: The defaults of the roles. A role named by one is `differential_<name>`.
SETTINGS: dict[str, dict[str, str]] = {
    "plain": {},
    "day first": {"datestyle": "SQL, DMY", "timezone": "America/St_Johns"},
    "german": {
        "datestyle": "German",
        "intervalstyle": "sql_standard",
        "timezone": "Asia/Kathmandu",
    },
    "postgres": {"datestyle": "Postgres, DMY", "intervalstyle": "postgres_verbose"},
    "year first": {"datestyle": "ISO, YMD", "intervalstyle": "iso_8601", "timezone": "<+05>-05:30"},
    "few digits": {"extra_float_digits": "0", "bytea_output": "escape"},
    "fewest digits": {"extra_float_digits": "-15", "xmloption": "document"},
    "elsewhere": {"search_path": "hostile, pg_catalog", "timezone": "Pacific/Apia"},
    "nowhere": {"search_path": "", "lc_monetary": "C", "array_nulls": "off"},
    "old strings": {
        "standard_conforming_strings": "off",
        "escape_string_warning": "off",
        "backslash_quote": "off",
        "quote_all_identifiers": "on",
    },
    "all": {
        "datestyle": "SQL, DMY",
        "intervalstyle": "sql_standard",
        "extra_float_digits": "-3",
        "bytea_output": "escape",
        "timezone": "America/Caracas",
        "search_path": "hostile, pg_catalog",
        "standard_conforming_strings": "off",
        "escape_string_warning": "off",
        "array_nulls": "off",
        "transform_null_equals": "on",
        "default_transaction_isolation": "serializable",
    },
}
#: Types of these names are found before PostgreSQL's own, and take no value.
LOOKALIKES = ("date", "text", "uuid", "jsonb", "bytea", "timestamptz", "money", "name", "int8")
#: The shapes of arrays: their number of dimensions, and their values.
ARRAYS = {
    "array": (1, "ARRAY[v, NULL, v]"),
    # Without a NULL, which is another way through encoders and decoders.
    "full array": (1, "ARRAY[v, v]"),
    "matrix": (2, "ARRAY[ARRAY[v, NULL], ARRAY[v, v]]"),
}
SHAPES = ("alone", *ARRAYS, "domain", "composite", "range")


@dataclass(frozen=True)
class Tables:
    """Tables of one column `v` beside the key `n`: the values meant, put in, and got back."""

    number: int
    column: str
    dimensions: int
    source: str
    middle: str
    end: str


class Subject:
    """The connections of one role, a door each, opened when they are first used."""

    def __init__(self, dsn: str, doors: contextlib.ExitStack) -> None:
        self.dsn = dsn
        self._doors = doors

    @cached_property
    def core(self) -> colonnade.sync.Connection:
        return self._doors.enter_context(colonnade.sync.connect(self.dsn))

    @cached_property
    def dbapi(self) -> dbapi.Connection:
        made = dbapi.connect(self.dsn, autocommit=True)
        self._doors.callback(made.close)
        return made

    @cached_property
    def adbc(self) -> Any:
        return self._doors.enter_context(adbc.connect(self.dsn, autocommit=True))

    @cached_property
    def sqlalchemy(self) -> sa.Connection:
        address = self.dsn.replace("postgresql:", "postgresql+colonnade:", 1)
        engine = sa.create_engine(address, isolation_level="AUTOCOMMIT")
        self._doors.callback(engine.dispose)
        return self._doors.enter_context(engine.connect())


class World:
    """A schema of its own on the server, the judge, and a subject for each role."""

    def __init__(self, dsn: str, folder: Path) -> None:
        self.folder = folder
        self._dsn = dsn
        self._doors = contextlib.ExitStack()
        self._subjects: dict[str, Subject] = {}
        self._tables: dict[tuple[str, str], Tables] = {}
        options = " ".join(
            f"-c {name}={text.replace(' ', chr(92) + ' ')}" for name, text in NEUTRAL.items()
        )
        self.judge = psycopg.connect(dsn, autocommit=True, options=options)
        self.samples: dict[str, tuple[Sample, tuple[str, ...]]] = {}

    def __enter__(self) -> Self:
        self._doors.enter_context(self.judge)
        self._forget()
        self._doors.callback(self._forget)
        self.ask(f"CREATE SCHEMA {SCHEMA}; CREATE SCHEMA hostile")
        for name in LOOKALIKES:
            self.ask(f"CREATE DOMAIN hostile.{name} AS pg_catalog.{name} CHECK (false)")
        for name, settings in {**SETTINGS, "neutral": NEUTRAL}.items():
            role = composed.Identifier(f"differential_{name}")
            self.judge.execute(composed.SQL("CREATE ROLE {} LOGIN SUPERUSER").format(role))
            for setting, text in settings.items():
                value = (
                    composed.SQL("''")
                    if text == ""
                    else composed.SQL(text if setting == "search_path" else "{}").format(text)
                )
                self.judge.execute(
                    composed.SQL("ALTER ROLE {} SET {} = {}").format(
                        role, composed.Identifier(setting), value
                    )
                )
        for sample in SAMPLES:
            if sample.base not in PSEUDO_TYPES:
                edges = tuple(self._accepted(sample))
                if edges:
                    self.samples[sample.sql_type] = sample, edges
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        self._doors.close()

    def _forget(self) -> None:
        """Drop what an earlier run, or this one, has made."""
        self._subjects.clear()
        self.ask(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; DROP SCHEMA IF EXISTS hostile CASCADE")
        for (name,) in self.ask(
            "SELECT rolname FROM pg_roles WHERE rolname LIKE 'differential\\_%%'"
        ):
            self.judge.execute(composed.SQL("DROP ROLE {}").format(composed.Identifier(name)))

    def _accepted(self, sample: Sample) -> Iterator[str]:
        """The texts of a sample that this server accepts."""
        edges = sample.values + sample.rows_refuse + sample.columns_refuse + sample.both_refuse
        for text in edges:
            with contextlib.suppress(psycopg.Error):
                self.ask(f"SELECT %s::{sample.sql_type}", text)
                yield text

    def ask(self, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
        """Ask the judge."""
        with self.judge.cursor() as cursor:
            cursor.execute(statement.encode(), arguments or None)
            return cursor.fetchall() if cursor.description else []

    def subject(self, role: str) -> Subject:
        """The connections of a role: `SETTINGS` lists them; "neutral" has the judge's settings."""
        found = self._subjects.get(role)
        if found is None:
            dsn = psycopg.conninfo.make_conninfo(self._dsn)
            parts = psycopg.conninfo.conninfo_to_dict(dsn)
            user = f"differential_{role}".replace(" ", "%20")
            address = f"postgresql://{user}@{parts['host']}:{parts['port']}/{parts['dbname']}"
            found = self._subjects[role] = Subject(address, self._doors)
        return found

    def tables(self, sql_type: str, shape: str) -> Tables:
        """The tables of a type in a shape, made when they are first used."""
        known = self._tables.get((sql_type, shape))
        if known is not None:
            return known
        number = len(self._tables)
        made = f"{SCHEMA}.made_{number}"
        base = self.samples[sql_type][0].base
        column, dimensions = made, 0
        if shape == "alone":
            column = sql_type
        elif shape in ARRAYS:
            column, dimensions = f"{sql_type}[]", ARRAYS[shape][0]
        elif shape == "domain":
            self.ask(f"CREATE DOMAIN {made} AS {sql_type}")
        elif shape == "composite":
            self.ask(f"CREATE TYPE {made} AS (a {sql_type}, b int4)")
        else:
            self.ask(f"CREATE TYPE {made} AS RANGE (subtype = {base})")
        names = [f"{SCHEMA}.{part}_{number}" for part in ("source", "middle", "end")]
        for name in names:
            self.ask(f"CREATE TABLE {name} (n int4 PRIMARY KEY, v {column})")
        known = self._tables[sql_type, shape] = Tables(number, column, dimensions, *names)
        return known

    def shapes(self, sql_type: str) -> list[str]:
        """The shapes in which a type can stand."""
        base = self.samples[sql_type][0].base
        left_out = set(ARRAYS) if base in VECTORS else set()
        if base in UNORDERED or base != sql_type:
            left_out.add("range")
        return [shape for shape in SHAPES if shape not in left_out]

    def fill(self, tables: Tables, sql_type: str, shape: str, texts: Sequence[str | None]) -> None:
        """Let the server make the values that are meant, and empty the other tables."""
        value = {
            **{name: f"{text}::{sql_type}[]" for name, (_, text) in ARRAYS.items()},
            "composite": f"CASE WHEN v IS NOT NULL THEN ROW(v, n)::{tables.column} END",
            "range": f"{tables.column}(v, v, '[]')",
        }.get(shape, "v")
        self.ask(
            f"DELETE FROM {tables.source}; DELETE FROM {tables.middle}; DELETE FROM {tables.end}"
        )
        self.ask(
            f"INSERT INTO {tables.source} SELECT n, {value} FROM (SELECT n, e::{sql_type} AS v"
            " FROM jsonb_array_elements_text(%s) WITH ORDINALITY x(e, n)) s",
            json.dumps(texts),
        )

    def differing(self, left: str, right: str, *, exact: bool) -> list[tuple[int, str, str]]:
        """The numbers and texts of the rows that two tables do not have alike."""
        same = "record_image_eq(ROW(a.v), ROW(b.v))" if exact else "a.v IS NOT DISTINCT FROM b.v"
        return [
            (number, str(one), str(other))
            for number, one, other in self.ask(
                "SELECT coalesce(a.n, b.n), CASE WHEN a.n IS NULL THEN 'no row' ELSE"
                " coalesce(a.v::text, 'NULL') END,"
                " CASE WHEN b.n IS NULL THEN 'no row' ELSE coalesce(b.v::text, 'NULL') END"
                f" FROM {left} a FULL JOIN {right} b USING (n)"
                f" WHERE a.n IS NULL OR b.n IS NULL OR NOT ({same})"
            )
        ]
