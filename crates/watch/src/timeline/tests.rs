use std::sync::Arc;

use super::{KnownWaits, LOOP_DELAY, Place, Record, SLEEP, UNKNOWN, end_of_sleep};

const RUNNING: u8 = 0;
const TASK: u8 = 10;

/// A record that is on, and the numbers of two lanes.
fn record() -> (Record, u32, u32) {
    let mut record = Record::new(100);
    record.is_on = true;
    let (first, second) = (record.open(0), record.open(0));
    (record, first, second)
}

/// The intervals: lane, kind, start and end.
fn intervals(record: &Record) -> Vec<(u32, u8, u64, u64)> {
    record.intervals.iter().map(|one| (one.lane, one.kind, one.start, one.end)).collect()
}

#[test]
fn a_step_is_one_interval() {
    let (mut record, first, _) = record();
    let outer = record.enter(first, 10);
    assert_eq!(outer, None);
    assert_eq!(record.running_lane(), Some(first));
    record.leave(outer, 25);
    assert_eq!(intervals(&record), [(first, RUNNING, 10, 25)]);
    assert_eq!((record.running_lane(), record.last_end()), (None, 25));
}

#[test]
fn an_eager_task_interrupts_the_step_around_it() {
    let (mut record, first, second) = record();
    let none = record.enter(first, 10);
    let outer = record.enter(second, 20);
    record.leave(outer, 30);
    assert_eq!(record.running_lane(), Some(first));
    record.leave(none, 40);
    assert_eq!(
        intervals(&record),
        [
            (first, RUNNING, 10, 20),
            (second, RUNNING, 20, 30),
            (first, TASK, 20, 30),
            (first, RUNNING, 30, 40)
        ]
    );
}

#[test]
fn a_step_whose_end_nobody_tells_ends_with_the_next_one() {
    let (mut record, first, second) = record();
    record.enter_open_ended(first, 10);
    assert_eq!(record.enter(second, 20), None);
    // It is told late, and returns when it was over.
    assert_eq!(record.leave_open_ended(first, 50), 20);
    record.leave(None, 60);
    assert_eq!(intervals(&record), [(first, RUNNING, 10, 20), (second, RUNNING, 20, 60)]);
    // Told in time, it ends at once; of another lane nothing is known.
    record.enter_open_ended(first, 70);
    assert_eq!(record.leave_open_ended(first, 75), 75);
    assert_eq!(record.leave_open_ended(second, 80), 80);
}

#[test]
fn a_task_that_is_being_made_does_not_end_an_open_step() {
    let (mut record, first, second) = record();
    record.enter_open_ended(first, 10);
    assert!(!record.set_making(true));
    let outer = record.enter(second, 20);
    assert!(outer.is_some());
    // The tasks that it makes are not made by the one around it.
    assert!(!record.set_making(false));
    record.leave(outer, 30);
    assert_eq!(record.running_lane(), Some(first));
}

#[test]
fn intervals_beyond_the_limit_are_counted() {
    let mut record = Record::new(1);
    record.add(0, UNKNOWN, 5, 5);
    assert!(!record.is_full(), "an interval without length is none");
    record.add(0, UNKNOWN, 5, 6);
    record.add(0, UNKNOWN, 6, 7);
    assert_eq!((record.is_full(), record.dropped, record.intervals.len()), (true, 1, 1));
}

#[test]
fn a_wait_that_is_over_waits_for_its_turn() {
    let (mut record, first, _) = record();
    record.add_wait(first, SLEEP, 10, 15, 20);
    assert_eq!(intervals(&record), [(first, SLEEP, 10, 15), (first, LOOP_DELAY, 15, 20)]);
    record.intervals.clear();
    // The time that is told may lie outside of the wait.
    record.add_wait(first, SLEEP, 10, 99, 20);
    record.add_wait(first, SLEEP, 30, 1, 40);
    assert_eq!(intervals(&record), [(first, SLEEP, 10, 20), (first, LOOP_DELAY, 30, 40)]);
}

#[test]
fn a_lane_ends_once() {
    let (mut record, first, second) = record();
    record.close(first, 7);
    record.close(first, 9);
    assert_eq!(record.life(first), Some((0, Some(7))));
    assert_eq!(record.life(second), Some((0, None)));
    record.close(99, 9);
    assert_eq!(record.life(99), None);
}

#[test]
fn a_step_within_which_the_trace_was_stopped_has_ended() {
    let (mut record, first, _) = record();
    let outer = record.enter(first, 10);
    record.stop(15);
    record.leave(outer, 20);
    assert_eq!(intervals(&record), [(first, RUNNING, 10, 15)]);
    assert!(!record.is_on);
}

#[test]
fn a_sleep_is_over_when_it_was_due() {
    const SECOND: u64 = 1_000_000_000;
    assert_eq!(end_of_sleep(5, 1.0, 3 * SECOND), SECOND + 5);
    // Loops round up to the next millisecond.
    assert_eq!(end_of_sleep(0, 1.0, SECOND + 2_000_000), SECOND + 2_000_000);
    assert_eq!(end_of_sleep(0, 1.0, SECOND + 2_000_001), SECOND);
    for delay in [f64::INFINITY, f64::NAN, -1.0, 1e19] {
        assert_eq!(end_of_sleep(7, delay, 42), 42, "{delay}");
    }
    assert_eq!(end_of_sleep(u64::MAX, 1.0, 42), 42);
}

#[test]
fn a_place_is_known_by_all_of_its_objects() {
    let mut known = KnownWaits::default();
    let place = |addresses: &[usize]| {
        let mut place = Place::default();
        for address in addresses {
            place.push(*address, Arc::new(*address));
        }
        place
    };
    known.add(place(&[1, 2]), SLEEP);
    assert_eq!(known.kind(&place(&[1, 2])), Some(SLEEP));
    assert_eq!(known.kind(&place(&[1])), None);
    assert_eq!(known.kind(&place(&[2, 1])), None);
    let deep: Vec<usize> = (0..30).collect();
    assert!(place(&deep).is_full());
    assert!(!place(&[1, 2]).is_full());
}

#[test]
fn only_so_many_places_are_kept() {
    let mut known = KnownWaits::default();
    let place = |address| {
        let mut place = Place::default();
        place.push(address, ());
        place
    };
    for address in 0..5000 {
        known.add(place(address), UNKNOWN);
    }
    assert_eq!(known.kind(&place(4095)), Some(UNKNOWN));
    assert_eq!(known.kind(&place(4096)), None);
}
