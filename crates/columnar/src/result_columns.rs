//! The columns of results that are made of other columns: their names, PostgreSQL types and Arrow
//! fields.

use std::sync::{Arc, LazyLock};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};

use crate::builder::ResultColumn;
use crate::catalog::named_type;
use crate::types::Type;

static INT8: LazyLock<Arc<Type>> = LazyLock::new(|| built_in("int8"));
static FLOAT8: LazyLock<Arc<Type>> = LazyLock::new(|| built_in("float8"));
static NUMERIC: LazyLock<Arc<Type>> = LazyLock::new(|| built_in("numeric"));

fn built_in(name: &str) -> Arc<Type> {
    Arc::new(named_type(name).unwrap_or_else(|| Type::opaque(0)))
}

/// A column of a result, before its values are known.
pub struct MadeColumn {
    /// Its PostgreSQL type; `None` for a number, whose Arrow type says it.
    column: Option<ResultColumn>,
    /// Its Arrow field, if it is that of a column.
    field: Option<FieldRef>,
    name: Option<String>,
}

impl MadeColumn {
    /// Values of a column.
    pub fn of_column(column: &ResultColumn, field: Option<&FieldRef>) -> Self {
        Self { column: Some(column.clone()), field: field.map(Arc::clone), name: None }
    }

    /// Values of a column, under another name.
    pub fn renamed(column: &ResultColumn, field: Option<&FieldRef>, name: &str) -> Self {
        if *column.name == *name {
            return Self::of_column(column, field);
        }
        let pg_type = Arc::clone(&column.pg_type);
        let renamed = ResultColumn::new(name, pg_type, column.type_modifier);
        let field = field.map(|field| Arc::new(field.as_ref().clone().with_name(name)));
        Self { column: Some(renamed), field, name: None }
    }

    /// Numbers.
    pub fn number(name: &str) -> Self {
        Self { column: None, field: None, name: Some(name.to_owned()) }
    }

    fn finish(self, array: &ArrayRef) -> (ResultColumn, FieldRef) {
        let name = self.name.unwrap_or_default();
        let column = self.column.unwrap_or_else(|| {
            let pg_type = match array.data_type() {
                DataType::Float64 => &FLOAT8,
                DataType::Decimal128(..) | DataType::Decimal256(..) => &NUMERIC,
                _ => &INT8,
            };
            ResultColumn::new(name, Arc::clone(pg_type), -1)
        });
        let field = match self.field {
            Some(field) if field.data_type() == array.data_type() => field,
            Some(field) => {
                Arc::new(field.as_ref().clone().with_data_type(array.data_type().clone()))
            }
            None => Arc::new(Field::new(&*column.name, array.data_type().clone(), true)),
        };
        (column, field)
    }
}

/// The arrays as a batch of the described columns, with a number of rows.
///
/// # Errors
/// Arrays of other lengths.
pub fn made_batch(
    described: Vec<MadeColumn>,
    arrays: Vec<ArrayRef>,
    rows: usize,
) -> Result<(RecordBatch, Arc<[ResultColumn]>), ArrowError> {
    let finished = described.into_iter().zip(&arrays).map(|(column, array)| column.finish(array));
    let (columns, fields): (Vec<_>, Vec<_>) = finished.unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
    Ok((batch, columns.into()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow_array::{Float64Array, Int32Array, Int64Array};

    use super::*;

    fn column() -> (ResultColumn, FieldRef) {
        let column = ResultColumn::new("n", built_in("int4"), 7);
        let field = Field::new("n", DataType::Int32, true);
        let metadata = HashMap::from([("key".to_owned(), "value".to_owned())]);
        (column, Arc::new(field.with_metadata(metadata)))
    }

    #[test]
    fn numbers_have_the_type_of_their_array() {
        let described = vec![MadeColumn::number("count"), MadeColumn::number("mean")];
        let arrays: Vec<ArrayRef> =
            vec![Arc::new(Int64Array::from(vec![1])), Arc::new(Float64Array::from(vec![0.5]))];
        let (batch, columns) = made_batch(described, arrays, 1).unwrap();
        let types: Vec<_> = columns.iter().map(|column| column.pg_type.name.as_str()).collect();
        assert_eq!(types, ["int8", "float8"]);
        assert_eq!(batch.schema().field(1).name(), "mean");
    }

    #[test]
    fn values_of_a_column_keep_what_is_known_of_it() {
        let (column, field) = column();
        let described = vec![
            MadeColumn::of_column(&column, Some(&field)),
            MadeColumn::renamed(&column, Some(&field), "least"),
            MadeColumn::renamed(&column, None, "n"),
        ];
        let array: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let (batch, columns) = made_batch(described, vec![array; 3], 2).unwrap();
        let names: Vec<_> = columns.iter().map(|column| &*column.name).collect();
        assert_eq!(names, ["n", "least", "n"]);
        assert!(columns.iter().all(|column| column.type_modifier == 7));
        assert_eq!(batch.schema().field(1).name(), "least");
        assert_eq!(batch.schema().field(1).metadata().len(), 1);
        assert_eq!(batch.schema().field(2).metadata().len(), 0);
    }

    #[test]
    fn the_field_follows_an_array_of_another_type() {
        let (column, field) = column();
        let array: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let described = vec![MadeColumn::of_column(&column, Some(&field))];
        let (batch, _) = made_batch(described, vec![array], 1).unwrap();
        assert_eq!(batch.schema().field(0).data_type(), &DataType::Int64);
    }

    #[test]
    fn a_batch_without_columns_has_rows() {
        let (batch, columns) = made_batch(Vec::new(), Vec::new(), 3).unwrap();
        assert_eq!((batch.num_rows(), columns.len()), (3, 0));
    }
}
