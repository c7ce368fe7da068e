//! Any bytes as input of `properties::playbook`.
#![no_main]

#[path = "../properties.rs"]
#[expect(dead_code, reason = "each target calls one property of the file")]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::playbook(bytes));
