//! Arrow streams from a server.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: {
        colonnade_fuzz::begin_with("table", &colonnade_formats::fuzzing::seeds());
        colonnade_fuzz::allow_arrow_to_panic();
    },
    |data: &[u8]| colonnade_fuzz::within_bounds(data, colonnade_formats::fuzzing::arrow_stream)
);
