//! The groups of many different keys: the rows are partitioned by the hash of their key, so that
//! the hash table of each part fits the cache.

use arrow_buffer::NullBuffer;

use super::assign::{Hashed, Key, seed};
use super::{DROPPED, Groups, Nulls, number, place};

/// The rows of one part: a table of 24 bytes per key then takes 200 KiB.
const PART_ROWS: usize = 8 << 10;

/// More parts at once would cost more misses of the address cache than they save.
const PARTS_MOST: usize = 256;

/// The groups of the keys in order of their first rows.
pub(super) fn assign<K: Key>(keys: &[K], valid: Option<&NullBuffer>, nulls: Nulls) -> Groups {
    let parts = Parts::of(keys, valid);
    // A number for each partitioned row, of its group in order of the parts.
    let mut numbers: Vec<u32> = Vec::with_capacity(parts.keys.len());
    // For each row that begins a group: the group's number plus one.
    let mut marks = vec![0_u32; keys.len()];
    let mut groups = 0_u32;
    let mut table = Hashed::with_capacity(PART_ROWS);
    for (part_keys, part_rows) in parts.iter() {
        table.clear();
        for (key, row) in part_keys.iter().zip(part_rows) {
            let code = table.code_of(*key, key.hash(parts.seed), groups);
            if code == groups {
                groups += 1;
                mark(&mut marks, *row, groups);
            }
            numbers.push(code);
        }
    }
    let null_group = match valid {
        Some(valid) if nulls == Nulls::Group => {
            let first = valid.iter().position(|valid| !valid);
            first.map(|row| {
                groups += 1;
                mark(&mut marks, number(row), groups);
                groups - 1
            })
        }
        _ => None,
    };
    let (renumbered, firsts) = by_first_row(&marks, groups);
    let mut codes = marks;
    let null_code = null_group.and_then(|group| renumbered.get(place(group)?).copied());
    if valid.is_some() {
        codes.fill(null_code.unwrap_or(DROPPED));
    }
    for (row, group) in parts.rows.iter().zip(&numbers) {
        let code = place(*group).and_then(|group| renumbered.get(group));
        if let Some((slot, code)) = place(*row).and_then(|row| codes.get_mut(row)).zip(code) {
            *slot = *code;
        }
    }
    Groups { codes, firsts }
}

fn mark(marks: &mut [u32], row: u32, value: u32) {
    if let Some(mark) = place(row).and_then(|row| marks.get_mut(row)) {
        *mark = value;
    }
}

/// The number of each group by the order of the marked rows, and these rows.
fn by_first_row(marks: &[u32], groups: u32) -> (Vec<u32>, Vec<u32>) {
    let count = place(groups).unwrap_or_default();
    let mut renumbered = vec![0; count];
    let mut firsts = Vec::with_capacity(count);
    for (row, mark) in marks.iter().enumerate() {
        if *mark != 0
            && let Some(slot) = place(*mark - 1).and_then(|group| renumbered.get_mut(group))
        {
            *slot = number(firsts.len());
            firsts.push(number(row));
        }
    }
    (renumbered, firsts)
}

/// The keys by part, in each part in the order of the rows.
struct Parts<K> {
    keys: Vec<K>,
    /// The row of each key.
    rows: Vec<u32>,
    /// Where each part ends.
    ends: Vec<usize>,
    seed: u64,
}

impl<K: Key> Parts<K> {
    fn of(keys: &[K], valid: Option<&NullBuffer>) -> Self {
        let seed = seed();
        let bits = (keys.len() / PART_ROWS).clamp(2, PARTS_MOST).next_power_of_two().ilog2();
        // The hash table uses the lowest and the seven highest bits.
        let part = |key: K| usize::try_from((key.hash(seed) << 7) >> (64 - bits)).unwrap_or(0);
        let mut ends = vec![0_usize; 1 << bits];
        each(keys, valid, |_, key| {
            if let Some(count) = ends.get_mut(part(key)) {
                *count += 1;
            }
        });
        // From counts to the place where each part begins; filling moves it to where it ends.
        let mut total = 0;
        for end in &mut ends {
            let count = *end;
            *end = total;
            total += count;
        }
        let mut by_part = vec![K::default(); total];
        let mut rows = vec![0_u32; total];
        each(keys, valid, |row, key| {
            if let Some(end) = ends.get_mut(part(key)) {
                if let Some((slot, of)) = by_part.get_mut(*end).zip(rows.get_mut(*end)) {
                    *slot = key;
                    *of = number(row);
                }
                *end += 1;
            }
        });
        Self { keys: by_part, rows, ends, seed }
    }

    fn iter(&self) -> impl Iterator<Item = (&[K], &[u32])> {
        let mut begin = 0;
        self.ends.iter().filter_map(move |end| {
            let part = begin..*end;
            begin = *end;
            self.keys.get(part.clone()).zip(self.rows.get(part))
        })
    }
}

/// Calls `take` with each row that has a key.
fn each<K: Key>(keys: &[K], valid: Option<&NullBuffer>, mut take: impl FnMut(usize, K)) {
    match valid {
        None => keys.iter().enumerate().for_each(|(row, key)| take(row, *key)),
        Some(valid) => {
            for row in valid.valid_indices() {
                take(row, keys.get(row).copied().unwrap_or_default());
            }
        }
    }
}
