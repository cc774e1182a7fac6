//! The decoder of event streams under any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| landfall_fuzz::sse::check(data));
