//! Machines: each owns the state of one question and answers it. None knows the client, which asks them and obeys; their
//! tables of cases stand beside them.

pub(crate) mod answer;
pub(crate) mod call;
pub(crate) mod credentials;
pub(crate) mod delivery;
pub(crate) mod detection;
pub(crate) mod dialect;
pub(crate) mod dispatch;
pub(crate) mod handshake;
pub(crate) mod inputs;
pub(crate) mod liveness;
pub(crate) mod objection;
pub(crate) mod outage;
pub(crate) mod race;
pub(crate) mod recovery;
pub(crate) mod redirect;
pub(crate) mod subscription;
pub(crate) mod task;
