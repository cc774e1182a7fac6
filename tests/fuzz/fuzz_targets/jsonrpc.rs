//! The scanner of JSON-RPC under any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| landfall_fuzz::jsonrpc::check(data));
