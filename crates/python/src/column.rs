//! One column: its raw values for NumPy, and its values as Python objects.

mod numpy_strings;
mod parts;

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, cast::AsArray};
use arrow_buffer::Buffer as ArrowBuffer;
use arrow_schema::DataType;
use colonnade_columnar::{CellEncoding, Type, cells, decimal_floats, interval_texts};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::arrow_names::arrow_type_name;
use crate::buffer::Buffer;
use crate::codecs::Codecs;
use crate::values;

/// A column of a batch.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Column {
    array: ArrayRef,
    /// What the array holds when it is one of cells.
    cells: Option<CellEncoding>,
    /// The type of the values, where PostgreSQL has one.
    pg_type: Option<Arc<Type>>,
    /// The codecs that the type names.
    codecs: Arc<Codecs>,
}

impl Column {
    pub(crate) fn new(
        array: ArrayRef,
        cells: Option<CellEncoding>,
        pg_type: Option<Arc<Type>>,
        codecs: Arc<Codecs>,
    ) -> Self {
        Self { array, cells, pg_type, codecs }
    }

    /// An array that belongs to this one.
    fn part(&self, array: ArrayRef, pg_type: Option<Arc<Type>>) -> Self {
        Self::new(array, None, pg_type, Arc::clone(&self.codecs))
    }

    /// The array, with cells as the text or bytes that they hold.
    fn plain(&self) -> ArrayRef {
        match (self.cells, self.array.as_fixed_size_binary_opt()) {
            (Some(encoding), Some(cells)) => cells::plain(cells, encoding),
            _ => Arc::clone(&self.array),
        }
    }

