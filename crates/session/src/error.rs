//! Why an exchange or a whole session failed.

use std::fmt;

use colonnade_columnar::DecodeError;
use colonnade_protocol::LocalError;
use colonnade_protocol::backend::ErrorFields;

use crate::SinkError;

/// The reason an exchange did not end as asked.
#[derive(Debug)]
pub enum Error {
    /// The server's ErrorResponse. The session goes on unless the severity is FATAL or worse.
    Server(Box<ErrorFields>),
    /// The server's ErrorResponse that ended a session after its start, whatever was under way.
    ClosedByServer(Box<ErrorFields>),
    /// A value could not be represented; the session goes on.
    Decode(Box<DecodeError>),
    /// The caller's sink failed for a reason of its own; the session goes on.
    Foreign(Box<dyn std::error::Error + Send + Sync>),
    /// One side broke the protocol, or authentication was refused by us.
    Protocol(colonnade_protocol::Error),
    /// The server sent a message that has no business at this point; the session is closed.
    OutOfTurn {
        /// The protocol's name of the message.
        message: &'static str,
    },
    /// The end of a result tells another number of rows than came; the session is closed.
    RowCount {
        /// The number that the server tells.
        told: u64,
        /// The number of rows that came.
        found: u64,
    },
    /// The statement began a COPY where only a query or command can run; the session goes on.
    UnexpectedCopy,
    /// A statement given to a copy method is no COPY in that direction; the session goes on.
    NotACopy,
    /// The server has prepared a statement of more parameters than values can be sent for.
    TooManyParameters {
        /// How many it has.
        count: usize,
    },
    /// A type has parts of which one has a codec of the text form; the session goes on.
    TextCodec {
        /// The whole type.
        type_name: String,
        /// The part that has the codec.
        codec: String,
    },
    /// The columns of a result are others than the text was known for, and came in a form that was
    /// not asked for; the session goes on.
    ResultChanged,
    /// A portal was bound with another format of a column than the one that is wanted of it now;
    /// the session goes on.
    BoundFormat {
        /// The column's name.
        column: String,
    },
    /// The session's text encoding was changed away from UTF-8; the value is the new encoding.
    ClientEncoding(String),
    /// The peer closed the connection while an exchange was under way.
    ConnectionLost,
    /// This side closed the connection while an exchange was under way.
    CutOff,
    /// The session was closed, for what was sent ahead of the exchange failed.
    Ahead(Box<Self>),
    /// The session was closed before the exchange could run.
    Closed,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(fields) | Self::ClosedByServer(fields) => {
                f.write_str(fields.message().unwrap_or("the server gave no message"))
            }
            Self::Decode(error) => error.fmt(f),
            Self::Foreign(error) => error.fmt(f),
            Self::Protocol(error) => error.fmt(f),
            Self::OutOfTurn { message } => {
                write!(f, "the server sent {message} where it has no place")
            }
            Self::RowCount { told, found } => {
                write!(f, "the server says that the result has {told} rows, and {found} came")
            }
            Self::UnexpectedCopy => f.write_str(
                "a COPY from STDIN or to STDOUT cannot run as a query: use the copy methods",
            ),
            Self::NotACopy => f.write_str(
                "the statement is no COPY in this direction: COPY ... FROM STDIN takes data, \
                 COPY ... TO STDOUT gives it",
            ),
            Self::TextCodec { type_name, codec } => write!(
                f,
                "the codec of type {codec} reads text, and within {type_name} there is only its \
                 binary form: set it with format=\"binary\" or format=\"tuple\""
            ),
            Self::TooManyParameters { count } => write!(
                f,
                "this statement has {count} parameters, and the protocol carries at most 65535: \
                 pass an array, or load the data with COPY"
            ),
            Self::ResultChanged => f.write_str(
                "the columns of this query's result have changed since it was last described: it \
                 has run, but its rows cannot be read; the next time it is described anew",
            ),
            Self::BoundFormat { column } => write!(
                f,
                "column \"{column}\" comes in a format from which the type asked for it cannot be \
                 made, for the cursor was opened for rows: cast it in the query"
            ),
            Self::ClientEncoding(name) => write!(
                f,
                "client_encoding was changed to {name}, but text is read as UTF-8: \
                 run SET client_encoding TO 'UTF8' with execute() to go on"
            ),
            Self::ConnectionLost => f.write_str("connection was closed in the middle of operation"),
            Self::CutOff => {
                f.write_str("the connection was closed by close() or terminate() during this call")
            }
            Self::Ahead(error) => {
                write!(f, "connection was closed, for it could not be reset: {error}")
            }
            Self::Closed => f.write_str("connection is closed"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Whether the talk cannot go on: the meaning of what follows is unknown.
    pub(crate) fn ends_session(&self) -> bool {
        matches!(self, Self::Protocol(_) | Self::OutOfTurn { .. } | Self::RowCount { .. })
    }
}

impl From<colonnade_protocol::Error> for Error {
    fn from(error: colonnade_protocol::Error) -> Self {
        Self::Protocol(error)
    }
}

impl From<LocalError> for Error {
    fn from(error: LocalError) -> Self {
        Self::Protocol(error.into())
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::Decode(Box::new(error))
    }
}

impl From<SinkError> for Error {
    fn from(error: SinkError) -> Self {
        match error {
            SinkError::Protocol(error) => Self::Protocol(error),
            SinkError::Decode(error) => Self::from(error),
            SinkError::Foreign(error) => Self::Foreign(error),
        }
    }
}
