//! pgvector's `sparsevec`: 32-bit numbers of dimensions and of elements, 32 bits that are 0, the
//! index of each element, from 0 in ascending order, and then the elements as `float4`. None of
//! them is zero, because equal vectors would then have several forms; the server refuses zeros too.
//!
//! Rows and columns have its text, as the server prints it: `{1:1.5,3:2}/5`, with indices from 1.
//! Parameters accept that text.

use std::borrow::Cow;
use std::fmt::Write;

use super::float_text::print_float4;
use super::notation::shown;
use super::varlen::{self, Shape};
use super::{Codec, Kind};
use crate::column::Fields;
use crate::error::{EncodeError, LayoutFault, Reason};
use crate::value::Value;

/// The size of the header before the indices.
const HEAD_LEN: usize = 12;

/// The text is at most this many times longer than the bytes: an element takes 8 bytes and up to 27
/// characters, the header 12 and up to 13.
const GROWTH: usize = 4;

pub(super) const SPARSEVEC: Codec = Codec {
    arrow: "utf8",
    kind: Kind::Text,
    width: None,
    casts: varlen::TEXT_CASTS,
    value: |raw| print(raw).map(|text| Value::Text(Cow::Owned(text))),
    encode: |value, out| match value {
        Value::Text(text) => encode(text, out),
        other => Err(EncodeError::WrongKind { expected: "a string", given: other.describe() }),
    },
    builder: |request| varlen::text_builder::<Printed>(request, None),
};

fn print(raw: &[u8]) -> Result<String, Reason> {
    let Parts { dimensions, places, elements } = parts(raw)?;
    let mut text = String::from("{");
    let mut next = 0;
    for (place, element) in places.iter().zip(elements) {
        let place = i32::from_be_bytes(*place);
        if !(next..dimensions).contains(&place) {
            return Err(LayoutFault::SparseIndex(place).into());
        }
        let element = f32::from_be_bytes(*element);
        if element == 0.0 {
            return Err(LayoutFault::SparseZero(place).into());
        }
        if text.len() > 1 {
            text.push(',');
        }
        next = place + 1;
        // Writing to a String does not fail.
        let _ = write!(text, "{next}:");
        print_float4(element, &mut text);
    }
    let _ = write!(text, "}}/{dimensions}");
    Ok(text)
}

/// The parts of a value.
struct Parts<'a> {
    dimensions: i32,
    places: &'a [[u8; 4]],
    /// As many as `places`.
    elements: &'a [[u8; 4]],
}

fn parts(raw: &[u8]) -> Result<Parts<'_>, Reason> {
    let too_short = Reason::TooShort { least: HEAD_LEN, actual: raw.len() };
    let Some((head, rest)) = raw.split_at_checked(HEAD_LEN) else { return Err(too_short) };
    let ([dimensions, count, reserved], _) = head.as_chunks() else { return Err(too_short) };
    let (dimensions, count) = (i32::from_be_bytes(*dimensions), i32::from_be_bytes(*count));
    if dimensions < 0 {
        return Err(LayoutFault::Count(dimensions).into());
    }
    let Ok(announced) = usize::try_from(count) else {
        return Err(LayoutFault::Count(count).into());
    };
    match i32::from_be_bytes(*reserved) {
        0 => {}
        word => return Err(LayoutFault::Reserved(word).into()),
    }
    let wrong_length = || Reason::WrongLength {
        expected: announced.saturating_mul(8).saturating_add(HEAD_LEN),
        actual: raw.len(),
    };
    match rest.as_chunks() {
        (words, []) if words.len() / 2 == announced && words.len() % 2 == 0 => {
            let (places, elements) = words.split_at(announced);
            Ok(Parts { dimensions, places, elements })
        }
        _ => Err(wrong_length()),
    }
}

struct Printed;

impl Shape for Printed {
    const UNCHECKED_TEXT: bool = false;

    fn append(
        fields: Fields<'_>,
        data: &mut Vec<u8>,
        ends: impl FnMut(usize),
    ) -> Result<usize, (usize, Reason)> {
        varlen::append_written(fields, data, ends, |raw, data| {
            data.extend_from_slice(print(raw)?.as_bytes());
            Ok(())
        })
    }

    fn most_bytes(fields: Fields<'_>) -> usize {
        fields.byte_len().saturating_mul(GROWTH)
    }
}

/// Encodes the text as the server reads it: elements in any order, zeros left out.
fn encode(text: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let mut reader = Reader { text, position: 0 };
    let mut elements = Vec::new();
    reader.symbol('{')?;
    if !reader.next_is('}') {
        loop {
            let place = reader.place()?;
            reader.symbol(':')?;
            let element = reader.element()?;
            if element != 0.0 {
                elements.push((place - 1, element));
            }
            if !reader.next_is(',') {
                break;
            }
            reader.symbol(',')?;
        }
    }
    reader.symbol('}')?;
    reader.symbol('/')?;
    let dimensions = reader.place()?;
    reader.end()?;
    elements.sort_by_key(|(place, _)| *place);
    let count = i32::try_from(elements.len()).map_err(|_| EncodeError::TooManyParts {
        type_name: "sparsevec",
        most: i32::MAX as usize,
        given: elements.len(),
    })?;
    for word in [dimensions, count, 0] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    out.extend(elements.iter().flat_map(|(place, _)| place.to_be_bytes()));
    out.extend(elements.iter().flat_map(|(_, element)| element.to_be_bytes()));
    Ok(())
}

/// Reads the text of a parameter, with spaces wherever the server accepts them.
struct Reader<'a> {
    text: &'a str,
    /// The number of bytes read.
    position: usize,
}

