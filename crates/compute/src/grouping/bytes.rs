//! The groups of keys of any length.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use arrow_array::{Array, BinaryArray, LargeBinaryArray};
use arrow_buffer::NullBuffer;
use arrow_row::Rows;
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::{DROPPED, Groups, Nulls, number, place};

/// Keys that are bytes, in the order of their values.
pub(super) enum ByteKeys {
    /// Texts or bytes.
    Small(BinaryArray),
    /// Texts or bytes with 64-bit offsets.
    Large(LargeBinaryArray),
    /// Values with parts, in the row format of Arrow.
    Rows(Rows),
}

impl ByteKeys {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Small(keys) => keys.len(),
            Self::Large(keys) => keys.len(),
            Self::Rows(keys) => keys.num_rows(),
        }
    }

    /// The key of a row; empty beyond the last one.
    pub(super) fn get(&self, row: usize) -> &[u8] {
        if row >= self.len() {
            return &[];
        }
        match self {
            Self::Small(keys) => keys.value(row),
            Self::Large(keys) => keys.value(row),
            Self::Rows(keys) => keys.row(row).data(),
        }
    }
}

/// The groups of the keys in order of their first rows.
pub(super) fn assign(keys: &ByteKeys, valid: Option<&NullBuffer>, nulls: Nulls) -> Groups {
    static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
    let hasher = &*HASHER;
    let mut table: HashTable<(u64, u32)> = HashTable::new();
    let mut firsts: Vec<u32> = Vec::new();
    let mut null_code = None;
    let codes = (0..keys.len())
        .map(|row| {
            let next = number(firsts.len());
            if valid.is_some_and(|valid| valid.is_null(row)) {
                if nulls == Nulls::Drop {
                    return DROPPED;
                }
                if null_code.is_none() {
                    firsts.push(number(row));
                }
                return *null_code.get_or_insert(next);
            }
            let key = keys.get(row);
            let hash = hasher.hash_one(key);
            let is_key = |(known, group): &(u64, u32)| {
                let first = place(*group).and_then(|group| firsts.get(group));
                *known == hash
                    && first.and_then(|first| place(*first)).map(|first| keys.get(first))
                        == Some(key)
            };
            match table.entry(hash, is_key, |(hash, _)| *hash) {
                Entry::Occupied(known) => known.get().1,
                Entry::Vacant(free) => {
                    free.insert((hash, next));
                    firsts.push(number(row));
                    next
                }
            }
        })
        .collect();
    Groups { codes, firsts }
}
