//! Blocks made of whole pages: mapped, remapped to grow, unmapped.
//!
//! Computations fill the blocks that they ask for: a selection, the numbers of groups. The kernel
//! is asked for huge pages for these: handing out 512 small ones takes longer than most
//! computations need to fill them. Columns that grow, and buffers for the worst case of a
//! compressor, do without: the part of a huge page that is not reached would count as used
//! memory.

#[cfg(target_os = "linux")]
mod linux {
    /// A huge page of x86-64, and of ARM with pages of 4 KiB.
    const HUGE_BYTES: usize = 2 * 1024 * 1024;

    /// How much of the last huge page may be wasted: a quarter of the page.
    const WASTED_BYTES_MOST: usize = HUGE_BYTES / 4;

    /// The first bytes of a block that are worth huge pages.
    fn huge_bytes(size: usize) -> usize {
        (size + WASTED_BYTES_MOST) / HUGE_BYTES * HUGE_BYTES
    }

    /// The length of a block's mapping. The kernel aligns mappings to huge pages if they are a
    /// multiple of them. What lies beyond is never touched.
    fn mapped_bytes(size: usize) -> usize {
        if huge_bytes(size) == 0 { size } else { size.next_multiple_of(HUGE_BYTES) }
    }

    pub(crate) fn map(size: usize) -> *mut u8 {
        let length = mapped_bytes(size);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping touches no existing memory.
        let block = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
        if block == libc::MAP_FAILED { std::ptr::null_mut() } else { block.cast() }
    }

    /// A mapping that will be filled, with huge pages where the system has them.
    pub(crate) fn map_filled(size: usize) -> *mut u8 {
        let block = map(size);
        let huge = huge_bytes(size);
        if huge > 0 && !block.is_null() {
            // SAFETY: the part lies within the new mapping. Advice that is refused changes nothing.
            unsafe { libc::madvise(block.cast(), huge, libc::MADV_HUGEPAGE) };
        }
        block
    }

    /// # Safety
    /// The block is a mapping of this size and no longer in use.
    pub(crate) unsafe fn unmap(block: *mut u8, size: usize) {
        // SAFETY: by the caller's contract. It fails only if the kernel lacks memory for its own
        // bookkeeping; the pages then stay until the process ends.
        unsafe { libc::munmap(block.cast(), mapped_bytes(size)) };
    }

    /// # Safety
    /// The block is a mapping of the old size; its old address is no longer in use, unless null is
    /// returned.
    pub(crate) unsafe fn remap(block: *mut u8, size: usize, new_size: usize) -> *mut u8 {
        let (length, new_length) = (mapped_bytes(size), mapped_bytes(new_size));
        // SAFETY: by the caller's contract; on failure the block stays as it is.
        let moved = unsafe { libc::mremap(block.cast(), length, new_length, libc::MREMAP_MAYMOVE) };
        if moved == libc::MAP_FAILED { std::ptr::null_mut() } else { moved.cast() }
    }
}

/// Other systems serve large blocks from their heap.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    pub(crate) fn map(_size: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub(crate) fn map_filled(_size: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub(crate) unsafe fn unmap(_block: *mut u8, _size: usize) {}

    pub(crate) unsafe fn remap(_block: *mut u8, _size: usize, _new_size: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{map, map_filled, remap, unmap};
#[cfg(target_os = "linux")]
pub(crate) use linux::{map, map_filled, remap, unmap};
