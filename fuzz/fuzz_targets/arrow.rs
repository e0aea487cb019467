//! Arrow arrays, cut, through the C data interface, to rows of a COPY and elements of a parameter.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: colonnade_fuzz::begin_with("arrow", &colonnade_columnar::fuzzing::seeds("arrow")),
    |data: &[u8]| colonnade_fuzz::within_bounds(data, |data| {
        colonnade_columnar::fuzzing::arrow(data, colonnade_fuzz::through_c);
    })
);
