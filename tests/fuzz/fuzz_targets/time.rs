//! That no bytes take more than linear time.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| landfall_fuzz::check_time(data));
