//! Why bytes are not a struct, or a value does not fit its field.

use std::fmt;

/// A fault, with the field that it is about, where it is about one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field's name; for a field of a struct within it, the names from outside in, with dots.
    pub field: Option<String>,
    /// The row, counted from 0, where several were read.
    pub row: Option<usize>,
    /// The reason, as a message shows it.
    pub reason: String,
}

impl Fault {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { field: None, row: None, reason: reason.into() }
    }

    /// The same fault, inside the field of this name.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        self.field = Some(match self.field {
            Some(inner) => format!("{name}.{inner}"),
            None => name.to_owned(),
        });
        self
    }

    /// The same fault, in this row.
    #[must_use]
    pub(crate) fn in_row(mut self, row: usize) -> Self {
        self.row = Some(row);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(row) = self.row {
            write!(f, "row {row}, ")?;
        }
        match &self.field {
            Some(field) => write!(f, "field {field:?}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for Fault {}
