"""ADBC's methods of a connection: its catalogs, schemas, tables and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from colonnade import __version__
from colonnade._driver.sql.quoting import quote_identifier, whole_on
from colonnade._pep249.errors import ProgrammingError
from colonnade._words.shown import shown
from colonnade.dbapi._arrow import schema_of
from colonnade.dbapi._objects import objects_reader

if TYPE_CHECKING:
    import pyarrow as pa

    from colonnade.dbapi._shared import Shared

__all__ = ["CatalogMixin"]

_KINDS = {
    "r": "table",
    "v": "view",
    "m": "materialized_view",
    "f": "foreign_table",
    "p": "partitioned_table",
    "t": "toast_table",
}
_DEPTHS = {"all": 4, "columns": 4, "tables": 3, "db_schemas": 2, "catalogs": 1}

_CATALOGS = """
SELECT datname::pg_catalog.text FROM pg_catalog.pg_database
WHERE datname OPERATOR(pg_catalog.~~) $1::pg_catalog.text ORDER BY 1
"""

_SCHEMAS = """
SELECT nspname::pg_catalog.text FROM pg_catalog.pg_namespace
WHERE nspname OPERATOR(pg_catalog.!~) '^pg_'
  AND nspname OPERATOR(pg_catalog.<>) 'information_schema'
  AND nspname OPERATOR(pg_catalog.~~) $1::pg_catalog.text ORDER BY 1
"""

_TABLES = """
SELECT n.nspname::pg_catalog.text, c.relname::pg_catalog.text, c.relkind::pg_catalog.text, c.oid
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE n.nspname OPERATOR(pg_catalog.!~) '^pg_'
  AND n.nspname OPERATOR(pg_catalog.<>) 'information_schema'
  AND n.nspname OPERATOR(pg_catalog.~~) $1::pg_catalog.text
  AND c.relname OPERATOR(pg_catalog.~~) $2::pg_catalog.text
  AND c.relkind OPERATOR(pg_catalog.=) ANY ($3::pg_catalog."char"[]) ORDER BY 1, 2
"""

_COLUMNS = """
SELECT a.attrelid, a.attname::pg_catalog.text, a.attnum,
  pg_catalog.col_description(a.attrelid, a.attnum), pg_catalog.format_type(a.atttypid, a.atttypmod),
  a.attnotnull, pg_catalog.pg_get_expr(d.adbin, d.adrelid),
  a.attidentity OPERATOR(pg_catalog.<>) '', a.attgenerated OPERATOR(pg_catalog.<>) ''
FROM pg_catalog.pg_attribute a
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid OPERATOR(pg_catalog.=) a.attrelid
  AND d.adnum OPERATOR(pg_catalog.=) a.attnum
WHERE a.attrelid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[])
  AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
  AND a.attname OPERATOR(pg_catalog.~~) $2::pg_catalog.text
ORDER BY 1, 3
"""

_CONSTRAINTS = """
SELECT c.conrelid, c.conname::pg_catalog.text, c.contype::pg_catalog.text,
  ARRAY (SELECT a.attname::pg_catalog.text
    FROM pg_catalog.unnest(c.conkey) WITH ORDINALITY k (number, place)
    JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.conrelid
      AND a.attnum OPERATOR(pg_catalog.=) k.number
    ORDER BY k.place),
  n.nspname::pg_catalog.text, f.relname::pg_catalog.text,
  ARRAY (SELECT a.attname::pg_catalog.text
    FROM pg_catalog.unnest(c.confkey) WITH ORDINALITY k (number, place)
    JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.confrelid
      AND a.attnum OPERATOR(pg_catalog.=) k.number
    ORDER BY k.place)
FROM pg_catalog.pg_constraint c
LEFT JOIN pg_catalog.pg_class f ON f.oid OPERATOR(pg_catalog.=) c.confrelid
LEFT JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) f.relnamespace
WHERE c.conrelid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[])
  AND c.contype OPERATOR(pg_catalog.=) ANY (ARRAY['c', 'f', 'p', 'u']::pg_catalog."char"[])
