//! The groups of integer keys.
//!
//! | keys | way |
//! |---|---|
//! | a sample is ascending, and so is the whole | runs: a group begins where the key changes |
//! | in a range of at most four times the rows | counting: a table with a slot for each key |
//! | many rows, and a sample with hardly any key twice | radix: hash tables that fit the cache |
//! | others | one hash table |
//!
//! A sample is taken only of many rows: for few, any way is fast.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use arrow_buffer::NullBuffer;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::texts::ShortTexts;
use super::{DROPPED, Groups, Nulls, number, radix};

/// With fewer rows, no sample is taken.
const SAMPLED_ROWS_LEAST: usize = 1 << 15;

/// The keys in a sample.
const SAMPLE_KEYS: usize = 1000;

/// Different keys in a sample from which the groups may exceed a near cache: ten thousand equally
/// frequent keys give 950 of 1,000.
const MANY_KEYS: usize = 900;

/// The slots per row of the largest table for counting.
const SLOTS_PER_ROW: u64 = 4;

/// The least limit of slots: a table of this size costs nothing.
const SLOTS_LEAST: u64 = 1024;

/// An integer key.
pub(super) trait Key: Copy + Ord + Default + Send + Sync {
    /// A hash with all bits mixed.
    fn hash(self, seed: u64) -> u64;

    /// The distance from a smaller key, if it is small.
    fn distance(self, least: Self) -> Option<u64>;
}

const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

fn folded(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    #[allow(clippy::cast_possible_truncation, reason = "both halves are used")]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high
}

impl Key for u64 {
    #[inline]
    fn hash(self, seed: u64) -> u64 {
        folded(self ^ seed, MIX)
    }

    #[inline]
    fn distance(self, least: Self) -> Option<u64> {
        Some(self.wrapping_sub(least))
    }
}

impl Key for i32 {
    #[inline]
    fn hash(self, seed: u64) -> u64 {
        i64::from(self).hash(seed)
    }

    #[inline]
    fn distance(self, least: Self) -> Option<u64> {
        Some(u64::from(self.cast_unsigned().wrapping_sub(least.cast_unsigned())))
    }
}

impl Key for i64 {
    #[inline]
    fn hash(self, seed: u64) -> u64 {
        self.cast_unsigned().hash(seed)
    }

    #[inline]
    fn distance(self, least: Self) -> Option<u64> {
        Some(self.cast_unsigned().wrapping_sub(least.cast_unsigned()))
    }
}

impl Key for u128 {
    #[inline]
    fn hash(self, seed: u64) -> u64 {
        #[allow(clippy::cast_possible_truncation, reason = "both halves are used")]
        let (low, high) = (self as u64, (self >> 64) as u64);
        folded(folded(low ^ seed, MIX) ^ high, MIX ^ seed | 1)
    }

    #[inline]
    fn distance(self, least: Self) -> Option<u64> {
        u64::try_from(self.wrapping_sub(least)).ok()
    }
}

/// A number that a peer cannot know, so that it cannot choose keys with equal hashes.
pub(super) fn seed() -> u64 {
    static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0_u8));
    *SEED
}

/// The groups of the keys in order of their first rows. Rows without a value in `valid` are one
/// group or none.
pub(super) fn assign<K: Key>(keys: &[K], valid: Option<&NullBuffer>, nulls: Nulls) -> Groups {
    let valid = valid.filter(|valid| valid.null_count() > 0);
    let sampled = (keys.len() >= SAMPLED_ROWS_LEAST).then(|| Sample::of(keys, valid));
    if let Some(sample) = &sampled
        && sample.ascending
        && valid.is_none()
        && let Some(groups) = runs(keys)
    {
        return groups;
    }
    if let Some((least, slots)) = range(keys, valid)
        && slots <= limit(keys.len())
    {
        return each(keys.iter().copied(), valid, nulls, Counting::new(least, slots));
    }
    match sampled {
        Some(sample) if sample.many => radix::assign(keys, valid, nulls),
        _ => each(keys.iter().copied(), valid, nulls, Hashed::new()),
    }
}

/// The same for short texts, whose range is never small.
pub(super) fn texts(keys: &ShortTexts, valid: Option<&NullBuffer>, nulls: Nulls) -> Groups {
    let valid = valid.filter(|valid| valid.null_count() > 0);
    if keys.len() >= SAMPLED_ROWS_LEAST {
        let sample: Vec<u128> = keys.iter().step_by(keys.len() / SAMPLE_KEYS).collect();
        let sample = Sample::of(&sample, None);
        if sample.ascending || sample.many {
            return assign(&keys.iter().collect::<Vec<_>>(), valid, nulls);
        }
    }
    each(keys.iter(), valid, nulls, Hashed::new())
}

fn limit(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX).saturating_mul(SLOTS_PER_ROW).max(SLOTS_LEAST)
}

struct Sample {
    /// The keys ascend, with some of them equal or not.
    ascending: bool,
    /// Hardly any key occurs twice.
    many: bool,
}

