//! Columns of other libraries: Arrow's C data interface, checked before it is read, and values of
//! NumPy's dtypes as Arrow arrays.
//!
//! The structure of imported data is checked against its type, then all of its values, offsets,
//! views and UTF-8; only `BatchStream::next_unchecked` leaves out the values. One thing cannot be
//! checked here, because the interface does not carry it: the size of the buffers. The last offset
//! gives the size of a text buffer, and the array's length gives the others. The producer is
//! trusted to provide that much memory.
//!
//! The crate knows neither connections nor Python: capsules and buffers are taken by its caller.

mod described;
mod fault;
mod import;
mod moments;
mod names;
pub mod numpy;
mod shape;
mod sql_types;

pub use described::described;
pub use fault::Fault;
pub use import::{BatchStream, Batches, Stream, array_of, batch_of_rows, field_of, schema_of};
pub use moments::{MomentError, micros};
pub use names::{arrow_type_name, field_type_name};
pub use sql_types::sql_type;
