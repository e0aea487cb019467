//! Python values as the cells of a copied column.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::LargeBinaryBuilder;
use colonnade_columnar::{Shape, Type};
use colonnade_protocol::frontend::EncodedParams;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyList, PyString};

use super::refusal::Refusal;
use super::{is_null, push_as_text, push_binary, scalars};
use crate::types::codecs::Codecs;
use crate::values::times;

/// Types whose binary format is their text.
const TEXTS: [&str; 4] = ["text", "varchar", "bpchar", "json"];

const LENGTH_BYTES: usize = 4;

/// The position of the cells.
pub(crate) struct CellPlace<'a> {
    pub(crate) column: &'a str,
    /// The row of the first cell.
    pub(crate) first_row: u64,
}

/// The binary format of each value, as one array of bytes.
///
/// NaN is a number, and PostgreSQL has no NaT; with `nan_as_null` both are NULL. None and pandas'
/// NA are always NULL.
pub(crate) fn encode_cells(
    py: Python<'_>,
    pg_type: &Type,
    codecs: &Codecs,
    values: &Bound<'_, PyList>,
    place: &CellPlace<'_>,
    nan_as_null: bool,
) -> PyResult<ArrayRef> {
    let mut cells = LargeBinaryBuilder::new();
    let mut cell = EncodedParams::new();
    let is_text = matches!(&pg_type.shape, Shape::Scalar(line) if TEXTS.contains(&line.name));
    for (index, value) in values.iter().enumerate() {
        // The fast path for the most frequent case.
        if is_text && let Ok(text) = value.cast_exact::<PyString>() {
            // The general path explains what is refused, such as half of a surrogate pair.
            if let Ok(text) = text.to_str()
                && !text.contains('\0')
            {
                cells.append_value(text);
                continue;
            }
        }
        let is_pushed = push_cell(&mut cell, pg_type, codecs, &value, nan_as_null);
        let is_null = is_pushed.map_err(|refusal| {
            let row = place.first_row + index as u64;
            refusal.into_cell_error(py, place.column, row, &pg_type.name, &value)
        })?;
        if is_null {
            cells.append_null();
        } else {
            cells.append_value(cell.bytes().get(LENGTH_BYTES..).unwrap_or_default());
        }
    }
    Ok(Arc::new(cells.finish()))
}

/// Encodes one value as the only one of `cell`; returns whether it is NULL.
fn push_cell(
    cell: &mut EncodedParams,
    pg_type: &Type,
    codecs: &Codecs,
    value: &Bound<'_, PyAny>,
    nan_as_null: bool,
) -> Result<bool, Refusal> {
    if value.is_none() {
        return Ok(true);
    }
    let is_nan = value.cast::<PyFloat>().is_ok_and(|float| float.value().is_nan());
    let is_nat = !is_nan && scalars::is_foreign(value) && times::is_nat(value)?;
    if nan_as_null && (is_nan || is_nat) {
        return Ok(true);
    }
    if is_nat {
        return Err(Refusal::because("PostgreSQL has no NaT; nan_as_null=True makes it NULL"));
    }
    if is_null(value)? {
        return Ok(true);
    }
    cell.clear();
    let push = if pg_type.is_text_only() { push_as_text } else { push_binary };
    match push(cell, pg_type, codecs, value) {
        Err(_) if is_nan => {
            Err(Refusal::because("the type has no NaN; nan_as_null=True makes it NULL"))
        }
        pushed => pushed.map(|()| false),
    }
}
