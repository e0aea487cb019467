//! Each message of the server.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: colonnade_fuzz::begin_with("messages", &colonnade_protocol::fuzzing::message_seeds()),
    |data: &[u8]| colonnade_fuzz::within_bounds(data, colonnade_protocol::fuzzing::messages)
);
