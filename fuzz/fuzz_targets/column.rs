//! One column of any type, in any Arrow type that it can be decoded to.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: colonnade_fuzz::begin_with("column", &colonnade_columnar::fuzzing::seeds("column")),
    |data: &[u8]| colonnade_fuzz::within_bounds(data, colonnade_columnar::fuzzing::column)
);
