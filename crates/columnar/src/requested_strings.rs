//! Tables as a consumer takes them: its `requested_schema` is followed as far as that copies no
//! values.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};

use crate::export::{self, StringLayout};
use crate::table::Table;

impl Table {
    /// The chunks for export: text in the layouts of `wanted`, and otherwise in `layout`.
    ///
    /// # Errors
    /// None that is known.
    pub fn exported(
        &self,
        layout: StringLayout,
        wanted: Option<&Schema>,
    ) -> Result<Vec<RecordBatch>, ArrowError> {
        let exported = |chunk: RecordBatch| {
            let batch = export::with_string_layout(&chunk, layout);
            match wanted {
                Some(wanted) => with_requested_strings(batch, wanted),
                None => Ok(batch),
            }
        };
        self.chunks().into_iter().map(exported).collect()
    }

    /// The schema of the exported chunks.
    ///
    /// # Errors
    /// None that is known.
    pub fn exported_schema(
        &self,
        layout: StringLayout,
        wanted: Option<&Schema>,
    ) -> Result<SchemaRef, ArrowError> {
        let first = self.slice(0, 0).exported(layout, wanted)?;
        Ok(first.first().map_or_else(|| Arc::clone(self.schema()), RecordBatch::schema))
    }
}

/// The batch with each text column in its layout in `wanted`. A schema with another number of
/// columns is ignored, and so are types other than text: a producer may ignore the request.
///
/// # Errors
/// None that is known: the columns keep their length.
fn with_requested_strings(batch: RecordBatch, wanted: &Schema) -> Result<RecordBatch, ArrowError> {
    if batch.num_columns() == 0 || wanted.fields().len() != batch.num_columns() {
        return Ok(batch);
    }
    let mut fields = batch.schema_ref().fields().to_vec();
    let mut columns = batch.columns().to_vec();
    let places = fields.iter_mut().zip(&mut columns).zip(wanted.fields()).enumerate();
    for (index, ((field, column), wanted)) in places {
        let layout = match wanted.data_type() {
            DataType::Utf8View => StringLayout::View,
            DataType::LargeUtf8 => StringLayout::Large,
            _ => continue,
        };
        let alone = export::with_string_layout(&batch.project(&[index])?, layout);
        if let ([converted], [described]) = (alone.columns(), alone.schema_ref().fields().as_ref())
        {
            *column = Arc::clone(converted);
            *field = Arc::clone(described);
        }
    }
    let metadata = batch.schema_ref().metadata().clone();
    RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, metadata)), columns)
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, StringArray};
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn a_request_is_followed_and_the_layout_serves_the_rest() {
        let table = Table::from(batch());
        let wanted = Schema::new(vec![
            Field::new("a", DataType::Utf8View, true),
            Field::new("b", DataType::Binary, true),
            Field::new("n", DataType::Int32, true),
        ]);
        let types = |schema: &Schema| -> Vec<DataType> {
            schema.fields().iter().map(|field| field.data_type().clone()).collect()
        };
        let chunks = table.exported(StringLayout::Large, Some(&wanted)).unwrap();
        let expected = [DataType::Utf8View, DataType::LargeUtf8, DataType::Int32];
        assert_eq!(types(chunks[0].schema_ref()), expected);
        let schema = table.exported_schema(StringLayout::Large, Some(&wanted)).unwrap();
        assert_eq!(schema, chunks[0].schema());
        let plain = table.exported_schema(StringLayout::Small, None).unwrap();
        assert_eq!(plain, batch().schema());
    }

    fn batch() -> RecordBatch {
        let schema = Schema::new(vec![
            Field::new("a", DataType::Utf8, true),
            Field::new("b", DataType::Utf8, true),
            Field::new("n", DataType::Int32, true),
        ]);
        let text = || Arc::new(StringArray::from(vec!["x"]));
        let columns: Vec<arrow_array::ArrayRef> =
            vec![text(), text(), Arc::new(Int32Array::from(vec![1]))];
        RecordBatch::try_new(Arc::new(schema), columns).unwrap()
    }

    fn wanted(types: &[DataType]) -> Schema {
        let fields = types.iter().map(|data_type| Field::new("", data_type.clone(), true));
        Schema::new(fields.collect::<Vec<_>>())
    }

    #[test]
    fn each_text_gets_its_own_layout() {
        let types = [DataType::Utf8View, DataType::LargeUtf8, DataType::Utf8View];
        let made = with_requested_strings(batch(), &wanted(&types)).unwrap();
        let types: Vec<_> = made.columns().iter().map(|column| column.data_type()).collect();
        assert_eq!(types, [&DataType::Utf8View, &DataType::LargeUtf8, &DataType::Int32]);
        let schema = made.schema();
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["a", "b", "n"]);
    }

    #[test]
    fn other_requests_are_ignored() {
        let made = with_requested_strings(batch(), &wanted(&[DataType::Utf8View])).unwrap();
        assert_eq!(made, batch());
        let types = [DataType::Int8, DataType::Utf8, DataType::Float64];
        assert_eq!(with_requested_strings(batch(), &wanted(&types)).unwrap(), batch());
    }
}
