//! Short texts as integers: their bytes from the highest on, and their length in the lowest byte,
//! which orders texts that differ only in zero bytes at the end.

use arrow_array::{Array, BinaryArray};
use arrow_buffer::ArrowNativeType;

use super::bytes::ByteKeys;
use super::keys::Keys;

/// The longest text that is an integer of 64 bits together with its length.
const NARROW_BYTES: usize = size_of::<u64>() - 1;

/// The longest text that is an integer of 128 bits together with its length.
const WIDE_BYTES: usize = size_of::<u128>() - 1;

/// The keys of texts or bytes: integers if all are short.
pub(super) fn keys(array: &BinaryArray) -> Keys {
    let lengths = array.offsets().windows(2).map(|ends| match ends {
        [begin, end] => end.as_usize() - begin.as_usize(),
        _ => 0,
    });
    let longest = lengths.max().unwrap_or_default();
    if longest <= NARROW_BYTES {
        Keys::Narrow(spans(array).map(|(rest, length)| narrow(rest, length)).collect())
    } else if longest <= WIDE_BYTES {
        Keys::Texts(ShortTexts { texts: array.clone() })
    } else {
        Keys::Bytes(ByteKeys::Small(array.clone()))
    }
}

/// Texts of at most [`WIDE_BYTES`] bytes.
pub(super) struct ShortTexts {
    texts: BinaryArray,
}

impl ShortTexts {
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The key of a row.
    pub(super) fn get(&self, row: usize) -> Option<u128> {
        let offsets = self.texts.value_offsets();
        let (begin, end) = offsets.get(row).zip(offsets.get(row + 1))?;
        let (rest, length) = span(self.texts.value_data(), begin.as_usize(), end.as_usize());
        Some(wide(rest, length))
    }

    /// The key of each row.
    pub(super) fn iter(&self) -> impl Iterator<Item = u128> {
        spans(&self.texts).map(|(rest, length)| wide(rest, length))
    }
}

/// The bytes from the beginning of each text to the end of all, and the text's length.
fn spans(array: &BinaryArray) -> impl Iterator<Item = (&[u8], usize)> {
    let data = array.value_data();
    array.value_offsets().windows(2).map(|ends| match ends {
        [begin, end] => span(data, begin.as_usize(), end.as_usize()),
        _ => (&[][..], 0),
    })
}

#[inline]
fn span(data: &[u8], begin: usize, end: usize) -> (&[u8], usize) {
    (data.get(begin..).unwrap_or_default(), end - begin)
}

// Both read a whole word, where the data do not end before, and cut off the bytes behind the text:
// that is several times as fast as copying so few bytes.

#[inline]
fn narrow(rest: &[u8], length: usize) -> u64 {
    let word = match rest.first_chunk() {
        Some(word) => u64::from_be_bytes(*word),
        None => u64::from_be_bytes(padded(rest)),
    };
    let (bits, low) = tail(length);
    word & u64::MAX.checked_shl(u64::BITS - bits).unwrap_or(0) | u64::from(low)
}

#[inline]
fn wide(rest: &[u8], length: usize) -> u128 {
    let word = match rest.first_chunk() {
        Some(word) => u128::from_be_bytes(*word),
        None => u128::from_be_bytes(padded(rest)),
    };
    let (bits, low) = tail(length);
    word & u128::MAX.checked_shl(u128::BITS - bits).unwrap_or(0) | u128::from(low)
}

/// The number of a text's bits, and its length as the lowest byte of its key.
#[inline]
fn tail(length: usize) -> (u32, u8) {
    // No text is longer than a key.
    let low = u8::try_from(length).unwrap_or_default();
    (8 * u32::from(low), low)
}

#[cold]
fn padded<const N: usize>(rest: &[u8]) -> [u8; N] {
    let mut word = [0; N];
    for (slot, byte) in word.iter_mut().zip(rest) {
        *slot = *byte;
    }
    word
}
