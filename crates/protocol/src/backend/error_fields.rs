//! Errors and notices: a list of fields, each with a one-byte code.

use crate::error::{Fault, RemoteError};
use crate::reader::Reader;

/// One for each code that a byte can hold. Without a limit, a gigabyte of empty fields would take
/// sixteen times its size in memory.
const FIELDS_MAX: usize = 255;

/// The fields of an `ErrorResponse` or a `NoticeResponse`, as the server sent them.
///
/// Fields with unknown codes are kept. Text that is not UTF-8 is replaced, not refused: a server
/// may send anything before the client encoding is agreed on, and an error with damaged text is
/// still worth reading.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ErrorFields {
    fields: Vec<(u8, String)>,
}

/// One accessor per field that the protocol defines, and the table of their names.
macro_rules! known_fields {
    ($($code:literal $method:ident, $doc:literal;)*) => {
        impl ErrorFields {
            $(
                #[doc = $doc]
                pub fn $method(&self) -> Option<&str> {
                    self.field($code)
                }
            )*

            /// The name of the field with this code; `None` for codes the protocol does not define.
            pub const fn field_name(code: u8) -> Option<&'static str> {
                match code {
                    $($code => Some(stringify!($method)),)*
                    _ => None,
                }
            }
        }
    };
}

known_fields! {
    b'S' severity_localized, "The severity, in the language of the server's messages.";
    b'V' severity_unlocalized, "The severity, always in English; since PostgreSQL 9.6.";
    b'C' code, "The SQLSTATE, five characters that never change with language or version.";
    b'M' message, "What happened, in one line.";
    b'D' detail, "More about it, in any number of lines.";
    b'H' hint, "What to do about it.";
    b'P' position, "The position in the query text: a decimal number of characters, from 1.";
    b'p' internal_position, "Like `position`, but in `internal_query`.";
    b'q' internal_query, "The text of a query that the server ran itself, such as in a function.";
    b'W' context, "The calls during which it happened, innermost first.";
    b's' schema_name, "The schema of the object it is about.";
    b't' table_name, "The table it is about.";
    b'c' column_name, "The column it is about.";
    b'd' data_type_name, "The data type it is about.";
    b'n' constraint_name, "The constraint it is about.";
    b'F' file, "The file of the server's source code that reported it.";
    b'L' line, "The line of that file.";
    b'R' routine, "The routine of the server's source code that reported it.";
}

impl ErrorFields {
    /// The severity: in English if the server sends it, otherwise in the server's language.
    pub fn severity(&self) -> Option<&str> {
        self.severity_unlocalized().or_else(|| self.severity_localized())
    }

    /// The first field with this code.
    pub fn field(&self, code: u8) -> Option<&str> {
        self.fields.iter().find(|field| field.0 == code).map(|field| field.1.as_str())
    }

    /// Every field in the order of the message, known or not.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &str)> {
        self.fields.iter().map(|(code, text)| (*code, text.as_str()))
    }

    pub(super) fn parse(mut reader: Reader<'_>) -> Result<Self, RemoteError> {
        let mut fields = Vec::new();
        loop {
            let code = reader.u8("field code")?;
            if code == 0 {
                break;
            }
            if fields.len() == FIELDS_MAX {
                return Err(reader.fault(Fault::TooManyFields { limit: FIELDS_MAX }));
            }
            let text = reader.terminated("field text")?;
            fields.push((code, String::from_utf8_lossy(text).into_owned()));
        }
        reader.finish()?;
        Ok(Self { fields })
    }
}

impl FromIterator<(u8, String)> for ErrorFields {
    /// Fields made by hand, for errors that a client raises in a server's name and for tests.
    fn from_iter<I: IntoIterator<Item = (u8, String)>>(fields: I) -> Self {
        Self { fields: fields.into_iter().collect() }
    }
}
