//! PostgreSQL's values: columns in Arrow's memory layout, values of rows, parameters.
//!
//! * [`BatchBuilder`] takes runs of rows from [`colonnade_protocol`] and makes record batches.
//! * [`types`] is the only place that knows types: one file per type or wire shape, one line per
//!   type in [`types::TYPES`].
//! * [`Value`] is the neutral value of rows (decoded) and of parameters (encoded).
//! * [`encode`] is the way back: Arrow arrays to the cells of COPY and of array parameters.
//! * [`given`] is about values before they are encoded: shape, place, units of time, limits.
//! * [`export`] changes the layout of strings for a consumer without copying their bytes.
//!
//! Four rules hold everywhere. The server's bytes give a value or a [`DecodeError`] that names
//! column, type and row, never a panic and never a guess. A buffer is written once: the vector into
//! which values are decoded is the buffer that is exported. The slot of a NULL holds NumPy's null
//! (NaN, NaT), or zero if there is none. And `unsafe` code is confined to one file, `trusted.rs`.

#![deny(unsafe_code)]

pub mod calendar;
pub mod encode;
pub mod export;
pub mod types;

mod arrow_value;
mod builder;
mod catalog;
pub mod cells;
mod column;
mod column_parts;
mod column_value;
mod concat;
mod contained;
mod decimal_floats;
mod dictionary_keys;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod given;
mod inexact;
mod interval_text;
mod joined;
mod params;
mod plain_types;
mod raw_values;
mod requested_strings;
mod result_columns;
mod schema;
mod table;
mod texts;
#[allow(unsafe_code, reason = "the one file that may, see its head")]
mod trusted;
mod validity;
mod value;

#[cfg(test)]
mod testing;

pub use arrow_value::value_of;
pub use builder::{BatchBuilder, DecodeOptions, ResultColumn};
pub use catalog::{Catalog, Catalogs, TypeRow, Types, named_type};
pub use cells::CellEncoding;
pub use column::{ColumnBuilder, Fields};
pub use column_parts::{Part, form, list_offsets, parts};
pub use column_value::{column_value, needs_type};
pub use concat::{concat, concat_arrays};
pub use contained::contained;
pub use decimal_floats::{DecimalFloats, decimal_floats};
pub use dictionary_keys::with_own_keys;
pub use error::{
    AppendError, DecimalDigits, DecodeError, EncodeError, FixedBy, LayoutFault, Misfit, Place,
    Reason, within,
};
pub use export::{StringLayout, with_string_layout};
pub use inexact::{Inexact, InexactValue};
pub use interval_text::interval_text;
pub use joined::joined;
pub use params::{push_in_binary, push_in_text, push_parameter};
pub use plain_types::{AsText, interval_texts, with_plain_types};
pub use raw_values::{TextCells, byte_cells, fixed_values, null_bytes, text_cells};
pub use result_columns::{MadeColumn, made_batch};
pub use schema::{Infinity, Override, ParseOptionError, SchemaError};
pub use table::Table;
pub use texts::{TextError, in_copy, in_json};
pub use types::{Attribute, CodecFormat, Comparison, Kind, PgType, RECORDS, Shape, Type, type_of};
pub use value::{Bits, List, Network, OfType, Range, Sign, Value};
