//! Either direction of a connection, one line for each message, for people and for tests.
//!
//! In the style of libpq's `PQtrace`. Passwords, SASL messages and cancel keys are never printed,
//! long values only in part.

mod backend;
mod frontend;

use std::fmt::{self, Write as _};

pub use backend::trace_backend;
pub use frontend::trace_frontend;

pub(crate) use backend::describe;

use crate::format::Format;

/// The number of bytes of a value that are printed.
const SHOWN_MAX: usize = 64;

/// Prints arbitrary bytes in quotes, escaped, and shortened if they are long.
pub(crate) struct Shown<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, hidden) = self.0.split_at_checked(SHOWN_MAX).unwrap_or((self.0, &[]));
        f.write_char('"')?;
        // UTF-8 is printed as text; other bytes as escapes.
        for chunk in shown.utf8_chunks() {
            write!(f, "{}{}", chunk.valid().escape_debug(), chunk.invalid().escape_ascii())?;
        }
        f.write_char('"')?;
        if hidden.is_empty() { Ok(()) } else { write!(f, "+{} bytes", hidden.len()) }
    }
}

/// A value, or NULL.
pub(crate) struct ShownValue<'a>(pub(crate) Option<&'a [u8]>);

impl fmt::Display for ShownValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => Shown(value).fmt(f),
            None => f.write_str("NULL"),
        }
    }
}

const fn format_name(format: Format) -> &'static str {
    match format {
        Format::Text => "text",
        Format::Binary => "binary",
    }
}

fn format_list(formats: &[Format]) -> String {
    let names: Vec<_> = formats.iter().copied().map(format_name).collect();
    names.join(",")
}
