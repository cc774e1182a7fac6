//! Subscriptions (MCP 2026-07-28): a Client's, and one of our own for what belongs to no call. Whatever ends its stream, it
//! is made again quietly, and the application knows it by the id that it was made by first.

use std::borrow::Cow;
use std::time::Duration;

use super::ladder::Loss;
use super::Client;
use crate::proto::error::Reason;
use crate::proto::event::{DropCause, Event, ListenState, ReissueCause, Settlement};
use crate::proto::jsonrpc::{field, with_field, Id};
use crate::proto::ledger::{members, Call, Kind};
use crate::proto::machines::recovery::Happened;
use crate::proto::machines::subscription::{wishes, ACKNOWLEDGED, LISTEN, SUBSCRIPTION_ID};
use crate::proto::stream::Brought;
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

const CANCELLED: &str = "notifications/cancelled";

impl Client {
    /// Subscribes to what belongs to no call, as far as the server offers it.
    pub(super) fn subscribe(&mut self, now: Instant) {
        if self.session.subscription.is_some() {
            return;
        }
        let params = wishes(self.session.facts.capabilities(), self.session.restorable.uris());
        let Some(params) = params else {
            return self.event(now, None, Event::Listen { state: ListenState::Unsupported });
        };
        let (meta, dialect) = self.own_dialect();
        let mut entry = self.entry(now, Kind::Subscription, LISTEN, members(LISTEN, &params, &meta, None));
        entry.speaks(dialect);
        let call = self.open(entry);
        self.session.subscription = Some(call);
        self.post(now, call);
    }

    /// It is not wanted any more: the session speaks another era.
    pub(super) fn unsubscribe(&mut self, now: Instant) {
        if let Some(call) = self.session.subscription.take() {
            self.release(now, call);
        }
    }

    pub(super) fn is_subscription(&self, call: CallId) -> bool {
        self.ledger.peek(call).is_some_and(|entry| entry.request.kind != Kind::Listen && entry.is_endless())
    }

    /// Whether a notification on its stream is for us alone.
    pub(super) fn is_kept(&self, call: CallId, method: &str) -> bool {
        if method != CANCELLED && method != ACKNOWLEDGED {
            return false;
        }
        let Some(entry) = self.ledger.peek(call).filter(|_| self.is_subscription(call)) else { return false };
        method == CANCELLED || (method == ACKNOWLEDGED && entry.lineage.subscription.was_acknowledged())
    }

