#![allow(unsafe_code, reason = "the methods of an allocator are unsafe")]

use std::alloc::{GlobalAlloc, Layout};

use crate::{ColumnMemory, LARGE_BYTES, filling};
#[cfg(all(target_os = "linux", not(sanitized)))]
use crate::{PAGE_ALIGN, is_large};

/// A block of the allocator, freed at the end of its test.
struct Block {
    pointer: *mut u8,
    layout: Layout,
}

impl Block {
    fn of(size: usize) -> Self {
        let layout = Layout::from_size_align(size, 8).unwrap();
        // SAFETY: the layout has a size.
        let pointer = unsafe { ColumnMemory.alloc(layout) };
        assert!(!pointer.is_null());
        Self { pointer, layout }
    }

    fn zeroed(size: usize) -> Self {
        let layout = Layout::from_size_align(size, 8).unwrap();
        // SAFETY: the layout has a size.
        let pointer = unsafe { ColumnMemory.alloc_zeroed(layout) };
        assert!(!pointer.is_null());
        Self { pointer, layout }
    }

    fn resize(&mut self, size: usize) {
        // SAFETY: the block is the allocator's, with this layout.
        self.pointer = unsafe { ColumnMemory.realloc(self.pointer, self.layout, size) };
        assert!(!self.pointer.is_null());
        self.layout = Layout::from_size_align(size, 8).unwrap();
    }

    /// The bytes, which were written before.
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the block has this size, and each test writes what it reads.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.layout.size()) }
    }

    fn fill(&mut self) {
        // SAFETY: the block has this size.
        unsafe { self.pointer.write_bytes(0, self.layout.size()) };
        for (index, byte) in self.bytes().iter_mut().enumerate() {
            *byte = pattern(index);
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the block is the allocator's, with this layout, and no longer used.
        unsafe { ColumnMemory.dealloc(self.pointer, self.layout) };
    }
}

fn pattern(index: usize) -> u8 {
    (index % 251) as u8
}

fn has_pattern(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(index, byte)| *byte == pattern(index))
}

#[test]
#[cfg(all(target_os = "linux", not(sanitized)))]
fn a_block_is_large_from_the_limit_on() {
    let of = |size, align| is_large(&Layout::from_size_align(size, align).unwrap());
    assert!(!of(LARGE_BYTES - 1, 8));
    assert!(of(LARGE_BYTES, 8));
    assert!(of(LARGE_BYTES, PAGE_ALIGN));
    assert!(!of(LARGE_BYTES, 2 * PAGE_ALIGN));
}

#[test]
#[cfg(all(target_os = "linux", not(sanitized)))]
fn a_large_block_begins_at_a_page() {
    let block = Block::of(LARGE_BYTES + 1);
    assert_eq!(block.pointer.addr() % PAGE_ALIGN, 0);
}

#[test]
fn the_bytes_stay_when_a_block_crosses_the_limit() {
    let mut block = Block::of(1000);
    block.fill();
    let mut kept = 1000;
    for size in [LARGE_BYTES, 3 * LARGE_BYTES, 9 << 20, LARGE_BYTES + 1, 500, LARGE_BYTES] {
        kept = kept.min(size);
        block.resize(size);
        // The new part was not written, so only the kept part is read.
        // SAFETY: the block has at least this size, and its beginning was written.
        let bytes = unsafe { std::slice::from_raw_parts(block.pointer, kept) };
        assert!(has_pattern(bytes), "{size} bytes");
    }
}

#[test]
fn a_zeroed_block_is_zero_at_both_sides_of_the_limit() {
    for size in [1, LARGE_BYTES - 1, LARGE_BYTES, (2 << 20) + 1] {
        assert!(Block::zeroed(size).bytes().iter().all(|byte| *byte == 0), "{size} bytes");
    }
}

#[test]
fn filled_blocks_may_shrink_and_grow() {
    let mut block = filling(|| Block::of(5 << 20));
    block.fill();
    block.resize(12 << 20);
    // SAFETY: as above.
    assert!(has_pattern(unsafe { std::slice::from_raw_parts(block.pointer, 5 << 20) }));
    block.resize(1 << 20);
    assert!(has_pattern(block.bytes()));
}

#[test]
fn the_mark_of_filling_ends_with_its_work() {
    let is_filling = || super::IS_FILLING.get();
    assert!(!is_filling());
    filling(|| {
        filling(|| assert!(is_filling()));
        assert!(is_filling());
    });
    assert!(!is_filling());
    let panicked = std::panic::catch_unwind(|| filling(|| std::panic::resume_unwind(Box::new(0))));
    assert!(panicked.is_err());
    assert!(!is_filling());
}

#[test]
#[cfg(all(target_os = "linux", not(sanitized)))]
fn a_block_of_a_mebibyte_is_returned_by_the_thread() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    };
    let block = Block::of(128 << 20);
    // SAFETY: the block has this size.
    unsafe { block.pointer.write_bytes(1, block.layout.size()) };
    let before = resident();
    drop(block);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    // Other tests have a few blocks of some MiB meanwhile.
    while before.saturating_sub(resident()) < 64 << 20 {
        assert!(std::time::Instant::now() < deadline, "the memory was not returned");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
