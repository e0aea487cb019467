//! Bytes and UUIDs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::characters::hex;

/// Where a UUID has hyphens: before these bytes.
const HYPHENS: [usize; 4] = [4, 6, 8, 10];

/// Base64 with padding (RFC 4648, section 4).
pub(crate) fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    if let Some(place) = out.get_mut(start..) {
        // The place has the length of the text, so nothing is left unwritten.
        let written = STANDARD.encode_slice(bytes, place);
        debug_assert_eq!(written, Ok(place.len()));
    }
    out.push(b'"');
}

/// The digits in five groups.
pub(crate) fn uuid(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for (place, byte) in bytes.iter().enumerate() {
        if HYPHENS.contains(&place) {
            out.push(b'-');
        }
        out.extend_from_slice(&[hex(byte >> 4), hex(byte & 15)]);
    }
    out.push(b'"');
}