    /// A notification came on its stream: as the application is to have it, where it is.
    pub(super) fn on_subscribed<'a>(
        &mut self,
        now: Instant,
        call: CallId,
        method: &str,
        text: &'a str,
    ) -> Option<Cow<'a, str>> {
        if !self.is_subscription(call) {
            return Some(text.into());
        }
        let entry = self.ledger.get(call)?;
        if method == CANCELLED {
            // The server's other way to end it politely.
            let id = field(text, &["params", "requestId"]).and_then(Id::read);
            if id.is_some_and(|id| id == *entry.wire_id()) {
                self.on_subscription_ended(now, call);
            }
            return None;
        }
        let is_own = entry.request.kind == Kind::Subscription;
        if entry.lineage.subscription.opens() && is_own {
            self.event(now, None, Event::Listen { state: ListenState::Open });
        }
        let entry = self.ledger.get(call)?;
        if method == ACKNOWLEDGED && !entry.lineage.subscription.acknowledged(text) {
            self.tell_missed(now, call);
            return None;
        }
        Some(self.by_first_id(call, text, &["params", "_meta", SUBSCRIPTION_ID]))
    }

    /// It is carried again: what the server told meanwhile, nobody heard.
    fn tell_missed(&mut self, now: Instant, call: CallId) {
        let Some(entry) = self.ledger.peek(call) else { return };
        let first = entry.delivery.wire_ids.first().unwrap_or(&Id::Null);
        let told = entry.lineage.subscription.missed(first);
        let to = (entry.request.kind == Kind::Request).then_some(call);
        self.session.hints.forget();
        for text in told {
            let message = self.keep(&text);
            self.event(now, to, Event::Message { message, key: None, seam: false });
        }
    }

    /// The same message with the first id of the subscription, where it names another of it there.
    pub(super) fn by_first_id<'a>(&self, call: CallId, text: &'a str, path: &[&str]) -> Cow<'a, str> {
        let ids = self.ledger.peek(call).map(|entry| &*entry.delivery.wire_ids).unwrap_or_default();
        let named = field(text, path).and_then(Id::read);
        match (ids, named) {
            ([first, .., last], Some(named)) if named == *last => {
                with_field(text, path, &first.text()).into()
            }
            _ => text.into(),
        }
    }

    /// The server answered: whether that is dealt with here. What it ends politely after it was granted is made again; as
    /// the end of a Client's it is its answer else.
    pub(super) fn on_subscription_answered(&mut self, now: Instant, call: CallId, text: &str) -> bool {
        let Some(entry) = self.ledger.peek(call).filter(|_| self.is_subscription(call)) else { return false };
        let is_own = entry.request.kind == Kind::Subscription;
        let was_acknowledged = entry.lineage.subscription.was_acknowledged();
        match field(text, &["error"]) {
            None if is_own || was_acknowledged => self.on_subscription_ended(now, call),
            Some(error) if is_own => {
                let said = format!("the server refused the subscription: {}", self.fit(error));
                self.fail(now, call, Reason::ProtocolError, &said);
            }
            _ => return false,
        }
        true
    }

    fn on_subscription_ended(&mut self, now: Instant, call: CallId) {
        // Its last word is none that it brought.
        if let Some(brought) = self.events_of(call).map(|events| events.brought()) {
            self.note_subscription(now, call, Brought { fresh: brought.fresh.saturating_sub(1), ..brought });
        }
        let loss = Loss::new(DropCause::End, "the server ended the subscription");
        self.happens(now, call, Happened::Lost(Reason::StreamLost), loss);
    }

    /// The body of a subscription is over. One that brought more than its ack, or was held for as long as a silence may
    /// last, was no barren one: servers and proxies end long ones.
    pub(super) fn note_subscription(&mut self, now: Instant, call: CallId, brought: Brought) {
        let Some(entry) = self.ledger.get(call).filter(|entry| entry.is_endless()) else { return };
        if brought.fresh > 1 || now.since(brought.since) >= entry.request.timeouts.idle {
            entry.lineage.subscription.barren = 0;
        }
    }

    /// A subscription that was open is made again, quietly, and ever more rarely where that brings nothing.
    pub(super) fn subscribe_again(
        &mut self,
        now: Instant,
        call: CallId,
        cause: Reason,
        why: ReissueCause,
        floor: Option<Duration>,
    ) {
        let Some(entry) = self.ledger.get(call) else { return };
        let is_own = entry.request.kind == Kind::Subscription;
        let subscription = &mut entry.lineage.subscription;
        let (barren, was_open) = (subscription.barren, subscription.closes());
        if was_open && is_own {
            self.event(now, None, Event::Listen { state: ListenState::Lost });
        }
        if let Some(most) = self.config.max_retries.filter(|most| barren as usize >= *most) {
            if is_own {
                self.unsubscribe(now);
                return self.tell_given_up(now, most);
            }
            let text = format!(
                "the subscription ended, and {most} more in a row brought nothing (reconnectionOptions.maxRetries)"
            );
            return self.fail(now, call, cause, &text);
        }
        self.detach(now, call, cause, why);
        // What was closed brings nothing any more.
        self.ledger.keep_first_id(call);
        if let Some(entry) = self.ledger.get(call) {
            entry.lineage.subscription.barren = barren.saturating_add(1);
        }
        let wait = self.config.backoff.patient(barren, &mut self.rng).max(floor.unwrap_or_default());
        self.timers.set(Owner::Call(call), Clock::Wait, now + wait);
    }

    /// Ours has ended for good.
    pub(super) fn on_unsubscribed(&mut self, now: Instant, settlement: &Settlement) {
        self.session.subscription = None;
        let Settlement::Failed(failure) = settlement else { return };
        if self.session.is_over() {
            return;
        }
        let state = match failure.reason {
            Reason::MessageTooLarge => ListenState::Lost,
            _ => ListenState::Unsupported,
        };
        self.event(now, None, Event::Listen { state });
    }

    /// Whether what ended its stream is no end of it: a Client's once it was open, and ours in any case.
    pub(super) fn is_kept_up(entry: &Call) -> bool {
        entry.request.kind == Kind::Subscription || (entry.is_endless() && entry.diagnostics.events > 0)
    }
}
