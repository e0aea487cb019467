//! The negotiation of authentication, SCRAM included.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: colonnade_fuzz::begin_with(
        "authentication",
        &colonnade_protocol::fuzzing::authentication_seeds()
    ),
    |data: &[u8]| colonnade_fuzz::within_bounds(data, colonnade_protocol::fuzzing::authentication)
);
