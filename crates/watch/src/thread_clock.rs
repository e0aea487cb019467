//! The kernel's counters of a thread: time on a processor, time in a processor's queue, and how
//! often it was given a processor.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// The counters of a thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadTimes {
    /// Time on a processor.
    pub(crate) running: Duration,
    /// Time in which it could have run, but had no processor; None where the kernel does not tell.
    pub(crate) queued: Option<Duration>,
    /// How often it was given a processor; None where the kernel does not tell.
    pub(crate) slices: Option<u64>,
}

impl ThreadTimes {
    /// The increase since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            running: self.running.saturating_sub(earlier.running),
            queued: self.queued.zip(earlier.queued).map(|(now, before)| now.saturating_sub(before)),
            slices: self.slices.zip(earlier.slices).map(|(now, before)| now.saturating_sub(before)),
        }
    }
}

/// The counters of one thread, which any thread of the process may read.
pub(crate) struct ThreadClock {
    tid: u32,
    clock: libc::clockid_t,
    schedstat: Option<File>,
}

impl ThreadClock {
    /// The counters of the calling thread.
    pub(crate) fn of_this_thread() -> io::Result<Self> {
        let mut clock = 0;
        // SAFETY: the thread is alive, because it makes the call, which writes one number.
        let (status, tid) = unsafe {
            let status = libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock);
            (status, libc::syscall(libc::SYS_gettid))
        };
        if status != 0 {
            return Err(io::Error::from_raw_os_error(status));
        }
        let tid = u32::try_from(tid).map_err(io::Error::other)?;
        let schedstat = File::open(format!("/proc/self/task/{tid}/schedstat")).ok();
        Ok(Self { tid, clock, schedstat })
    }

    /// The kernel's number of the thread.
    pub(crate) fn tid(&self) -> u32 {
        self.tid
    }

    /// The counters now; zero once the thread has ended.
    pub(crate) fn read(&self) -> ThreadTimes {
        // The clock of a thread that has ended is an error, not another thread's clock.
        let running = read_clock(self.clock);
        // The file's own first number lags behind by up to a tick of the kernel.
        let told = self.schedstat.as_ref().and_then(read_schedstat);
        ThreadTimes {
            running,
            queued: told.map(|(_, queued, _)| queued),
            slices: told.map(|(_, _, slices)| slices),
        }
    }
}

/// The time of all threads of the process on processors.
pub(crate) fn running_of_process() -> Duration {
    read_clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Zero for a clock that does not exist.
fn read_clock(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one struct that lives here.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    if status != 0 {
        return Duration::ZERO;
    }
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Time on a processor, time in a queue, number of slices.
fn read_schedstat(file: &File) -> Option<(Duration, Duration, u64)> {
    let mut bytes = [0; 80];
    let length = file.read_at(&mut bytes, 0).ok()?;
    parse_schedstat(std::str::from_utf8(bytes.get(..length)?).ok()?)
}

fn parse_schedstat(text: &str) -> Option<(Duration, Duration, u64)> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    let mut next = || numbers.next()?.ok();
    let (running, queued) = (Duration::from_nanos(next()?), Duration::from_nanos(next()?));
    // A kernel that does not count keeps them at zero, while every thread that reads has run.
    let slices = next().filter(|slices| *slices > 0)?;
    Some((running, queued, slices))
}

/// The time on a processor of every thread of the process, by its number.
pub(crate) fn running_by_thread() -> HashMap<u32, Duration> {
    let Ok(entries) = fs::read_dir("/proc/self/task") else { return HashMap::new() };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let tid = entry.file_name().to_str()?.parse().ok()?;
            let text = fs::read_to_string(entry.path().join("schedstat")).ok()?;
            Some((tid, parse_schedstat(&text)?.0))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_computes_is_seen_from_another() {
        let clock = ThreadClock::of_this_thread().unwrap();
        let before = clock.read();
        let mut sum = 0_u64;
        while clock.read().since(&before).running < Duration::from_millis(2) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let seen = std::thread::scope(|scope| scope.spawn(|| clock.read()).join().unwrap());
        assert!(seen.since(&before).running >= Duration::from_millis(2));
        assert!(running_by_thread().contains_key(&clock.tid()) || seen.slices.is_none());
    }

    #[test]
    fn schedstat_is_read() {
        let told = parse_schedstat("1000 2000 3\n");
        assert_eq!(told, Some((Duration::from_micros(1), Duration::from_micros(2), 3)));
        for faulty in ["", "0 0 0", "1 2", "a b c", "1 2 -3", "99999999999999999999 1 1"] {
            assert_eq!(parse_schedstat(faulty), None, "{faulty}");
        }
    }

    #[test]
    fn the_clock_of_an_ended_thread_is_zero() {
        let clock = std::thread::spawn(|| ThreadClock::of_this_thread().unwrap()).join().unwrap();
        while clock.read().running > Duration::ZERO {
            // The kernel takes a moment to forget the thread after the join.
            std::thread::yield_now();
        }
        assert_eq!(clock.read(), ThreadTimes::default());
    }
}