impl Sample {
    fn of<K: Key>(keys: &[K], valid: Option<&NullBuffer>) -> Self {
        let step = (keys.len() / SAMPLE_KEYS).max(1);
        let mut sample: Vec<K> = match valid {
            None => keys.iter().step_by(step).copied().collect(),
            Some(valid) => {
                let keyed = keys.iter().zip(valid).step_by(step);
                keyed.filter(|(_, valid)| *valid).map(|(key, _)| *key).collect()
            }
        };
        let ascending = sample.is_sorted();
        let asked = sample.len().max(1);
        sample.sort_unstable();
        sample.dedup();
        Self { ascending, many: sample.len() * SAMPLE_KEYS >= MANY_KEYS * asked }
    }
}

/// The least key, and the number of keys up to the greatest.
fn range<K: Key>(keys: &[K], valid: Option<&NullBuffer>) -> Option<(K, u64)> {
    let both = |range: Option<(K, K)>, key: K| match range {
        None => Some((key, key)),
        Some((least, most)) => Some((least.min(key), most.max(key))),
    };
    let (least, most) = match valid {
        None => {
            let (first, rest) = keys.split_first()?;
            let fold = |(least, most): (K, K), key: &K| (least.min(*key), most.max(*key));
            rest.iter().fold((*first, *first), fold)
        }
        Some(valid) => {
            let keyed = keys.iter().zip(valid).filter(|(_, valid)| *valid);
            keyed.fold(None, |range, (key, _)| both(range, *key))?
        }
    };
    Some((least, most.distance(least)?.checked_add(1)?))
}

/// The groups of ascending keys; `None` if they turn out not to ascend.
fn runs<K: Key>(keys: &[K]) -> Option<Groups> {
    let mut codes = Vec::with_capacity(keys.len());
    let mut firsts: Vec<u32> = Vec::new();
    let mut last = *keys.first()?;
    let mut code = 0_u32;
    firsts.push(0);
    for (row, key) in keys.iter().enumerate() {
        if *key != last {
            if *key < last {
                return None;
            }
            last = *key;
            code += 1;
            firsts.push(number(row));
        }
        codes.push(code);
    }
    Some(Groups { codes, firsts })
}

/// A table from keys to groups.
trait Table<K> {
    /// The group of a key, or `next`, which the key then has.
    fn code(&mut self, key: K, next: u32) -> u32;
}

fn each<K: Key>(
    keys: impl Iterator<Item = K>,
    valid: Option<&NullBuffer>,
    nulls: Nulls,
    mut table: impl Table<K>,
) -> Groups {
    let mut firsts: Vec<u32> = Vec::new();
    let mut seen = |code: u32, next: u32, row: usize| {
        if code == next {
            firsts.push(number(row));
        }
        code
    };
    let mut next = 0;
    let rows = keys.enumerate();
    let codes = match valid {
        None => rows
            .map(|(row, key)| {
                let code = seen(table.code(key, next), next, row);
                next += u32::from(code == next);
                code
            })
            .collect(),
        Some(valid) => {
            let mut null_code = None;
            rows.zip(valid)
                .map(|((row, key), valid)| {
                    let code = match (valid, nulls) {
                        (true, _) => table.code(key, next),
                        (false, Nulls::Group) => *null_code.get_or_insert(next),
                        (false, Nulls::Drop) => return DROPPED,
                    };
                    seen(code, next, row);
                    next += u32::from(code == next);
                    code
                })
                .collect()
        }
    };
    Groups { codes, firsts }
}

/// A slot for each key of a range.
struct Counting<K> {
    least: K,
    slots: Vec<u32>,
}

impl<K: Key> Counting<K> {
    fn new(least: K, slots: u64) -> Self {
        Self { least, slots: vec![DROPPED; usize::try_from(slots).unwrap_or_default()] }
    }
}

impl<K: Key> Table<K> for Counting<K> {
    #[inline]
    fn code(&mut self, key: K, next: u32) -> u32 {
        let place = key.distance(self.least).and_then(|place| usize::try_from(place).ok());
        match place.and_then(|place| self.slots.get_mut(place)) {
            Some(slot) if *slot == DROPPED => {
                *slot = next;
                next
            }
            Some(slot) => *slot,
            // Not reached: the range contains every key.
            None => DROPPED,
        }
    }
}

/// A hash table; also one part of a partitioned one.
pub(super) struct Hashed<K> {
    table: HashTable<(K, u32)>,
    seed: u64,
}

impl<K: Key> Hashed<K> {
    pub(super) fn new() -> Self {
        Self { table: HashTable::new(), seed: seed() }
    }

    pub(super) fn with_capacity(keys: usize) -> Self {
        Self { table: HashTable::with_capacity(keys), seed: seed() }
    }

    /// Forgets all keys, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.table.clear();
    }

    /// The group of a key whose hash is known.
    #[inline]
    pub(super) fn code_of(&mut self, key: K, hash: u64, next: u32) -> u32 {
        let seed = self.seed;
        let found = self.table.entry(hash, |(known, _)| *known == key, |(key, _)| key.hash(seed));
        match found {
            Entry::Occupied(known) => known.get().1,
            Entry::Vacant(free) => {
                free.insert((key, next));
                next
            }
        }
    }
}

impl<K: Key> Table<K> for Hashed<K> {
    #[inline]
    fn code(&mut self, key: K, next: u32) -> u32 {
        self.code_of(key, key.hash(self.seed), next)
    }
}
