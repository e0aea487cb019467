//! Typed records as bytes ("structs in bytea"): their layout, checks, and the way between the bytes
//! and Arrow arrays. `docs/data/structs.md` describes the bytes.
//!
//! * A [`Layout`] places the fields of a struct. A field's place depends only on the fields before
//!   it, so a struct whose fields were added at the end reads the bytes of its earlier versions.
//! * [`Blob::open`] checks the header and every position once; then reading a field is O(1).
//! * [`Writer`] makes bytes of neutral [`Value`]s, [`pack`] of Arrow columns; [`unpack`] makes
//!   Arrow columns of the fields that are asked for.
//!
//! The bytes are hostile: every read is checked, and a fault names the field. The crate knows
//! neither connections nor Python.

#![deny(unsafe_code)]

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod arrow_types;
mod arrow_value;
mod blob;
mod fault;
mod kind;
mod layout;
mod list;
mod pack;
mod scalar;
mod unpack;
mod value;
mod write;

#[cfg(test)]
mod tests;

pub use arrow_types::arrow_field;
pub use blob::Blob;
pub use fault::Fault;
pub use kind::{Kind, Scalar, Unit};
pub use layout::{FORMAT, Field, HEADER_BYTES, Layout, MAGIC, Unmatched};
pub use list::fixed_elements;
pub use pack::pack;
pub use unpack::{Blobs, unpack};
pub use value::Value;
pub use write::Writer;
