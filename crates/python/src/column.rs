//! One column: its raw values for NumPy, and its values as Python objects.

mod numpy_strings;

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, cast::AsArray};
use arrow_buffer::Buffer as ArrowBuffer;
use arrow_schema::DataType;
use colonnade_columnar::{
    CellEncoding, TextCells, Type, byte_cells, cells, decimal_floats, fixed_values, form,
    interval_texts, list_offsets, null_bytes, parts, text_cells, with_own_keys,
};
use colonnade_foreign::arrow_type_name;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::memory::buffer::Buffer;
use crate::types::codecs::Codecs;
use crate::values;

/// A column of a batch.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Column {
    array: ArrayRef,
    /// The encoding of the array, if it holds cells.
    cells: Option<CellEncoding>,
    /// The PostgreSQL type of the values, if they have one.
    pg_type: Option<Arc<Type>>,
    /// The codecs that the type refers to.
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

    /// An array that is part of this one.
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
        // Arrow's null type has no validity bitmap to count in.
        self.array.logical_null_count()
    }

    /// The values of a fixed-width column, shared; booleans as new bytes. A NULL slot holds NaN,
    /// NaT (the smallest integer), or 0 if the type has neither.
    fn values(&self) -> PyResult<Buffer> {
        fixed_values(self.array.as_ref()).map(Buffer::new).ok_or_else(|| {
            PyTypeError::new_err(format!(
                "a {} column has no fixed-width values",
                arrow_type_name(self.array.data_type())
            ))
        })
    }

    /// The nearest float64 of each decimal in a new buffer, NaN for NULL; and the first row that
    /// has no exact float64, None if all have one.
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

    /// A byte per row, 1 for NULL; None if no value is NULL.
    fn null_mask(&self) -> Option<Buffer> {
        null_bytes(self.array.as_ref()).map(ArrowBuffer::from_vec).map(Buffer::new)
    }

    /// The texts as fixed-width cells of NumPy's `U` or `S` of `width` bytes, NULL as an empty
    /// text; None if a text is longer than its cell.
    fn text_cells(&self, kind: &str, width: usize) -> PyResult<Option<Buffer>> {
        let cells = if kind == "U" { TextCells::Characters } else { TextCells::Bytes };
        let plain = self.plain();
        let packed = text_cells(&plain, cells, width).ok_or_else(|| {
            let other = plain.data_type();
            PyTypeError::new_err(format!("a column of {other} is not text"))
        });
        Ok(packed?.map(Buffer::new))
    }

    /// The bytes as fixed-width cells padded with zeros, NULL as an empty value; None if a value is
    /// longer than its cell. Zeros at the end of a value cannot be told from the padding.
    fn byte_cells(&self, width: usize) -> PyResult<Option<Buffer>> {
        let packed = byte_cells(self.array.as_ref(), width).ok_or_else(|| {
            let other = self.array.data_type();
            PyTypeError::new_err(format!("a column of {other} is not bytes"))
        });
        Ok(packed?.map(Buffer::new))
    }

    /// The keys of a dictionary column, 0 for NULL, and the texts that they index. The keys are a
    /// copy: the caller may write to them, and the column must never hold an invalid key.
    fn dictionary(&self) -> PyResult<(Buffer, Self)> {
        let keyed = with_own_keys(&self.array);
        let texts = keyed.as_ref().and_then(|keyed| keyed.as_dictionary_opt::<Int32Type>());
        let Some(texts) = texts else {
            return Err(PyTypeError::new_err("the column has no dictionary"));
        };
        let keys = ArrowBuffer::from_vec(texts.keys().values().to_vec());
        Ok((Buffer::new(keys), self.part(Arc::clone(texts.values()), None)))
    }

    /// The values of a text column as a new NumPy array of `StringDType(na_object=None)`.
    fn string_array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let keyed = with_own_keys(&self.array);
        let texts = keyed.as_ref().and_then(|keyed| keyed.as_dictionary_opt::<Int32Type>());
        match texts.and_then(|texts| texts.downcast_dict::<StringArray>()) {
            Some(texts) => {
                // A separate text for each row: NumPy's strings cannot be shared.
                let rows: LargeStringArray = texts.into_iter().collect();
                numpy_strings::string_array(py, &rows)
            }
            None => numpy_strings::string_array(py, self.plain().as_ref()),
        }
    }

    /// The values as rows return them.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        values::list_of_array(py, self.pg_type.as_deref(), self.plain().as_ref(), &self.codecs)
    }

    /// The values as Arrow stores them: text where a row has an object of another type.
    fn stored_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        values::list_of_array(py, None, self.plain().as_ref(), &self.codecs)
    }

    /// Whether a user's codec makes objects of the values or of their parts.
    #[getter]
    fn has_codec(&self) -> bool {
        self.pg_type.as_deref().is_some_and(Type::has_codecs)
    }

    /// The PostgreSQL form of a value with parts: "array", "composite", "range", "multirange",
    /// "figure" or "timetz"; otherwise "plain".
    #[getter]
    fn form(&self) -> &'static str {
        form(self.pg_type.as_deref())
    }

    /// The child columns: a list's elements, one after another, or a struct's fields with their
    /// names. None for other types.
    fn parts(&self) -> Vec<(String, Self)> {
        parts(&self.array, self.pg_type.as_deref())
            .into_iter()
            .map(|(name, array, pg_type)| (name, self.part(array, pg_type)))
            .collect()
    }

    /// For a list column, the 64-bit offsets at which each row's elements begin and the last row's
    /// end.
    fn offsets(&self) -> PyResult<Buffer> {
        let offsets = list_offsets(self.array.as_ref());
        offsets.map(|offsets| Buffer::new(ArrowBuffer::from_vec(offsets))).ok_or_else(|| {
            PyTypeError::new_err(format!("a {} column does not hold lists", self.type_name()))
        })
    }

    /// Rows `offset` to `offset + length`, sharing the memory.
    fn slice(&self, offset: usize, length: usize) -> PyResult<Self> {
        match offset.checked_add(length) {
            Some(end) if end <= self.array.len() => {
                let array = self.array.slice(offset, length);
                Ok(Self { cells: self.cells, ..self.part(array, self.pg_type.clone()) })
            }
            _ => Err(PyIndexError::new_err("slice reaches past the last row")),
        }
    }

    /// For an interval column, the texts as the server prints them.
    fn interval_texts(&self) -> Self {
        self.part(Arc::new(interval_texts(self.array.as_ref())), None)
    }

    fn __repr__(&self) -> String {
        format!("<Column of {} {}, {} NULL>", self.array.len(), self.type_name(), self.null_count())
    }
}
