//! The memory into which the socket is read.
//!
//! ```text
//! 0 <= start <= end <= capacity
//! [ read and done | received, to be parsed | the window: free for the next read ]
//! ```
//!
//! The owner of the socket writes through a [`ReceiveWindow`], which may outlive the call that
//! returned it (a transport can keep a view of it). So memory is never moved or resized while it is
//! shared: growing allocates new memory and leaves the old to the views that still hold it.
//!
//! This file holds the crate's only `unsafe`.

use std::cell::UnsafeCell;
use std::sync::Arc;

/// Usual size: one read of it decodes in well under a millisecond, so that a large result
/// never holds an event loop for long.
pub const RECEIVE_CAPACITY_BYTES: usize = 256 * 1024;

/// A window is never smaller than this, so that reads do not become tiny near the end.
const WINDOW_BYTES_MIN: usize = 16 * 1024;

/// How many times its size the memory grows towards the length that a frame claims. Pages that
/// nothing is read into cost nothing, so a claim alone is free; and a large frame is hardly copied.
const GROWTH: usize = 64;

/// One cell and not one for each byte: Miri visits every cell whenever the box is accessed.
struct Memory(Box<UnsafeCell<[u8]>>);

// SAFETY: bytes are written only through a window, between `ReceiveBuffer::window` and
// `ReceiveBuffer::filled`, and read only outside that span: the owner of the socket and the
// session take turns, and both are reached through one exclusive reference to the session.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(capacity: usize) -> Arc<Self> {
        let zeroed = vec![0u8; capacity].into_boxed_slice();
        let raw = Box::into_raw(zeroed);
        // SAFETY: `UnsafeCell` has the layout of its content, so the two box types are
        // interchangeable; the allocation is the same and is freed once, by this box.
        Arc::new(Self(unsafe { Box::from_raw(raw as *mut UnsafeCell<[u8]>) }))
    }

    fn capacity(&self) -> usize {
        self.0.get().len()
    }

    fn pointer(&self) -> *mut u8 {
        self.0.get().cast()
    }
}

/// The free part of a receive buffer, for one read of the socket.
pub struct ReceiveWindow {
    memory: Arc<Memory>,
    /// `start + len <= memory.capacity()`
    start: usize,
    len: usize,
}

impl ReceiveWindow {
    /// The first byte of the window; valid for writes of [`ReceiveWindow::len`] bytes as long as
    /// the window lives.
    pub fn as_mut_ptr(&self) -> *mut u8 {
        // SAFETY: `start` is within the allocation, by the field's invariant.
        unsafe { self.memory.pointer().add(self.start) }
    }

    /// Bytes that may be written.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never true: a window always has room.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

pub(crate) struct ReceiveBuffer {
    memory: Arc<Memory>,
    start: usize,
    end: usize,
}

impl ReceiveBuffer {
    pub(crate) fn new() -> Self {
        Self { memory: Memory::new(RECEIVE_CAPACITY_BYTES), start: 0, end: 0 }
    }

    /// The window for the next read, which should bring at most `wanted` bytes. Within a frame
    /// larger than that, no read completes anything, so the window is all the free room.
    pub(crate) fn window(&self, wanted: usize) -> ReceiveWindow {
        let free = self.memory.capacity() - self.end;
        let is_within_large_frame = self.end - self.start >= wanted;
        let len = if is_within_large_frame { free } else { free.min(wanted) };
        ReceiveWindow { memory: Arc::clone(&self.memory), start: self.end, len }
    }

    /// Copies bytes in, for owners that already hold them (tests, pre-read bytes). Returns the
    /// number of bytes that fitted.
    pub(crate) fn copy_in(&mut self, bytes: &[u8]) -> usize {
        let window = self.window(usize::MAX);
        let len = bytes.len().min(window.len());
        // SAFETY: `len` bytes are free in the window, and `bytes` cannot overlap memory that only
        // windows and this buffer reach.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), window.as_mut_ptr(), len) };
        len
    }

    /// Records that `len` bytes were written at the front of the window. A larger `len` counts as
    /// full.
    pub(crate) fn filled(&mut self, len: usize) {
        self.end = self.end.saturating_add(len).min(self.memory.capacity());
    }

