//! `hstore`: a 32-bit number of pairs; for each pair the key, then the value, both as a 32-bit
//! length and that many bytes of text. A NULL value has the length -1 and no bytes.
//!
//! In Arrow it is a map. The pairs are in the server's order: by the length of the key, then by its
//! bytes.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{ArrayRef, MapArray, StructArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields as ArrowFields};
use colonnade_protocol::Span;

use super::varlen::{AsIs, Layout, VarlenBuilder};
use super::{Built, Codec, Kind, hstore_text, text};
use crate::column::{ColumnBuilder, Fields, take_buffer};
use crate::error::{EncodeError, LayoutFault, Reason};
use crate::validity::Validity;
use crate::value::Value;

pub(super) const HSTORE: Codec = Codec {
    arrow: "map[utf8, utf8]",
    kind: Kind::Map,
    width: None,
    casts: &[],
    value: |raw| pairs(raw).map(Value::Map),
    encode: |value, out| match value {
        Value::Map(pairs) => encode(pairs, out),
        Value::Text(text) => encode(&hstore_text::parse(text)?, out),
        other => Err(EncodeError::WrongKind { expected: "a mapping", given: other.describe() }),
    },
    builder: |request| match request.cast {
        None => Built::plain(HstoreBuilder::new()),
        Some(_) => None,
    },
};

/// A row's value as the text that the server prints.
pub(super) fn print(raw: &[u8]) -> Result<Value<'static>, Reason> {
    Ok(Value::Text(Cow::Owned(hstore_text::print(&pairs(raw)?))))
}

/// A key, and its value unless it is NULL.
pub(super) type Pair<'a> = (Cow<'a, str>, Option<Cow<'a, str>>);

fn pairs(raw: &[u8]) -> Result<Vec<Pair<'_>>, Reason> {
    let mut pairs = Vec::new();
    for_each_pair(raw, |key, value| {
        let value = value.map(|value| text::decode(value.bytes)).transpose()?;
        pairs.push((Cow::Borrowed(text::decode(key.bytes)?), value.map(Cow::Borrowed)));
        Ok(())
    })?;
    Ok(pairs)
}

/// Reads the pairs of a value. Their number is not trusted before they are there.
fn for_each_pair<'a>(
    raw: &'a [u8],
    mut each: impl FnMut(Part<'a>, Option<Part<'a>>) -> Result<(), Reason>,
) -> Result<(), Reason> {
    let mut rest = raw;
    let count = word(&mut rest)?;
    if count < 0 {
        return Err(LayoutFault::Count(count).into());
    }
    let mut last: Option<&[u8]> = None;
    let mut rising = true;
    for _ in 0..count {
        let Some(key) = part(&mut rest, raw.len())? else {
            return Err(LayoutFault::NullKey.into());
        };
        let value = part(&mut rest, raw.len())?;
        rising &= last.is_none_or(|last| (last.len(), last) < (key.bytes.len(), key.bytes));
        last = Some(key.bytes);
        each(key, value)?;
    }
    if !rest.is_empty() {
        return Err(LayoutFault::Trailing(rest.len()).into());
    }
    if rising { Ok(()) } else { check_keys(raw) }
}

/// Checks keys that are not in ascending order, as the server's are, for duplicates.
#[cold]
fn check_keys(raw: &[u8]) -> Result<(), Reason> {
    let mut keys = Vec::new();
    let mut rest = raw;
    for _ in 0..word(&mut rest)? {
        keys.push(part(&mut rest, raw.len())?.map(|key| key.bytes));
        part(&mut rest, raw.len())?;
    }
    keys.sort_unstable();
    let is_twice = keys.windows(2).any(|pair| matches!(pair, [one, other] if one == other));
    if is_twice { Err(LayoutFault::DuplicateKey.into()) } else { Ok(()) }
}

/// Takes a number from the front.
fn word(rest: &mut &[u8]) -> Result<i32, Reason> {
    let (word, behind) = rest.split_first_chunk().ok_or(LayoutFault::Truncated)?;
    *rest = behind;
    Ok(i32::from_be_bytes(*word))
}

/// A key or a value.
struct Part<'a> {
    bytes: &'a [u8],
    /// Their position in the whole value.
    start: usize,
}

/// Takes a text from the front of the rest of a value of `whole_len` bytes, `None` for NULL.
fn part<'a>(rest: &mut &'a [u8], whole_len: usize) -> Result<Option<Part<'a>>, Reason> {
    match word(rest)? {
        -1 => Ok(None),
        len => {
            let announced = usize::try_from(len).map_err(|_| LayoutFault::Count(len))?;
            let start = whole_len - rest.len();
            let (bytes, behind) = rest.split_at_checked(announced).ok_or(LayoutFault::Truncated)?;
            *rest = behind;
            Ok(Some(Part { bytes, start }))
        }
    }
}

