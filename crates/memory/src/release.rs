//! Returns large blocks to the operating system on a thread of its own.
//!
//! The kernel takes about 0.1 ms for each MiB of pages: 40 ms for a result of 325 MB, during which
//! an event loop that drops it would be blocked. So dropped blocks are put on a list, and a thread
//! unmaps them. The thread starts with the first block and ends after the last one.
//!
//! The list costs no memory: each block on it begins with its own entry. A child forked while the
//! thread is working keeps the blocks that the thread had taken from the list.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::thread;

use crate::pages;

/// The slice returned at a time: meanwhile the kernel holds a lock that page faults of other
/// threads may wait for.
const SLICE_BYTES: usize = 2 * 1024 * 1024;

/// The thread's name in tools that list threads. Linux truncates longer names.
const THREAD_NAME: &str = "colonnade-free";

/// The thread makes only two kernel calls, but its stack also holds libraries' thread-local memory.
const STACK_BYTES: usize = 256 * 1024;

/// The beginning of a waiting block.
struct Entry {
    next: *mut Self,
    size: usize,
}

/// The waiting blocks, the latest one first.
static WAITING: AtomicPtr<Entry> = AtomicPtr::new(std::ptr::null_mut());

/// The process whose thread is working; 0 for none. A forked child inherits the number but not the
/// thread, so it starts a thread of its own.
static AT_WORK: AtomicU32 = AtomicU32::new(0);

/// Queues a block to be unmapped.
///
/// # Safety
/// The block is a mapping of this size, at least as large as an entry, and no longer in use.
pub(crate) unsafe fn release(block: *mut u8, size: usize) {
    // SAFETY: by the caller's contract; a mapping is aligned to pages.
    unsafe { enlist(block.cast::<Entry>(), size) };
    begin_work();
}

/// # Safety
/// As for `release`.
unsafe fn enlist(entry: *mut Entry, size: usize) {
    let mut next = WAITING.load(Ordering::Relaxed);
    loop {
        // SAFETY: this function owns the block until it is on the list.
        unsafe { entry.write(Entry { next, size }) };
        match WAITING.compare_exchange_weak(next, entry, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => return,
            Err(seen) => next = seen,
        }
    }
}

fn begin_work() {
    let process = std::process::id();
    let at_work = AT_WORK.load(Ordering::SeqCst);
    if at_work == process || !becomes_ours(at_work, process) {
        return;
    }
    let named = thread::Builder::new().name(THREAD_NAME.into()).stack_size(STACK_BYTES);
    let thread = without_signals(|| named.spawn(work));
    if thread.is_err() {
        work();
    }
}

fn becomes_ours(at_work: u32, process: u32) -> bool {
    AT_WORK.compare_exchange(at_work, process, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

fn work() {
    loop {
        give_back_all();
        AT_WORK.store(0, Ordering::SeqCst);
        // A block may have come after the last check, while its owner still saw a thread working.
        if WAITING.load(Ordering::SeqCst).is_null() || !becomes_ours(0, std::process::id()) {
            return;
        }
    }
}

fn give_back_all() {
    let mut entry = WAITING.swap(std::ptr::null_mut(), Ordering::SeqCst);
    while !entry.is_null() {
        // SAFETY: the thread that takes the list owns its blocks, and each begins with its entry.
        let Entry { next, size } = unsafe { entry.read() };
        // SAFETY: `release` was given a mapping of this size that is no longer in use.
        unsafe { give_back(entry.cast(), size) };
        entry = next;
    }
}

/// # Safety
/// As for `release`.
unsafe fn give_back(block: *mut u8, size: usize) {
    for start in (0..size).step_by(SLICE_BYTES) {
        let slice = SLICE_BYTES.min(size - start);
        // SAFETY: the slice lies within the mapping. If the kernel refuses, the unmapping does it
        // all.
        unsafe { libc::madvise(block.add(start).cast(), slice, libc::MADV_DONTNEED) };
    }
    // SAFETY: by the caller's contract.
    unsafe { pages::unmap(block, size) };
}

/// Starts a thread with all signals blocked: they are for threads that handle them.
fn without_signals<T>(begin: impl FnOnce() -> T) -> T {
    // SAFETY: the C library fills both sets before they are read, and this thread's own mask is
    // restored.
    unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let begun = begin();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        begun
    }
}