    /// The bytes received and not yet consumed.
    pub(crate) fn unread(&self) -> &[u8] {
        // SAFETY: `start <= end <= capacity`, and nothing writes while the session reads.
        unsafe {
            std::slice::from_raw_parts(self.memory.pointer().add(self.start), self.end - self.start)
        }
    }

    pub(crate) fn consume(&mut self, len: usize) {
        self.start = self.start.saturating_add(len).min(self.end);
    }

    /// Makes room for the next read. `claimed` is the length of the frame at the front, if its
    /// header has come: memory grows towards it by [`GROWTH`] when it is full.
    pub(crate) fn make_room(&mut self, claimed: Option<usize>) {
        let unread = self.end - self.start;
        let wanted = claimed.unwrap_or(0).saturating_add(WINDOW_BYTES_MIN);
        let full = unread + WINDOW_BYTES_MIN > self.memory.capacity();
        let capacity = if full && wanted > self.memory.capacity() {
            wanted.min(self.memory.capacity().saturating_mul(GROWTH))
        } else if self.memory.capacity() > RECEIVE_CAPACITY_BYTES
            && wanted.max(unread + WINDOW_BYTES_MIN) <= RECEIVE_CAPACITY_BYTES
        {
            RECEIVE_CAPACITY_BYTES
        } else {
            self.memory.capacity()
        };
        if capacity != self.memory.capacity() {
            let memory = Memory::new(capacity);
            // SAFETY: both allocations hold at least `unread` bytes, and they are distinct.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    self.memory.pointer().add(self.start),
                    memory.pointer(),
                    unread,
                );
            }
            self.memory = memory;
        } else if self.start > 0 {
            // SAFETY: both ranges are within the allocation; `copy` allows overlap.
            unsafe {
                let base = self.memory.pointer();
                std::ptr::copy(base.add(self.start), base, unread);
            }
        }
        self.start = 0;
        self.end = unread;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_over_compaction_and_growth() {
        let mut buffer = ReceiveBuffer::new();
        let len = buffer.copy_in(&[7; 1000]);
        buffer.filled(len);
        buffer.consume(900);
        buffer.make_room(Some(1 << 20));
        assert_eq!(buffer.unread(), [7; 100]);
        assert_eq!(
            buffer.window(usize::MAX).len(),
            RECEIVE_CAPACITY_BYTES - 100,
            "a claim alone is free"
        );
        while buffer.unread().len() < 1 << 20 {
            let len = buffer.copy_in(&[9; 100_000]);
            assert!(len > 0, "there is always room");
            buffer.filled(len);
            buffer.make_room(Some(1 << 20));
        }
        assert_eq!(buffer.unread().first(), Some(&7));
        assert_eq!(buffer.unread().last(), Some(&9));
        buffer.consume(usize::MAX);
        buffer.make_room(None);
        assert_eq!(
            buffer.window(usize::MAX).len(),
            RECEIVE_CAPACITY_BYTES,
            "back to the usual size"
        );
    }

    #[test]
    fn a_read_brings_what_is_wanted_of_it_but_within_a_large_frame() {
        let mut buffer = ReceiveBuffer::new();
        assert_eq!(buffer.window(1000).len(), 1000);
        let len = buffer.copy_in(&[7; 999]);
        buffer.filled(len);
        buffer.make_room(Some(100_000));
        assert_eq!(buffer.window(1000).len(), 1000);
        let len = buffer.copy_in(&[7; 1]);
        buffer.filled(len);
        buffer.make_room(Some(100_000));
        assert_eq!(buffer.window(1000).len(), RECEIVE_CAPACITY_BYTES - 1000);
        buffer.consume(usize::MAX);
        buffer.make_room(None);
        assert_eq!(buffer.window(1000).len(), 1000);
    }

    #[test]
    fn a_window_outlives_the_growth_of_its_buffer() {
        let mut buffer = ReceiveBuffer::new();
        let old = buffer.window(usize::MAX);
        buffer.filled(RECEIVE_CAPACITY_BYTES);
        buffer.make_room(Some(RECEIVE_CAPACITY_BYTES * 4));
        // SAFETY: the old memory is kept alive by the window.
        unsafe { old.as_mut_ptr().write(1) };
        assert_eq!(buffer.unread().first(), Some(&0));
    }
}
