//! The two encodings in which PostgreSQL sends and takes values.

/// How a value is written on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// What the type's output function prints and its input function reads; wire code 0.
    Text,
    /// What the type's send function writes and its receive function reads; wire code 1.
    Binary,
}

impl Format {
    /// The code by which messages name this format.
    #[inline]
    pub const fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }

    /// The format a code stands for; `None` for codes that the protocol does not define.
    #[inline]
    pub const fn from_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::Text),
            1 => Some(Self::Binary),
            _ => None,
        }
    }
}
