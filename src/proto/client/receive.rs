//! Receiving: heads, bodies, and the messages in them.

use std::ops::ControlFlow;

use super::events::MESSAGE;
use super::messages::Handing;
use super::replace::LOST;
use super::{Client, Output};
use crate::proto::cursor::Handed;
use crate::proto::error::Reason;
use crate::proto::event::{AttemptResult, DropCause, Event, Settlement};
use crate::proto::facts::Identity;
use crate::proto::http::{IoFailure, Redirect, ResponseHead};
use crate::proto::jsonrpc::{hear, Payload};
use crate::proto::ledger::{Call, Kind};
use crate::proto::session::Session;
use crate::proto::sse::{Decoder, Item, Limits};
use crate::proto::stream::{Body, Events, Phase};
use crate::proto::time::{millis, Instant};
use crate::proto::timer::{Clock, Owner};
use crate::proto::{CallId, ExchangeId};

/// A refusal's body is read this far: enough for its JSON-RPC error.
const MOST_REFUSAL_BYTES: usize = 64 << 10;

impl Client {
    pub(super) fn on_head(&mut self, now: Instant, exchange: ExchangeId, head: ResponseHead) {
        self.take_head(now, exchange, head);
        self.free_connection(now, exchange);
    }

    fn take_head(&mut self, now: Instant, exchange: ExchangeId, head: ResponseHead) {
        if self.dispatch.is_open(exchange) {
            self.answered(now);
        }
        if let Some(ending) = self.dispatch.ending(exchange).cloned() {
            self.answered(now);
            return self.on_delete_head(now, exchange, ending, &head);
        }
        let Some(call) = self.dispatch.owner_of(exchange) else { return };
        if self.ledger.peek(call).is_some_and(|entry| entry.request.kind == Kind::Scout) {
            return self.on_scout_head(now, call, &head);
        }
        self.session.liveness.http_answered();
        self.headers_passed(call);
        if let Some(entry) = self.ledger.get(call).filter(|_| head.is_success()) {
            match entry.is_endless() {
                true => entry.delivery.credentials.accepted_for_good(),
                false => entry.delivery.credentials.accepted(),
            }
        }
        if self.is_hedge(call, exchange) {
            return self.on_hedge_head(now, call, exchange, &head);
        }
        if self.is_earlier(call, exchange) {
            return self.on_earlier_head(now, call, exchange, &head);
        }
        self.end_quiet(call);
        self.timers.stop(Owner::Call(call), Clock::FirstByte);
        let Some(entry) = self.ledger.get(call) else { return };
        if !entry.request.kind.asks() {
            self.timers.stop(Owner::Call(call), Clock::Connect); // A question has `connectMs` for its whole answer.
        }
        if let Some(posted_at) = entry.clocks.posted_at.take() {
            self.stats.histograms.first_byte_ms.record(millis(now.since(posted_at)));
        }
        entry.diagnostics.last_status = Some(head.status);
        match entry.lineage.stream.as_ref().map(|stream| &stream.phase) {
            Some(Phase::Posting(_)) => self.on_post_head(now, call, exchange, head),
            Some(Phase::Resuming(..)) => self.on_resume_head(now, call, exchange, &head),
            _ => {}
        }
    }

