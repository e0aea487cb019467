//! The values of one Bind, in wire format.

use super::writer::patch;
use crate::format::Format;

/// A value of this length or more exceeds PostgreSQL's largest allocation.
const VALUE_LEN_MAX: usize = 0x3fff_ffff;

/// The length field of a NULL.
const NULL_LENGTH: [u8; 4] = (-1_i32).to_be_bytes();

/// Parameter values, each preceded by its length, ready to be copied into a [`bind`](super::bind)
/// message. Meant to be reused.
///
/// ```
/// use colonnade_protocol::{EncodedParams, Format};
///
/// let mut params = EncodedParams::new();
/// params.push_null(Format::Binary);
/// params.push(Format::Binary, |out| {
///     out.extend_from_slice(&7_i32.to_be_bytes());
///     Ok::<(), std::convert::Infallible>(())
/// })?;
/// assert_eq!(params.bytes(), b"\xff\xff\xff\xff\0\0\0\x04\0\0\0\x07");
/// # Ok::<(), std::convert::Infallible>(())
/// ```
#[derive(Clone, Default)]
pub struct EncodedParams {
    /// For each value its length in 4 bytes, then the value.
    bytes: Vec<u8>,
    /// One format for each value; the number of formats is the number of values.
    formats: Vec<Format>,
    /// The index and length of the first value that is too large to be sent.
    oversized: Option<(usize, usize)>,
}

impl EncodedParams {
    /// No values.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), formats: Vec::new(), oversized: None }
    }

    /// Appends a NULL.
    pub fn push_null(&mut self, format: Format) {
        self.bytes.extend_from_slice(&NULL_LENGTH);
        self.formats.push(format);
    }

    /// Appends the value that `write` writes to the end of the given vector; its length is filled
    /// in afterwards. If `write` fails, nothing is appended.
    ///
    /// A value too large for PostgreSQL is remembered and refused by [`bind`](super::bind).
    pub fn push<E>(
        &mut self,
        format: Format,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        if let Err(error) = write(&mut self.bytes) {
            self.bytes.truncate(start);
            return Err(error);
        }
        let length = self.bytes.len().saturating_sub(start + 4);
        match u32::try_from(length) {
            Ok(counted) if length < VALUE_LEN_MAX => patch(&mut self.bytes, start, counted),
            _ => self.oversized = self.oversized.or(Some((self.formats.len(), length))),
        }
        self.formats.push(format);
        Ok(())
    }

    /// Removes the values and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.formats.clear();
        self.oversized = None;
    }

    /// The number of values.
    pub fn count(&self) -> usize {
        self.formats.len()
    }

    /// The format of each value.
    pub fn formats(&self) -> &[Format] {
        &self.formats
    }

    /// The values in wire format, each preceded by its length.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) const fn oversized(&self) -> Option<(usize, usize)> {
        self.oversized
    }
}

impl std::fmt::Debug for EncodedParams {
    /// Prints no values: any of them may be a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncodedParams")
            .field("count", &self.count())
            .field("bytes", &self.bytes.len())
            .finish()
    }
}
