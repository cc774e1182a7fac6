//! A status that is no success: what it says of the session, of the credentials, and of the request.

use super::Client;
use crate::proto::error::{Outcome, Reason};
use crate::proto::event::DropCause;
use crate::proto::http::ResponseHead;
use crate::proto::jsonrpc::{scan, Id, Message, Payload};
use crate::proto::ledger::{Kind, Refusal};
use crate::proto::session::has_session_marker;
use crate::proto::stream::Resend;
use crate::proto::time::Instant;
use crate::proto::CallId;

impl Client {
    /// A status that is no success, with what was read of its body.
    pub(super) fn on_refusal(&mut self, now: Instant, call: CallId, head: &ResponseHead, bytes: &[u8]) {
        let body = String::from_utf8_lossy(bytes);
        let Some(entry) = self.ledger.peek(call) else { return };
        let kind = entry.kind;
        let in_session = entry.identity.is_none() && self.session.id.is_some() && self.is_ready();
        let ours = entry.wire_id().clone();
        let (error_id, code) = match scan(&body) {
            Ok(Payload::One(Message::Error { id, code })) => (Some(id), code),
            _ => (None, None),
        };
        let marked = has_session_marker(code, &body);
        let lost = match head.status {
            404 | 410 => in_session && (marked || error_id.as_ref() != Some(&ours)),
            400 => in_session && marked && !std::mem::replace(&mut self.session.believed_marker, marked),
            401 => {
                in_session
                    && marked
                    && !head.challenged
                    && !std::mem::replace(&mut self.session.believed_marker, true)
            }
            _ => false,
        };
        let refused_unread = matches!(head.status, 401 | 403 | 405 | 406 | 410 | 415 | 429) || lost;
        if let Some(entry) = self.ledger.get(call).filter(|_| refused_unread) {
            entry.delivery = Outcome::Rejected;
        }
        if lost {
            return self.session_died(now);
        }
        if self.reauthorize(now, call, head, Resend::Post) {
            return;
        }
        if let Some(entry) = self.ledger.get(call).filter(|_| self.config.carry.is_some()) {
            entry.refusal = Some(Refusal { status: head.status, body: body.to_string() });
        }
        let is_verdict = !(kind == Kind::Handshake && head.status >= 500);
        let reason = match head.status {
            401 => Reason::Unauthorized,
            403 => Reason::Forbidden,
            _ if kind.wants_response()
                && is_verdict
                && error_id.as_ref().is_some_and(|id| means(id, &ours)) =>
            {
                let id = error_id.unwrap_or(Id::Null);
                return self.on_response(now, call, &id, &body, Some(head.status));
            }
            300..=399 => Reason::Redirected,
            _ => Reason::HttpError,
        };
        let said = self.said(&body, head.status);
        let said = if said.is_empty() { said } else { format!(": {said}") };
        let hidden = self.hidden_session(call, head.status).unwrap_or_default();
        let text = format!("the server answered {}{said}{hidden}", head.status);
        if matches!(head.status, 408 | 425 | 429 | 502 | 503 | 504) {
            let floor = head.retry_after(now.as_millis());
            return self.lost(now, call, reason, DropCause::Status.into(), &text, floor);
        }
        self.fail_request(now, call, reason, &text);
    }
}

/// Whether the id of an error in a refusal can only mean this request.
fn means(id: &Id, ours: &Id) -> bool {
    id == ours || id.twin(ours) || *id == Id::Null
}
