//! The handshake: who asked for it, which message of it is under way, by when it must be done, what its latest attempt
//! met, and how often a session may come to replace another.

use std::collections::VecDeque;
use std::time::Duration;

use crate::proto::error::Reason;
use crate::proto::time::Instant;
use crate::proto::CallId;

/// So many sessions may come to replace others within [`PER`].
pub(crate) const MOST: usize = 3;
const PER: Duration = Duration::from_secs(60);

/// A session's beginning, until calls are sent in it.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    /// The call that the host knows it by; none where we began it to replace a session.
    host: Option<CallId>,
    /// Its message under way: `initialize`, then `notifications/initialized`.
    message: Option<CallId>,
    /// When the attempt under way must be done.
    pub(crate) by: Instant,
    /// One that replaces a session lasts until then, if no call waits for it.
    until: Instant,
    /// What the latest attempt met that passes.
    met: Option<(Reason, String)>,
    /// How many met that, whatever message of it they were.
    meetings: u32,
    /// The version that `initialize` asks for, where the server named it: not the newest of ours.
    version: Option<String>,
    /// It did so in this handshake: once is enough.
    turned: bool,
    /// The response to `initialize`.
    pub(crate) greeting: String,
    /// When the latest sessions came to be that replaced others.
    replaced: VecDeque<Instant>,
}

impl Handshake {
    /// The host asked for it: it knows it by the number of its first message.
    pub(crate) fn connects(&mut self, call: CallId) {
        (self.host, self.message, self.turned, self.meetings) = (Some(call), Some(call), false, 0);
    }

    /// A session is to be replaced.
    pub(crate) fn begins(&mut self, until: Instant) {
        (self.host, self.met, self.turned, self.until) = (None, None, false, until);
        self.meetings = 0;
    }

    /// This message of it goes out.
    pub(crate) fn sends(&mut self, message: CallId) {
        self.message = Some(message);
    }

    /// The version that `initialize` asks for, of `ours`, the newest first.
    pub(crate) fn version<'a>(&'a self, ours: &'a [String]) -> &'a str {
        self.version.as_ref().or_else(|| ours.first()).map_or("", String::as_str)
    }

    /// The server refused the version that it was asked for, and named these: which of `ours` it is asked for next.
    pub(crate) fn turns_to(&mut self, named: &[String], ours: &[String]) -> Option<&str> {
        let asked = self.version(ours);
        let other = ours.iter().find(|version| *version != asked && named.contains(version))?.clone();
        if std::mem::replace(&mut self.turned, true) {
            return None;
        }
        Some(self.version.insert(other))
    }

    /// Whether this call is its message under way.
    pub(crate) fn is_message(&self, call: CallId) -> bool {
        self.message == Some(call)
    }

    pub(crate) fn message(&self) -> Option<CallId> {
        self.message
    }

    /// The message under way, where the host means the handshake; else the call itself.
    pub(crate) fn meant_by(&self, call: CallId) -> CallId {
        self.message.filter(|_| self.host == Some(call)).unwrap_or(call)
    }

    /// Whether it is under way to replace a session.
    pub(crate) fn replaces(&self) -> bool {
        self.message.is_some() && self.host.is_none()
    }

    /// An attempt met what passes. How many did.
    pub(crate) fn meets(&mut self, reason: Reason, text: &str) -> u32 {
        self.met = Some((reason, text.to_string()));
        self.meetings = self.meetings.saturating_add(1);
        self.meetings
    }

    /// It is half done, and does not go back behind that: what comes is a first attempt.
    pub(crate) fn forgets_meetings(&mut self) {
        self.meetings = 0;
    }

    /// How many attempts met what passes.
    pub(crate) fn meetings(&self) -> u32 {
        self.meetings
    }

    /// What the latest attempt met, where there was one.
    pub(crate) fn met(&self) -> Option<&(Reason, String)> {
        self.met.as_ref()
    }

    /// Whether another attempt may be made at this instant though no call waits for it.
    pub(crate) fn lasts(&self, at: Instant) -> bool {
        at < self.until
    }

    /// It failed, or is done. The call that the host waits for.
    pub(crate) fn over(&mut self) -> Option<CallId> {
        self.message = None;
        self.host.take()
    }

    /// Another session came to be.
    pub(crate) fn came(&mut self, now: Instant) {
        self.replaced.push_back(now);
        if self.replaced.len() > MOST {
            self.replaced.pop_front();
        }
    }

    /// How long it is until another session may begin to replace this one.
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        match self.replaced.front() {
            Some(first) if self.replaced.len() == MOST => (*first + PER).since(now),
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: CallId = CallId(1);
    const SECOND: CallId = CallId(2);
    const OTHER: CallId = CallId(3);

    fn at(seconds: u64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn the_host_knows_it_by_its_first_message_until_it_is_over() {
        let mut handshake = Handshake::default();
        handshake.connects(FIRST);
        assert_eq!((handshake.meant_by(FIRST), handshake.replaces()), (FIRST, false));
        handshake.sends(SECOND);
        assert!(handshake.is_message(SECOND) && !handshake.is_message(FIRST));
        assert_eq!((handshake.meant_by(FIRST), handshake.meant_by(OTHER)), (SECOND, OTHER));
        assert_eq!((handshake.over(), handshake.over()), (Some(FIRST), None));
        assert_eq!((handshake.meant_by(FIRST), handshake.message()), (FIRST, None));
    }

    #[test]
    fn nobody_waits_for_one_that_replaces_a_session_and_it_lasts_for_a_while() {
        let mut handshake = Handshake::default();
        handshake.meets(Reason::HttpError, "503");
        handshake.begins(at(10));
        assert!(handshake.met().is_none() && !handshake.replaces());
        handshake.sends(FIRST);
        assert!(handshake.replaces() && handshake.lasts(at(9)) && !handshake.lasts(at(10)));
        handshake.meets(Reason::NetworkError, "cut");
        assert_eq!(handshake.met(), Some(&(Reason::NetworkError, "cut".to_string())));
        assert_eq!((handshake.meant_by(FIRST), handshake.over()), (FIRST, None));
    }

    #[test]
    fn it_turns_once_to_the_newest_version_of_ours_that_the_server_names() {
        let texts =
            |versions: &[&str]| versions.iter().map(|version| version.to_string()).collect::<Vec<_>>();
        let ours = texts(&["c", "b", "a"]);
        let mut handshake = Handshake::default();
        handshake.connects(FIRST);
        assert_eq!(handshake.version(&ours), "c");
        assert_eq!(handshake.turns_to(&texts(&["c", "d"]), &ours), None, "it was asked for that");
        assert_eq!(handshake.turns_to(&texts(&["a", "b", "d"]), &ours), Some("b"));
        assert_eq!(handshake.version(&ours), "b");
        assert_eq!(handshake.turns_to(&texts(&["a"]), &ours), None, "once is enough");
        handshake.begins(at(0));
        assert_eq!(handshake.version(&ours), "b");
        assert_eq!(handshake.turns_to(&texts(&["c"]), &ours), Some("c"));
    }

    #[test]
    fn three_sessions_may_come_within_a_minute_and_the_next_when_the_first_is_a_minute_old() {
        let mut handshake = Handshake::default();
        for second in [0, 10, 20] {
            assert_eq!(handshake.wait(at(second)), Duration::ZERO);
            handshake.came(at(second));
        }
        assert_eq!(handshake.wait(at(20)), Duration::from_secs(40));
        assert_eq!(handshake.wait(at(60)), Duration::ZERO);
        handshake.came(at(60));
        assert_eq!(handshake.wait(at(61)), Duration::from_secs(9));
    }
}