    fn on_post_head(&mut self, now: Instant, call: CallId, exchange: ExchangeId, head: ResponseHead) {
        let is_stranded = self.ledger.peek(call).is_some_and(|entry| entry.delivery.stranded);
        if !is_stranded && self.redirected(now, call, exchange, &head) {
            return;
        }
        if let Some(attempt) = self.attempt_again(call) {
            attempt.status = Some(head.status);
            attempt.result = if head.is_success() { AttemptResult::Empty } else { AttemptResult::Refused };
        }
        let Some(entry) = self.ledger.get(call) else { return };
        if entry.request.kind == Kind::Terminate && matches!(head.status, 404 | 405 | 410) {
            self.abort(exchange); // There is no session any more, or none that can be ended.
            return self.settle(now, call, Settlement::Accepted);
        }
        if is_stranded && !head.is_success() {
            return self.on_stranded_refused(now, call, exchange, &head);
        }
        if !head.is_success() {
            return self.read_refusal(now, call, exchange, head);
        }
        entry.delivery.cause = None;
        // Not so a ping: its head may be all that comes.
        let is_of_session = entry.delivery.identity.is_none() && !entry.delivery.stranded;
        if is_of_session && entry.request.kind != Kind::Probe {
            self.session.liveness.accepted();
        }
        if !entry.request.kind.wants_response() {
            self.abort(exchange);
            return self.settle(now, call, Settlement::Accepted);
        }
        if entry.request.kind == Kind::Initialize
            || (entry.request.kind == Kind::Handshake && entry.request.method == "initialize")
        {
            let id = head.session_id.clone().filter(|id| !id.is_empty());
            if id.as_deref().is_some_and(|id| !Session::is_legal_id(id)) {
                let text = "the server's session id is too long or not visible ASCII";
                return self.fail(now, call, Reason::MalformedResponse, text);
            }
            entry.delivery.identity = Some(Identity { id, version: None });
        }
        let is_request = entry.request.kind == Kind::Request;
        if entry.request.dialect.answers_elsewhere()
            || (head.status == 202 && is_request && self.is_listening())
        {
            return self.await_elsewhere(now, call, exchange, &head);
        }
        let body = if head.status == 202 || head.status == 204 {
            let text = format!("the server answered the request with {} and no body", head.status);
            return self.fail_request(now, call, Reason::UnexpectedContent, &text);
        } else if head.is_event_stream() {
            Body::Events(Box::new(Events::new(now, self.decoder(), false)))
        } else if head.is_json() {
            Body::Json(Vec::new())
        } else {
            if let Some(Redirect::Followed(target)) = &head.redirect {
                let place = self.fit(&target.shown());
                let text = format!("a redirect to {place} brought no answer to this request");
                return self.fail_request(now, call, Reason::Redirected, &text);
            }
            let kind = self.fit(head.content_type.as_deref().unwrap_or("none"));
            let text =
                format!("status {} with content type {kind}, neither JSON nor an event stream", head.status);
            return self.fail_request(now, call, Reason::UnexpectedContent, &text);
        };
        self.call_event(now, call, Event::Open { status: head.status });
        self.read(now, call, exchange, body);
    }

    /// The server took the request, and will answer on the session's stream, unless that is gone.
    fn await_elsewhere(&mut self, now: Instant, call: CallId, exchange: ExchangeId, head: &ResponseHead) {
        self.abort(exchange);
        if self.ledger.peek(call).is_some_and(|entry| entry.delivery.stranded) {
            return self.lost(now, call, Reason::SessionLost, DropCause::Session.into(), LOST, None);
        }
        if let Some(stream) = self.stream(call) {
            stream.phase = Phase::Elsewhere;
        }
        self.call_event(now, call, Event::Open { status: head.status });
        self.set_clocks(now, call);
    }

    pub(super) fn decoder(&self) -> Decoder {
        Decoder::new(Limits {
            line_bytes: self.config.max_event_bytes.saturating_add("data: ".len()),
            event_bytes: self.config.max_event_bytes,
            id_bytes: self.config.max_id_bytes,
        })
    }

    /// Begins to read a body.
    pub(super) fn read(&mut self, now: Instant, call: CallId, exchange: ExchangeId, body: Body) {
        let Some(stream) = self.stream(call) else { return };
        stream.phase = Phase::Reading(exchange, body);
        stream.paused = false;
        stream.fed_at = now;
        self.outputs.push_back(Output::Read(exchange, true));
        self.rearm_idle(now, call);
        self.set_clocks(now, call);
        self.pace(now, call);
    }

    pub(super) fn rearm_idle(&mut self, now: Instant, call: CallId) {
        if self.timers.at(Owner::Call(call), Clock::Refusal).is_some() {
            return; // That is shorter.
        }
        // It may have nothing to say for days.
        let is_ours = |entry: &Call| matches!(entry.request.kind, Kind::Listen | Kind::Subscription);
        if self.ledger.peek(call).is_some_and(is_ours) && self.is_heard(call) {
            return self.timers.stop(Owner::Call(call), Clock::Idle);
        }
        let at = now + self.patience(call);
        self.timers.set(Owner::Call(call), Clock::Idle, at);
    }

