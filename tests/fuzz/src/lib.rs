//! What the fuzz targets check, as ordinary functions: they panic where the core is wrong. That it is slow, libFuzzer
//! finds by its `-timeout`.

pub mod client;
pub mod jsonrpc;
pub mod script;
pub mod sse;
mod watch;

/// A part, over and over: what is not linear takes minutes for so many bytes, and what is takes milliseconds.
pub fn check_time(data: &[u8]) {
    const LONG: usize = 1 << 20;
    let [form, start, part @ ..] = data else { return };
    let start = &part[..usize::from(*start).min(part.len())];
    let long: Vec<u8> = start.iter().chain(part.iter().cycle()).take(LONG).copied().collect();
    match form % 2 {
        0 => sse::check_long(&long),
        _ => jsonrpc::check_long(&long),
    }
}
