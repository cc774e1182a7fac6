//! The GET stream for what belongs to no call: it is opened again quietly, and touches no call
//! (ARCHITECTURE.md, "Sessions and eras").

use std::time::Duration;

use super::Client;
use crate::proto::config::OnGap;
use crate::proto::event::{Event, Level, ListenState};
use crate::proto::http::{header_value, Method, ResponseHead};
use crate::proto::ledger::Kind;
use crate::proto::machines::redirect::Hop;
use crate::proto::stream::{Body, Events, Headers, Phase, Resend, Stream};
use crate::proto::time::Instant;
use crate::proto::timer::Owner;
use crate::proto::{CallId, ExchangeId};

/// So long was no barren open, or as long as a silence may last.
const A_WHILE: Duration = Duration::from_secs(10);

impl Client {
    /// Opens the stream, where it is wanted and there is none.
    pub(super) fn listen(&mut self, now: Instant) {
        if !self.config.listen {
            return;
        }
        if !self.config.carry && !self.session.dialect.has_session() {
            return self.subscribe(now);
        }
        self.unsubscribe(now);
        if self.session.listen.is_some() {
            return;
        }
        let mut entry = self.entry(now, Kind::Listen, "GET", String::new());
        entry.request.on_gap = OnGap::Continue; // Nothing can be sent again, and nothing fails.
        entry.lineage.stream = Some(Stream::waiting(&self.session.ids));
        let call = self.open(entry);
        self.session.listen = Some(call);
        self.open_listen(now, call);
    }

    /// Whether answers may come on it.
    pub(super) fn is_listening(&mut self) -> bool {
        let stream = self.session.listen.and_then(|call| self.stream(call));
        stream.is_some_and(|stream| matches!(stream.phase, Phase::Reading(..)))
    }

    pub(super) fn open_listen(&mut self, now: Instant, call: CallId) {
        self.open_listen_at(now, call, Hop::default());
    }

    pub(super) fn open_listen_at(&mut self, now: Instant, call: CallId, hop: Hop) {
        if self.awaits_endpoint(call) {
            self.bound_handshake(now, call, Kind::Initialize);
        }
        let cursor = self.stream(call).and_then(|stream| stream.cursor()).and_then(header_value);
        let exchange = self.transmit(call, hop, Method::Get, cursor, None);
        let Some(entry) = self.ledger.get(call) else { return };
        let ids = &self.session.ids;
        let stream = entry.lineage.stream.get_or_insert_with(|| Stream::new(exchange, ids));
        stream.phase = Phase::Resuming(exchange, Headers::Due);
        stream.last_get = Some(now);
    }

    pub(super) fn on_listen_head(
        &mut self,
        now: Instant,
        call: CallId,
        exchange: ExchangeId,
        head: &ResponseHead,
    ) {
        if head.is_success() && head.is_event_stream() {
            self.session.liveness.accepted();
            let resumed = self.stream(call).is_some_and(|stream| stream.cursor().is_some());
            if let Some(stream) = self.stream(call).filter(|_| resumed) {
                stream.resumed();
            }
            let events = Events::new(now, self.decoder(), resumed);
            self.event(now, None, Event::Listen { state: ListenState::Open });
            return self.read(now, call, exchange, Body::Events(Box::new(events)));
        }
        if self.awaits_endpoint(call) {
            return self.on_no_endpoint(now, call, exchange, head.clone());
        }
        self.abort(exchange);
        self.note_retry_after(now, call, head);
        match head.status {
            401 | 403 if self.reauthorize(now, call, head, Some(Resend::Get)).is_ok() => {}
            408 | 409 | 425 | 429 | 500 | 502..=599 => self.listen_later(now, call),
            // Where there is a session, it may be that which is not found.
            404 | 410 if self.session.facts.session_id.is_some() => {
                let had_place = self.forget_place(call);
                if let Some(stream) = self.stream(call) {
                    (stream.phase, stream.refused) = (Phase::Asking, had_place);
                }
                self.ask_session(now);
            }
            // The event that it was to begin after may be gone; without that, the server has no such stream.
            400 | 404 | 410 if self.forget_place(call) => self.listen_later(now, call),
            _ => self.on_unsupported(now, call),
        }
    }

