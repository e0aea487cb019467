//! The caller's errors: refused before a byte is written.

use std::fmt;

/// A request that cannot be put into a protocol message.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LocalError {
    /// A text contains a zero byte, which would end it on the wire.
    NulInText {
        /// The kind of text, such as "query text".
        what: &'static str,
    },
    /// A startup parameter has an empty name, which would end the list early.
    EmptyParameterName,
    /// The startup message is longer than servers accept.
    StartupTooLong {
        /// Length of the message in bytes.
        length: usize,
    },
    /// More parameters than the protocol can count.
    TooManyParameters {
        /// Their number.
        count: usize,
    },
    /// More result format codes than the protocol can count.
    TooManyResultFormats {
        /// Their number.
        count: usize,
    },
    /// One parameter is larger than PostgreSQL can hold in a value.
    ValueTooLarge {
        /// Position of the parameter, from 0.
        index: usize,
        /// Its encoded length in bytes.
        length: usize,
    },
    /// A single text is larger than the largest message that PostgreSQL accepts.
    TextTooLong {
        /// The kind of text, such as "query text".
        what: &'static str,
        /// Its length in bytes.
        length: usize,
    },
    /// The whole message is larger than PostgreSQL accepts.
    MessageTooLarge {
        /// The protocol's name of the message.
        message: &'static str,
        /// Its length in bytes.
        length: usize,
    },
    /// `require_auth` names a method that does not exist.
    UnknownAuthMethod {
        /// The word as written.
        name: String,
    },
    /// `require_auth` names a method twice.
    RepeatedAuthMethod {
        /// The word as written.
        name: String,
    },
    /// `require_auth` mixes methods to allow with methods to forbid.
    MixedAuthMethods,
    /// `channel_binding` is not one of its three words.
    UnknownChannelBinding {
        /// The word as written.
        value: String,
    },
}

impl fmt::Display for LocalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NulInText { what } => write!(
                f,
                "the {what} contains a NUL character, which PostgreSQL cannot store in text"
            ),
            Self::EmptyParameterName => f.write_str("a startup parameter has an empty name"),
            Self::StartupTooLong { length } => write!(
                f,
                "the startup parameters take {length} bytes, PostgreSQL accepts 10000: shorten \
                 them or apply long settings with SET after connecting"
            ),
            Self::TooManyParameters { count } => write!(
                f,
                "{count} parameters given, the protocol carries at most 65535: pass an array, or \
                 load the data with COPY"
            ),
            Self::TooManyResultFormats { count } => {
                write!(f, "{count} result formats given, the protocol carries at most 65535")
            }
            Self::ValueTooLarge { index, length } => write!(
                f,
                "parameter ${} takes {length} bytes, a PostgreSQL value holds less than 1 GiB",
                index.saturating_add(1)
            ),
            Self::TextTooLong { what, length } => write!(
                f,
                "the {what} takes {length} bytes, PostgreSQL accepts less than 1 GiB: give long \
                 values as arguments, or load the data with COPY"
            ),
            Self::MessageTooLarge { message, length } => write!(
                f,
                "the {message} message takes {length} bytes, PostgreSQL accepts less than 1 GiB: \
                 send the data in parts"
            ),
            Self::UnknownAuthMethod { name } => write!(
                f,
                "require_auth names {name:?}; the methods are password, md5, gss, sspi, \
                 scram-sha-256, oauth and none, each optionally forbidden with a leading '!'"
            ),
            Self::RepeatedAuthMethod { name } => {
                write!(f, "require_auth names {name:?} more than once")
            }
            Self::MixedAuthMethods => f.write_str(
                "require_auth mixes allowed and forbidden ('!') methods: list either the ones to \
                 allow or the ones to forbid",
            ),
            Self::UnknownChannelBinding { value } => write!(
                f,
                "channel_binding is {value:?}; it must be \"disable\", \"prefer\" or \"require\""
            ),
        }
    }
}

impl std::error::Error for LocalError {}