fn encode(pairs: &[Pair<'_>], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    write_len(pairs.len(), out)?;
    for (key, value) in pairs {
        write_text(key, out)?;
        match value {
            Some(value) => write_text(value, out)?,
            None => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        }
    }
    Ok(())
}

fn write_text(text: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if let Some(position) = text.bytes().position(|byte| byte == 0) {
        return Err(EncodeError::NulInText { position });
    }
    write_len(text.len(), out)?;
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

fn write_len(len: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let most = i32::MAX as usize;
    let word = i32::try_from(len);
    let word =
        word.map_err(|_| EncodeError::TooManyParts { type_name: "hstore", most, given: len })?;
    out.extend_from_slice(&word.to_be_bytes());
    Ok(())
}

/// Keys and values are text columns of their own.
struct HstoreBuilder {
    keys: VarlenBuilder<AsIs>,
    values: VarlenBuilder<AsIs>,
    /// 0, then the index after each row's last pair.
    offsets: Vec<i32>,
    /// One row for each offset but the first.
    validity: Validity,
    /// Scratch: the positions of the texts of a block's pairs.
    key_spans: Vec<Span>,
    value_spans: Vec<Span>,
}

impl HstoreBuilder {
    fn new() -> Self {
        Self {
            keys: VarlenBuilder::new(Layout::Utf8),
            values: VarlenBuilder::new(Layout::Utf8),
            offsets: vec![0],
            validity: Validity::default(),
            key_spans: Vec::new(),
            value_spans: Vec::new(),
        }
    }

    /// Appends a block and returns the number of NULLs. After an error, [`HstoreBuilder::append`]
    /// searches from the first row on, so that the first error is reported.
    fn append_block(&mut self, fields: Fields<'_>) -> Result<usize, Reason> {
        let (bytes, rows) = fields.parts();
        self.key_spans.clear();
        self.value_spans.clear();
        let before = self.offsets.last().map_or(0, |end| *end as usize);
        let mut nulls = 0;
        for row in rows {
            match row.slice(bytes) {
                Some(raw) => for_each_pair(raw, |key, value| {
                    let span =
                        |part: Part<'_>| Span::new(row.start() + part.start, part.bytes.len());
                    self.key_spans.push(span(key));
                    self.value_spans.push(value.map_or(Span::NULL, span));
                    Ok(())
                })?,
                None => nulls += 1,
            }
            let end = i32::try_from(before + self.key_spans.len());
            self.offsets.push(end.map_err(|_| LayoutFault::TooManyElements)?);
        }
        // Invalid text is reported by its row; any other failure here is an overflow.
        let too_much = |_| LayoutFault::TooManyElements;
        self.keys.append(Fields::new(bytes, &self.key_spans)).map_err(too_much)?;
        self.values.append(Fields::new(bytes, &self.value_spans)).map_err(too_much)?;
        Ok(nulls)
    }

    fn entry_fields(&self) -> ArrowFields {
        let key = Field::new("key", self.keys.data_type(), false);
        [key, Field::new("value", self.values.data_type(), true)].into_iter().collect()
    }

    fn entries_field(&self) -> FieldRef {
        Arc::new(Field::new("entries", DataType::Struct(self.entry_fields()), false))
    }
}

impl ColumnBuilder for HstoreBuilder {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        match self.append_block(fields) {
            Ok(nulls) => {
                self.validity.append(fields, nulls, &[]);
                Ok(())
            }
            Err(reason) => Err(first_fault(fields, reason)),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        let keys = self.keys.finish();
        let values = self.values.finish();
        let offsets = OffsetBuffer::new(ScalarBuffer::from(take_buffer(&mut self.offsets)));
        self.offsets.push(0);
        let entries = StructArray::new(self.entry_fields(), vec![keys, values], None);
        let nulls = self.validity.finish();
        Arc::new(MapArray::new(self.entries_field(), offsets, entries, nulls, false))
    }

    fn data_type(&self) -> DataType {
        DataType::Map(self.entries_field(), false)
    }

    fn nbytes(&self) -> usize {
        let offsets = size_of_val(self.offsets.as_slice());
        self.keys.nbytes() + self.values.nbytes() + offsets + self.validity.nbytes()
    }
}

/// The first row that is faulty by itself; otherwise the last one, because all rows together were
/// too large.
#[cold]
fn first_fault(fields: Fields<'_>, reason: Reason) -> (usize, Reason) {
    let faults = fields.iter().map(|field| field.and_then(|raw| pairs(raw).err()));
    let mut faults = faults.enumerate().filter_map(|(row, fault)| Some((row, fault?)));
    faults.next().unwrap_or((fields.len().saturating_sub(1), reason))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, StringArray};
    use proptest::prelude::*;

    use super::super::extensions::testing::Extended;
    use super::*;
    use crate::testing::hex;

    const SAMPLE: &str = "00000003 00000000 00000002c3a9 0000000161 0000000131 0000000162 ffffffff";

    fn map(pairs: &[(&'static str, Option<&'static str>)]) -> Value<'static> {
        let pairs = pairs.iter().map(|(key, value)| ((*key).into(), value.map(Cow::Borrowed)));
        Value::Map(pairs.collect())
    }

    #[test]
    fn golden() {
        let case = Extended::new("hstore");
        // 'a=>1,b=>NULL,""=>"é"'::hstore
        let pairs = [("", Some("é")), ("a", Some("1")), ("b", None)];
        case.assert_both_ways(hex(SAMPLE), map(&pairs));
        // ''::hstore
        case.assert_both_ways(hex("00000000"), map(&[]));
        let array: MapArray = case.array(&[hex(SAMPLE), None, hex("00000000"), hex(SAMPLE)]);
        assert_eq!(array.value_offsets(), [0, 3, 3, 3, 6]);
        assert!(array.is_null(1) && array.is_valid(2));
        let keys = StringArray::from(vec!["", "a", "b", "", "a", "b"]);
        assert_eq!(array.keys().as_string(), &keys);
        let one = [Some("é"), Some("1"), None];
        assert_eq!(array.values().as_string(), &StringArray::from([one, one].concat()));
    }

    #[test]
    fn keys_in_another_order() {
        let bytes = hex("00000002 0000000162 ffffffff 0000000161 ffffffff");
        Extended::new("hstore").assert_both_ways(bytes, map(&[("b", None), ("a", None)]));
    }

    #[test]
    fn malformed() {
        let case = Extended::new("hstore");
        for bad in [
            "",
            "000000",
            "ffffffff",
            "7fffffff",
            "00000001",
            "00000001 00000001",
            "00000001 0000000161",
            "00000001 0000000161 00000001",
            "00000001 0000000161 fffffffe",
            "00000001 7fffffff61",
            "00000000 00",
            "00000001 00000001ff ffffffff",
            "00000001 0000000161 00000001ff",
            // The two halves of a character in adjacent values.
            "00000001 00000001c3 00000001a9",
        ] {
            assert_eq!(case.error(&[hex(SAMPLE), None, hex(bad)]).0, 2, "{bad}");
        }
        let null_key = hex("00000001 ffffffff 0000000131");
        assert_eq!(case.error(&[null_key]).1, LayoutFault::NullKey.into());
        let twice = "00000003 0000000161 ffffffff 0000000162 ffffffff 0000000161 ffffffff";
        assert_eq!(case.error(&[hex(twice)]).1, LayoutFault::DuplicateKey.into());
        // The first faulty row is reported, whatever its error.
        let not_utf8 = "00000001 00000001ff ffffffff";
        assert_eq!(case.error(&[hex(not_utf8), hex("")]).0, 0);
        assert_eq!(case.error(&[hex(""), hex(not_utf8)]).0, 0);
        assert!(case.encode(&map(&[("a\0", None)])).is_err());
        assert!(case.encode(&map(&[("a", Some("\0"))])).is_err());
        assert!(case.encode(&Value::Int(1)).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(
            rows in prop::collection::vec(
                prop::option::of(prop::collection::btree_map(
                    "[^\\x00]{0,5}", prop::option::of("[^\\x00]{0,40}"), 0..6,
                )),
                1..6,
            ),
        ) {
            let case = Extended::new("hstore");
            let mut cells = Vec::new();
            for row in &rows {
                let Some(row) = row else { cells.push(None); continue };
                let pairs = row.iter().map(|(key, value)| {
                    (Cow::Borrowed(key.as_str()), value.as_deref().map(Cow::Borrowed))
                });
                let value = Value::Map(pairs.collect());
                let bytes = case.encode(&value).unwrap();
                prop_assert_eq!(case.value(&bytes).unwrap(), value);
                cells.push(Some(bytes));
            }
            let array: MapArray = case.array(&cells);
            for (index, row) in rows.iter().enumerate() {
                prop_assert_eq!(array.is_null(index), row.is_none());
                let entries = array.value(index);
                let pairs: Vec<_> = entries
                    .column(0)
                    .as_string::<i32>()
                    .iter()
                    .zip(entries.column(1).as_string::<i32>())
                    .map(|(key, value)| (key.unwrap().to_owned(), value.map(str::to_owned)))
                    .collect();
                let expected: Vec<_> = row.clone().unwrap_or_default().into_iter().collect();
                prop_assert_eq!(pairs, expected);
            }
        }
    }
}
