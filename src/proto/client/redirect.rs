//! Redirects: what the judge of [`crate::proto::redirect`] says is done.

use super::Client;
use crate::proto::error::Reason;
use crate::proto::http::{HttpRequest, Manner, Method, Redirect, ResponseHead};
use crate::proto::ledger::{Kind, Refusal};
use crate::proto::machines::dispatch::{Ending, Purpose, Slot};
use crate::proto::machines::redirect::{Hop, Verdict};
use crate::proto::stream::{Phase, Resend, Stream};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::{CallId, ExchangeId};

impl Client {
    /// Deals with a redirect, where the head is one: follows it, or ends the call. Whether it was one.
    pub(super) fn redirected(
        &mut self,
        now: Instant,
        call: CallId,
        exchange: ExchangeId,
        head: &ResponseHead,
    ) -> bool {
        match self.judge_redirect(call, head) {
            Verdict::Answer => return false,
            Verdict::Follow(hop) => {
                self.abort(exchange);
                self.resend(now, call, hop);
            }
            Verdict::Locate => self.locate(now, call, exchange),
            Verdict::Refuse => {
                if let (Some(Redirect::To(_)), Some(entry)) = (&head.redirect, self.ledger.get(call)) {
                    entry.delivery.attempt.refusal =
                        Some(Refusal { status: head.status, body: String::new() });
                }
                self.refuse_redirect(now, call, head.redirect.as_ref().unwrap_or(&Redirect::Hidden));
            }
        }
        true
    }

    /// What the head means to the request of this call that is under way.
    pub(super) fn judge_redirect(&mut self, call: CallId, head: &ResponseHead) -> Verdict {
        let policy = self.config.redirects;
        let Some(entry) = self.ledger.get(call) else { return Verdict::Answer };
        let posts =
            matches!(entry.lineage.stream.as_ref().map(|stream| &stream.phase), Some(Phase::Posting(_)));
        let method = match (posts, entry.request.kind) {
            (true, Kind::Terminate) => Method::Delete,
            (true, _) => Method::Post,
            (false, _) => Method::Get,
        };
        policy.judge(head, method, entry.delivery.attempt.redirects)
    }

    /// What a request waited for is there, if it still does: it goes out once more.
    pub(super) fn resend_held(&mut self, now: Instant, call: CallId, hop: Hop) {
        if matches!(self.stream(call).map(|stream| &stream.phase), Some(Phase::Held(_))) {
            self.resend(now, call, hop);
        }
    }

    /// The same request goes out once more.
    fn resend(&mut self, now: Instant, call: CallId, hop: Hop) {
        let kind = self.ledger.peek(call).map(|entry| entry.request.kind);
        let is_crowded = self.is_crowded(call);
        match (kind, self.stream(call).map(|stream| &stream.phase)) {
            (Some(Kind::Listen), _) => self.open_listen_at(now, call, hop),
            // Its connection is another's by now: it waits before all that have not been sent.
            (_, Some(Phase::Held(Resend::Post))) if is_crowded => {
                self.dispatch.enqueue_first(call);
                self.set_clocks(now, call);
            }
            (_, Some(Phase::Held(Resend::Post) | Phase::Posting(_))) => self.post_at(now, call, hop),
            _ => self.resume_at(now, call, hop),
        }
    }

    /// The browser hides where the endpoint is: it is found out, and what may go out again then does.
    fn locate(&mut self, now: Instant, call: CallId, exchange: ExchangeId) {
        if !self.may_go_again(now, call) {
            self.refuse_redirect(now, call, &Redirect::Hidden);
        } else {
            self.abort(exchange);
            let Some(stream) = self.stream(call) else { return };
            let resend = match stream.phase {
                Phase::Posting(_) => Resend::Post,
                _ => Resend::Get,
            };
            stream.phase = Phase::Held(resend);
            self.stop_timers_of_stream(call);
            self.set_clocks(now, call);
            self.session.endpoint.wait(call);
        }
        self.seek_endpoint(now);
    }

    /// Whether the request under way may go out twice. A redirect may come after it was executed (303).
    fn may_go_again(&mut self, now: Instant, call: CallId) -> bool {
        let Some(entry) = self.ledger.peek(call) else { return false };
        let gets =
            !matches!(entry.lineage.stream.as_ref().map(|stream| &stream.phase), Some(Phase::Posting(_)));
        match entry.request.kind {
            Kind::Request => gets || entry.is_endless() || self.is_safe(now, entry),
            Kind::Notification => entry.request.method == "notifications/initialized",
            _ => true,
        }
    }

    /// Asks by a GET that carries nothing where the redirects end; its body is not read.
    fn seek_endpoint(&mut self, now: Instant) {
        if self.session.endpoint.is_sought() || self.session.is_over() {
            return;
        }
        let entry = self.entry(now, Kind::Scout, "GET", String::new());
        let wait = entry.request.timeouts.connect;
        let scout = self.open(entry);
        self.session.endpoint.seek(scout);
        let request = HttpRequest {
            call: Some(scout),
            url: None,
            method: Method::Get,
            headers: Vec::new(),
            body: None,
            manner: Manner::Bare,
        };
        let exchange = self.launch(Purpose::Call(scout, Slot::Control), request);
        if let Some(entry) = self.ledger.get(scout) {
            entry.lineage.stream = Some(Stream::new(exchange, &self.session.ids));
        }
        self.timers.set(Owner::Call(scout), Clock::Connect, now + wait);
    }

    /// The bare GET was answered, by whatever status.
    pub(super) fn on_scout_head(&mut self, now: Instant, scout: CallId, head: &ResponseHead) {
        let place = match &head.redirect {
            Some(Redirect::Followed(target)) if target.is_usable() => Some(target.url.clone()),
            _ => None,
        };
        let found = place.is_some();
        if found {
            self.session.facts.edit().location = place;
        }
        let waiting = self.session.endpoint.found();
        self.release(now, scout);
        for call in waiting {
            match (found, &head.redirect) {
                (true, _) => self.resend_held(now, call, Hop { url: None, redirects: 1 }),
                (false, place) => {
                    self.refuse_redirect(now, call, place.as_ref().unwrap_or(&Redirect::Hidden))
                }
            }
        }
        self.send_queued(now);
    }

    /// It is not to be found out where the endpoint is.
    pub(super) fn on_scout_failed(&mut self, now: Instant) {
        for call in self.session.endpoint.found() {
            self.refuse_redirect(now, call, &Redirect::Hidden);
        }
    }

    fn refuse_redirect(&mut self, now: Instant, call: CallId, redirect: &Redirect) {
        let text = self.config.redirects.refuses(redirect, |place| self.fit(place));
        self.fail_request(now, call, Reason::Redirected, &text);
    }

    /// A DELETE was answered. A redirect of it is followed as any other's.
    pub(super) fn on_delete_head(
        &mut self,
        now: Instant,
        exchange: ExchangeId,
        ending: Ending,
        head: &ResponseHead,
    ) {
        self.abort(exchange);
        match self.config.redirects.judge(head, Method::Delete, ending.redirects) {
            Verdict::Follow(hop) => self.delete(ending, hop),
            _ => self.on_delete_over(now),
        }
    }
}
