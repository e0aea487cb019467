//! Each message of the client, written and read again.

#![no_main]

libfuzzer_sys::fuzz_target!(
    |data: &[u8]| colonnade_fuzz::within_bounds(data, colonnade_protocol::fuzzing::requests)
);
