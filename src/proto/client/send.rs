//! Sending: the queue, the connections it is bounded by, and the requests themselves.

use std::borrow::Cow;

use super::{Client, Output};
use crate::proto::error::Reason;
use crate::proto::event::{DropCause, Event};
use crate::proto::event_ids::stream_of;
use crate::proto::http::{header_value, HttpRequest, Manner, Method};
use crate::proto::jsonrpc::{field, quote, with_members, Id};
use crate::proto::ledger::{members, notification, request, Call, Kind};
use crate::proto::machines::call::Request;
use crate::proto::machines::dialect::{Asking, CancelBy, Dialect};
use crate::proto::machines::dispatch::{Control, Ending, Place, Purpose, Slot, Turn, Word};
use crate::proto::machines::redirect::{Hop, RedirectPolicy};
use crate::proto::session::State;
use crate::proto::stream::{Headers, Phase, Resend, Stream};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::{CallId, ExchangeId};

/// The reason text of a cancellation: fixed, since the real one may be private.
const CANCEL_TEXT: &str = "the client no longer waits for this request";

impl Client {
    /// Sends a new call or notification, or lets it wait.
    pub(super) fn enqueue(&mut self, now: Instant, call: CallId) {
        // A Client may begin anew whatever became of the session.
        if self.ledger.peek(call).is_some_and(|entry| entry.request.kind == Kind::Handshake)
            && !self.session.is_over()
        {
            self.tell_state(now);
            return self.post(now, call);
        }
        let calls = |entry: &Call| entry.request.kind == Kind::Request;
        if self.config.carry && !self.session.began && self.ledger.peek(call).is_some_and(calls) {
            self.begins_to_call(now);
        }
        if self.session.state == State::Lost && !self.replace_session(now) {
            let text = match self.session.began {
                true => "the session is lost",
                false => "there is no session: its handshake failed",
            };
            return self.fail(now, call, Reason::SessionLost, text);
        }
        match self.session.state {
            State::Closing | State::Closed => {
                return self.fail(now, call, Reason::Closed, "the session was closed");
            }
            State::New | State::Initializing | State::Confirming | State::Ready | State::Lost => {}
        }
        if self.is_of_dead_session(now, call) {
            return;
        }
        self.dispatch.enqueue(call, self.turn(call));
        self.send_queued(now);
        // Whoever is not sent at once waits in the queue, and the queue is bounded.
        match self.dispatch.place(call) {
            Place::Gone => {}
            Place::Waits => {
                self.call_event(now, call, Event::Queued);
                self.await_session(now, call);
            }
            Place::TooMany => {
                let text = format!("more than {} calls wait (limits.maxQueued)", self.config.max_queued);
                self.dispatch.leave(call);
                self.fail(now, call, Reason::QueueFull, &text);
            }
        }
    }

    /// Sends what waits, in order, as far as connections are free. Notifications need none of the callers'.
    pub(super) fn send_queued(&mut self, now: Instant) {
        if !self.is_ready() {
            return;
        }
        while let Some(control) = self.dispatch.next_control() {
            self.post(now, control);
        }
        while let Some(call) = self.dispatch.next(self.session.liveness.is_suspect()) {
            match self.stream(call).map(|stream| &stream.phase) {
                None | Some(Phase::Held(Resend::Post)) => self.post(now, call),
                Some(_) => self.resume(now, call),
            }
        }
        self.ask_for_queued(now);
    }

    /// What a call that is to be sent waits for.
    pub(super) fn turn(&self, call: CallId) -> Turn {
        match self.ledger.peek(call) {
            Some(entry)
                if matches!(entry.request.kind, Kind::Notification | Kind::Terminate)
                    || entry.is_endless()
                    || entry.task.is_some() =>
            {
                Turn::Aside
            }
            Some(entry) if !entry.was_sent() => Turn::First,
            _ => Turn::Again,
        }
    }

    /// A call ended in a timeout before: this one waits until the session was asked, so that it does not hang too.
    fn ask_for_queued(&mut self, now: Instant) {
        if self.session.liveness.is_suspect() && self.dispatch.waiting_count() > 0 && !self.is_undecided() {
            self.ask_session(now);
        }
    }

    /// Headers came, for which alone the exchange may have held its connection: another call may go.
    pub(super) fn free_connection(&mut self, now: Instant, exchange: ExchangeId) {
        if self.dispatch.headers_came(exchange) {
            self.send_queued(now);
        }
    }

