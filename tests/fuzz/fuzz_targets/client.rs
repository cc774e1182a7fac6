//! The core under a script of calls and inputs.
#![no_main]

libfuzzer_sys::fuzz_target!(|script: landfall_fuzz::script::Script| landfall_fuzz::client::check(&script));
