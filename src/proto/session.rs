//! The session: its state, its id and version, and what is known of it.

use super::event::SessionState;
use super::event_ids::EventIds;
use super::facts::{Facts, Identity};
use super::http::HeaderName;
use super::jsonrpc::field;
use super::machines::detection::Detection;
use super::machines::dialect::Dialect;
use super::machines::handshake::Handshake;
use super::machines::liveness::Liveness;
use super::machines::outage::Outage;
use super::machines::redirect::Endpoint;
use super::replay::Hints;
use super::sorted::{SortedMap, SortedSet};
use super::time::Instant;
use super::CallId;

/// Where the session stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// `connect` was not called.
    New,
    /// `initialize` is under way.
    Initializing,
    /// `notifications/initialized` is under way.
    Confirming,
    /// Calls are sent.
    Ready,
    /// The handshake failed, or the server forgot the session and it could not be replaced.
    Lost,
    /// `close` was called; the DELETE is under way.
    Closing,
    /// Nothing moves any more.
    Closed,
}

/// A legacy session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) state: State,
    /// What the application was told of it.
    told: Option<SessionState>,
    /// What is known of it: its id, from a 2xx answer to `initialize`; the negotiated version, which every request after
    /// the handshake names; where its requests go.
    pub(crate) facts: Facts,
    /// Who looks for the endpoint, and who waits for that.
    pub(crate) endpoint: Endpoint,
    /// Its beginning.
    pub(crate) handshake: Handshake,
    /// How it is found out what the server speaks.
    pub(crate) detection: Detection,
    /// A handshake was done: what is lost since can be replaced.
    pub(crate) began: bool,
    /// Header names of a request that was answered: a preflight let them pass.
    pub(crate) allowed_headers: SortedSet<HeaderName>,
    /// Until then the page is taken for one that may not resume here: GETs were rejected while POSTs were answered.
    pub(crate) no_resume_until: Instant,
    /// Streams that fell silent.
    pub(crate) idle_drops: u32,
    /// Whether it lives.
    pub(crate) liveness: Liveness,
    /// Whether HTTP is answered.
    pub(crate) outage: Outage,
    /// What is known of the ids of its events.
    pub(crate) ids: EventIds,
    /// What a new session must be told again.
    pub(crate) restorable: Restorable,
    /// What the server says of its tools.
    pub(crate) hints: Hints,
    /// What a Client's `initialize` came to: another session must speak this version, too.
    pub(crate) agreed: Option<String>,
    /// What messages of ours speak; of a Client's, what its latest modern one spoke, where one did.
    pub(crate) dialect: Dialect,
    /// The GET stream for what belongs to no call.
    pub(crate) listen: Option<CallId>,
    /// Our own subscription, for the same.
    pub(crate) subscription: Option<CallId>,
    /// A 400 or 401 that only *looks* like a lost session is believed once.
    pub(crate) believed_marker: bool,
}

/// The longest session id we accept.
const MOST_ID_BYTES: usize = 1_024;

impl Session {
    pub(crate) fn new(seed: u64, detection: Detection) -> Self {
        Self {
            ids: EventIds::new(seed),
            state: State::New,
            told: None,
            facts: Facts::default(),
            endpoint: Endpoint::default(),
            handshake: Handshake::default(),
            detection,
            began: false,
            allowed_headers: SortedSet::default(),
            no_resume_until: Instant::default(),
            idle_drops: 0,
            liveness: Liveness::default(),
            outage: Outage::default(),
            restorable: Restorable::default(),
            hints: Hints::default(),
            agreed: None,
            dialect: Dialect::default(),
            listen: None,
            subscription: None,
            believed_marker: false,
        }
    }

    /// Whether a server may hand out this id: visible ASCII (MCP 2025-11-25, *Session Management*).
    pub(crate) fn is_legal_id(id: &str) -> bool {
        !id.is_empty() && id.len() <= MOST_ID_BYTES && id.bytes().all(|b| (0x21..=0x7E).contains(&b))
    }

    /// Its state as the application is to be told it, where that is news.
    pub(crate) fn state_news(&mut self) -> Option<SessionState> {
        let state = match self.state {
            State::Closed => SessionState::Closed,
            // The end is told by itself; and where nothing takes its place, nothing recovers.
            State::Closing | State::Lost => return None,
            _ if !self.began => SessionState::Connecting,
            _ if self.outage.is_offline() => SessionState::Offline,
            State::Ready if !self.outage.is_dark() => SessionState::Ready,
            _ => SessionState::Recovering,
        };
        (self.told.replace(state) != Some(state)).then_some(state)
    }

    /// Whether its server knows it by a name: an id, or the address that its messages go to.
    pub(crate) fn has_name(&self) -> bool {
        self.facts.session_id.is_some() || self.dialect.answers_elsewhere()
    }

    /// What names it.
    pub(crate) fn identity(&self) -> Identity {
        Identity { id: self.facts.session_id.clone(), version: self.facts.protocol_version.clone() }
    }

    /// What was known of this session is void.
    pub(crate) fn forget(&mut self) {
        let facts = self.facts.edit();
        facts.session_id = None;
        facts.protocol_version = None;
        facts.location = None;
        self.liveness.reset();
        self.outage = Outage::default();
        self.believed_marker = false;
        self.hints.forget();
        self.ids = self.ids.next();
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Closing | State::Closed)
    }
}

/// Whether the body of a 400 or 401 says that the session is unknown: an error code that SDKs use for it, or the
/// word itself near the start.
pub(crate) fn has_session_marker(code: Option<i64>, body: &str) -> bool {
    const NEAR: usize = 200;
    let head: String = body.chars().take(NEAR).collect::<String>().to_ascii_lowercase();
    matches!(code, Some(-32_000 | -32_001)) || head.contains("session")
}

/// State of a session that setting again restores: members of the requests that set it.
#[derive(Debug, Default)]
pub(crate) struct Restorable {
    subscriptions: SortedMap<String, String>,
    log_level: Option<String>,
}

impl Restorable {
    /// A request was answered with a result: remembers what it set. `members` are the request's own.
    pub(crate) fn learn(&mut self, method: &str, members: &str) {
        let text = format!("{{{members}}}");
        let uri = field(&text, &["params", "uri"]).unwrap_or_default();
        match method {
            "resources/subscribe" => {
                self.subscriptions.insert(uri.to_string(), members.to_string());
            }
            "resources/unsubscribe" => {
                self.subscriptions.remove(uri);
            }
            "logging/setLevel" => self.log_level = Some(members.to_string()),
            _ => {}
        }
    }

    /// Whether what an answer to this method tells would be gone with its session.
    pub(crate) fn is_set_by(method: &str) -> bool {
        matches!(method, "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel")
    }

    /// The URIs of resources that were subscribed to, as JSON texts.
    pub(crate) fn uris(&self) -> impl Iterator<Item = &str> {
        self.subscriptions.keys().map(String::as_str)
    }

    /// The members of the requests that a new session needs.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.log_level.iter().chain(self.subscriptions.values()).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::has_session_marker;

    #[test]
    fn a_body_says_that_the_session_is_unknown_by_a_code_or_by_the_word_near_its_start() {
        for code in [-32_000, -32_001] {
            assert!(has_session_marker(Some(code), "{}"), "{code}");
        }
        assert!(!has_session_marker(Some(-32_002), "{}"));
        assert!(has_session_marker(None, "No such SESSION"));
        for (before, found) in [(193, true), (194, false)] {
            let body = " ".repeat(before) + "session";
            assert_eq!(has_session_marker(None, &body), found, "{before}");
        }
    }
}