ORDER BY 1, 2
"""


class CatalogMixin:
    """ADBC's metadata methods of a connection."""

    _shared: Shared

    def adbc_get_info(self) -> dict[str, Any]:
        """Return the names and versions of the server and the driver, by ADBC's keys."""
        version = self._shared.driver.get_server_version()
        return {
            "vendor_name": "PostgreSQL",
            "vendor_version": f"{version.major}.{version.micro}",
            "driver_name": "Colonnade",
            "driver_version": __version__,
        }

    def adbc_get_table_types(self) -> list[str]:
        """Return the table types that `table_types_filter` of `adbc_get_objects` accepts."""
        return list(_KINDS.values())

    def adbc_get_table_schema(
        self,
        table_name: str,
        *,
        catalog_filter: str | None = None,
        db_schema_filter: str | None = None,
    ) -> pa.Schema:
        """Return the Arrow schema of a table.

        Without `db_schema_filter` the search path decides which table the name means. Raises
        ProgrammingError if the table does not exist, or if `catalog_filter` is not the
        connection's database.
        """
        if catalog_filter is not None and catalog_filter != self._shared.driver.database:
            raise ProgrammingError(
                f"the connection sees only the database {self._shared.driver.database!r}: "
                "leave catalog_filter out"
            )
        names = [table_name] if db_schema_filter is None else [db_schema_filter, table_name]
        with self._shared.guard:
            self._shared.check_open()
            target = ".".join(map(quote_identifier, whole_on(self._shared.driver, *names)))
            self._shared.begin()
            return schema_of(self._shared.driver.fetch_columns(f"SELECT * FROM {target} LIMIT 0"))

    def adbc_get_objects(
        self,
        *,
        depth: Literal["all", "catalogs", "db_schemas", "tables", "columns"] = "all",
        catalog_filter: str | None = None,
        db_schema_filter: str | None = None,
        table_name_filter: str | None = None,
        table_types_filter: list[str] | None = None,
        column_name_filter: str | None = None,
    ) -> pa.RecordBatchReader:
        """Return the databases and their objects, in the schema of ADBC's GetObjects.

        Schemas, tables, columns and constraints are listed for the connection's own database only,
        down to `depth`. The name filters are LIKE patterns; `table_types_filter` lists types as
        `adbc_get_table_types` names them. PostgreSQL's own schemas are left out. Raises
        ProgrammingError for an unknown `depth`.
        """
        if depth not in _DEPTHS:
            raise ProgrammingError(f"depth must be one of {', '.join(_DEPTHS)}, not {shown(depth)}")
        kinds = [
            letter
            for letter, kind in _KINDS.items()
            if table_types_filter is None or kind in table_types_filter
        ]
        level = _DEPTHS[depth]
        with self._shared.guard:
            self._shared.check_open()
            self._shared.begin()
            catalogs = [
                row[0] for row in self._shared.driver.fetch_plain(_CATALOGS, catalog_filter or "%")
            ]
            schemas: list[dict[str, Any]] | None = None
            if level > 1 and self._shared.driver.database in catalogs:
                schemas = self._schemas(level, db_schema_filter or "%")
            if level > 2 and schemas is not None:  # noqa: PLR2004 - the levels of _DEPTHS
                tables = (table_name_filter or "%", kinds)
                self._add_tables(level, schemas, db_schema_filter or "%", tables)
                if level > 3:  # noqa: PLR2004
                    self._add_columns(schemas, column_name_filter or "%")
        here = self._shared.driver.database
        rows = [
            {
                "catalog_name": name,
                "catalog_db_schemas": None if level == 1 else schemas if name == here else [],
            }
            for name in catalogs
        ]
        return objects_reader(rows)

    def _schemas(self, level: int, schema: str) -> list[dict[str, Any]]:
        rows = self._shared.driver.fetch_plain(_SCHEMAS, schema)
        has_tables = level > 2  # noqa: PLR2004
        return [
            {"db_schema_name": row[0], "db_schema_tables": [] if has_tables else None}
            for row in rows
        ]

    def _add_tables(
        self, level: int, schemas: list[dict[str, Any]], schema: str, tables: tuple[str, list[str]]
    ) -> None:
        table, kinds = tables
        by_name = {each["db_schema_name"]: each["db_schema_tables"] for each in schemas}
        letters = [kind.encode() for kind in kinds]
        for namespace, name, kind, oid in self._shared.driver.fetch_plain(
            _TABLES, schema, table, letters
        ):
            has_columns = level > 3  # noqa: PLR2004
            by_name[namespace].append(
                {
                    "table_name": name,
                    "table_type": _KINDS[kind],
                    "table_columns": [] if has_columns else None,
                    "table_constraints": [] if has_columns else None,
                    "oid": oid,
                }
            )

    def _add_columns(self, schemas: list[dict[str, Any]], column: str) -> None:
        tables = {table["oid"]: table for each in schemas for table in each["db_schema_tables"]}
        oids = list(tables)
        for row in self._shared.driver.fetch_plain(_COLUMNS, oids, column):
            tables[row[0]]["table_columns"].append(_column(row))
        for row in self._shared.driver.fetch_plain(_CONSTRAINTS, oids):
            tables[row[0]]["table_constraints"].append(
                _constraint(self._shared.driver.database, row)
            )


def _column(row: tuple[Any, ...]) -> dict[str, Any]:
    _oid, name, number, remarks, type_name, is_not_null, default, is_identity, is_generated = row
    return {
        "column_name": name,
        "ordinal_position": number,
        "remarks": remarks,
        "xdbc_type_name": type_name,
        "xdbc_nullable": 0 if is_not_null else 1,
        "xdbc_column_def": None if is_generated else default,
        "xdbc_is_nullable": "NO" if is_not_null else "YES",
        "xdbc_is_autoincrement": is_identity or (default or "").startswith("nextval("),
        "xdbc_is_generatedcolumn": is_generated,
    }


_CONSTRAINT_TYPES = {"c": "CHECK", "f": "FOREIGN KEY", "p": "PRIMARY KEY", "u": "UNIQUE"}


def _constraint(database: str, row: tuple[Any, ...]) -> dict[str, Any]:
    _oid, name, kind, columns, schema, table, referred = row
    usage = [
        {
            "fk_catalog": database,
            "fk_db_schema": schema,
            "fk_table": table,
            "fk_column_name": column,
        }
        for column in referred
    ]
    return {
        "constraint_name": name,
        "constraint_type": _CONSTRAINT_TYPES[kind],
        "constraint_column_names": columns,
        "constraint_column_usage": usage if kind == "f" else [],
    }
