//! Messages that report the progress of queries, and those that come between them.

use super::Message;
use crate::error::{Fault, RemoteError};
use crate::reader::Reader;

/// Whether a transaction is open when the server is ready for the next query.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TransactionStatus {
    /// No transaction is open.
    Idle,
    /// A transaction is open.
    InTransaction,
    /// A transaction is open and has failed; only a rollback is accepted.
    Failed,
}

pub(super) fn ready_for_query(mut reader: Reader<'_>) -> Result<Message<'_>, RemoteError> {
    let status = match reader.u8("transaction status")? {
        b'I' => TransactionStatus::Idle,
        b'T' => TransactionStatus::InTransaction,
        b'E' => TransactionStatus::Failed,
        status => return Err(reader.fault(Fault::TransactionStatus { status })),
    };
    reader.finish()?;
    Ok(Message::ReadyForQuery(status))
}

pub(super) fn command_complete(mut reader: Reader<'_>) -> Result<Message<'_>, RemoteError> {
    let tag = reader.text("command tag")?;
    reader.finish()?;
    Ok(Message::CommandComplete(tag))
}

pub(super) fn notification(mut reader: Reader<'_>) -> Result<Message<'_>, RemoteError> {
    let process_id = reader.i32("process id")?;
    let channel = reader.text("channel")?;
    let payload = reader.text("payload")?;
    reader.finish()?;
    Ok(Message::NotificationResponse { process_id, channel, payload })
}

pub(super) fn function_call(mut reader: Reader<'_>) -> Result<Message<'_>, RemoteError> {
    let result = reader.value("function result")?;
    reader.finish()?;
    Ok(Message::FunctionCallResponse(result))
}