    /// POSTs a message of the ledger.
    pub(super) fn post(&mut self, now: Instant, call: CallId) {
        self.post_at(now, call, Hop::default());
    }

    pub(super) fn post_at(&mut self, now: Instant, call: CallId, hop: Hop) {
        self.keep_hint(now, call);
        self.choose_words(call);
        let Some(entry) = self.ledger.get(call) else { return };
        let kind = entry.request.kind;
        if entry.task.is_some() {
            return self.poll_task(now, call);
        }
        if let Some(cursor) = entry.lineage.resume_from.take() {
            entry.lineage.stream = Some(Stream::adopted(&cursor, &self.session.ids));
            self.session.ids.note(&cursor, None, Some(stream_of(call, ExchangeId(0))));
            let can_resume = entry.request.dialect.can_resume();
            return match header_value(&cursor) {
                _ if !can_resume => {
                    self.fail(now, call, Reason::ResumeRejected, "the server's streams can't be resumed")
                }
                Some(_) => self.resume(now, call),
                None => {
                    self.fail(now, call, Reason::ResumeRejected, "no request can carry this resumption token")
                }
            };
        }
        if entry.delivery.reissue_why.is_some() && entry.request.kind.wants_response() {
            self.renew_wire_id(call);
        }
        let Some(entry) = self.ledger.get(call) else { return };
        let wire_id = entry.wire_id().clone();
        let why = entry.delivery.goes_out();
        let body = match kind {
            Kind::Notification => notification_of(entry),
            _ if kind.wants_response() => request(&wire_id, &members_of(entry)),
            _ => entry.request.content.clone(),
        };
        let exchange = match kind {
            Kind::Terminate => self.transmit(call, hop, Method::Delete, None, None),
            _ => self.transmit(call, hop, Method::Post, None, Some(body)),
        };
        let Some(entry) = self.ledger.get(call) else { return };
        entry.lineage.stream = Some(Stream::new(exchange, &self.session.ids));
        entry.clocks.posted_at = (kind == Kind::Request).then_some(now);
        match kind {
            Kind::Request => {
                let first_byte = now + entry.request.timeouts.first_byte;
                self.timers.set(Owner::Call(call), Clock::FirstByte, first_byte);
                self.set_clocks(now, call);
                if let Some(why) = why {
                    self.note_attempt(now, call);
                    self.call_event(now, call, Event::Reissued { why, wire_id });
                }
            }
            Kind::Probe | Kind::List => {
                let at = now + entry.request.timeouts.connect;
                self.timers.set(Owner::Call(call), Clock::Connect, at);
            }
            Kind::Handshake
            | Kind::Notification
            | Kind::Answer
            | Kind::Control
            | Kind::Restore
            | Kind::Task
            | Kind::Terminate => {
                let at = now + entry.request.timeouts.handshake;
                self.timers.set(Owner::Call(call), Clock::Handshake, at);
            }
            Kind::Listen | Kind::Subscription | Kind::Scout => {}
            Kind::Initialize | Kind::Initialized => self.bound_handshake(now, call, kind),
        }
    }

    /// GETs the rest of a call's stream, from its cursor on; waits in front of the queue where no connection is free.
    pub(super) fn resume(&mut self, now: Instant, call: CallId) {
        self.resume_at(now, call, Hop::default());
    }

    pub(super) fn resume_at(&mut self, now: Instant, call: CallId, hop: Hop) {
        if self.is_crowded(call) {
            if let Some(stream) = self.stream(call) {
                stream.phase = Phase::Queued;
                self.dispatch.enqueue_first(call);
            }
            return self.set_clocks(now, call);
        }
        let Some(stream) = self.stream(call) else { return };
        let Some(cursor) = stream.cursor().and_then(header_value) else {
            let text = "the stream ended, and its place in it was lost meanwhile";
            return self.lost(now, call, Reason::StreamLost, DropCause::End.into(), text, None);
        };
        self.stats.resumes.tried += 1;
        let exchange = self.transmit(call, hop, Method::Get, Some(cursor), None);
        if let Some(stream) = self.stream(call) {
            stream.phase = Phase::Resuming(exchange, Headers::Due);
            stream.last_get = Some(now);
        }
        self.note_attempt(now, call);
        self.arm_connect(now, call);
        self.set_clocks(now, call);
    }

