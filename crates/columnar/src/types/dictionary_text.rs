//! Repeating text as Arrow's dictionary: an index per row, and each distinct text once, in order of
//! first occurrence. Each batch has its own dictionary.

use std::hash::{BuildHasher, RandomState};
use std::marker::PhantomData;

use arrow_array::ArrayRef;
use arrow_array::types::Utf8Type;
use arrow_buffer::Buffer;
use arrow_schema::DataType;

use super::varlen::Shape;
use super::{Built, text};
use crate::column::{ColumnBuilder, Fields, take_buffer};
use crate::error::{Misfit, Reason};
use crate::trusted;
use crate::validity::Validity;

/// The builder of a text type's column.
pub(super) fn built<S: Shape>() -> Option<Built> {
    Built::plain(DictionaryBuilder::<S>::new())
}

struct DictionaryBuilder<S> {
    /// The index of each row's text in `texts`; 0 for NULL.
    keys: Vec<i32>,
    validity: Validity,
    texts: Texts,
    /// Scratch: the bytes of a block's values, and the end of each.
    block: Vec<u8>,
    ends: Vec<usize>,
    shape: PhantomData<fn() -> S>,
}

impl<S: Shape> DictionaryBuilder<S> {
    fn new() -> Self {
        Self {
            keys: Vec::new(),
            validity: Validity::default(),
            texts: Texts::new(),
            block: Vec::new(),
            ends: Vec::new(),
            shape: PhantomData,
        }
    }

    /// Appends the keys of a block, and returns the number of NULLs.
    fn push(&mut self, fields: Fields<'_>) -> Result<usize, (usize, Reason)> {
        self.block.clear();
        self.ends.clear();
        let ends = &mut self.ends;
        let copied = S::append(fields, &mut self.block, |end| ends.push(end));
        self.keys.reserve(fields.len());
        let mut begin = 0;
        for (row, (end, field)) in ends.iter().zip(fields.iter()).enumerate() {
            let key = match field {
                Some(_) => {
                    let value = self.block.get(begin..*end).unwrap_or(&[]);
                    self.texts.key_of(value).map_err(|reason| (row, reason))?
                }
                None => 0,
            };
            self.keys.push(key);
            begin = *end;
        }
        copied
    }
}

impl<S: Shape> ColumnBuilder for DictionaryBuilder<S> {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let start = self.keys.len();
        match self.push(fields) {
            Ok(nulls) => {
                self.validity.append(fields, nulls, &[]);
                Ok(())
            }
            Err(error) => {
                // The texts that the block added may stay: a dictionary may hold unused ones.
                self.keys.truncate(start);
                Err(error)
            }
        }
    }

    fn finish(&mut self) -> ArrayRef {
        let keys = take_buffer(&mut self.keys);
        trusted::dictionary_array(keys, self.texts.finish(), self.validity.finish())
    }

    fn data_type(&self) -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
    }

    fn nbytes(&self) -> usize {
        size_of_val(self.keys.as_slice()) + self.texts.nbytes() + self.validity.nbytes()
    }
}

/// Distinct texts, and a hash table to find them by their bytes.
pub(super) struct Texts {
    /// The bytes of all texts, which are UTF-8.
    data: Vec<u8>,
    /// 0, then the end of each text in `data`.
    offsets: Vec<i32>,
    /// A slot is 0, or the upper half of a hash above the text's number plus 1. The number of slots
    /// is a power of two, with at most half of them in use; the search starts at the slot that the
    /// hash names and goes on linearly.
    slots: Vec<u64>,
    /// Random, so that an attacker cannot choose texts that all collide.
    seeds: [u64; 2],
}

const SLOTS_LEAST: usize = 64;

