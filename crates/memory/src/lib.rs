//! Memory for growing columns: each large block has its own pages.
//!
//! A column doubles its buffer as rows come in. glibc's `realloc` moves a large block by
//! remapping its pages at first, but after the first large block was freed it serves blocks of up
//! to 32 MiB from its heap, where each doubling copies: with 18 columns that grow at the same row,
//! the event loop stopped for 40 ms. Here a large block is always a mapping of its own, grows by
//! remapping, and goes back to the operating system when it is freed: smaller ones at once, the
//! others on a separate thread. The allocator serves the Rust code of the extension module only.

mod pages;
#[cfg(target_os = "linux")]
mod release;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pages::{map, map_filled, remap};

/// Blocks of at least this size are large. Below it a copy takes microseconds.
const LARGE_BYTES: usize = 256 * 1024;

/// Blocks of at least this size are freed by a thread: at this size, unmapping takes the kernel as
/// long as starting the thread.
#[cfg(target_os = "linux")]
const RELEASED_BYTES: usize = 1024 * 1024;

/// Mappings are aligned to pages; no block of our crates asks for more.
const PAGE_ALIGN: usize = 4096;

/// The allocator: large blocks have pages of their own, the system's allocator makes all others.
pub struct ColumnMemory;

#[inline]
fn is_large(layout: &Layout) -> bool {
    // Sanitizers cannot see mappings: see tools/check/sanitize.
    cfg!(all(target_os = "linux", not(sanitized)))
        && layout.size() >= LARGE_BYTES
        && layout.align() <= PAGE_ALIGN
}

thread_local! {
    static IS_FILLING: Cell<bool> = const { Cell::new(false) };
}

/// Runs work that fills the large blocks that it asks for, and at once: they get huge pages.
pub fn filling<T>(work: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_FILLING.set(self.0);
        }
    }
    let _before = Before(IS_FILLING.replace(true));
    work()
}

fn mapped(size: usize) -> *mut u8 {
    // A thread that ends has no such mark any more.
    let is_filling = IS_FILLING.try_with(Cell::get).unwrap_or_default();
    if is_filling { map_filled(size) } else { map(size) }
}

// SAFETY: one of two allocators handles a block for its whole life. The block's layout, which
// callers pass back unchanged, decides which one; a block that crosses the limit is copied over. A
// mapping is at least as large as requested, and its pages are zero.
unsafe impl GlobalAlloc for ColumnMemory {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(&layout) {
            return mapped(layout.size());
        }
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(&layout) {
            return mapped(layout.size());
        }
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_large(&layout) {
            // SAFETY: the block was mapped with this size, and its owner no longer uses it.
            unsafe { unmap(block, layout.size()) };
        } else {
            // SAFETY: the block is the system allocator's, with this layout.
            unsafe { System.dealloc(block, layout) };
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that the new size is valid for this alignment.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        match (is_large(&layout), is_large(&new_layout)) {
            // SAFETY: the block was mapped with this size.
            (true, true) => unsafe { self.grown(block, layout, new_layout) },
            // SAFETY: the block is the system allocator's, with this layout.
            (false, false) => unsafe { System.realloc(block, layout, new_size) },
            (false, true) => {
                let new_block = map(new_size);
                // SAFETY: by the caller's contract; the new block is distinct.
                unsafe { self.moved(block, layout, new_block, new_size) }
            }
            // SAFETY: by the caller's contract; the new block is distinct.
            (true, false) => unsafe {
                let new_block = System.alloc(new_layout);
                self.moved(block, layout, new_block, new_size)
            },
        }
    }
}

impl ColumnMemory {
    /// A mapping with another size.
    ///
    /// # Safety
    /// As for `realloc`, and both sizes are large.
    unsafe fn grown(&self, block: *mut u8, layout: Layout, new_layout: Layout) -> *mut u8 {
        // SAFETY: the block was mapped with this size.
        let remapped = unsafe { remap(block, layout.size(), new_layout.size()) };
        if !remapped.is_null() {
            return remapped;
        }
        // The kernel does not remap a block if a part of it has huge pages. As a block that grows,
        // the next one has none.
        let new_block = map(new_layout.size());
        // SAFETY: by the caller's contract; the new block is distinct.
        unsafe { self.moved(block, layout, new_block, new_layout.size()) }
    }

    /// A block of a new size with the bytes of the old one, which is freed.
    ///
    /// # Safety
    /// The old block has this layout, and is no longer used if the new one is not null; the new one
    /// has the new size.
    unsafe fn moved(&self, old: *mut u8, layout: Layout, new: *mut u8, new_size: usize) -> *mut u8 {
        if !new.is_null() {
            let kept = layout.size().min(new_size);
            // SAFETY: both blocks hold at least the smaller size, and they are distinct.
            unsafe {
                std::ptr::copy_nonoverlapping(old, new, kept);
                self.dealloc(old, layout);
            }
        }
        new
    }
}

/// # Safety
/// The block is a mapping of this size and no longer in use.
unsafe fn unmap(block: *mut u8, size: usize) {
    #[cfg(target_os = "linux")]
    if size >= RELEASED_BYTES {
        // SAFETY: by the caller's contract.
        unsafe { release::release(block, size) };
        return;
    }
    // SAFETY: by the caller's contract.
    unsafe { pages::unmap(block, size) };
}

#[cfg(test)]
mod tests;