impl<'a> Reader<'a> {
    fn fault<T>(&self) -> Result<T, EncodeError> {
        Err(EncodeError::Notation {
            type_name: "sparsevec",
            form: "\"{1:1.5,3:2}/5\"",
            given: shown(self.text),
        })
    }

    /// The rest after spaces.
    fn rest(&mut self) -> &'a str {
        let rest = self.text.get(self.position..).unwrap_or("");
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        self.position += rest.len() - trimmed.len();
        trimmed
    }

    fn next_is(&mut self, symbol: char) -> bool {
        self.rest().starts_with(symbol)
    }

    fn symbol(&mut self, symbol: char) -> Result<(), EncodeError> {
        if !self.next_is(symbol) {
            return self.fault();
        }
        self.position += symbol.len_utf8();
        Ok(())
    }

    fn end(&mut self) -> Result<(), EncodeError> {
        if self.rest().is_empty() { Ok(()) } else { self.fault() }
    }

    /// The characters up to the first one that cannot belong to a number.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find([':', ',', '}', ' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        rest.get(..end.unwrap_or(rest.len())).unwrap_or("")
    }

    /// An index or a number of dimensions, from 1.
    fn place(&mut self) -> Result<i32, EncodeError> {
        let word = self.word();
        match word.parse() {
            Ok(place @ 1..) => {
                self.position += word.len();
                Ok(place)
            }
            _ => self.fault(),
        }
    }

    /// A float that neither overflows nor underflows.
    fn element(&mut self) -> Result<f32, EncodeError> {
        let word = self.word();
        let Ok(element) = word.parse::<f32>() else { return self.fault() };
        let is_written = |digits: std::ops::RangeInclusive<char>| {
            let mantissa = word.split(['e', 'E']).next().unwrap_or("");
            mantissa.contains(|digit| digits.contains(&digit))
        };
        let is_lost = element == 0.0 && is_written('1'..='9');
        if is_lost || (element.is_infinite() && is_written('0'..='9')) {
            return self.fault();
        }
        self.position += word.len();
        Ok(element)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;
    use proptest::prelude::*;

    use super::super::extensions::testing::Extended;
    use super::*;
    use crate::testing::hex;

    const SAMPLE: &str = "00000005 00000002 00000000 00000000 00000002 3fc00000 40000000";

    fn encoded(text: &str) -> Result<Vec<u8>, EncodeError> {
        Extended::new("sparsevec").encode(&Value::Text(text.into()))
    }

    #[test]
    fn golden() {
        let case = Extended::new("sparsevec");
        // '{1:1.5,3:2}/5'::sparsevec, '{}/5'::sparsevec
        case.assert_both_ways(hex(SAMPLE), Value::Text("{1:1.5,3:2}/5".into()));
        case.assert_both_ways(hex("00000005 00000000 00000000"), Value::Text("{}/5".into()));
        let array: StringArray = case.array(&[None, hex(SAMPLE)]);
        assert_eq!(array, StringArray::from(vec![None, Some("{1:1.5,3:2}/5")]));
    }

    #[test]
    fn parameters() {
        for (text, same) in [
            ("{2:1,1:3}/3", "{1:3,2:1}/3"),
            ("{1:0,2:1,3:-0.0}/3", "{2:1}/3"),
            (" { 2 : 1 , 3:.5 } / 3 ", "{2:1,3:0.5}/3"),
            ("{+1:+2}/+3", "{1:2}/3"),
        ] {
            assert_eq!(encoded(text), encoded(same), "{text}");
        }
        for bad in [
            "",
            "{2:1,}/3",
            "{0:1}/3",
            "{1:1}/0",
            "{1:x}/3",
            "{1:1e39}/3",
            "{1:1e-50}/3",
            "{1:1}/3é",
            "{1:1}/3 4",
            "{3000000000:1}/3",
        ] {
            let is_told = matches!(encoded(bad), Err(EncodeError::Notation { .. }));
            assert!(is_told, "{bad}");
        }
        assert!(Extended::new("sparsevec").encode(&Value::Int(1)).is_err());
    }

    #[test]
    fn malformed() {
        let case = Extended::new("sparsevec");
        for bad in [
            "",
            "000000050000000000000000ff",
            "ffffffff0000000000000000",
            "00000005ffffffff00000000",
            "000000057fffffff00000000",
            "000000050000000000000001",
            "00000005 00000001 00000000 00000005 3fc00000",
            "00000005 00000001 00000000 ffffffff 3fc00000",
            "00000005 00000002 00000000 00000002 00000002 3fc00000 40000000",
            "00000005 00000002 00000000 00000000 00000002 3fc00000 00000000",
            "00000005 00000001 00000000 00000000 80000000",
        ] {
            assert_eq!(case.error(&[hex(SAMPLE), None, hex(bad)]).0, 2, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn round_trip(
            elements in prop::collection::btree_map(0..i32::MAX, any::<f32>(), 0..20),
        ) {
            let is_kept = |element: &f32| element.is_finite() && *element != 0.0;
            let elements: Vec<_> = elements.into_iter().filter(|(_, e)| is_kept(e)).collect();
            let mut bytes = Vec::new();
            for word in [i32::MAX, elements.len() as i32, 0] {
                bytes.extend_from_slice(&word.to_be_bytes());
            }
            bytes.extend(elements.iter().flat_map(|(place, _)| place.to_be_bytes()));
            bytes.extend(elements.iter().flat_map(|(_, element)| element.to_be_bytes()));
            let value = Extended::new("sparsevec").value(&bytes).unwrap();
            prop_assert_eq!(Extended::new("sparsevec").encode(&value).unwrap(), bytes);
        }
    }
}
