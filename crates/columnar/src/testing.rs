//! Shared by the tests: a server's rows, decoded with several splits at once.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use colonnade_protocol::{DataRows, Frame, next_frame};

use crate::builder::{BatchBuilder, DecodeOptions, ResultColumn};
use crate::error::{AppendError, DecodeError, EncodeError};
use crate::schema::Infinity;
use crate::types::{Type, built_in, type_of};
use crate::value::Value;

/// One value of a row.
pub(crate) type Cell = Option<Vec<u8>>;

pub(crate) fn field(name: &str, oid: u32) -> ResultColumn {
    let pg_type = built_in(oid).cloned().unwrap_or_else(|| Arc::new(Type::opaque(oid)));
    ResultColumn::new(name, pg_type, -1)
}

/// Rows as messages.
pub(crate) fn messages<'a>(rows: impl IntoIterator<Item = &'a [Cell]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in rows {
        let start = bytes.len();
        bytes.extend_from_slice(b"D\0\0\0\0");
        bytes.extend_from_slice(&(row.len() as u16).to_be_bytes());
        for cell in row {
            let len = cell.as_ref().map_or(-1, |value| value.len() as i32);
            bytes.extend_from_slice(&len.to_be_bytes());
            bytes.extend_from_slice(cell.as_deref().unwrap_or_default());
        }
        let len = (bytes.len() - start - 1) as u32;
        bytes[start + 1..start + 5].copy_from_slice(&len.to_be_bytes());
    }
    bytes
}

/// The run of rows at the front.
pub(crate) fn data_rows(bytes: &[u8]) -> Option<DataRows<'_>> {
    match next_frame(bytes).unwrap()? {
        (Frame::DataRows(rows), _) => Some(rows),
        (other, _) => panic!("rows expected, not {other:?}"),
    }
}

/// Decodes rows as one batch, split into runs of `run` rows.
pub(crate) fn decode_in_runs(
    fields: &[ResultColumn],
    options: &DecodeOptions,
    rows: &[Vec<Cell>],
    run: usize,
) -> Result<RecordBatch, DecodeError> {
    let mut builder = BatchBuilder::new(fields, options).unwrap();
    for chunk in rows.chunks(run) {
        let bytes = messages(chunk.iter().map(Vec::as_slice));
        let mut cursor = data_rows(&bytes).unwrap();
        match builder.append(&mut cursor, usize::MAX) {
            Ok(appended) => assert_eq!(appended, chunk.len()),
            Err(AppendError::Decode(error)) => {
                assert_eq!(builder.finish().unwrap_err(), error);
                return Err(error);
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(builder.rows(), rows.len());
    let used = builder.nbytes();
    let batch = builder.finish().unwrap();
    validate(&batch);
    assert_eq!(batch.num_rows(), rows.len());
    let least: usize = batch.columns().iter().map(|array| array.len() / 8).sum();
    assert!(used >= least);
    Ok(batch)
}

/// Arrow's own full check of every column.
pub(crate) fn validate(batch: &RecordBatch) {
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        assert_eq!(field.data_type(), column.data_type());
        assert_eq!(column.len(), batch.num_rows());
        column.to_data().validate_full().unwrap();
    }
}

/// One column to decode.
pub(crate) struct Case {
    pub(crate) field: ResultColumn,
    pub(crate) options: DecodeOptions,
}

impl Case {
    pub(crate) fn new(oid: u32) -> Self {
        Self { field: field("c", oid), options: DecodeOptions::default() }
    }

    pub(crate) fn modifier(mut self, type_modifier: i32) -> Self {
        self.field.type_modifier = type_modifier;
        self
    }

    pub(crate) fn cast(mut self, arrow_type: &str) -> Self {
        self.options.overrides = vec![("c".to_owned(), arrow_type.parse().unwrap())];
        self
    }

    pub(crate) fn infinity(mut self, infinity: Infinity) -> Self {
        self.options.infinity = infinity;
        self
    }

    /// Decodes a column; the split into runs must not change the result.
    pub(crate) fn decode(&self, cells: &[Cell]) -> Result<ArrayRef, DecodeError> {
        let rows: Vec<_> = cells.iter().map(|cell| vec![cell.clone()]).collect();
        let fields = std::slice::from_ref(&self.field);
        let whole = decode_in_runs(fields, &self.options, &rows, usize::MAX);
        for run in [1, 7, 64] {
            assert_eq!(decode_in_runs(fields, &self.options, &rows, run), whole, "runs of {run}");
        }
        whole.map(|batch| batch.column(0).clone())
    }

    /// The array as its type, without NULLs.
    pub(crate) fn array<A: Array + Clone + 'static>(&self, cells: &[Cell]) -> A {
        self.decode(cells).unwrap().as_any().downcast_ref::<A>().unwrap().clone()
    }

    /// The error's row and text.
    pub(crate) fn error(&self, cells: &[Cell]) -> (u64, String) {
        let error = self.decode(cells).unwrap_err();
        assert_eq!(error.column, "c");
        (error.row, error.to_string())
    }
}

/// A cell from hexadecimal digits; spaces are ignored.
pub(crate) fn hex(digits: &str) -> Cell {
    let digits: Vec<u32> =
        digits.chars().filter(|c| *c != ' ').map(|c| c.to_digit(16).unwrap()).collect();
    Some(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

/// A cell of text.
pub(crate) fn text(text: &str) -> Cell {
    Some(text.as_bytes().to_vec())
}

pub(crate) fn encode(oid: u32, value: &Value<'_>) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    (type_of(oid).unwrap().encode)(value, &mut bytes)?;
    Ok(bytes)
}

/// Asserts that the value encodes to the bytes and that they decode to it.
pub(crate) fn assert_both_ways(oid: u32, bytes: Cell, value: Value<'_>) {
    let bytes = bytes.unwrap();
    assert_eq!(encode(oid, &value).unwrap(), bytes, "{value:?}");
    assert_eq!((type_of(oid).unwrap().value)(&bytes).unwrap(), value);
}
