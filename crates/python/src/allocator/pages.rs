//! Blocks made of whole pages: mapped, remapped to grow, unmapped.

#[cfg(target_os = "linux")]
pub(super) fn map(size: usize) -> *mut u8 {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new anonymous mapping touches no existing memory.
    let block = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
    if block == libc::MAP_FAILED { std::ptr::null_mut() } else { block.cast() }
}

/// # Safety
/// The block is a mapping of this size and no longer in use.
#[cfg(target_os = "linux")]
pub(super) unsafe fn unmap(block: *mut u8, size: usize) {
    // SAFETY: by the caller's contract. It fails only if the kernel lacks memory for its own
    // bookkeeping; the pages then stay until the process ends.
    unsafe { libc::munmap(block.cast(), size) };
}

/// # Safety
/// The block is a mapping of the old size; its old address is no longer in use, unless null is
/// returned.
#[cfg(target_os = "linux")]
pub(super) unsafe fn remap(block: *mut u8, size: usize, new_size: usize) -> *mut u8 {
    // SAFETY: by the caller's contract; on failure the block stays as it is.
    let moved = unsafe { libc::mremap(block.cast(), size, new_size, libc::MREMAP_MAYMOVE) };
    if moved == libc::MAP_FAILED { std::ptr::null_mut() } else { moved.cast() }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn map(_size: usize) -> *mut u8 {
    std::ptr::null_mut()
}

#[cfg(not(target_os = "linux"))]
pub(super) unsafe fn unmap(_block: *mut u8, _size: usize) {}

#[cfg(not(target_os = "linux"))]
pub(super) unsafe fn remap(_block: *mut u8, _size: usize, _new_size: usize) -> *mut u8 {
    std::ptr::null_mut()
}
