//! CORS: in a page, a cross-origin fetch rejects without a cause, so it is judged by what worked before
//! (ARCHITECTURE.md, "Sessions and eras").

use std::time::Duration;

use super::Client;
use crate::proto::error::{Outcome, Reason};
use crate::proto::event::{DropCause, Hint};
use crate::proto::ledger::Kind;
use crate::proto::session::State;
use crate::proto::time::Instant;
use crate::proto::CallId;

/// So long it is believed that a page may not resume. Nothing says so, and what kept it may pass.
const NO_RESUME: Duration = Duration::from_secs(60);
/// What a rejected resume may mean.
const PERHAPS: &str = "perhaps the server does not list last-event-id in Access-Control-Allow-Headers";

/// Headers that a cross-origin request may always carry.
const SAFELISTED: [&str; 1] = ["accept"];

impl Client {
    /// A request was answered: its headers passed.
    pub(super) fn headers_passed(&mut self, call: CallId) {
        let Some(entry) = self.ledger.peek(call).filter(|_| self.config.cross_origin) else { return };
        if entry.delivery.attempt.headers.iter().any(|name| name == "last-event-id") {
            self.session.no_resume_until = Instant::default();
        }
        self.session.allowed_headers.extend(entry.delivery.attempt.headers.iter().cloned());
    }

    /// Whether the page may resume here, as far as is known.
    pub(super) fn page_may_resume(&self, now: Instant) -> bool {
        now >= self.session.no_resume_until
    }

    /// Why a stream that ended can't be resumed.
    pub(super) fn no_way_back(&mut self, now: Instant, call: CallId) -> String {
        let has_cursor = self.stream(call).is_some_and(|stream| stream.cursor().is_some());
        if has_cursor && self.ledger.peek(call).is_some_and(|entry| entry.delivery.stranded) {
            return "its session is gone, in which alone it could be resumed".to_string();
        }
        if has_cursor && self.config.max_retries == Some(0) {
            return "it is not resumed (reconnectionOptions.maxRetries is 0)".to_string();
        }
        if has_cursor && !self.page_may_resume(now) {
            if let Some(entry) = self.ledger.get(call) {
                entry.diagnostics.hint = Some(Hint::Cors);
            }
            return format!("resumes were rejected just now while other requests were answered: {PERHAPS}");
        }
        "without an event id to resume from".to_string()
    }

    /// A POST was rejected before headers. Where it added header names to a request that succeeded, it is tried once
    /// more if that does no harm, and then fails with the names the server must allow. Whether that was so.
    pub(super) fn judge_rejected_post(&mut self, now: Instant, call: CallId) -> bool {
        let Some(added) = self.added_headers(call) else { return false };
        // A preflight that failed sent nothing, but a rejection does not tell that it was one: what may not run twice goes
        // again only as anything lost does, and once.
        let may_reissue = self.may_reissue(now, call);
        let Some(entry) = self.ledger.get(call) else { return false };
        let is_first = !std::mem::replace(&mut entry.delivery.cors_suspected, true);
        let kind = entry.request.kind;
        if is_first && (may_reissue || matches!(kind, Kind::Answer | Kind::Control)) {
            return false;
        }
        let may_repeat = match kind {
            Kind::Request => false,
            Kind::Notification => entry.request.method == "notifications/initialized",
            _ => true,
        };
        if is_first && may_repeat {
            // No id goes out twice: it may not have been a preflight that failed.
            if entry.request.kind.wants_response() {
                self.renew_wire_id(call);
            }
            self.post(now, call);
            return true;
        }
        entry.diagnostics.hint = Some(Hint::Cors);
        let text = format!(
            "the browser refused the request; the server must list {added} in Access-Control-Allow-Headers"
        );
        self.fail(now, call, Reason::NetworkError, &text);
        true
    }

    fn added_headers(&self, call: CallId) -> Option<String> {
        let known = &self.session.allowed_headers;
        if !self.config.cross_origin || known.is_empty() {
            return None;
        }
        let is_new = |name: &&str| !known.contains(*name) && !SAFELISTED.contains(name);
        let names = &self.ledger.peek(call)?.delivery.attempt.headers;
        let added: Vec<&str> = names.iter().map(|name| &**name).filter(is_new).collect();
        (!added.is_empty()).then(|| added.join(", "))
    }

    /// A session answered after a resume was rejected. One that does so twice may not be resumed from this page, perhaps; what
    /// was rejected while nothing was answered says no more than that the network was down.
    pub(super) fn judge_rejected_resumes(&mut self, now: Instant) {
        if !self.config.cross_origin {
            return;
        }
        for call in self.ledger.calls() {
            if self.added_headers(call).is_none() {
                continue;
            }
            let Some(entry) = self.ledger.get(call) else { continue };
            let is_request = entry.request.kind == Kind::Request;
            let Some(stream) = entry.lineage.stream.as_mut().filter(|s| is_request && !s.is_open()) else {
                continue;
            };
            stream.rejected += u32::from(std::mem::take(&mut stream.is_rejected));
            if stream.rejected < 2 {
                continue;
            }
            self.session.no_resume_until = now + NO_RESUME;
            entry.diagnostics.hint = Some(Hint::Cors);
            let text = format!("its resumes were rejected while other requests were answered: {PERHAPS}");
            self.lost(now, call, Reason::ResumeRejected, DropCause::Network.into(), &text, None);
        }
    }

    /// The text for a refusal right after a handshake in which no session id was visible.
    pub(super) fn hidden_session(&mut self, call: CallId, status: u16) -> Option<&'static str> {
        let hidden = self.config.cross_origin && self.session.facts.session_id.is_none();
        let begun = matches!(self.session.state, State::Confirming | State::Ready);
        let entry = self.ledger.get(call).filter(|_| hidden && begun && matches!(status, 400 | 404))?;
        entry.diagnostics.hint = Some(Hint::Cors);
        Some("; no session id is visible: the server must list Mcp-Session-Id in Access-Control-Expose-Headers")
    }

    /// Whether the page has not seen any answer yet: then the server may send no CORS headers at all.
    pub(super) fn is_unseen(&self) -> bool {
        self.config.cross_origin && self.session.allowed_headers.is_empty()
    }

    /// Where to look first, if nothing said it yet. The failed call's own exchange is closed already.
    pub(super) fn hint(&self, reason: Reason, outcome: Outcome, text: &str) -> Option<Hint> {
        const BROWSERS_CONNECTIONS: usize = 6;
        match reason {
            Reason::NetworkError if outcome == Outcome::Unknown && self.is_unseen() => Some(Hint::Cors),
            // Servers refuse so whom another page may have sent: no credentials help.
            Reason::Forbidden if speaks_of_place(text) => None,
            Reason::Unauthorized | Reason::Forbidden => Some(Hint::Auth),
            Reason::FirstByteTimeout | Reason::ConnectTimeout
                if self.dispatch.open_count() + 1 >= BROWSERS_CONNECTIONS =>
            {
                Some(Hint::Connections)
            }
            Reason::IdleTimeout | Reason::CallTimeout | Reason::RecoveryExhausted
                if self.session.idle_drops >= 2 =>
            {
                Some(Hint::Buffering)
            }
            _ => None,
        }
    }
}

/// Whether a text has the word host or origin.
fn speaks_of_place(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .map(str::to_ascii_lowercase)
        .any(|word| matches!(word.as_str(), "host" | "hosts" | "hostname" | "origin" | "origins"))
}
