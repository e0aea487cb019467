//! The JSON text of single values: the policy of docs/reference/formats.md.
//!
//! Every function appends one value. A value that is a string in JSON is written with its quotes.

pub(crate) mod bytes;
pub(crate) mod characters;
pub(crate) mod figures;
pub(crate) mod moments;
pub(crate) mod short;

#[cfg(test)]
mod tests;
