//! The types of a database, and what callers set for them.

pub(crate) mod catalog;
pub(crate) mod codecs;
pub(crate) mod pg_type;
pub(crate) mod table;