    fn type_name(&self) -> String {
        match (self.cells, self.array.data_type()) {
            (Some(encoding), DataType::FixedSizeBinary(width)) => encoding.dtype(*width),
            (_, data_type) => arrow_type_name(data_type),
        }
    }
}

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.array.len()
    }

    #[getter]
    fn arrow_type(&self) -> String {
        self.type_name()
    }

    #[getter]
    fn null_count(&self) -> usize {
        // Arrow's type of nothing but NULLs has no validity that would count them.
        self.array.logical_null_count()
    }

    /// The values of a fixed-width column, shared; of booleans a byte each, made anew. NULL slots
    /// hold NaN, NaT (the least integer), or 0 where the type has no null of its own.
    fn values(&self) -> PyResult<Buffer> {
        if let Some(booleans) = self.array.as_boolean_opt() {
            let bytes: Vec<u8> = booleans.values().iter().map(u8::from).collect();
            return Ok(Buffer::new(ArrowBuffer::from_vec(bytes)));
        }
        let data = self.array.to_data();
        let width = match data.data_type() {
            DataType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
            other => other.primitive_width(),
        };
        match (width, data.buffers()) {
            (Some(width), [values]) => {
                let start = data.offset() * width;
                Ok(Buffer::new(values.slice_with_length(start, data.len() * width)))
            }
            _ => Err(PyTypeError::new_err(format!(
                "a {} column has no fixed-width values",
                arrow_type_name(data.data_type())
            ))),
        }
    }

    /// The nearest float64 of each decimal, NaN for NULL, made anew; and the first row whose value
    /// a float64 does not hold, None where all are held.
    fn decimal_floats(&self, py: Python<'_>) -> PyResult<(Buffer, Option<usize>)> {
        match py.detach(|| decimal_floats(self.array.as_ref())) {
            Some(floats) => {
                Ok((Buffer::new(ArrowBuffer::from_vec(floats.values)), floats.first_inexact))
            }
            None => {
                Err(PyTypeError::new_err(format!("a {} column has no decimals", self.type_name())))
            }
        }
    }

    /// A byte per row, 1 where the value is NULL; None where no value is.
    fn null_mask(&self) -> Option<Buffer> {
        let nulls = self.array.logical_nulls().filter(|nulls| nulls.null_count() > 0)?;
        let bytes: Vec<u8> = nulls.iter().map(|valid| u8::from(!valid)).collect();
        Some(Buffer::new(ArrowBuffer::from_vec(bytes)))
    }

    /// The texts in cells of one width, as NumPy's `U` or `S` of so many bytes has them, NULL as an
    /// empty one; None when a text is longer than its cell.
    fn text_cells(&self, kind: &str, width: usize) -> PyResult<Option<Buffer>> {
        let plain = self.plain();
        let any = plain.as_ref();
        let texts = any.as_dictionary_opt::<Int32Type>();
        if let Some(texts) = texts.and_then(|texts| texts.downcast_dict::<StringArray>()) {
            return Ok(packed(texts.into_iter(), kind, width));
        }
        match any.data_type() {
            DataType::Utf8 => Ok(packed(any.as_string::<i32>().iter(), kind, width)),
            DataType::LargeUtf8 => Ok(packed(any.as_string::<i64>().iter(), kind, width)),
            DataType::Utf8View => Ok(packed(any.as_string_view().iter(), kind, width)),
            other => Err(PyTypeError::new_err(format!("a column of {other} is no text"))),
        }
    }

    /// The bytes in cells of one width, with zeros behind them, NULL as an empty one; None when a
    /// value is longer than its cell. Zeros at the end of a value are lost in those behind it.
    fn byte_cells(&self, width: usize) -> PyResult<Option<Buffer>> {
        let packed = match self.array.data_type() {
            DataType::Binary => cells::bytes(self.array.as_binary::<i32>().iter(), width),
            DataType::LargeBinary => cells::bytes(self.array.as_binary::<i64>().iter(), width),
            other => {
                return Err(PyTypeError::new_err(format!("a column of {other} is no bytes")));
            }
        };
        Ok(packed.map(ArrowBuffer::from_vec).map(Buffer::new))
    }

    /// The keys of a dictionary column, 0 where NULL, and the texts that they are the places of.
    /// The keys are a copy: whoever gets them may write to them, and none that is no place may
    /// come into the column.
    fn dictionary(&self) -> PyResult<(Buffer, Self)> {
        let Some(texts) = self.array.as_dictionary_opt::<Int32Type>() else {
            return Err(PyTypeError::new_err("the column has no dictionary"));
        };
        let keys = ArrowBuffer::from_vec(texts.keys().values().to_vec());
        Ok((Buffer::new(keys), self.part(Arc::clone(texts.values()), None)))
    }

    /// The values of a text column as a NumPy array of `StringDType(na_object=None)`, made anew.
    fn string_array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let texts = self.array.as_dictionary_opt::<Int32Type>();
        match texts.and_then(|texts| texts.downcast_dict::<StringArray>()) {
            Some(texts) => {
                // Each row's own text: NumPy's strings do not share.
                let rows: LargeStringArray = texts.into_iter().collect();
                numpy_strings::string_array(py, &rows)
            }
            None => numpy_strings::string_array(py, self.plain().as_ref()),
        }
    }

    /// The values as rows give them.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        values::list_of_array(py, self.pg_type.as_deref(), self.plain().as_ref(), &self.codecs)
    }

    /// The values as Arrow has them: text where a row has an object of another type.
    fn stored_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        values::list_of_array(py, None, self.plain().as_ref(), &self.codecs)
    }

    /// Whether a user's codec makes objects of the values or of parts of them.
    #[getter]
    fn has_codec(&self) -> bool {
        self.pg_type.as_deref().is_some_and(Type::has_codecs)
    }

    /// What PostgreSQL makes of a value with parts: "array", "composite", "range", "multirange",
    /// "figure", "timetz"; else "plain".
    #[getter]
    fn form(&self) -> &'static str {
        parts::form(self.pg_type.as_deref())
    }

    /// The columns within: of a list its elements, all of them one after another, of a struct its
    /// fields with their names. None of other types.
    fn parts(&self) -> Vec<(String, Self)> {
        parts::parts(&self.array, self.pg_type.as_deref())
            .into_iter()
            .map(|(name, array, pg_type)| (name, self.part(array, pg_type)))
            .collect()
    }

    /// Of a list column where among its elements each row begins, and where the last one ends, as
    /// integers of 64 bits.
    fn offsets(&self) -> PyResult<Buffer> {
        let offsets = parts::offsets(self.array.as_ref());
        offsets.map(|offsets| Buffer::new(ArrowBuffer::from_vec(offsets))).ok_or_else(|| {
            PyTypeError::new_err(format!("a {} column has no lists", self.type_name()))
        })
    }

    /// Rows `offset` to `offset + length`, sharing the memory.
    fn slice(&self, offset: usize, length: usize) -> PyResult<Self> {
        match offset.checked_add(length) {
            Some(end) if end <= self.array.len() => {
                let array = self.array.slice(offset, length);
                Ok(Self {
                    array,
                    pg_type: self.pg_type.clone(),
                    codecs: Arc::clone(&self.codecs),
                    cells: self.cells,
                })
            }
            _ => Err(PyIndexError::new_err("slice reaches past the last row")),
        }
    }

    /// Of a column of intervals their texts, as the server prints them.
    fn interval_texts(&self) -> Self {
        self.part(Arc::new(interval_texts(self.array.as_ref())), None)
    }

    fn __repr__(&self) -> String {
        format!("<Column of {} {}, {} NULL>", self.array.len(), self.type_name(), self.null_count())
    }
}

fn packed<'a>(
    texts: impl ExactSizeIterator<Item = Option<&'a str>>,
    kind: &str,
    width: usize,
) -> Option<Buffer> {
    let cells = if kind == "U" {
        cells::characters(texts, width / size_of::<u32>()).map(ArrowBuffer::from_vec)
    } else {
        let values = texts.map(|text| text.map(str::as_bytes));
        cells::bytes(values, width).map(ArrowBuffer::from_vec)
    };
    cells.map(Buffer::new)
}
