//! A request that was sent again while its old body stays open: the first answer wins
//! (ARCHITECTURE.md, "Silence").

use std::ops::ControlFlow;
use std::time::Duration;

use super::events::MESSAGE;
use super::ladder::Loss;
use super::messages::Handing;
use super::{Client, Output};
use crate::proto::error::Reason;
use crate::proto::event::{DropCause, Level};
use crate::proto::http::ResponseHead;
use crate::proto::jsonrpc::hear;
use crate::proto::ledger::Call;
use crate::proto::machines::recovery::Happened;
use crate::proto::sse::Item;
use crate::proto::stream::{Body, Earlier, Phase, Stream};
use crate::proto::time::Instant;
use crate::proto::{CallId, ExchangeId};

impl Client {
    /// Sends the call again beside its silent body.
    pub(super) fn send_beside(&mut self, now: Instant, call: CallId) {
        // A body holds a connection, but where only headers do.
        let gives_way = self.is_crowded(call) && !self.config.until_headers;
        let stream = self.part(now, call, Reason::IdleTimeout, DropCause::Idle.into());
        let Some(Stream { phase: Phase::Reading(exchange, body), near, ids, .. }) = stream else { return };
        // Where every connection is taken, the new request has that of the old one.
        if gives_way {
            self.abort(exchange);
        }
        let Some(entry) = self.ledger.get(call) else { return };
        entry.delivery.sent_beside = true;
        entry.lineage.earlier = (!gives_way).then_some(Earlier { exchange, body, near, ids });
        entry.lineage.planned = Some((Level::Reissue, Duration::ZERO));
        entry.clocks.rearm_call(now);
        let attempt = u32::try_from(entry.delivery.reissues()).unwrap_or(u32::MAX);
        self.announce(now, call, Level::Reissue, attempt, Duration::ZERO);
        match self.is_crowded(call) {
            true => {
                self.dispatch.enqueue_first(call);
                self.set_clocks(now, call);
            }
            false => self.post(now, call),
        }
    }

    /// Whether this exchange is the old body of a call that was sent again.
    pub(super) fn is_earlier(&self, call: CallId, exchange: ExchangeId) -> bool {
        let earlier = self.ledger.peek(call).and_then(|entry| entry.lineage.earlier.as_ref());
        earlier.is_some_and(|earlier| earlier.exchange == exchange)
    }

    /// The latest request is over without an answer, and the old body may still bring one: that is waited for.
    pub(super) fn wait_for_earlier(&mut self, now: Instant, call: CallId, reason: Reason) {
        let Some(entry) = self.ledger.get(call) else { return };
        entry.delivery.cause.get_or_insert(reason);
        if let Some(exchange) = self.leave_stream(now, call).and_then(|stream| stream.exchange()) {
            self.abort(exchange);
        }
        self.set_clocks(now, call);
    }

    /// The latest request failed: that ends the call, unless an earlier one can still answer.
    pub(super) fn fail_request(&mut self, now: Instant, call: CallId, reason: Reason, text: &str) {
        self.happens(now, call, Happened::Failed(reason), Loss::new(DropCause::Status, text));
    }

    /// Headers came on the old body: it was a resume that counted as open without them.
    pub(super) fn on_earlier_head(
        &mut self,
        now: Instant,
        call: CallId,
        exchange: ExchangeId,
        head: &ResponseHead,
    ) {
        if head.is_success() && head.is_event_stream() {
            return self.outputs.push_back(Output::Read(exchange, true));
        }
        self.abort(exchange);
        self.on_earlier_over(now, call, DropCause::Status);
        self.send_queued(now);
    }

    /// What the old body brings is heard. Its place in the stream is not kept: it is not resumed.
    pub(super) fn on_earlier_body(&mut self, now: Instant, call: CallId, exchange: ExchangeId, bytes: &[u8]) {
        self.stats.bytes += bytes.len() as u64;
        let most = self.config.max_body_bytes;
        let Some(entry) = self.ledger.get(call) else { return };
        entry.diagnostics.bytes += bytes.len() as u64;
        entry.diagnostics.last_byte_at = Some(now.as_millis());
        let decoder = match entry.lineage.earlier.as_mut().map(|earlier| &mut earlier.body) {
            Some(Body::Json(text)) if text.len() + bytes.len() <= most => {
                return text.extend_from_slice(bytes);
            }
            Some(Body::Events(events)) => events.decoder.take(),
            _ => None,
        };
        let fed = decoder.map(|mut decoder| {
            let fed = decoder.feed(bytes, &mut |item| {
                if let Item::Event { kind, data, id, own_id } = item {
                    self.hear_earlier(now, call, kind, data, own_id.then_some(id));
                }
                match self.dispatch.is_open(exchange) {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
            fed.map(|_| decoder)
        });
        match fed {
            Some(Ok(decoder)) => {
                let earlier = self.ledger.get(call).and_then(|entry| entry.lineage.earlier.as_mut());
                if let Some(Body::Events(events)) = earlier.map(|earlier| &mut earlier.body) {
                    events.decoder = Some(decoder);
                }
            }
            // More than a limit allows: it can't answer any more.
            _ => {
                self.abort(exchange);
                self.on_earlier_over(now, call, DropCause::Network);
            }
        }
    }

    fn hear_earlier(&mut self, now: Instant, call: CallId, kind: &str, text: &str, id: Option<&str>) {
        if text.is_empty() {
            return;
        }
        let Ok(mut payload) = hear(text) else { return self.warn_broken(now, call) };
        if kind != MESSAGE {
            let Some(answers) = self.answers_in(now, call, kind, payload) else { return };
            payload = answers;
        }
        let named = id.filter(|id| !id.is_empty() && !self.is_response(call, &payload, |_| true));
        if named.is_some_and(|id| self.repeats_beside(call, id, text)) {
            return;
        }
        self.rearm_call(now, call);
        let handed = self.hand_out_once(call, &payload);
        self.deliver(now, call, payload, text, Handing { beside: true, ..Handing::under(&handed) });
    }

    /// The old body is over. If nothing else is under way, so is the call.
    pub(super) fn on_earlier_over(&mut self, now: Instant, call: CallId, cause: DropCause) {
        let Some(earlier) = self.ledger.get(call).and_then(|entry| entry.lineage.earlier.take()) else {
            return;
        };
        let before = self.answers_taken(call);
        if let (Body::Json(text), DropCause::End) = (earlier.body, cause) {
            self.hear_earlier(now, call, MESSAGE, &String::from_utf8_lossy(&text), None);
        }
        if self.answers_taken(call) != before {
            return;
        }
        self.set_clocks(now, call);
        let is_idle = |entry: &&Call| entry.lineage.stream.is_none() && !entry.delivery.corrections.learning;
        let Some(entry) = self.ledger.peek(call).filter(is_idle) else { return };
        let reason = entry.delivery.cause.unwrap_or(Reason::StreamLost);
        self.fail(now, call, reason, "it was sent again after a silence, and neither request was answered");
    }
}
