//! HTTP+SSE of 2024-11-05: a GET stream says where to POST, and brings all that the server has to say. It is the session: a
//! stream that is over takes the session with it (ARCHITECTURE.md, "Sessions and eras").

use super::ladder::Loss;
use super::replace::LOST;
use super::Client;
use crate::proto::address::within;
use crate::proto::config::OnGap;
use crate::proto::error::Reason;
use crate::proto::event::DropCause;
use crate::proto::http::{IoFailure, ResponseHead};
use crate::proto::ledger::Kind;
use crate::proto::machines::detection::{Got, Probe};
use crate::proto::machines::dialect::Dialect;
use crate::proto::machines::recovery::Happened;
use crate::proto::session::State;
use crate::proto::stream::Stream;
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::{CallId, ExchangeId};

/// The name of the event that says where to POST.
pub(super) const ENDPOINT: &str = "endpoint";

impl Client {
    /// Enters the GET for an `endpoint` event into the ledger.
    pub(super) fn open_stream_of_session(&mut self, now: Instant, call: CallId) {
        if let Some(old) = self.session.listen {
            self.fail(now, old, Reason::SessionLost, LOST);
        }
        self.session.dialect = Dialect::Sse;
        self.session.facts.edit().location = None;
        let mut entry = self.entry(now, Kind::Listen, "GET", String::new());
        entry.request.on_gap = OnGap::Continue;
        entry.lineage.stream = Some(Stream::waiting(&self.session.ids));
        self.open_as(call, entry);
        self.session.listen = Some(call);
    }

    /// Whether this is the stream of a session of HTTP+SSE.
    pub(super) fn is_stream_of_session(&self, call: CallId) -> bool {
        self.session.listen == Some(call) && self.session.dialect == Dialect::Sse
    }

    /// Whether this is such a stream, and the handshake waits for its `endpoint` event.
    pub(super) fn awaits_endpoint(&self, call: CallId) -> bool {
        self.is_stream_of_session(call) && self.session.handshake.is_message(call)
    }

    /// The server says where to POST. A later word is none: another endpoint would be another session.
    pub(super) fn on_endpoint(&mut self, now: Instant, call: CallId, reference: &str) {
        if !self.session.handshake.is_message(call) {
            return;
        }
        let Some(address) = within(&self.config.endpoint, reference) else {
            let text = "the endpoint that the server names is no address of its origin";
            return self.fail(now, call, Reason::MalformedResponse, text);
        };
        self.timers.stop(Owner::Call(call), Clock::Handshake);
        self.session.detection.hears(Got::Endpoint, None);
        self.session.facts.edit().location = Some(address);
        let known = self.ledger.get(call).map(|entry| entry.diagnostics.clone()).unwrap_or_default();
        let initialize = self.number();
        self.session.handshake.sends(initialize);
        self.open_initialize(now, initialize);
        self.go_on(now, initialize, known, self.session.handshake.by);
    }

    /// The GET was refused, or brings no events.
    pub(super) fn on_no_endpoint(
        &mut self,
        now: Instant,
        call: CallId,
        exchange: ExchangeId,
        head: ResponseHead,
    ) {
        if !head.is_success() {
            return self.read_refusal(now, call, exchange, head);
        }
        let kind = self.fit(head.content_type.as_deref().unwrap_or("none"));
        let text = format!("a GET is answered by content type {kind}, which is no event stream");
        self.fail(now, call, Reason::UnexpectedContent, &text);
    }

    /// The GET got no HTTP answer.
    pub(super) fn on_endpoint_unanswered(&mut self, now: Instant, call: CallId, failure: &IoFailure) {
        let text = self.network_text(failure);
        self.unanswered(now, None);
        self.happens(now, call, Happened::Lost(Reason::NetworkError), Loss::new(DropCause::Network, &text));
    }

    /// The stream is over, and with it the session: nothing is POSTed to its endpoint any more.
    pub(super) fn on_stream_of_session_over(&mut self, now: Instant, call: CallId) {
        if self.awaits_endpoint(call) {
            let text = "the stream of a GET ended before it said where to POST";
            return self.fail(now, call, Reason::UnexpectedContent, text);
        }
        if self.is_ready() {
            return self.session_died(now);
        }
        // In the middle of the handshake.
        let Some(message) = self.session.handshake.message() else { return };
        let text = "the stream that was to bring the answer ended";
        self.happens(now, message, Happened::Lost(Reason::StreamLost), Loss::new(DropCause::End, text));
    }

    /// A message of the handshake is to go out again, and the stream that it belonged to may be gone: the handshake goes back
    /// to its beginning. The call that waits now.
    pub(super) fn back_to_endpoint(&mut self, now: Instant, message: CallId) -> CallId {
        if self.session.dialect != Dialect::Sse || self.session.listen == Some(message) {
            return message;
        }
        let Some(old) = self.release(now, message) else { return message };
        self.session.state = State::Initializing;
        let call = self.number();
        self.session.detection.asks(Probe::Endpoint);
        self.session.handshake.sends(call);
        self.open_stream_of_session(now, call);
        if let Some(entry) = self.ledger.get(call) {
            entry.diagnostics = old.diagnostics;
        }
        self.timers.set(Owner::Call(call), Clock::Handshake, self.session.handshake.by);
        call
    }
}
