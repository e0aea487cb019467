//! Shared by several test files: the server's side of the wire, by hand.
#![allow(dead_code, reason = "each test file uses its own part of this module")]

pub(crate) mod scram_server;

/// One frame.
pub(crate) fn frame(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend(u32::try_from(body.len() + 4).unwrap().to_be_bytes());
    bytes.extend(body);
    bytes
}

/// One `DataRow`; `None` is NULL.
pub(crate) fn data_row(values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut body = u16::try_from(values.len()).unwrap().to_be_bytes().to_vec();
    for value in values {
        match value {
            None => body.extend((-1_i32).to_be_bytes()),
            Some(value) => {
                body.extend(i32::try_from(value.len()).unwrap().to_be_bytes());
                body.extend(*value);
            }
        }
    }
    frame(b'D', &body)
}
