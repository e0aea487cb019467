//! The frames of the protocol, and the scan of rows.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: colonnade_fuzz::begin_with("frames", &colonnade_protocol::fuzzing::frame_seeds()),
    |data: &[u8]| colonnade_fuzz::within_bounds(data, colonnade_protocol::fuzzing::frames)
);
