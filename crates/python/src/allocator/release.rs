//! Gives large blocks back to the operating system, beside the thread that drops them.
//!
//! The kernel takes about 0.1 ms for each MiB of pages: 40 ms for a result of 325 MB, during which
//! an event loop that drops it would answer nobody. So what is dropped is put on a list, and a
//! thread gives it back. The thread begins with the first block and ends with the last one.
//!
//! The list costs no memory: each block on it begins with its own entry. A child that is forked
//! while the thread is at work keeps the blocks that it had taken from the list.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::thread;

use super::pages;

/// So much is given back at a time: the kernel holds a lock meanwhile that page faults of other
/// threads may wait for.
const SLICE_BYTES: usize = 2 * 1024 * 1024;

/// What tools that list a process' threads show. Linux cuts longer names off.
const THREAD_NAME: &str = "colonnade-free";

/// The thread calls two functions of the kernel. Libraries' thread-local memory is part of it.
const STACK_BYTES: usize = 256 * 1024;

/// What a block begins with while it waits.
struct Entry {
    next: *mut Self,
    size: usize,
}

/// The blocks that wait, the last one first.
static WAITING: AtomicPtr<Entry> = AtomicPtr::new(std::ptr::null_mut());

/// The process whose thread is at work; 0 where there is none. A child has its parent's number, and
/// not its thread: it begins one of its own.
static AT_WORK: AtomicU32 = AtomicU32::new(0);

/// Gives a block back soon.
///
/// # Safety
/// The block is a mapping of this size, at least as large as an entry, and nobody uses it any more.
pub(super) unsafe fn release(block: *mut u8, size: usize) {
    // SAFETY: the caller's promise; a mapping is aligned to pages.
    unsafe { enlist(block.cast::<Entry>(), size) };
    begin_work();
}

/// # Safety
/// As of `release`.
unsafe fn enlist(entry: *mut Entry, size: usize) {
    let mut next = WAITING.load(Ordering::Relaxed);
    loop {
        // SAFETY: the block is this function's own until it is on the list.
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
        // A block may have come after the last look, when its owner still saw a thread at work.
        if WAITING.load(Ordering::SeqCst).is_null() || !becomes_ours(0, std::process::id()) {
            return;
        }
    }
}

fn give_back_all() {
    let mut entry = WAITING.swap(std::ptr::null_mut(), Ordering::SeqCst);
    while !entry.is_null() {
        // SAFETY: whoever takes the list owns its blocks, and each begins with its entry.
        let Entry { next, size } = unsafe { entry.read() };
        // SAFETY: `release` was promised a mapping of this size that nobody uses.
        unsafe { give_back(entry.cast(), size) };
        entry = next;
    }
}

/// # Safety
/// As of `release`.
unsafe fn give_back(block: *mut u8, size: usize) {
    for start in (0..size).step_by(SLICE_BYTES) {
        let slice = SLICE_BYTES.min(size - start);
        // SAFETY: the slice lies within the mapping. Where the kernel refuses, unmapping does it.
        unsafe { libc::madvise(block.add(start).cast(), slice, libc::MADV_DONTNEED) };
    }
    // SAFETY: the caller's promise.
    unsafe { pages::unmap(block, size) };
}

/// Begins a thread that takes no signals: they are for threads that do something about them.
fn without_signals<T>(begin: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are filled by the C library before they are read, and the thread gets its
    // own mask back.
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
