//! Columns that did not come from PostgreSQL.

use std::sync::Arc;

use arrow_schema::Field;
use colonnade_columnar::{ResultColumn, Shape, Type};

use crate::arrow::create_types;

/// The description of a column from elsewhere: it has the name of the type that would hold its
/// values, and its values are what Arrow says.
pub(crate) fn described(field: &Field) -> ResultColumn {
    let name = create_types::sql_type(field).unwrap_or_else(|_| "record".to_owned());
    let schema = "pg_catalog".to_owned();
    let stored = Type { oid: 0, name, schema, shape: Shape::Opaque };
    ResultColumn::new(field.name().as_str(), Arc::new(stored), -1)
}
