//! The formats of COPY data.

use crate::error::{Fault, RemoteError};
use crate::format::Format;
use crate::reader::Reader;

/// The formats that a COPY response announces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyFormat {
    /// Whether the stream as a whole is textual (text or CSV) or binary.
    pub overall: Format,
    /// The format of each column; all textual when the stream is.
    pub columns: Vec<Format>,
}

impl CopyFormat {
    pub(super) fn parse(mut reader: Reader<'_>) -> Result<Self, RemoteError> {
        let code = i16::from(reader.u8("overall format")?);
        let overall =
            Format::from_code(code).ok_or_else(|| reader.fault(Fault::FormatCode { code }))?;
        let count = reader.count("column count")?;
        let mut columns = Vec::with_capacity(count.min(reader.left() / 2));
        for _ in 0..count {
            columns.push(reader.format("column format")?);
        }
        reader.finish()?;
        Ok(Self { overall, columns })
    }
}
