//! Why an exchange or a whole session failed.

use std::fmt;

use colonnade_columnar::DecodeError;
use colonnade_protocol::LocalError;
use colonnade_protocol::backend::ErrorFields;

use crate::SinkError;

/// The reason an exchange did not end as asked.
#[derive(Debug)]
pub enum Error {
    /// The server's ErrorResponse. The session goes on unless the severity is FATAL or PANIC.
    Server(Box<ErrorFields>),
    /// An ErrorResponse that ended the session after start-up, during an exchange or between two.
    ClosedByServer(Box<ErrorFields>),
    /// The error of a statement that was refused before it ran, because its description is out of
    /// date; the session goes on.
    Outdated(Box<Self>),
    /// A value could not be represented; the session goes on.
    Decode(Box<DecodeError>),
    /// The caller's sink failed for a reason of its own; the session goes on.
    Foreign(Box<dyn std::error::Error + Send + Sync>),
    /// One side broke the protocol, or authentication was refused by us.
    Protocol(colonnade_protocol::Error),
    /// The server sent a message that is not allowed at this point; the session is closed.
    OutOfTurn {
        /// The protocol's name of the message.
        message: &'static str,
    },
    /// The command tag's row count differs from the number of rows received; the session is closed.
    RowCount {
        /// The count in the command tag.
        told: u64,
        /// The number of rows received.
        found: u64,
    },
    /// The statement began a COPY where only a query or command can run; the session goes on.
    UnexpectedCopy,
    /// The statement given to a copy method is not a COPY in that direction; the session goes on.
    NotACopy,
    /// The statement has more parameters than one Bind message can carry.
    TooManyParameters {
        /// The number of parameters.
        count: usize,
    },
    /// A container type has a part whose codec uses the text format; the session goes on.
    TextCodec {
        /// The container type.
        type_name: String,
        /// The part with the codec.
        codec: String,
    },
    /// The result has other columns than the statement's last description, and they came in a
    /// format that was not requested; the session goes on.
    ResultChanged,
    /// An owner's statement was described anew, and its result has other columns; it has not run,
    /// and the session goes on.
    OtherColumns,
    /// A portal was bound with another format for a column than the sink now asks for; the session
    /// goes on.
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
    /// The session was closed because a command sent ahead of the exchange failed.
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
            Self::Outdated(error) => error.fmt(f),
            Self::Decode(error) => error.fmt(f),
            Self::Foreign(error) => error.fmt(f),
            Self::Protocol(error) => error.fmt(f),
            Self::OutOfTurn { message } => {
                write!(f, "the server sent {message} where it is not allowed")
            }
            Self::RowCount { told, found } => {
                write!(f, "the server reported {told} rows, but {found} came")
            }
            Self::UnexpectedCopy => f.write_str(
                "a COPY from STDIN or to STDOUT cannot run as a query: use the copy methods",
            ),
            Self::NotACopy => f.write_str(
                "the statement is not a COPY in this direction: COPY ... FROM STDIN takes data, \
                 COPY ... TO STDOUT gives it",
            ),
            Self::TextCodec { type_name, codec } => write!(
                f,
                "the codec of type {codec} reads text, but within {type_name} values come in \
                 binary only: set it with format=\"binary\" or format=\"tuple\""
            ),
            Self::TooManyParameters { count } => write!(
                f,
                "this statement has {count} parameters, but the protocol carries at most 65535: \
                 pass an array, or load the data with COPY"
            ),
            Self::ResultChanged => f.write_str(
                "the columns of this query's result have changed since it was last described: it \
                 has run, but its rows cannot be read; the next call describes it again",
            ),
            Self::OtherColumns => f.write_str(
                "cached statement plan is invalid due to a database schema or configuration \
                 change: its result has other columns than before. Nothing has run; prepare it \
                 again",
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
                write!(f, "connection was closed because it could not be reset: {error}")
            }
            Self::Closed => f.write_str("connection is closed"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Whether the session must close because the bytes that follow cannot be interpreted.
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
