//! Arrow columns to a column of blobs.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, LargeBinaryArray};
use arrow_buffer::{Buffer, OffsetBuffer};

use crate::arrow_value::Column;
use crate::{Fault, Layout, Writer};

/// A blob per row, of a column for each field; a field without a column has its default. A fault
/// names row and field.
pub fn pack(layout: &Layout, columns: &[Option<ArrayRef>], rows: usize) -> Result<ArrayRef, Fault> {
    let mut sources = Vec::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        let Some((field, _)) = layout.field(index) else { continue };
        sources.push(match column {
            Some(array) => Column::new(&field.kind, array).map_err(|f| f.within(&field.name))?,
            None => Column::constant(layout.default_value(index)?),
        });
    }
    let mut ends: Vec<i64> = Vec::with_capacity(rows + 1);
    ends.push(0);
    let mut data = Vec::with_capacity(rows.saturating_mul(layout.template().len()));
    for row in 0..rows {
        let mut writer = Writer::begin(layout, data);
        for source in &sources {
            let written = source.value(row).and_then(|value| writer.push(&value));
            written.map_err(|fault| writer.named(fault).in_row(row))?;
        }
        data = writer.finish().map_err(|fault| fault.in_row(row))?;
        ends.push(data.len() as i64);
    }
    Ok(binary(ends, data))
}

/// The small layout where it is enough.
fn binary(ends: Vec<i64>, data: Vec<u8>) -> ArrayRef {
    let data = Buffer::from_vec(data);
    match ends.iter().map(|end| i32::try_from(*end)).collect::<Result<Vec<i32>, _>>() {
        Ok(ends) => Arc::new(BinaryArray::new(OffsetBuffer::new(ends.into()), data, None)),
        Err(_) => Arc::new(LargeBinaryArray::new(OffsetBuffer::new(ends.into()), data, None)),
    }
}
