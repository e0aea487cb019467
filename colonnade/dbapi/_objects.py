"""The Arrow schema of ADBC's GetObjects: the catalogs, schemas, tables and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMN = (
    ("column_name", "utf8"),
    ("ordinal_position", "int32"),
    ("remarks", "utf8"),
    ("xdbc_data_type", "int16"),
    ("xdbc_type_name", "utf8"),
    ("xdbc_column_size", "int32"),
    ("xdbc_decimal_digits", "int16"),
    ("xdbc_num_prec_radix", "int16"),
    ("xdbc_nullable", "int16"),
    ("xdbc_column_def", "utf8"),
    ("xdbc_sql_data_type", "int16"),
    ("xdbc_datetime_sub", "int16"),
    ("xdbc_char_octet_length", "int32"),
    ("xdbc_is_nullable", "utf8"),
    ("xdbc_scope_catalog", "utf8"),
    ("xdbc_scope_schema", "utf8"),
    ("xdbc_scope_table", "utf8"),
    ("xdbc_is_autoincrement", "bool"),
    ("xdbc_is_generatedcolumn", "bool"),
)
_USAGE = ("fk_catalog", "fk_db_schema", "fk_table", "fk_column_name")
# Fields that are never null.
_CERTAIN = {
    "column_name",
    "table_name",
    "table_type",
    "constraint_type",
    "constraint_column_names",
    "fk_table",
    "fk_column_name",
}


def objects_reader(rows: list[dict[str, Any]]) -> pa.RecordBatchReader:
    """Return a reader over the rows. Keys that the schema does not have are left out."""
    import pyarrow as pa

    schema = _schema()
    return pa.Table.from_pylist(rows, schema=schema).to_reader()


def _schema() -> pa.Schema:
    import pyarrow as pa

    text = pa.utf8()

    def struct(*fields: tuple[str, pa.DataType]) -> pa.StructType:
        return pa.struct([pa.field(name, kind, name not in _CERTAIN) for name, kind in fields])

    column = struct(*((name, pa.type_for_alias(kind)) for name, kind in _COLUMN))
    usage = struct(*((name, text) for name in _USAGE))
    constraint = struct(
        ("constraint_name", text),
        ("constraint_type", text),
        ("constraint_column_names", pa.list_(text)),
        ("constraint_column_usage", pa.list_(usage)),
    )
    table = struct(
        ("table_name", text),
        ("table_type", text),
        ("table_columns", pa.list_(column)),
        ("table_constraints", pa.list_(constraint)),
    )
    schemas = struct(("db_schema_name", text), ("db_schema_tables", pa.list_(table)))
    return pa.schema([("catalog_name", text), ("catalog_db_schemas", pa.list_(schemas))])