    pub(super) fn on_body(&mut self, now: Instant, exchange: ExchangeId, bytes: &[u8]) {
        let Some(call) = self.dispatch.owner_of(exchange) else { return };
        if self.is_hedge(call, exchange) {
            return self.on_hedge_body(now, call, bytes);
        }
        if self.is_earlier(call, exchange) {
            return self.on_earlier_body(now, call, exchange, bytes);
        }
        let is_heard = self.is_heard(call);
        if is_heard {
            self.cleared(now, call);
            self.rearm_idle(now, call);
        }
        self.stats.bytes += bytes.len() as u64;
        let most = self.config.max_body_bytes;
        let Some(entry) = self.ledger.get(call) else { return };
        entry.diagnostics.bytes += bytes.len() as u64;
        entry.diagnostics.last_byte_at = Some(now.as_millis());
        let Some(stream) = self.stream(call) else { return };
        stream.fed_at = now;
        let Phase::Reading(_, body) = &mut stream.phase else { return };
        match body {
            Body::Events(_) => {
                self.feed(now, call, exchange, bytes);
                if !is_heard && self.is_heard(call) {
                    self.cleared(now, call);
                    self.rearm_idle(now, call);
                }
            }
            Body::Json(text) if text.len() + bytes.len() > most => {
                let text = format!("a body of more than {most} bytes (limits.maxBodyBytes)");
                self.fail(now, call, Reason::MessageTooLarge, &text);
            }
            Body::Json(text) => text.extend_from_slice(bytes),
            Body::Refusal(_, text) => {
                let room = MOST_REFUSAL_BYTES - text.len();
                text.extend_from_slice(&bytes[..bytes.len().min(room)]);
                if bytes.len() >= room {
                    self.abort(exchange);
                    self.on_body_over(now, call, DropCause::End);
                }
            }
        }
    }

