use std::sync::Mutex;
use std::thread::sleep;

use super::*;
use crate::stack_sampler::{Look, StackSample};
use crate::thread_clock::ThreadClock;
use crate::watch::Settings;

const SETTINGS: Settings = Settings {
    interval: Duration::from_millis(2),
    threshold: Duration::from_millis(10),
    switch_interval: Duration::from_millis(5),
};

/// An interpreter that a test holds by the lock; its stacks count up.
struct Locked {
    lock: Arc<Mutex<()>>,
    runs: bool,
    taken: u32,
}

impl Interpreter for Locked {
    type Stack = u32;

    fn take_stack(&mut self, look: &mut dyn FnMut() -> Look) -> StackSample<u32> {
        let _held = self.lock.lock().unwrap();
        if !self.runs {
            return StackSample::NotRunning;
        }
        if look().is_over {
            return StackSample::Nothing;
        }
        self.taken += 1;
        StackSample::Taken(self.taken)
    }
}

struct Setting {
    watch: Arc<Watch>,
    lock: Arc<Mutex<()>>,
    stalls: Receiver<Stall<u32>>,
    thread: Option<JoinHandle<()>>,
}

impl Setting {
    fn new(runs: bool) -> Self {
        let watch = Arc::new(Watch::of_this_thread(SETTINGS).unwrap());
        let lock = Arc::new(Mutex::new(()));
        let interpreter = Locked { lock: Arc::clone(&lock), runs, taken: 0 };
        let (thread, stalls) = watch.start(interpreter).unwrap();
        Self { watch, lock, stalls, thread: Some(thread) }
    }

    /// Waits for a ping, as a loop does.
    fn select(&self) {
        self.watch.enter_select();
        let mut waits = libc::pollfd { fd: self.watch.fileno(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the call reads and writes one struct that lives here.
        let ready = unsafe { libc::poll(&raw mut waits, 1, 5_000) };
        self.watch.leave_select();
        assert_eq!(ready, 1, "no ping came");
    }

    fn turns(&self, count: usize) {
        for _ in 0..count {
            self.select();
            self.watch.beat();
        }
    }

    fn stall(&self) -> Stall<u32> {
        self.stalls.recv_timeout(Duration::from_secs(5)).unwrap()
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        self.watch.stop();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn compute(time: Duration) {
    let clock = ThreadClock::of_this_thread().unwrap();
    let before = clock.read();
    while clock.read().since(&before).running < time {}
}

#[test]
fn a_loop_that_answers_has_no_stall() {
    let setting = Setting::new(true);
    setting.turns(20);
    let totals = setting.watch.totals();
    assert_eq!(totals.beats, 20);
    assert!(totals.lag.count() >= 20);
    assert!(totals.idle.unwrap() > totals.wall / 4);
    assert!(totals.lag_total < totals.wall);
}

#[test]
fn a_sleep_and_a_computation_are_told_apart() {
    let setting = Setting::new(true);
    setting.turns(3);
    sleep(Duration::from_millis(60));
    setting.turns(3);
    let stall = setting.stall();
    assert_eq!(stall.cause, Cause::Blocked, "{stall:?}");
    assert!(stall.duration >= Duration::from_millis(58), "{stall:?}");
    assert_eq!(stall.stacks.len(), 1, "{stall:?}");

    compute(Duration::from_millis(60));
    setting.turns(3);
    let stall = setting.stall();
    assert!(matches!(stall.cause, Cause::Code | Cause::Starved), "{stall:?}");
    assert_eq!(setting.watch.totals().stalls.iter().map(|(count, _)| count).sum::<u64>(), 2);
}

#[test]
fn a_long_stall_has_two_stacks() {
    let setting = Setting::new(true);
    setting.turns(3);
    sleep(SETTINGS.threshold * 14);
    setting.turns(1);
    let stall = setting.stall();
    assert_eq!(stall.stacks.iter().map(|stack| stack.stack).collect::<Vec<_>>(), [1, 2]);
    assert!(stall.stacks[1].at >= SETTINGS.threshold * 10);
}

#[test]
fn a_stall_under_a_held_interpreter_has_the_stack_of_its_release() {
    let setting = Setting::new(true);
    setting.turns(3);
    let held = setting.lock.lock().unwrap();
    sleep(Duration::from_millis(50));
    drop(held);
    // The watchdog takes its stack before the loop answers.
    sleep(Duration::from_millis(20));
    setting.turns(1);
    let stall = setting.stall();
    assert_eq!(stall.stacks.len(), 1, "{stall:?}");
    assert!(stall.stacks[0].waited >= Duration::from_millis(30), "{stall:?}");
    assert!(stall.evidence.interpreter_wait >= Some(Duration::from_millis(30)), "{stall:?}");
}

#[test]
fn decoding_and_collecting_are_named() {
    let setting = Setting::new(true);
    setting.turns(3);
    sleep(Duration::from_millis(40));
    crate::note_decoding(Duration::from_millis(39));
    setting.turns(1);
    assert_eq!(setting.stall().cause, Cause::Decode);

    setting.watch.begin_pause();
    sleep(Duration::from_millis(40));
    setting.watch.end_pause();
    setting.turns(1);
    assert_eq!(setting.stall().cause, Cause::Gc);
    let totals = setting.watch.totals();
    assert_eq!(totals.pauses.count(), 1);
    assert!(totals.collecting >= Duration::from_millis(40));
}

#[test]
fn a_loop_that_does_not_run_has_not_stalled() {
    let setting = Setting::new(false);
    setting.turns(3);
    sleep(Duration::from_millis(60));
    // The earlier ping is withdrawn; its descriptor is still readable.
    setting.turns(1);
    assert!(setting.stalls.try_recv().is_err());
    assert!(setting.watch.totals().lag.max() < SETTINGS.threshold * 2);
}
