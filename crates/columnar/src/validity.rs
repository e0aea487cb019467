//! Bitmaps: Arrow's validity, which is allocated at the first NULL, and the bits of booleans.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

use crate::column::Fields;

/// A growing bitmap.
#[derive(Clone, Default, Debug)]
pub(crate) struct Bits {
    /// Least significant bit first; the bits from `len` on are zero.
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// `len` ones.
    fn ones(len: usize) -> Self {
        let mut bits = Self::default();
        bits.push_ones(len);
        bits
    }

    /// Appends the low `count` bits of `word`; the others must be zero. `count` is 1 to 64.
    #[inline]
    pub(crate) fn push_word(&mut self, word: u64, count: usize) {
        let used = self.len % 64;
        if used == 0 {
            self.words.push(word);
        } else {
            if let Some(last) = self.words.last_mut() {
                *last |= word << used;
            }
            if used + count > 64 {
                self.words.push(word >> (64 - used));
            }
        }
        self.len += count;
    }

    fn push_ones(&mut self, mut count: usize) {
        self.words.reserve(count / 64 + 1);
        while count > 0 {
            let step = count.min(64);
            self.push_word(u64::MAX >> (64 - step), step);
            count -= step;
        }
    }

    fn clear_bit(&mut self, index: usize) {
        if let Some(word) = self.words.get_mut(index / 64) {
            *word &= !(1 << (index % 64));
        }
    }

    /// Removes bits from the end until `len` are left.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.words.truncate(len.div_ceil(64));
        if let (Some(last), used @ 1..) = (self.words.last_mut(), len % 64) {
            *last &= u64::MAX >> (64 - used);
        }
        self.len = len;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn nbytes(&self) -> usize {
        self.len.div_ceil(8)
    }

    /// The bitmap as an Arrow buffer; leaves this one empty.
    pub(crate) fn finish(&mut self) -> BooleanBuffer {
        let len = std::mem::take(&mut self.len);
        let mut words = std::mem::take(&mut self.words);
        if cfg!(target_endian = "big") {
            words.iter_mut().for_each(|word| *word = word.to_le());
        }
        BooleanBuffer::new(Buffer::from_vec(words), 0, len)
    }
}

/// The rows of a column that have a value.
#[derive(Clone, Default, Debug)]
pub(crate) struct Validity {
    /// `None` until the first NULL; then one bit per row, 1 for a value.
    bits: Option<Bits>,
    len: usize,
}

impl Validity {
    /// Appends a block with `nulls` NULLs on the wire, and NULLs made from values at `made_null`.
    #[inline]
    pub(crate) fn append(&mut self, fields: Fields<'_>, nulls: usize, made_null: &[usize]) {
        let start = self.len;
        self.len += fields.len();
        if nulls == 0 && made_null.is_empty() {
            if let Some(bits) = &mut self.bits {
                bits.push_ones(fields.len());
            }
            return;
        }
        let bits = self.bits.get_or_insert_with(|| Bits::ones(start));
        for (word, rows) in fields.valid_words() {
            bits.push_word(word, rows);
        }
        for row in made_null {
            bits.clear_bit(start + row);
        }
    }

    /// Appends `count` rows that all have a value.
    #[inline]
    pub(crate) fn append_valid(&mut self, rows: usize) {
        self.len += rows;
        if let Some(bits) = &mut self.bits {
            bits.push_ones(rows);
        }
    }

    /// Removes rows from the end until `len` are left.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = len;
        if let Some(bits) = &mut self.bits {
            bits.truncate(len);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn nbytes(&self) -> usize {
        self.bits.as_ref().map_or(0, Bits::nbytes)
    }

    /// Arrow's validity, `None` if nothing is NULL; leaves this one empty.
    pub(crate) fn finish(&mut self) -> Option<NullBuffer> {
        self.len = 0;
        self.bits.take().map(|mut bits| NullBuffer::new(bits.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_what_was_pushed(
            chunks in prop::collection::vec((any::<u64>(), 1_usize..=64), 0..20),
        ) {
            let mut bits = Bits::default();
            let mut expected = Vec::new();
            for (word, count) in chunks {
                bits.push_word(word & (u64::MAX >> (64 - count)), count);
                expected.extend((0..count).map(|bit| word >> bit & 1 == 1));
            }
            prop_assert_eq!(bits.len(), expected.len());
            prop_assert_eq!(bits.finish().iter().collect::<Vec<_>>(), expected);
        }

        #[test]
        fn truncate_undoes(before in 0_usize..200, after in 0_usize..200, last in 0_usize..70) {
            let mut bits = Bits::ones(before);
            bits.push_ones(after);
            bits.truncate(before);
            if last > 0 {
                bits.push_word(0, last.min(64));
            }
            let ones = Bits::ones(before).finish();
            let zeros = std::iter::repeat_n(false, last.min(64));
            let expected: Vec<_> = ones.iter().chain(zeros).collect();
            prop_assert_eq!(bits.finish().iter().collect::<Vec<_>>(), expected);
        }
    }
}
