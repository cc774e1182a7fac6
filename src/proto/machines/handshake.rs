//! The handshake: who asked for it, which message of it is under way, and by when it must be done.

use crate::proto::time::Instant;
use crate::proto::CallId;

/// A session's beginning, until calls are sent in it.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    /// The call that the host knows it by; none where we began it to replace a session.
    host: Option<CallId>,
    /// Its message under way: `initialize`, then `notifications/initialized`.
    message: Option<CallId>,
    /// When it must be done.
    pub(crate) by: Instant,
    /// The response to `initialize`.
    pub(crate) greeting: String,
}

impl Handshake {
    /// The host asked for it: it knows it by the number of its first message.
    pub(crate) fn connects(&mut self, call: CallId) {
        (self.host, self.message) = (Some(call), Some(call));
    }

    /// This message of it goes out.
    pub(crate) fn sends(&mut self, message: CallId) {
        self.message = Some(message);
    }

    /// The message under way, where the host means the handshake; else the call itself.
    pub(crate) fn meant_by(&self, call: CallId) -> CallId {
        self.message.filter(|_| self.host == Some(call)).unwrap_or(call)
    }

    /// It is done, or failed. The call that the host waits for.
    pub(crate) fn over(&mut self) -> Option<CallId> {
        self.message = None;
        self.host.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: CallId = CallId(1);
    const SECOND: CallId = CallId(2);
    const OTHER: CallId = CallId(3);

    #[test]
    fn the_host_knows_it_by_its_first_message_until_it_is_over() {
        let mut handshake = Handshake::default();
        handshake.connects(FIRST);
        assert_eq!(handshake.meant_by(FIRST), FIRST);
        handshake.sends(SECOND);
        assert_eq!((handshake.meant_by(FIRST), handshake.meant_by(OTHER)), (SECOND, OTHER));
        assert_eq!((handshake.over(), handshake.over()), (Some(FIRST), None));
        assert_eq!(handshake.meant_by(FIRST), FIRST);
    }

    #[test]
    fn nobody_waits_for_one_that_replaces_a_session() {
        let mut handshake = Handshake::default();
        handshake.sends(FIRST);
        handshake.sends(SECOND);
        assert_eq!((handshake.meant_by(FIRST), handshake.over()), (FIRST, None));
    }
}
