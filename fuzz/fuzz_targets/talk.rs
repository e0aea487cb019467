//! A whole session, with nearly correct answers to its exchanges.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: colonnade_fuzz::begin_with("talk", &colonnade_session::fuzzing::talk_seeds()),
    |data: &[u8]| colonnade_fuzz::within_bounds(data, colonnade_session::fuzzing::talk)
);
