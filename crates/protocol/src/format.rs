//! The two formats in which PostgreSQL sends and accepts values.

/// The wire format of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// The text of the type's input and output functions; wire code 0.
    Text,
    /// The bytes of the type's receive and send functions; wire code 1.
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

    /// The format of a code; `None` for codes that the protocol does not define.
    #[inline]
    pub const fn from_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::Text),
            1 => Some(Self::Binary),
            _ => None,
        }
    }
}
