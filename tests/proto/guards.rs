//! Small promises that nothing else would miss: each of these tests was written after a deliberate break of what it
//! states had passed all others.

mod clocks;
mod names;
mod recovery;
mod sessions;
