//! Histograms of durations.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

/// The shortest and the longest duration told apart, in microseconds: 1 us and an hour.
const BOUNDS: (u64, u64) = (1, 3_600_000_000);
/// Durations are kept to two digits: 1 % of their value.
const DIGITS: u8 = 2;

/// How often each duration occurred, to 1 %, in constant memory.
#[derive(Clone, Debug)]
pub struct DurationHistogram {
    counts: Histogram<u64>,
}

impl Default for DurationHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl DurationHistogram {
    /// A histogram without a duration.
    #[must_use]
    pub fn new() -> Self {
        let counts = Histogram::new_with_bounds(BOUNDS.0, BOUNDS.1, DIGITS);
        // The bounds are constants of this file, and allowed.
        Self { counts: counts.unwrap_or_else(|_| unreachable!()) }
    }

    /// Adds a duration; one above an hour counts as an hour.
    pub fn record(&mut self, duration: Duration) {
        self.counts.saturating_record(microseconds(duration));
    }

    /// Adds a duration, and those that a sampler missed meanwhile: while one sample waits, no other
    /// is taken, though it would have waited, too.
    ///
    /// For a duration above `interval`, the durations less one interval, two intervals and so on
    /// are added (Gil Tene's correction of "coordinated omission").
    pub fn record_corrected(&mut self, duration: Duration, interval: Duration) {
        let value = microseconds(duration);
        // The value is within the bounds, so nothing can fail.
        let _ = self.counts.record_correct(value, microseconds(interval).max(1));
    }

    /// The durations that were added since `earlier`, a former state of this histogram.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut counts = self.counts.clone();
        // It fails where `earlier` is no former state: then there is nothing to take away.
        let _ = counts.subtract(&earlier.counts);
        Self { counts }
    }

    /// How many durations there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The longest duration; zero without any.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_micros(self.counts.max())
    }

    /// The mean duration; zero without any.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_secs_f64(self.counts.mean() / 1e6)
    }

    /// The duration that `share` (0 to 1) of all do not exceed; zero without any.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_micros(self.counts.value_at_quantile(share).min(self.counts.max()))
    }

    /// How many durations are not longer than `bound`.
    #[must_use]
    pub fn count_up_to(&self, bound: Duration) -> u64 {
        if self.counts.is_empty() {
            return 0;
        }
        self.counts.count_between(0, microseconds(bound))
    }
}

impl fmt::Display for DurationHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        write!(
            f,
            "{} durations, p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms",
            self.count(),
            ms(self.quantile(0.5)),
            ms(self.quantile(0.99)),
            ms(self.max()),
        )
    }
}

fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).min(BOUNDS.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn is_about(found: Duration, wanted: Duration) -> bool {
        found.abs_diff(wanted) * 50 <= wanted
    }

    #[test]
    fn percentiles_are_within_two_percent() {
        let mut histogram = DurationHistogram::new();
        for value in 1..=1000 {
            histogram.record(MILLISECOND * value);
        }
        assert_eq!(histogram.count(), 1000);
        for (share, wanted) in [(0.5, 500), (0.99, 990), (1.0, 1000)] {
            assert!(is_about(histogram.quantile(share), MILLISECOND * wanted), "{share}");
        }
        assert!(is_about(histogram.max(), MILLISECOND * 1000));
        assert!(is_about(histogram.mean(), MILLISECOND * 500));
        assert!(histogram.count_up_to(MILLISECOND * 100).abs_diff(100) <= 2);
    }

    #[test]
    fn the_corrected_share_is_that_of_a_caller_at_any_moment() {
        // In ten seconds the loop stands still for one: a caller at a random moment waits in a
        // tenth of all cases, and half a second on average then.
        let (mut naive, mut corrected) = (DurationHistogram::new(), DurationHistogram::new());
        let interval = MILLISECOND * 10;
        for lag in std::iter::repeat_n(Duration::ZERO, 900).chain([MILLISECOND * 1000]) {
            naive.record(lag);
            corrected.record_corrected(lag, interval);
        }
        assert!(naive.quantile(0.99) <= MILLISECOND);
        assert!(is_about(corrected.quantile(0.95), MILLISECOND * 500));
        assert!(corrected.count().abs_diff(1000) <= 1);
    }

    #[test]
    fn a_difference_forgets_what_was_before() {
        let mut histogram = DurationHistogram::new();
        histogram.record(MILLISECOND * 500);
        let before = histogram.clone();
        histogram.record(MILLISECOND * 3);
        let since = histogram.since(&before);
        assert_eq!(since.count(), 1);
        assert!(is_about(since.max(), MILLISECOND * 3));
        assert_eq!(histogram.since(&histogram).max(), Duration::ZERO);
    }

    #[test]
    fn a_histogram_tells_its_percentiles() {
        let mut histogram = DurationHistogram::new();
        let nothing = "0 durations, p50 0.000 ms, p99 0.000 ms, max 0.000 ms";
        assert_eq!(histogram.to_string(), nothing);
        histogram.record(Duration::from_micros(100));
        let one = "1 durations, p50 0.100 ms, p99 0.100 ms, max 0.100 ms";
        assert_eq!(histogram.to_string(), one);
    }

    #[test]
    fn the_ends_are_kept() {
        let mut histogram = DurationHistogram::new();
        assert_eq!(histogram.quantile(0.5), Duration::ZERO);
        assert_eq!(histogram.count_up_to(MILLISECOND), 0);
        histogram.record(Duration::ZERO);
        histogram.record(Duration::MAX);
        histogram.record_corrected(Duration::MAX, Duration::from_secs(600));
        assert_eq!(histogram.count(), 2 + 6);
        assert!(is_about(histogram.max(), Duration::from_secs(3600)));
    }
}
