use super::*;

/// A moment before now.
fn ago(milliseconds: u64) -> Instant {
    Instant::now().checked_sub(Duration::from_millis(milliseconds)).unwrap()
}

fn phase(stopwatch: &Stopwatch) -> Option<Phase> {
    stopwatch.phase.map(|(phase, _)| phase)
}

fn sum(timing: &Timing) -> f64 {
    timing.pool_wait
        + timing.prepare
        + timing.send
        + timing.server_wait
        + timing.transfer
        + timing.decode
        + timing.loop_delay
}

#[test]
fn there_is_no_timing_before_the_first_call() {
    let mut stopwatch = Stopwatch::default();
    stopwatch.received(Instant::now(), 100, 0);
    stopwatch.resumed();
    assert!(stopwatch.timing(0.0).is_none());
}

#[test]
fn a_query_goes_through_its_phases() {
    let mut stopwatch = Stopwatch::default();
    stopwatch.run(ago(50), true);
    assert_eq!(phase(&stopwatch), Some(Phase::Send));
    stopwatch.waits();
    assert_eq!(phase(&stopwatch), Some(Phase::ServerWait));
    // Decoding began ten milliseconds ago.
    stopwatch.received(ago(10), 300, 100);
    assert_eq!(phase(&stopwatch), Some(Phase::Transfer));
    stopwatch.answered(false);
    assert_eq!(phase(&stopwatch), Some(Phase::LoopDelay));
    stopwatch.add_rows(7);
    stopwatch.resumed();
    assert_eq!(phase(&stopwatch), None);
    stopwatch.end();

    let timing = stopwatch.timing(2.0).unwrap();
    assert_eq!((timing.bytes, timing.rows, timing.is_cached), (200, 7, true));
    assert!(timing.send >= 0.05 && timing.decode >= 0.01, "{timing:?}");
    assert!(timing.total >= 2.05, "{timing:?}");
    assert!((sum(&timing) - timing.total).abs() < 1e-9, "{timing:?}");
}

#[test]
fn a_call_that_prepares_is_not_cached() {
    let mut stopwatch = Stopwatch::default();
    stopwatch.prepare();
    stopwatch.received(ago(5), 80, 0);
    assert_eq!(phase(&stopwatch), Some(Phase::Prepare));
    stopwatch.answered(false);
    stopwatch.resumed();
    // The caller encodes the arguments, which belongs to the preparation until they are sent.
    assert_eq!(phase(&stopwatch), Some(Phase::Prepare));
    stopwatch.run(Instant::now(), true);
    stopwatch.waits();
    stopwatch.received(Instant::now(), 10, 0);
    stopwatch.answered(false);
    stopwatch.end();
    let timing = stopwatch.timing(0.0).unwrap();
    assert!(!timing.is_cached);
    // Of the caller's own statement only.
    assert_eq!(timing.bytes, 10);
    assert!(timing.prepare > 0.0);
}

#[test]
fn the_next_call_begins_at_zero() {
    let mut stopwatch = Stopwatch::default();
    stopwatch.run(ago(1000), true);
    stopwatch.add_rows(9);
    stopwatch.end();
    stopwatch.run(Instant::now(), false);
    stopwatch.end();
    let timing = stopwatch.timing(0.0).unwrap();
    assert_eq!((timing.rows, timing.is_cached), (0, false));
    assert!(timing.total < 1.0);
}

#[test]
fn answers_to_commands_ahead_are_not_the_calls() {
    let mut stopwatch = Stopwatch::default();
    stopwatch.run(Instant::now(), true);
    stopwatch.waits();
    stopwatch.received(Instant::now(), 40, 40);
    assert_eq!(phase(&stopwatch), Some(Phase::ServerWait));
    assert_eq!(stopwatch.timing(0.0).unwrap().bytes, 0);
}

#[test]
fn a_copy_sends_while_it_is_asked_for_more() {
    let mut stopwatch = Stopwatch::default();
    stopwatch.run(Instant::now(), true);
    stopwatch.waits();
    stopwatch.answered(true);
    stopwatch.resumed();
    assert_eq!(phase(&stopwatch), Some(Phase::Send));
    stopwatch.waits();
    // A part had left before: until the last one the caller was sending.
    stopwatch.sends();
    assert_eq!(phase(&stopwatch), Some(Phase::Send));
    // A notice may come amid a COPY.
    stopwatch.received(Instant::now(), 10, 0);
    assert_eq!(phase(&stopwatch), Some(Phase::Send));
}

#[test]
fn the_text_has_the_phases_that_took_time() {
    let mut timing = Timing {
        pool_wait: 0.0,
        prepare: 0.0,
        send: 0.000_25,
        server_wait: 0.001,
        transfer: 0.0,
        decode: 0.0,
        loop_delay: 0.0,
        total: 0.001_25,
        bytes: 10,
        rows: 1,
        is_cached: true,
    };
    assert_eq!(
        timing.to_string(),
        "1.250 ms: send 0.250 ms, server_wait 1.000 ms, 1 rows, 10 bytes, cached"
    );
    timing.is_cached = false;
    assert!(timing.to_string().ends_with(" 10 bytes"));
}
