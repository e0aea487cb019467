//! The frames of the protocol, and the scan of rows.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| colonnade_protocol::fuzzing::frames(data));
