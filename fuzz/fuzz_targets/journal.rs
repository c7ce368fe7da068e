//! Any bytes as input of `properties::journal`.
#![no_main]

#[path = "../properties.rs"]
#[expect(dead_code, reason = "each target calls one property of the file")]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::journal(bytes));