impl Texts {
    pub(super) fn new() -> Self {
        let random = RandomState::new();
        let seeds = [random.hash_one(0_u8), random.hash_one(1_u8)];
        Self { data: Vec::new(), offsets: vec![0], slots: vec![0; SLOTS_LEAST], seeds }
    }

    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of a text; adds the text if it is new.
    #[inline]
    pub(super) fn key_of(&mut self, value: &[u8]) -> Result<i32, Reason> {
        let hash = self.hash(value);
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let slot = self.slots.get(place).copied().unwrap_or_default();
            if slot == 0 {
                return self.insert(value, hash);
            }
            let number = (slot as u32).wrapping_sub(1) as usize;
            if slot >> 32 == hash >> 32 && self.text(number) == value {
                return Ok(number as i32);
            }
            place = (place + 1) & mask;
        }
    }

    #[inline]
    fn text(&self, number: usize) -> &[u8] {
        match self.offsets.get(number..number + 2) {
            Some(&[start, end]) => self.data.get(start as usize..end as usize).unwrap_or(&[]),
            _ => &[],
        }
    }

    /// Adds a new text; only then is it checked for UTF-8.
    #[cold]
    fn insert(&mut self, value: &[u8], hash: u64) -> Result<i32, Reason> {
        text::decode(value)?;
        let end = self.data.len().checked_add(value.len()).and_then(|end| i32::try_from(end).ok());
        let key = i32::try_from(self.len()).ok();
        let (Some(end), Some(key)) = (end, key) else {
            return Err(Misfit::DictionaryOverflow.into());
        };
        self.data.extend_from_slice(value);
        self.offsets.push(end);
        if self.len() * 2 > self.slots.len() {
            self.grow();
        } else {
            self.enter(hash, key as usize);
        }
        Ok(key)
    }

    /// Doubles the slots and inserts every text again.
    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 2];
        for number in 0..self.len() {
            let hash = self.hash(self.text(number));
            self.enter(hash, number);
        }
    }

    fn enter(&mut self, hash: u64, number: usize) {
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        while let Some(slot) = self.slots.get_mut(place) {
            if *slot == 0 {
                *slot = hash >> 32 << 32 | (number as u64 + 1);
                return;
            }
            place = (place + 1) & mask;
        }
    }

    /// Eight bytes at a time are multiplied to 128 bits, whose halves are combined into one.
    #[inline]
    fn hash(&self, value: &[u8]) -> u64 {
        let [first, second] = self.seeds;
        let (words, rest) = value.as_chunks::<8>();
        let mut state = first ^ value.len() as u64;
        for word in words {
            state = folded(state ^ u64::from_le_bytes(*word), second);
        }
        let mut last = [0; 8];
        if let Some(slots) = last.get_mut(..rest.len()) {
            slots.copy_from_slice(rest);
        }
        folded(folded(state ^ u64::from_le_bytes(last), second), first | 1)
    }

    /// The texts as an array; they are kept as well.
    pub(super) fn array(&self) -> ArrayRef {
        let data = Buffer::from_vec(self.data.clone());
        trusted::byte_array::<Utf8Type>(self.offsets.clone(), data, None)
    }

    /// The texts as an array; none are kept.
    fn finish(&mut self) -> ArrayRef {
        self.slots.fill(0);
        let offsets = take_buffer(&mut self.offsets);
        self.offsets.push(0);
        let data = Buffer::from_vec(take_buffer(&mut self.data));
        trusted::byte_array::<Utf8Type>(offsets, data, None)
    }

    fn nbytes(&self) -> usize {
        self.data.len() + size_of_val(self.offsets.as_slice())
    }
}

#[inline]
fn folded(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right | 1);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{Array, DictionaryArray, StringArray};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, Cell, hex};

    fn column(oid: u32, cells: &[Cell]) -> DictionaryArray<Int32Type> {
        Case::new(oid).cast("dictionary<int32, utf8>").array(cells)
    }

    #[test]
    fn texts_in_the_order_of_their_coming() {
        let cells = ["b", "a", "", "b", "a"].map(|text| Some(text.as_bytes().to_vec())).to_vec();
        let cells = [cells, vec![None]].concat();
        let array = column(25, &cells);
        assert_eq!(array.keys().values()[..], [0, 1, 2, 0, 1, 0]);
        assert!(array.is_null(5));
        let texts = array.values().as_any().downcast_ref::<StringArray>().unwrap();
        assert_eq!(texts, &StringArray::from(vec!["b", "a", ""]));
        assert_eq!(column(3802, &[hex("0131"), hex("0131")]).values().len(), 1);
        assert_eq!(column(25, &[None]).values().len(), 0);
    }

    #[test]
    fn text_must_be_utf8() {
        let case = Case::new(25).cast("dictionary<int32, utf8>");
        let (row, text) = case.error(&[hex("61"), hex("61"), None, hex("ff")]);
        assert_eq!(row, 3);
        assert!(text.contains("not UTF-8"), "{text}");
    }

    #[test]
    fn every_batch_has_its_own() {
        let mut texts = Texts::new();
        for number in 0..1_000 {
            assert_eq!(texts.key_of(number.to_string().as_bytes()), Ok(number));
        }
        for number in (0..1_000).rev() {
            assert_eq!(texts.key_of(number.to_string().as_bytes()), Ok(number));
        }
        assert_eq!(texts.finish().len(), 1_000);
        assert_eq!(texts.key_of(b"999"), Ok(0));
        assert_eq!(texts.finish().len(), 1);
    }

    proptest! {
        #[test]
        fn rows_are_what_they_were(values in prop::collection::vec(
            prop::option::of("[ab]{0,3}|.{0,20}"), 1..300,
        )) {
            let cells: Vec<Cell> =
                values.iter().map(|v| v.as_ref().map(|v| v.clone().into_bytes())).collect();
            let array = column(25, &cells);
            let rows = array.downcast_dict::<StringArray>().unwrap().into_iter();
            prop_assert!(rows.eq(values.iter().map(|value| value.as_deref())));
        }
    }
}
