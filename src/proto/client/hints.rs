//! Hints: a lost call that may run twice by the server's word alone, where that is not known, waits until it was asked for
//! (ARCHITECTURE.md, "Replay safety").

use super::ladder::Loss;
use super::{Client, Output};
use crate::proto::error::Reason;
use crate::proto::event::Settlement;
use crate::proto::ledger::{members, Call, Kind};
use crate::proto::machines::delivery::Doubt;
use crate::proto::replay::{Listing, ReplayOption};
use crate::proto::sorted::SortedSet;
use crate::proto::stream::Phase;
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

const LIST: &str = "tools/list";

impl Client {
    /// What the server says now of the call's tool.
    pub(super) fn hint_of(&self, now: Instant, entry: &Call) -> Option<bool> {
        self.session.hints.of(now, entry.request.tool.as_deref()?)
    }

    /// What is known of the call's tool holds for it from now on.
    pub(super) fn keep_hint(&mut self, now: Instant, call: CallId) {
        let hint = self.ledger.peek(call).and_then(|entry| self.hint_of(now, entry));
        if let Some(entry) = self.ledger.get(call) {
            entry.delivery.hear_hint(hint);
        }
    }

    /// Whether the call may be sent again if the server says so, which was not asked for that yet.
    pub(super) fn is_unsure(&self, now: Instant, call: CallId) -> bool {
        let could_say = |entry: &Call| {
            self.config.replay == ReplayOption::Hints
                && entry.request.replay.is_none()
                && entry.request.tool.is_some()
                && entry.delivery.hint(self.hint_of(now, entry)).is_none()
                && !entry.delivery.has_asked_hint()
        };
        self.may_reissue_if(now, call, could_say)
    }

    /// The call's stream is lost for good, and whether it may be sent again is asked for.
    pub(super) fn doubt(&mut self, now: Instant, call: CallId, reason: Reason, loss: Loss<'_>) {
        self.hold(now, call, reason, loss);
        self.ask_hints(now);
    }

    /// The call's stream is lost, and what becomes of the call is decided later.
    pub(super) fn hold(&mut self, now: Instant, call: CallId, reason: Reason, loss: Loss<'_>) {
        self.drop_plans(call);
        if let Some(exchange) = self.stream(call).and_then(|stream| stream.exchange()) {
            self.abort(exchange);
        }
        // Its handlers may still report: it is not over.
        if let Some(stream) = self.stream(call) {
            stream.phase = Phase::Waiting;
            (stream.resting, stream.scheduled) = (false, false);
        }
        let Some(entry) = self.ledger.get(call) else { return };
        let (why, text, not_before) = (loss.why, loss.text.to_string(), now + loss.floor.unwrap_or_default());
        entry.delivery.doubts(Doubt { reason, why, text, not_before });
        self.set_clocks(now, call);
    }

    /// The call would rather be sent again, and goes on meanwhile.
    pub(super) fn learn_hint(&mut self, now: Instant, call: CallId) {
        if let Some(entry) = self.ledger.get(call) {
            entry.delivery.asks_hint();
        }
        self.ask_hints(now);
    }

    /// Asks for the server's tools; once for all calls.
    pub(super) fn ask_hints(&mut self, now: Instant) {
        if self.session.hints.asking.is_none() && self.is_ready() {
            self.ask_page(now, Listing::new(now + self.config.timeouts.connect), "");
        }
    }

    fn ask_page(&mut self, now: Instant, listing: Listing, params: &str) {
        let (meta, dialect) = self.own_dialect();
        let mut entry = self.entry(now, Kind::List, LIST, members(LIST, params, &meta, None));
        entry.request.dialect = dialect;
        let list = self.open(entry);
        self.post(now, list);
        self.timers.set(Owner::Call(list), Clock::Connect, listing.by);
        self.session.hints.asking = Some(listing);
    }

    /// A page of the tools came, or none: where that was all, whoever waits for it goes out again, or is lost.
    pub(super) fn on_hints_told(&mut self, now: Instant, settlement: &Settlement) {
        let Some(mut listing) = self.session.hints.asking.take() else { return };
        if let Settlement::Result { message, .. } = settlement {
            let text = self.text(*message).to_string();
            self.session.hints.learn(now, &text);
            if !self.session.dialect.has_session() {
                self.outputs.push_back(Output::Tools(*message));
            }
            let cursor = listing.next(&text, |seen| self.wants_more(now, seen));
            if let Some(cursor) = cursor.filter(|_| self.is_ready() && now < listing.by) {
                return self.ask_page(now, listing, &format!("{{\"cursor\":{cursor}}}"));
            }
        }
        self.ask_declarations();
        // Where the session is dead, that is dealt with.
        if !self.is_ready() {
            return;
        }
        for call in self.ledger.calls() {
            let Some(entry) = self.ledger.get(call) else { continue };
            let Some(doubt) = entry.delivery.decided() else { continue };
            let floor = Some(doubt.not_before.since(now));
            self.lost(now, call, doubt.reason, doubt.why, &doubt.text, floor);
        }
        self.send_queued(now);
    }

    /// Whether a call waits for a tool that is none of these.
    fn wants_more(&self, now: Instant, seen: &SortedSet<String>) -> bool {
        let wants = |entry: &Call| {
            let is_unknown = entry.request.tool.as_ref().is_some_and(|tool| !seen.contains(tool));
            let asked =
                entry.delivery.awaits_hint() && entry.delivery.hint(self.hint_of(now, entry)).is_none();
            is_unknown && (asked || entry.delivery.corrections.learning)
        };
        self.ledger.calls().into_iter().any(|call| self.ledger.peek(call).is_some_and(wants))
    }
}