    pub(super) fn feed(&mut self, now: Instant, call: CallId, exchange: ExchangeId, bytes: &[u8]) {
        let Some(mut decoder) = self.events_of(call).and_then(|events| events.decoder.take()) else { return };
        let fed = decoder.feed(bytes, &mut |item| {
            self.on_item(now, call, item);
            match self.dispatch.is_open(exchange) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        if !self.dispatch.is_open(exchange) {
            return; // The answer came, or the call ended otherwise.
        }
        if fed.is_err() {
            let most = self.config.max_event_bytes;
            let text = format!("an event of more than {most} bytes (limits.maxEventBytes)");
            return self.fail(now, call, Reason::MessageTooLarge, &text);
        }
        if let Some(events) = self.events_of(call) {
            events.decoder = Some(decoder);
        }
        self.report_resumed(call);
    }

    /// Whether bytes of the body prove that the server goes on there: on a stream that a resume opened, comments alone do
    /// not, for it may have routed the call elsewhere.
    fn is_heard(&mut self, call: CallId) -> bool {
        self.events_of(call).is_none_or(|events| events.heard)
    }

    fn on_item(&mut self, now: Instant, call: CallId, item: Item<'_>) {
        let Some(entry) = self.ledger.get(call) else { return };
        let has_cursor = entry.request.dialect.can_resume();
        let Some(stream) = entry.lineage.stream.as_mut() else { return };
        let is_sign = match item {
            Item::Comment | Item::Retry(_) => true,
            Item::Event { kind, own_id, .. } => kind != MESSAGE && !own_id,
            Item::Id(_) | Item::LongId => false,
        };
        if let Some(events) = stream.events().filter(|_| !is_sign) {
            events.heard = true;
        }
        match item {
            Item::Id(_) | Item::LongId if !has_cursor => {}
            Item::Comment => entry.diagnostics.last_heartbeat_at = Some(now.as_millis()),
            Item::Retry(ms) => stream.retry = Some(std::time::Duration::from_millis(ms)),
            Item::Id(id) => {
                self.note_came(call, id, None);
                self.arrive(now, call, Some(id), None, Handed::Nothing, 0);
            }
            // Too long to keep: as if it were cleared.
            Item::LongId => self.arrive(now, call, Some(""), None, Handed::Nothing, 0),
            Item::Event { kind, data, id, own_id } => {
                self.on_event(now, call, kind, data, (own_id && has_cursor).then_some(id));
            }
        }
    }

    pub(super) fn rearm_call(&mut self, now: Instant, call: CallId) {
        if let Some(entry) = self.ledger.get(call) {
            entry.diagnostics.last_progress_at = Some(now.as_millis());
            // Most events of a read find it full.
            if entry.clocks.rearm_call(now) {
                self.set_clocks(now, call);
            }
        }
    }

    pub(super) fn on_end(&mut self, now: Instant, exchange: ExchangeId) {
        let Some(call) = self.dispatch.owner_of(exchange) else { return };
        if self.is_hedge(call, exchange) {
            return self.on_hedge_end(now, call, exchange);
        }
        if self.is_earlier(call, exchange) {
            self.dispatch.over(exchange);
            self.on_earlier_over(now, call, DropCause::End);
            return self.send_queued(now);
        }
        if self.stream(call).is_some_and(|stream| stream.awaits_headers()) {
            let message = "the response ended before its head".to_string();
            return self.on_failed(now, exchange, IoFailure { message, code: String::new() });
        }
        self.dispatch.over(exchange);
        self.on_body_over(now, call, DropCause::End);
        self.send_queued(now);
    }

    pub(super) fn on_failed(&mut self, now: Instant, exchange: ExchangeId, failure: IoFailure) {
        if self.dispatch.ending(exchange).is_some() {
            self.dispatch.over(exchange);
            return self.on_delete_over(now);
        }
        let Some(call) = self.dispatch.owner_of(exchange) else { return };
        if self.is_hedge(call, exchange) {
            return self.on_hedge_unanswered(now, call, AttemptResult::NetworkError);
        }
        self.dispatch.over(exchange);
        if self.is_earlier(call, exchange) {
            self.on_earlier_over(now, call, DropCause::Network);
            return self.send_queued(now);
        }
        match self.stream(call).map(|stream| &stream.phase) {
            Some(Phase::Posting(_)) => self.on_post_failed(now, call, &failure),
            Some(Phase::Resuming(..)) => self.on_resume_failed(now, call, &failure),
            Some(Phase::Reading(..)) => self.on_body_over(now, call, DropCause::Network),
            _ => {}
        }
        self.send_queued(now);
    }

    /// A body is over, by itself or by our doing: what it means depends on what it was read as.
    pub(super) fn on_body_over(&mut self, now: Instant, call: CallId, cause: DropCause) {
        for clock in [Clock::Refusal, Clock::Idle] {
            self.timers.stop(Owner::Call(call), clock);
        }
        let Some(stream) = self.stream(call) else { return };
        match std::mem::replace(&mut stream.phase, Phase::Waiting) {
            Phase::Reading(_, Body::Events(events)) => self.on_drop(now, call, &events, cause),
            Phase::Reading(_, Body::Json(text)) if cause == DropCause::End => {
                self.on_document(now, call, &text)
            }
            Phase::Reading(_, Body::Json(_)) => {
                let text = "the connection was cut in the middle of the answer";
                self.lost(now, call, Reason::StreamLost, cause.into(), text, None);
            }
            Phase::Reading(_, Body::Refusal(head, text)) => self.on_refusal(now, call, &head, &text),
            _ => {}
        }
    }

    /// A whole JSON body.
    fn on_document(&mut self, now: Instant, call: CallId, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        match hear(text) {
            Err(_) => self.fail_request(now, call, Reason::MalformedResponse, "the answer is no JSON"),
            Ok(Payload::Many(messages)) if messages.is_empty() => {
                self.fail_request(now, call, Reason::UnexpectedContent, "the answer is an empty array");
            }
            Ok(payload) => {
                let handed = self.hand_out_once(call, &payload);
                let before = self.answers_taken(call);
                self.deliver(now, call, payload, text, Handing::under(&handed));
                // It was answered, and that was not its end; or it goes out again.
                if self.answers_taken(call) != before || self.stream(call).is_none() {
                    return;
                }
                let text = "the body holds no response to this request";
                self.fail_request(now, call, Reason::MalformedResponse, text);
            }
        }
    }
}
