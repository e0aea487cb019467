//! Columns that did not come from PostgreSQL.

use std::sync::Arc;

use arrow_schema::Field;
use colonnade_columnar::{ResultColumn, Shape, Type};

use crate::sql_types::sql_type;

/// The description of a column from elsewhere: it has the name of the type that would hold its
/// values, and its values are what Arrow says.
pub fn described(field: &Field) -> ResultColumn {
    let name = sql_type(field).unwrap_or_else(|_| "record".to_owned());
    let schema = "pg_catalog".to_owned();
    let stored = Type { oid: 0, name, schema, shape: Shape::Opaque };
    ResultColumn::new(field.name().as_str(), Arc::new(stored), -1)
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};

    use super::described;

    #[test]
    fn a_column_has_the_type_that_would_hold_it() {
        let column = described(&Field::new("n", DataType::UInt16, true));
        assert_eq!((&*column.name, column.type_modifier), ("n", -1));
        assert_eq!((column.pg_type.oid, column.pg_type.name.as_str()), (0, "integer"));
        let row = described(&Field::new("r", DataType::Struct(Vec::<Field>::new().into()), true));
        assert_eq!(row.pg_type.name, "record");
    }
}
