//! Structs in bytea: bytes that were not written by this crate.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: colonnade_fuzz::begin_with("structs", &colonnade_structs::fuzzing::seeds()),
    |data: &[u8]| colonnade_fuzz::within_bounds(data, colonnade_structs::fuzzing::structs)
);
