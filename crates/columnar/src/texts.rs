//! Columns as PostgreSQL's text formats have them: each value as the server prints it in ISO style
//! with all digits, whatever its settings.
//!
//! A value is encoded as its type and printed from there, so that what cannot be a value of the
//! type is refused and not guessed. A column that was fetched as text is that text.

use std::fmt;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions,
    StringArray, StructArray,
};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema};
use colonnade_protocol::Format;

use crate::builder::ResultColumn;
use crate::column_value::list_dimensions;
use crate::encode::{EncodeOptions, column_encoder};
use crate::error::EncodeError;
use crate::types::{Attribute, JsonText, Shape, TextForm, Type, can_print, print, push_iso};

/// Why columns have no text.
#[derive(Debug)]
pub enum TextError {
    /// The column's values, of an Arrow type, are no values of its PostgreSQL type, or only the
    /// server prints them.
    NoText {
        /// Name of the column.
        column: String,
        /// The Arrow type.
        arrow_type: DataType,
        /// The PostgreSQL type.
        type_name: String,
    },
    /// A value does not belong to the type.
    Value {
        /// Name of the column.
        column: String,
        /// Its row in the batch.
        row: usize,
        /// The fault of the value.
        reason: EncodeError,
    },
    /// An error of Arrow's when the columns are put together.
    Arrow(ArrowError),
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoText { column, arrow_type, type_name } => write!(
                f,
                "column {column:?} has values of the type {arrow_type}, which cannot be printed as \
                 {type_name}: fetch it with schema={{{column:?}: \"utf8\"}}"
            ),
            Self::Value { column, row, reason } => {
                write!(f, "column {column:?}, row {row} of its batch: {reason}")
            }
            Self::Arrow(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TextError {}

impl From<ArrowError> for TextError {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

/// A column on its way.
type Column = (FieldRef, ArrayRef);

/// The batch for COPY in the CSV format: integers and decimals, and otherwise the values' text.
///
/// # Errors
/// A column without text.
pub fn in_copy(batch: &RecordBatch, columns: &[ResultColumn]) -> Result<RecordBatch, TextError> {
    converted(batch, columns, |field, column, array| {
        let is_text = is_text(array.data_type())
            || matches!(array.data_type(), DataType::Dictionary(_, of) if is_text(of));
        let is_number = column.pg_type.json_text() == JsonText::Number
            && array.data_type().is_numeric()
            && !array.data_type().is_floating();
        if is_text || is_number || *array.data_type() == DataType::Null {
            // Without the extension type: it is the text of JSON, whatever the field says.
            return Ok((Arc::clone(field), Arc::clone(array)));
        }
        let texts = texts(&column.pg_type, column.type_modifier, array)
            .map_err(|fault| fault.in_column(field, &column.pg_type))?;
        Ok((of_type(field, DataType::Utf8, None), Arc::new(texts)))
    })
}

/// The batch for JSON with the values of `to_json`: numbers, booleans, lists, structs and text.
/// Text that is a number has the extension type `numerals`, which is for the writer.
///
/// A part that no text can be made of stays as it is.
///
/// # Errors
/// A value that does not belong to its type.
pub fn in_json(
    batch: &RecordBatch,
    columns: &[ResultColumn],
    numerals: &str,
) -> Result<RecordBatch, TextError> {
    let json = Json { numerals };
    converted(batch, columns, |field, column, array| {
        json.column(field, &column.pg_type, column.type_modifier, array)
            .map_err(|fault| fault.in_column(field, &column.pg_type))
    })
}

fn converted(
    batch: &RecordBatch,
    columns: &[ResultColumn],
    convert: impl Fn(&FieldRef, &ResultColumn, &ArrayRef) -> Result<Column, TextError>,
) -> Result<RecordBatch, TextError> {
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays = Vec::with_capacity(columns.len());
    let given = batch.schema_ref().fields().iter().zip(columns).zip(batch.columns());
    for ((field, column), array) in given {
        let (field, array) = convert(field, column, array)?;
        fields.push(field);
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let schema = Arc::new(Schema::new(fields));
    Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
}

/// An error before the column is known.
enum Fault {
    NoText(DataType),
    Value(usize, EncodeError),
    Arrow(ArrowError),
}

impl Fault {
    fn in_column(self, field: &Field, pg_type: &Type) -> TextError {
        let column = field.name().clone();
        match self {
            Self::NoText(arrow_type) => {
                TextError::NoText { column, arrow_type, type_name: pg_type.name.clone() }
            }
            Self::Value(row, reason) => TextError::Value { column, row, reason },
            Self::Arrow(error) => TextError::Arrow(error),
        }
    }
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

/// How the binary format of a type's values becomes text.
enum Printer {
    /// As the server prints them.
    Server(Arc<Type>),
    /// In a form that the server reads, for types whose binary format only the server knows.
    Form(TextForm),
}

impl Printer {
    fn of(pg_type: &Type) -> Option<Self> {
        let bare = pg_type.without_codecs();
        if bare.parameter_format() == Format::Binary && can_print(&bare) {
            return Some(Self::Server(Arc::new(bare)));
        }
        TextForm::of_parts(pg_type).map(Self::Form)
    }

    /// The type as whose values a column is encoded.
    fn carrier(&self) -> &Arc<Type> {
        match self {
            Self::Server(pg_type) => pg_type,
            Self::Form(form) => form.carrier(),
        }
    }

    fn print(&self, value: &[u8], text: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            // It has just been encoded, so it can be decoded.
            Self::Server(pg_type) => print(pg_type, value, text)
                .map_err(|_| EncodeError::TextOnly { given: "a value that is none of its type" }),
            Self::Form(form) => form.write(value, text),
        }
    }
}

/// The text of each value, as the server prints it.
fn texts(pg_type: &Type, type_modifier: i32, array: &ArrayRef) -> Result<StringArray, Fault> {
    let no_text = || Fault::NoText(array.data_type().clone());
    let printer = Printer::of(pg_type).ok_or_else(no_text)?;
    let options = EncodeOptions::default();
    let cells =
        column_encoder(printer.carrier(), type_modifier, array, &options).map_err(|_| no_text())?;
    let mut made = StringBuilder::with_capacity(array.len(), array.len() * 16);
    let (mut cell, mut text) = (Vec::new(), Vec::new());
    for row in 0..array.len() {
        cell.clear();
        cells.push_cell(row, &mut cell).map_err(|reason| Fault::Value(row, reason))?;
        let Some((length, value)) = cell.split_first_chunk::<4>() else { continue };
        if i32::from_be_bytes(*length) < 0 {
            made.append_null();
            continue;
        }
        text.clear();
        printer.print(value, &mut text).map_err(|reason| Fault::Value(row, reason))?;
        made.append_value(std::str::from_utf8(&text).map_err(|_| no_text())?);
    }
    Ok(made.finish())
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// The field with another type, and with this extension type alone.
fn of_type(field: &Field, data_type: DataType, extension: Option<&str>) -> FieldRef {
    let named = extension.map(|name| (EXTENSION_TYPE_NAME_KEY.to_owned(), name.to_owned()));
    let metadata = named.into_iter().collect::<std::collections::HashMap<_, _>>();
    let field = Field::new(field.name(), data_type, field.is_nullable());
    Arc::new(field.with_metadata(metadata))
}

/// Converts columns and their parts for JSON.
struct Json<'a> {
    numerals: &'a str,
}

impl Json<'_> {
    fn column(
        &self,
        field: &FieldRef,
        pg_type: &Type,
        type_modifier: i32,
        array: &ArrayRef,
    ) -> Result<Column, Fault> {
        let unchanged = || Ok((Arc::clone(field), Arc::clone(array)));
        let is_number = array.data_type().is_numeric() && pg_type.json_text() == JsonText::Number;
        match (&pg_type.bare().shape, array.data_type()) {
            (_, DataType::Null | DataType::Boolean) => unchanged(),
            (_, DataType::Dictionary(..) | DataType::RunEndEncoded(..)) => unchanged(),
            _ if is_number => unchanged(),
            (_, data_type) if is_text(data_type) => self.text(field, pg_type, array),
            (Shape::Array(element), data_type)
                if let Some(dimensions) = list_dimensions(element, data_type) =>
            {
                self.list(field, element, type_modifier, dimensions, array)
            }
            (Shape::Composite(attributes), DataType::Struct(_)) => {
                self.structs(field, attributes, array.as_struct())
            }
            _ => match texts(pg_type, type_modifier, array) {
                Ok(texts) => self.text(field, pg_type, &(Arc::new(texts) as ArrayRef)),
                Err(Fault::NoText(_)) => unchanged(),
                Err(fault) => Err(fault),
            },
        }
    }

    /// A column of the values' text.
    fn text(&self, field: &FieldRef, pg_type: &Type, array: &ArrayRef) -> Result<Column, Fault> {
        let data_type = array.data_type().clone();
        let array = Arc::clone(array);
        Ok(match pg_type.json_text() {
            JsonText::Number => (of_type(field, data_type, Some(self.numerals)), array),
            JsonText::Document => (of_type(field, data_type, Some("arrow.json")), array),
            JsonText::String => (of_type(field, data_type, None), array),
            JsonText::Boolean => {
                let mut values = BooleanBuilder::with_capacity(array.len());
                for_each_text(&array, |text| values.append_option(text.map(|text| text == "t")));
                (of_type(field, DataType::Boolean, None), Arc::new(values.finish()))
            }
            JsonText::Moment => (of_type(field, DataType::Utf8, None), Arc::new(iso_texts(&array))),
        })
    }

    /// Arrays, of whose elements the innermost lists consist.
    fn list(
        &self,
        field: &FieldRef,
        element: &Type,
        type_modifier: i32,
        dimensions: usize,
        array: &ArrayRef,
    ) -> Result<Column, Fault> {
        let part = |item: &FieldRef, values: &ArrayRef| match dimensions {
            0 | 1 => self.column(item, element, type_modifier, values),
            _ => self.list(item, element, type_modifier, dimensions - 1, values),
        };
        match array.data_type() {
            DataType::List(item) => {
                let lists = array.as_list::<i32>();
                relisted(field, lists, part(item, lists.values())?)
            }
            DataType::LargeList(item) => {
                let lists = array.as_list::<i64>();
                relisted(field, lists, part(item, lists.values())?)
            }
            _ => Ok((Arc::clone(field), Arc::clone(array))),
        }
    }

    fn structs(
        &self,
        field: &FieldRef,
        attributes: &[Attribute],
        array: &StructArray,
    ) -> Result<Column, Fault> {
        let given = array.fields().iter().zip(array.columns()).zip(attributes);
        let made = given
            .map(|((field, values), attribute)| {
                self.column(field, &attribute.pg_type, attribute.type_modifier, values)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let (fields, columns): (Vec<_>, Vec<_>) = made.into_iter().unzip();
        let fields = Fields::from(fields);
        let nulls = array.nulls().cloned();
        let structs = StructArray::try_new_with_length(fields, columns, nulls, array.len())?;
        let field = field.as_ref().clone().with_data_type(structs.data_type().clone());
        Ok((Arc::new(field), Arc::new(structs)))
    }
}

/// The lists with other values.
fn relisted<O: OffsetSizeTrait>(
    field: &FieldRef,
    lists: &GenericListArray<O>,
    (item, values): Column,
) -> Result<Column, Fault> {
    let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
    let lists = GenericListArray::<O>::try_new(item, offsets, values, nulls)?;
    let field = field.as_ref().clone().with_data_type(lists.data_type().clone());
    Ok((Arc::new(field), Arc::new(lists)))
}

/// Calls a function with each text, whatever the layout.
fn for_each_text(array: &ArrayRef, visit: impl FnMut(Option<&str>)) {
    match array.data_type() {
        DataType::LargeUtf8 => array.as_string::<i64>().iter().for_each(visit),
        DataType::Utf8View => array.as_string_view().iter().for_each(visit),
        _ => array.as_string::<i32>().iter().for_each(visit),
    }
}

fn iso_texts(array: &ArrayRef) -> StringArray {
    let mut made = StringBuilder::with_capacity(array.len(), array.len() * 32);
    let mut iso = String::new();
    for_each_text(array, |text| match text {
        None => made.append_null(),
        Some(text) => {
            iso.clear();
            push_iso(text, &mut iso);
            made.append_value(&iso);
        }
    });
    made.finish()
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int64Type;
    use arrow_array::{
        BinaryArray, BooleanArray, Decimal128Array, Float64Array, Int64Array, ListArray,
        TimestampMicrosecondArray, UInt64Array,
    };

    use super::*;
    use crate::catalog::named_type;
    use crate::testing::validate;

    fn type_named(name: &str) -> Type {
        let Some(element) = name.strip_suffix("[]") else { return named_type(name).unwrap() };
        let element = Arc::new(named_type(element).unwrap());
        Type { name: name.to_owned(), shape: Shape::Array(element.clone()), ..(*element).clone() }
    }

    fn batch(columns: Vec<(&str, ArrayRef)>) -> (RecordBatch, Vec<ResultColumn>) {
        let types = columns
            .iter()
            .map(|(name, _)| ResultColumn::new(*name, Arc::new(type_named(name)), -1));
        let types = types.collect();
        let arrays = columns.into_iter().map(|(name, array)| (name, array, true));
        (RecordBatch::try_from_iter_with_nullable(arrays).unwrap(), types)
    }

    fn values() -> (RecordBatch, Vec<ResultColumn>) {
        let decimals = Decimal128Array::from(vec![Some(150), None]);
        let decimals = decimals.with_precision_and_scale(9, 2).unwrap();
        let lists = [Some(vec![Some(1), None]), None];
        let moments = TimestampMicrosecondArray::from(vec![Some(1_500_000), None]);
        batch(vec![
            ("int8", Arc::new(Int64Array::from(vec![Some(7), None]))),
            ("numeric", Arc::new(decimals)),
            ("bool", Arc::new(BooleanArray::from(vec![Some(true), None]))),
            ("float8", Arc::new(Float64Array::from(vec![Some(1.0), None]))),
            ("timestamptz", Arc::new(moments.with_timezone("UTC"))),
            ("bytea", Arc::new(BinaryArray::from(vec![Some(b"\0\xff".as_slice()), None]))),
            ("pg_lsn", Arc::new(UInt64Array::from(vec![Some(1 << 32), None]))),
            ("int8[]", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))),
            ("jsonb", Arc::new(StringArray::from(vec![Some("{}"), None]))),
        ])
    }

    /// The first text of each column of text.
    fn texts_of(batch: &RecordBatch) -> Vec<Option<&str>> {
        let columns = batch.columns().iter();
        columns.map(|column| column.as_string_opt::<i32>().map(|texts| texts.value(0))).collect()
    }

    #[test]
    fn copy_has_text_and_whole_numbers() {
        let (batch, types) = values();
        let copied = in_copy(&batch, &types).unwrap();
        validate(&copied);
        assert!(copied.columns().iter().all(|column| column.is_null(1)));
        assert_eq!(copied.column(0).data_type(), &DataType::Int64);
        assert_eq!(
            texts_of(&copied)[2..],
            [
                Some("t"),
                Some("1"),
                Some("1970-01-01 00:00:01.5+00"),
                Some("\\x00ff"),
                Some("1/0"),
                Some("{1,NULL}"),
                Some("{}")
            ]
        );
    }

    #[test]
    fn json_has_numbers_lists_and_text() {
        let (batch, types) = values();
        let json = in_json(&batch, &types, "numerals").unwrap();
        validate(&json);
        for kept in [0, 1, 2, 3, 7] {
            assert_eq!(json.column(kept), batch.column(kept));
        }
        assert_eq!(texts_of(&json)[4], Some("1970-01-01T00:00:01.5+00:00"));
        assert_eq!(texts_of(&json)[5], Some("\\x00ff"));
        assert_eq!(texts_of(&json)[6], Some("1/0"));
    }

    #[test]
    fn text_is_known_by_its_type() {
        let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
        let (batch, types) = batch(vec![
            ("numeric", text("1.500")),
            ("bool", text("t")),
            ("jsonb", text("{}")),
            ("timestamp", text("0044-03-15 10:00:00 BC")),
            ("text", text("1")),
        ]);
        assert_eq!(in_copy(&batch, &types).unwrap(), batch);
        let json = in_json(&batch, &types, "numerals").unwrap();
        let schema = json.schema();
        let extensions = schema.fields().iter().map(|field| field.extension_type_name());
        let wanted = [Some("numerals"), None, Some("arrow.json"), None, None];
        assert_eq!(extensions.collect::<Vec<_>>(), wanted);
        assert!(json.column(1).as_boolean().value(0));
        assert_eq!(texts_of(&json)[3], Some("0044-03-15T10:00:00 BC"));
    }

    #[test]
    fn what_has_no_text_is_named() {
        let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![b"x".as_slice()]));
        let given = batch(vec![("int8", bytes)]);
        let error = in_copy(&given.0, &given.1).unwrap_err();
        assert!(error.to_string().contains("column \"int8\" has values of the type Binary"));
        assert_eq!(in_json(&given.0, &given.1, "numerals").unwrap(), given.0);
    }
}