    /// Bounds a GET's wait for headers.
    pub(super) fn arm_connect(&mut self, now: Instant, call: CallId) {
        let Some(entry) = self.ledger.get(call) else { return };
        let misses = entry.lineage.stream.as_ref().map_or(0, |stream| stream.misses);
        // A slow server gets twice the time after each miss, but no more than a silent stream does.
        let doubled = entry.request.timeouts.connect.saturating_mul(1 << misses.min(16));
        let at = now + doubled.min(entry.request.timeouts.idle.max(entry.request.timeouts.connect));
        self.timers.set(Owner::Call(call), Clock::Connect, at);
    }

    /// Whether every connection is taken that the call could have.
    pub(super) fn is_crowded(&self, call: CallId) -> bool {
        self.slot(call) == Slot::Caller && self.dispatch.free() == 0
    }

    fn slot(&self, call: CallId) -> Slot {
        match self.ledger.peek(call) {
            Some(entry) if entry.is_endless() => Slot::Endless,
            Some(entry) if entry.request.kind == Kind::Request => Slot::Caller,
            _ => Slot::Control,
        }
    }

    pub(super) fn transmit(
        &mut self,
        call: CallId,
        hop: Hop,
        method: Method,
        cursor: Option<String>,
        body: Option<String>,
    ) -> ExchangeId {
        let slot = self.slot(call);
        let entry = self.ledger.peek(call);
        let url = match entry {
            Some(entry) if method == Method::Get && entry.request.dialect.answers_elsewhere() => hop.url,
            _ => self.address(hop.url),
        };
        let session = entry
            .and_then(|entry| entry.delivery.identity.clone())
            .unwrap_or_else(|| self.session.identity());
        let headers = entry.map_or_else(Vec::new, |entry| {
            let asking = Asking { method, rpc: &entry.request.method, session, cursor };
            let mut headers = entry.request.dialect.headers(asking);
            if method == Method::Post {
                headers.extend(entry.param_headers());
            }
            headers
        });
        if let Some(entry) = self.ledger.get(call) {
            entry.delivery.attempt.headers = headers.iter().map(|(name, _)| name.clone()).collect();
            self.credentials.sent(&mut entry.delivery.credentials);
            entry.delivery.attempt.redirects = hop.redirects;
            entry.delivery.attempt.refusal = None;
        }
        let whose = self.ledger.peek(call).and_then(|entry| entry.request.on_behalf).unwrap_or(call);
        let request = HttpRequest { call: Some(whose), url, method, headers, body, manner: self.manner() };
        self.launch(Purpose::Call(call, slot), request)
    }

    fn address(&self, url: Option<String>) -> Option<String> {
        url.or_else(|| self.session.facts.location.clone())
    }

    fn manner(&self) -> Manner {
        match self.config.redirects {
            RedirectPolicy::Follow => Manner::Following,
            RedirectPolicy::SameOrigin | RedirectPolicy::Refuse => Manner::Guarded,
        }
    }

    /// Sends the DELETE of a session.
    pub(super) fn delete(&mut self, ending: Ending, hop: Hop) {
        let session = ending.identity.clone();
        let request = HttpRequest {
            call: None,
            url: self.address(hop.url),
            method: Method::Delete,
            headers: Dialect::Legacy.headers(Asking {
                method: Method::Delete,
                rpc: "",
                session,
                cursor: None,
            }),
            body: None,
            manner: self.manner(),
        };
        self.launch(Purpose::Delete(Ending { redirects: hop.redirects, ..ending }), request);
    }

    pub(super) fn launch(&mut self, purpose: Purpose, request: HttpRequest) -> ExchangeId {
        let exchange = self.dispatch.launch(purpose);
        self.outputs.push_back(Output::Transmit(exchange, request));
        exchange
    }

    /// A request left: its call may be executed from here on.
    pub(super) fn on_sent(&mut self, now: Instant, exchange: ExchangeId) {
        let Some(call) = self.dispatch.owner_of(exchange) else { return };
        let Some(entry) = self.ledger.get(call) else { return };
        let phase = entry.lineage.stream.as_ref().map(|stream| &stream.phase);
        if matches!(phase, Some(Phase::Posting(post)) if *post == exchange) {
            entry.delivery.sent();
            let (wire_id, reissue) = (entry.wire_id().clone(), entry.delivery.reissues() > 0);
            self.call_event(now, call, Event::Sent { wire_id, reissue });
        }
    }

    /// Ends an exchange by our own wish.
    pub(super) fn abort(&mut self, exchange: ExchangeId) {
        if !self.dispatch.over(exchange) {
            return;
        }
        let is_it = |output: &Output| matches!(output, Output::Transmit(id, _) if *id == exchange);
        match self.outputs.iter().position(is_it) {
            // It was still to be polled.
            Some(place) => drop(self.outputs.remove(place)),
            None => self.outputs.push_back(Output::Abort(exchange)),
        }
    }

