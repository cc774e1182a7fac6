//! Objections of a server to a modern request of ours, and signs that it speaks another era: the call, which was not read,
//! goes out once more in what it can be asked in (ARCHITECTURE.md, "Sessions and eras").

use std::time::Duration;

use super::detection::versions_of;
use super::ladder::Loss;
use super::{Client, Output};
use crate::proto::error::Reason;
use crate::proto::event::{DropCause, Level};
use crate::proto::jsonrpc::field;
use crate::proto::ledger::{Call, Kind};
use crate::proto::machines::dialect::Dialect;
use crate::proto::machines::objection::{Objection, Then, Versions};
use crate::proto::session::State;
use crate::proto::time::Instant;
use crate::proto::CallId;

impl Client {
    /// An error came for the call: whether it is an objection that is dealt with here. A Client deals with most by itself.
    pub(super) fn on_objection(&mut self, now: Instant, call: CallId, text: &str) -> bool {
        let code = field(text, &["error", "code"]).and_then(|code| code.parse::<i64>().ok());
        let Some(objection) = code.and_then(Objection::of) else { return false };
        let Some(entry) = self.ledger.get(call).filter(|entry| entry.request.kind == Kind::Request) else {
            return false;
        };
        let Dialect::Modern(words) = &entry.request.dialect else { return false };
        let corrections = &mut entry.delivery.corrections;
        let then = match objection {
            Objection::Version if self.config.carry => Then::Answer,
            Objection::Version => corrections.on_version(&Versions {
                spoken: &words.version,
                named: &versions_of(text),
                modern: &self.config.modern_versions,
                legacy: self.session.detection.legacy_of(&self.config.legacy_versions),
            }),
            // The headers are the caller's.
            Objection::Headers
                if entry.request.method != "tools/call" || !entry.request.params.given.is_empty() =>
            {
                Then::Answer
            }
            Objection::Headers => corrections.on_headers(),
        };
        match then {
            Then::Answer => return false,
            Then::Fail if self.config.carry => return false,
            Then::Fail => {
                entry.delivery.rejected();
                let said = self.fit(field(text, &["error", "message"]).unwrap_or_default());
                let text = format!(
                    "the server says twice that the headers of the request differ from its body: {said}"
                );
                self.fail(now, call, Reason::ProtocolError, &text);
            }
            Then::Speak(version) => {
                self.agrees_on(&version);
                self.again_corrected(now, call);
            }
            Then::FindOut => return self.find_out_anew(now, call),
            Then::Learn => self.learn_declarations(now, call),
        }
        true
    }

    /// Takes the call out of its refused request: its next goes out under another id.
    fn leave_refused(&mut self, now: Instant, call: CallId) {
        if let Some(entry) = self.ledger.get(call) {
            entry.delivery.rejected();
        }
        self.detach(now, call, Reason::ProtocolError, DropCause::Status.into());
        if let Some(entry) = self.ledger.get(call) {
            entry.lineage.planned = Some((Level::Reissue, Duration::ZERO));
        }
        self.set_clocks(now, call);
    }

    fn again_corrected(&mut self, now: Instant, call: CallId) {
        self.leave_refused(now, call);
        self.requeue(now, call);
        self.send_queued(now);
    }

    /// The server is asked for its tools, whose declarations the host reads.
    fn learn_declarations(&mut self, now: Instant, call: CallId) {
        self.leave_refused(now, call);
        if let Some(entry) = self.ledger.get(call) {
            entry.delivery.corrections.learning = true;
        }
        match self.is_ready() {
            true => self.ask_hints(now),
            false => self.ask_declarations(),
        }
    }

    /// The tools are known, or can't be: the host is asked what those of the calls declare that wait for it.
    pub(super) fn ask_declarations(&mut self) {
        for call in self.ledger.calls() {
            if self.ledger.peek(call).is_some_and(|entry| entry.delivery.corrections.learning) {
                self.outputs.push_back(Output::Declare(call));
            }
        }
    }

    /// What the tool of this call declares by `x-mcp-header`, as [`CallSpec::declared_params`](super::CallSpec): the answer to
    /// [`Output::Declare`]. The call goes out with it. A no-op where it does not wait for that.
    pub fn declare(&mut self, now: Instant, call: CallId, params: Vec<(String, String)>) {
        self.begin(now);
        let Some(entry) = self.ledger.get(call) else { return };
        if !std::mem::take(&mut entry.delivery.corrections.learning) {
            return;
        }
        entry.request.params.declared = params;
        self.requeue(now, call);
        self.send_queued(now);
    }

    /// The call, which was refused for its version, waits until it is found out anew what the server speaks. Whether it does.
    fn find_out_anew(&mut self, now: Instant, call: CallId) -> bool {
        let goes_on = self.speaks_otherwise() || self.begin_anew(now);
        if let Some(entry) = self.ledger.get(call).filter(|_| goes_on) {
            entry.delivery.rejected();
            self.carry_over(now, call);
            self.send_queued(now);
        }
        goes_on
    }

    /// Whether it was found out meanwhile that the server speaks another era.
    fn speaks_otherwise(&self) -> bool {
        self.is_ready() && self.session.dialect.has_session()
    }

    /// The session begins anew, with the question what the server speaks, unless that is being asked. Whether it does.
    fn begin_anew(&mut self, now: Instant) -> bool {
        if self.is_asking_anew() {
            return true;
        }
        let may = self.is_ready() && self.config.replace_session;
        if may {
            self.session.facts.edit().era = None;
            self.replace_session(now);
        }
        may
    }

    fn is_asking_anew(&self) -> bool {
        let is_asking = matches!(self.session.state, State::Initializing | State::Confirming);
        is_asking && self.session.handshake.replaces()
    }

    /// A modern request of ours was refused unread, with words that are of no modern server: the verdict may be wrong, and the
    /// call waits until that is found out. Whether it does. Any other status may come after it ran.
    pub(super) fn on_contradicted(&mut self, now: Instant, call: CallId, status: u16, text: &str) -> bool {
        let is_sign = matches!(status, 400 | 404 | 405 | 406 | 410 | 415);
        let is_modern =
            |entry: &Call| entry.request.kind == Kind::Request && !entry.request.dialect.has_session();
        if !is_sign || self.config.carry || !self.ledger.peek(call).is_some_and(is_modern) {
            return false;
        }
        if self.speaks_otherwise() {
            return self.find_out_anew(now, call);
        }
        let asks = self.is_asking_anew() || self.session.detection.doubts();
        if !asks || !self.begin_anew(now) {
            return false;
        }
        self.hold(now, call, Reason::HttpError, Loss::new(DropCause::Status, text));
        if let Some(entry) = self.ledger.get(call) {
            entry.delivery.corrections.contradicted = true;
        }
        true
    }

    /// It is known anew what the server speaks: what was refused in the words of another era goes out in these, and else it
    /// was refused for good.
    pub(super) fn judge_contradicted(&mut self, now: Instant) {
        for call in self.ledger.calls() {
            let Some(entry) = self.ledger.get(call) else { continue };
            if !std::mem::take(&mut entry.delivery.corrections.contradicted) {
                continue;
            }
            let Some(doubt) = entry.delivery.decided() else { continue };
            if self.session.dialect.has_session() {
                entry.delivery.rejected();
                self.carry_over(now, call);
            } else {
                self.fail_request(now, call, doubt.reason, &doubt.text);
            }
        }
    }
}
