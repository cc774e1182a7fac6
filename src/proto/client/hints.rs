//! Hints: a lost call that may run twice by the server's word alone, where that is not known, waits until it was asked for
//! (ARCHITECTURE.md, "Replay safety").

use super::ladder::Loss;
use super::Client;
use crate::proto::error::Reason;
use crate::proto::event::Settlement;
use crate::proto::jsonrpc::{field, string};
use crate::proto::ledger::{members, Call, Kind};
use crate::proto::machines::delivery::Doubt;
use crate::proto::replay::ReplayOption;
use crate::proto::stream::Phase;
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

const LIST: &str = "tools/list";
/// So many pages of it are asked for.
const MOST_PAGES: u32 = 8;

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
        self.ask_hints(now);
    }

    /// The call would rather be sent again, and goes on meanwhile.
    pub(super) fn learn_hint(&mut self, now: Instant, call: CallId) {
        if let Some(entry) = self.ledger.get(call) {
            entry.delivery.asks_hint();
        }
        self.ask_hints(now);
    }

    /// Asks for the hints of all tools; once for all calls.
    fn ask_hints(&mut self, now: Instant) {
        if self.session.hints.asking.is_some() || !self.is_ready() {
            return;
        }
        self.session.hints.by = now + self.config.timeouts.connect;
        self.session.hints.pages = 0;
        self.ask_page(now, "");
    }

    fn ask_page(&mut self, now: Instant, params: &str) {
        let (meta, dialect) = self.own_dialect();
        let mut entry = self.entry(now, Kind::List, LIST, members(LIST, params, &meta, None));
        entry.request.dialect = dialect;
        let list = self.open(entry);
        self.session.hints.asking = Some(list);
        self.session.hints.pages += 1;
        self.post(now, list);
        self.timers.set(Owner::Call(list), Clock::Connect, self.session.hints.by);
    }

    /// Asks for the next page, where there is one and a tool that matters was on none so far. Whether it does.
    fn ask_next_page(&mut self, now: Instant, page: &str) -> bool {
        let next = field(page, &["result", "nextCursor"]).filter(|cursor| string(cursor).is_some());
        let is_unseen = |entry: &Call| {
            entry.request.tool.is_some()
                && entry.delivery.awaits_hint()
                && entry.delivery.hint(self.hint_of(now, entry)).is_none()
        };
        let is_wanted = |call| self.ledger.peek(call).is_some_and(is_unseen);
        let hints = &self.session.hints;
        let may_ask = self.is_ready() && now < hints.by && hints.pages < MOST_PAGES;
        let Some(cursor) = next.filter(|_| may_ask && self.ledger.calls().into_iter().any(is_wanted)) else {
            return false;
        };
        self.ask_page(now, &format!("{{\"cursor\":{cursor}}}"));
        true
    }

    /// The hints were asked for: whoever waits for that is sent again, or lost.
    pub(super) fn on_hints_told(&mut self, now: Instant, settlement: &Settlement) {
        self.session.hints.asking = None;
        if let Settlement::Result { message, .. } = settlement {
            let text = self.text(*message).to_string();
            self.session.hints.learn(now, &text);
            if self.ask_next_page(now, &text) {
                return;
            }
        }
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
}