    fn on_unsupported(&mut self, now: Instant, call: CallId) {
        self.drop_listen(call);
        self.event(now, None, Event::Listen { state: ListenState::Unsupported });
    }

    /// The session was asked after a 404, and is not dead.
    pub(super) fn on_listen_asked(&mut self, now: Instant, call: CallId, is_alive: bool) {
        let had_place = self.stream(call).is_some_and(|stream| std::mem::take(&mut stream.refused));
        match is_alive && !had_place {
            true => self.on_unsupported(now, call),
            false => self.listen_later(now, call),
        }
    }

    fn forget_place(&mut self, call: CallId) -> bool {
        let Some(stream) = self.stream(call).filter(|stream| stream.cursor().is_some()) else { return false };
        let barren = stream.barren;
        *stream = Stream { barren, ..Stream::waiting(&stream.ids) };
        true
    }

    /// Its body is over.
    pub(super) fn on_listen_over(&mut self, now: Instant, call: CallId, events: &Events) {
        if self.is_stream_of_session(call) {
            return self.on_stream_of_session_over(now, call);
        }
        self.event(now, None, Event::Listen { state: ListenState::Lost });
        // One that was open for a while was cut by somebody on the way who limits silence.
        if events.resumed && !events.heard {
            self.forget_place(call);
        }
        let a_while = A_WHILE.min(self.config.timeouts.idle);
        let brought = events.moved || events.fresh > 0 || now.since(events.since) >= a_while;
        if let Some(stream) = self.stream(call).filter(|_| brought) {
            stream.barren = 0;
        }
        self.listen_later(now, call);
    }

    /// Waits before it is opened again: the server's `retry`, but more and more where that brings nothing.
    pub(super) fn listen_later(&mut self, now: Instant, call: CallId) {
        let floor = self.floor(now, call);
        let most = self.config.max_retries;
        let Some(stream) = self.stream(call) else { return };
        let (barren, hint) = (stream.barren, stream.retry.unwrap_or_default());
        stream.phase = Phase::Waiting;
        if let Some(most) = most.filter(|most| barren as usize >= *most) {
            return self.give_listen_up(now, call, most);
        }
        stream.barren = barren.saturating_add(1);
        let own = self.config.backoff.patient(barren, &mut self.rng);
        let wait = if hint.is_zero() || barren > 0 { own.max(hint) } else { hint };
        let wait = self.spaced(now, call, wait.max(floor));
        self.arm_wait(now, call, Level::L1, barren, wait);
    }

    /// The user wants no more attempts.
    fn give_listen_up(&mut self, now: Instant, call: CallId, most: usize) {
        self.drop_listen(call);
        self.tell_given_up(now, most);
    }

    pub(super) fn tell_given_up(&mut self, now: Instant, most: usize) {
        let text = "the stream for what belongs to no call is not opened again";
        let message = format!(
            "{text}: maximum reconnection attempts ({most}) exceeded (reconnectionOptions.maxRetries)"
        );
        self.event(now, None, Event::Warning { code: "listen_given_up", message });
    }

    fn drop_listen(&mut self, call: CallId) {
        self.session.listen = None;
        self.ledger.close(call);
        self.timers.release(Owner::Call(call));
        self.end_questions(call);
    }

    /// It ended for good: with its session, or for what it brought.
    pub(super) fn on_listen_ended(&mut self, now: Instant, call: CallId) {
        if self.session.listen == Some(call) {
            self.session.listen = None;
            if !self.session.is_over() {
                self.event(now, None, Event::Listen { state: ListenState::Lost });
            }
            // It was the session.
            if self.session.dialect.answers_elsewhere() {
                self.session_died(now);
            }
        }
    }
}