    /// Tells the server that nobody waits for this request any more.
    pub(super) fn send_cancelled(&mut self, now: Instant, request_id: &Id, reason: Option<&str>) {
        const METHOD: &str = "notifications/cancelled";
        // The session by now may know no such word, nor the request.
        if !self.config.carry && self.session.dialect.cancel_by() == CancelBy::Body {
            return;
        }
        let mut params = format!("{{\"requestId\":{},\"reason\":", request_id.text());
        quote(reason.unwrap_or(CANCEL_TEXT), &mut params);
        params.push('}');
        self.send_control(now, METHOD, notification(METHOD, &params, ""), Word::Given);
    }

    /// POSTs a whole message that nobody waits for.
    pub(super) fn send_control(&mut self, now: Instant, method: &str, body: String, word: Word) {
        if !self.is_ready() {
            return;
        }
        let entry = self.entry(now, Kind::Control, method, body);
        let control = self.open(entry);
        self.post_control(now, control, word);
    }

    /// POSTs it, or lets it wait. Where too many wait, what the server provoked is dropped, and else it is told.
    pub(super) fn post_control(&mut self, now: Instant, control: CallId, word: Word) {
        match (self.dispatch.control(control, word), word) {
            (Control::Go, _) => self.post(now, control),
            (Control::Wait, _) => {}
            (Control::WaitFor(dropped), _) => _ = self.ledger.close(dropped),
            (Control::Drop, Word::Provoked) => _ = self.ledger.close(control),
            (Control::Drop, Word::Given) => {
                self.fail(now, control, Reason::QueueFull, "too many messages of our own wait");
            }
        }
    }

    /// POSTs the answer to a question, which came during this call if it is known. Where it is a Client's, it is a call.
    pub(super) fn send_answer(
        &mut self,
        now: Instant,
        during: Option<CallId>,
        body: String,
    ) -> Option<CallId> {
        if !self.is_ready() {
            return None;
        }
        let kind = if self.config.carry { Kind::Answer } else { Kind::Control };
        let mut entry = self.entry(now, kind, "response", body);
        entry.request.answers = during;
        let answer = self.open(entry);
        self.post_control(now, answer, Word::Given);
        self.config.carry.then_some(answer)
    }

    /// An answer of ours got no HTTP answer: it is sent again while the call lives. Whether it will be.
    pub(super) fn send_answer_again(&mut self, now: Instant, answer: CallId) -> bool {
        let during = self.ledger.peek(answer).and_then(|entry| entry.request.answers);
        if during.is_none_or(|call| self.ledger.peek(call).is_none()) {
            return false;
        }
        let Some(entry) = self.ledger.get(answer) else { return false };
        let exchange = entry.lineage.stream.take().and_then(|stream| stream.exchange());
        let attempt = u32::try_from(entry.delivery.repeat()).unwrap_or(u32::MAX);
        if let Some(exchange) = exchange {
            self.abort(exchange);
        }
        let wait = self.own_wait(answer, attempt - 1);
        self.timers.stop(Owner::Call(answer), Clock::Handshake);
        self.timers.set(Owner::Call(answer), Clock::Wait, now + wait);
        true
    }

    pub(super) fn stream(&mut self, call: CallId) -> Option<&mut Stream> {
        self.ledger.get(call)?.lineage.stream.as_mut()
    }
}

/// The members of a request: its own, and what its words have to say in `_meta`.
fn members_of(entry: &Call) -> Cow<'_, str> {
    let content = &entry.request.content;
    let whole = format!("{{{content}}}");
    let own = field(&whole, &["params"]).unwrap_or_default();
    let carried = entry.rounds.carried();
    let params = &*match carried {
        "" => Cow::Borrowed(own),
        carried => with_members(own, carried).into(),
    };
    match entry.request.dialect.missing_meta(params) {
        Some(meta) => members(&entry.request.method, params, meta, None).into(),
        None if carried.is_empty() => content.into(),
        None => members(&entry.request.method, params, "", None).into(),
    }
}

/// The text of a notification, with what its words have to say in `_meta`.
fn notification_of(entry: &Call) -> String {
    let Request { method, content, dialect, .. } = &entry.request;
    let params = field(content, &["params"]).unwrap_or_default();
    match dialect.missing_meta(params) {
        Some(meta) => notification(method, params, meta),
        None => content.clone(),
    }
}
