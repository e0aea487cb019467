//! The columns of a result.

use super::Message;
use crate::Oid;
use crate::error::RemoteError;
use crate::format::Format;
use crate::reader::Reader;

/// The size of a field with an empty name.
const FIELD_LEN_MIN: usize = 19;

/// One column of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// The column's name; not necessarily unique in its result.
    pub name: String,
    /// The OID of its table, 0 if it is computed.
    pub table_oid: Oid,
    /// Its number in that table from 1, 0 if it is computed.
    pub column_number: i16,
    /// Its type.
    pub type_oid: Oid,
    /// Size of a value in bytes; negative for types of variable width.
    pub type_size: i16,
    /// The type modifier, which encodes for example the 10 and 2 of `numeric(10, 2)`; -1 for none.
    pub type_modifier: i32,
    /// The format of its values. In the description of a statement this is text for every column,
    /// because the formats are chosen only later.
    pub format: Format,
}

pub(super) fn parse(mut reader: Reader<'_>) -> Result<Message<'_>, RemoteError> {
    let count = reader.count("column count")?;
    let mut fields = Vec::with_capacity(count.min(reader.left() / FIELD_LEN_MIN));
    for _ in 0..count {
        fields.push(Field {
            name: reader.text("column name")?.to_owned(),
            table_oid: reader.u32("table OID")?,
            column_number: reader.i16("column number")?,
            type_oid: reader.u32("type OID")?,
            type_size: reader.i16("type size")?,
            type_modifier: reader.i32("type modifier")?,
            format: reader.format("column format")?,
        });
    }
    reader.finish()?;
    Ok(Message::RowDescription(fields))
}
