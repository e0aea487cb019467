//! The time that each thread has spent decoding.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

thread_local! {
    static NANOSECONDS: Arc<AtomicU64> = Arc::default();
}

/// Adds to the time that the calling thread has spent decoding.
pub fn note_decoding(time: Duration) {
    let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    // A thread that ends has no such variable any more, and nobody watches it.
    let _ = NANOSECONDS.try_with(|total| total.fetch_add(nanoseconds, Ordering::Relaxed));
}

/// The time that one thread has spent decoding, for any thread to read.
pub(crate) struct Decoding(Arc<AtomicU64>);

impl Decoding {
    /// Of the calling thread.
    pub(crate) fn of_this_thread() -> Self {
        Self(NANOSECONDS.with(Arc::clone))
    }

    pub(crate) fn total(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own() {
        let own = Decoding::of_this_thread();
        note_decoding(Duration::from_millis(3));
        std::thread::spawn(|| note_decoding(Duration::from_millis(5))).join().unwrap();
        assert_eq!(own.total(), Duration::from_millis(3));
    }
}
