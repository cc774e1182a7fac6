//! What the host is asked for: credentials, the answers to questions.

use std::collections::BTreeSet;

use landfall::proto::{CallId, Challenge, ResponseHead};

use super::{Judge, SECOND};
use crate::sim::agenda::Time;
use crate::sim::network::{Delivery, Link};

/// For one call, and for all of a session in a minute.
const REFRESHES_PER_CALL: u32 = 3;
const REFRESHES_PER_MINUTE: usize = 10;

#[derive(Default)]
pub(super) struct Host {
    /// When the provider was asked that has not answered.
    asked: Option<Time>,
    refreshes: Vec<Time>,
    /// Questions that the server gave up.
    cancelled: BTreeSet<String>,
}

impl Judge<'_> {
    /// The provider is asked once for all, and not without end.
    pub(crate) fn on_authorize(&mut self, now: Time, call: CallId, challenge: Challenge) {
        let handshake = self.schedule.client.clocks.options().handshake.unwrap_or(30_000.0) as Time * 1_000;
        let handshake = match self.schedule.client.clocks.options().deadline {
            Some(deadline) => handshake.min(deadline as Time * 1_000),
            None => handshake,
        };
        let pending = self.host.asked.replace(now).is_some_and(|asked| now < asked + handshake);
        self.expect(!pending, || "the provider is asked while it was asked".to_string());
        if challenge != Challenge::Unauthorized {
            return;
        }
        self.host.refreshes.push(now);
        let minute = self.host.refreshes.iter().filter(|at| **at + 60 * SECOND > now).count();
        self.expect(minute <= REFRESHES_PER_MINUTE, || format!("{minute} refreshes in a minute"));
        let Some(watch) = self.watched(call) else { return };
        let seen = &mut self.watches[watch];
        seen.refreshes += 1;
        let (plan, refreshes) = (seen.plan, seen.refreshes);
        self.expect(refreshes <= REFRESHES_PER_CALL, || {
            format!("call {plan:?} asked for other credentials {refreshes} times")
        });
    }

    pub(crate) fn on_provided(&mut self) {
        self.host.asked = None;
    }

    /// A question is asked, perhaps again.
    pub(crate) fn on_question(&mut self, id: &str) {
        self.host.cancelled.remove(id);
    }

    pub(crate) fn on_request_cancelled(&mut self, id: &str) {
        self.host.cancelled.insert(id.to_string());
    }

    /// What the server does not want to know any more is not told.
    pub(super) fn check_answer(&mut self, body: &str) {
        let is_answer = body.contains("\"action\":\"accept\"");
        let told = self.host.cancelled.iter().find(|id| is_answer && body.contains(&format!("\"id\":{id},")));
        let told = told.cloned();
        self.expect(told.is_none(), || format!("question {told:?} was given up, and is answered"));
    }

    /// A word of ours that was refused for its credentials was not heard: it goes out once more.
    pub(super) fn note_refused(&mut self, link: &Link, delivery: &Delivery) {
        if let (Delivery::Head(ResponseHead { status: 401, .. }), Some(body)) = (delivery, &link.request.body)
        {
            self.told_cancelled.remove(body);
        }
    }

    /// The machine sleeps: no clock counts that but the deadline, which is judged after one more attempt.
    pub(crate) fn on_sleep(&mut self, now: Time, until: Time) {
        self.slept = true;
        for watch in self.watches.iter_mut().filter(|watch| watch.ended.is_none()) {
            (watch.woke, watch.slept) = (Some(until), watch.slept + (until - now));
        }
    }

    /// The clock stands still: what is made meanwhile is made in no time.
    pub(crate) fn on_clock_back(&mut self, now: Time, asleep: Time) {
        for watch in self.watches.iter_mut().filter(|watch| watch.ended.is_none()) {
            if let Some(woke) = watch.woke.filter(|woke| *woke > now) {
                (watch.woke, watch.slept) = (Some(asleep), watch.slept - (woke - asleep));
            }
        }
        self.stood_still = true;
    }

    pub(crate) fn on_missing(&mut self, plan: usize) {
        for watch in self.watches.iter_mut().filter(|watch| watch.plan == Some(plan)) {
            watch.reported = true;
        }
    }
}
