//! A POST that was refused: by the network, or by a status that is no success. What that says of the session, of the
//! credentials, and of the request.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::Client;
use crate::proto::error::Reason;
use crate::proto::event::{AttemptResult, DropCause};
use crate::proto::http::{IoFailure, Reach, ResponseHead};
use crate::proto::jsonrpc::{scan, Id, Message, Payload};
use crate::proto::ledger::{Kind, Refusal};
use crate::proto::machines::dialect::{is_unread, Meaning, Refused, Whose};
use crate::proto::session::has_session_marker;
use crate::proto::stream::{Body, Resend};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::{CallId, ExchangeId};

/// So long the body of a refusal is waited for; less where `connectMs` is less.
const MOST_WAIT: Duration = Duration::from_secs(1);

/// Errors that only a server of modern requests gives (MCP 2026-07-28, *Errors*).
const MODERN_ERRORS: RangeInclusive<i64> = -32_022..=-32_020;

impl Client {
    /// Reads the body of a refusal for a while: its status is the verdict. It is judged, as far as it came, before any
    /// other clock of the call is over.
    pub(super) fn read_refusal(
        &mut self,
        now: Instant,
        call: CallId,
        exchange: ExchangeId,
        head: ResponseHead,
    ) {
        let Some(entry) = self.ledger.peek(call) else { return };
        let at = now + MOST_WAIT.min(entry.request.timeouts.connect);
        let owner = Owner::Call(call);
        self.timers.set(owner, Clock::Refusal, at);
        self.read(now, call, exchange, Body::Refusal(head, Vec::new()));
        let others = [Clock::Deadline, Clock::Call, Clock::Recovery, Clock::Handshake, Clock::Connect];
        let at = others.into_iter().filter_map(|clock| self.timers.at(owner, clock)).fold(at, Instant::min);
        self.timers.set(owner, Clock::Refusal, at);
    }

    /// A POST got no HTTP answer.
    pub(super) fn on_post_failed(&mut self, now: Instant, call: CallId, failure: &IoFailure) {
        if self.judge_rejected_post(now, call) || self.send_answer_again(now, call) {
            return;
        }
        let reach = failure.reach();
        if let Some(attempt) = self.attempt_again(call) {
            attempt.result = AttemptResult::NetworkError;
        }
        let Some(entry) = self.ledger.get(call) else { return };
        match reach {
            Reach::Unready | Reach::Late => entry.delivery.never_left(),
            Reach::NotSent | Reach::Never | Reach::Unknown => {
                entry.delivery.unanswered(now, reach == Reach::Unknown);
                if entry.request.kind != Kind::Subscription {
                    self.unanswered(now, None);
                }
            }
        }
        let text = self.network_text(failure);
        match reach {
            Reach::Late => self.fail(now, call, Reason::ConnectTimeout, &text),
            // It is no matter of the network, and time alone does not change it.
            Reach::Unready | Reach::Never if self.session.handshake.is_message(call) => {
                self.fail(now, call, Reason::NetworkError, &text);
            }
            Reach::Unready | Reach::NotSent | Reach::Never | Reach::Unknown => {
                self.lost(now, call, Reason::NetworkError, DropCause::Network.into(), &text, None);
            }
        }
    }

    /// A status that is no success, with what was read of its body.
    pub(super) fn on_refusal(&mut self, now: Instant, call: CallId, head: &ResponseHead, bytes: &[u8]) {
        let body = String::from_utf8_lossy(bytes);
        let Some(entry) = self.ledger.peek(call) else { return };
        let kind = entry.request.kind;
        let (error_id, code) = match scan(&body) {
            Ok(Payload::One(Message::Error { id, code })) => (Some(id), code),
            _ => (None, None),
        };
        let marked = has_session_marker(code, &body);
        let error = error_id.as_ref().map_or(Whose::Nobodys, |id| whose(id, entry.wire_id()));
        // In a session that was only offered, one that is not known is no answer to its ping.
        let is_stranger = entry.delivery.identity.is_some() && marked && error != Whose::Ours;
        let refused = Refused {
            status: head.status,
            challenged: head.challenged,
            in_session: entry.delivery.identity.is_none() && self.session.has_name() && self.is_ready(),
            marked,
            believed: self.session.believed_marker,
            error,
            is_repeated: kind == Kind::Subscription || self.session.handshake.is_message(call),
            // To a Client's handshake a 5xx is no answer: whoever is on the way may have written it.
            may_answer: kind.wants_response()
                && !(kind == Kind::Handshake && head.status >= 500)
                && !(kind == Kind::Probe && is_stranger),
        };
        let meaning = entry.request.dialect.judge(refused);
        // A server of modern requests alone: what it is is found out anew.
        let is_modern = code.is_some_and(|code| MODERN_ERRORS.contains(&code));
        let contradicts =
            is_modern && !self.config.carry && self.is_ready() && entry.request.dialect.has_session();
        let lost = matches!(meaning, Meaning::SessionLost | Meaning::SessionLostByWord) || contradicts;
        self.session.believed_marker |= meaning == Meaning::SessionLostByWord;
        if let Some(entry) = self.ledger.get(call).filter(|_| lost || is_unread(head.status)) {
            entry.delivery.rejected();
        }
        if lost {
            return self.session_died(now);
        }
        let Err(why) = self.reauthorize(now, call, head, Some(Resend::Post)) else { return };
        if let Some(entry) = self.ledger.get(call).filter(|_| self.config.carry) {
            entry.delivery.attempt.refusal = Some(Refusal { status: head.status, body: body.to_string() });
        }
        // An error that names no request, and a session, is none of a modern server.
        let is_doubtful = error == Whose::Likely && marked;
        let answer = error_id.filter(|_| meaning == Meaning::Answer);
        if let Some(id) = answer.as_ref().filter(|_| !is_doubtful) {
            return self.on_response(now, call, id, true, &body, Some(head.status));
        }
        let said = self.said(&body, head.status);
        let said = if said.is_empty() { said } else { format!(": {said}") };
        let hidden = self.hidden_session(call, head.status).unwrap_or_default();
        let text = format!("the server answered {}{why}{said}{hidden}", head.status);
        if self.on_contradicted(now, call, head.status, &text) {
            return;
        }
        if let Some(id) = answer {
            return self.on_response(now, call, &id, true, &body, Some(head.status));
        }
        match meaning {
            Meaning::Later(reason) => {
                let floor = head.retry_after(now.as_millis());
                self.postpone_poll(now, call, floor);
                self.lost(now, call, reason, DropCause::Status.into(), &text, floor);
            }
            Meaning::Final(reason) => self.fail_request(now, call, reason, &text),
            Meaning::Answer | Meaning::SessionLost | Meaning::SessionLostByWord => {}
        }
    }
}

/// Which request the id of an error in a refusal means.
fn whose(id: &Id, ours: &Id) -> Whose {
    match id {
        id if id == ours => Whose::Ours,
        id if id.twin(ours) || *id == Id::Null => Whose::Likely,
        _ => Whose::Nobodys,
    }
}
