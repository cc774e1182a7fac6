//! How calls end.

use landfall::proto::{CallId, Client, Failure, Outcome, Reason, Settlement};

use super::{Judge, SECOND};
use crate::sim::agenda::Time;
use crate::sim::schedule::{CallPlan, Ids, Incident, Replays, Reply, Schedule, Tool};
use crate::sim::server::Server;
use crate::sim::shares::Happened;
use crate::sim::trail::Place;
use crate::sim::watch::Watch;
use crate::sim::work::{IdUse, Work};

impl Judge<'_> {
    /// A live call ends, once, not after its deadline.
    pub(crate) fn on_settle(
        &mut self,
        now: Time,
        at: Time,
        call: CallId,
        settlement: &Settlement,
        client: &Client,
        server: &Server<'_>,
    ) {
        self.expect(at == now, || format!("{call:?} settled at {at}, and it is {now}"));
        if self.handshake == Some(call) {
            if let Settlement::Failed(failure) = settlement {
                self.on_nothing_agreed(now, failure);
            }
            return;
        }
        if let Some(nth) = self.messages.iter().position(|message| *message == call) {
            self.messages.swap_remove(nth);
            return;
        }
        let Some(watch) = self.live(call) else {
            return self.breaks(format!("a settlement of a call that is not live: {call:?} {settlement:?}"));
        };
        self.untold.insert(call);
        self.on_read(server);
        self.check_alone(now, watch);
        let seen = &mut self.watches[watch];
        seen.rest_over(now);
        seen.ended = Some(now);
        // Who slept through it has one more attempt.
        let most = seen.woke.map_or(0, |woke| woke + 20 * SECOND).max(seen.made + seen.bounds.deadline);
        let (plan, over) = (seen.plan, now.saturating_sub(most));
        self.expect(over == 0, || format!("call {plan:?} settled {over} us after its deadline"));
        match settlement {
            Settlement::Result { message, .. } => {
                self.check_resumed(watch);
                self.happened(Happened::Answered);
                self.endings.push("result".to_string());
                self.watches[watch].answered = true;
                self.on_answer(watch, client.text(*message), server);
            }
            Settlement::Accepted => self.endings.push("accepted".to_string()),
            Settlement::Failed(failure) => {
                self.happened(Happened::Failed);
                self.endings.push(format!("{:?}", failure.reason));
                if failure.reason == Reason::SessionLost && self.schedule.client.fail_lost {
                    // What is open of the others is read on; their cursors are of no use any more.
                    self.watches.iter_mut().for_each(|watch| watch.parted = true);
                }
                self.watches[watch].outcome = Some(failure.outcome);
                self.on_failure(now, watch, failure, server);
            }
        }
        self.check_skips(watch, server);
        self.check_token(watch, server);
    }

    /// The answer is the call's own, and no event before it was lost unreported.
    fn on_answer(&mut self, watch: usize, text: &str, server: &Server<'_>) {
        let Some(plan) = self.watches[watch].plan else {
            return self.on_listed();
        };
        let answer: serde_json::Value = serde_json::from_str(text).expect("an answer is JSON");
        let work = answer["result"]["work"].as_u64().or_else(|| answer["error"]["data"]["work"].as_u64());
        self.check_task_answer(watch, work);
        let Some(work) = work.map(|work| &server.works[work as usize]) else {
            let code = answer["error"]["code"].as_i64().unwrap_or_default();
            let is_refusal =
                |reply: &Reply| matches!(reply, Reply::Refusal(_, said, _) if i64::from(*said) == code);
            let refused = code == -32_602 || self.schedule.calls[plan].replies.iter().any(is_refusal);
            return self.expect(refused, || format!("call {plan} was answered by {text}"));
        };
        // Of two that share an id, where a stream brings another's response nobody knows whose it is.
        let mixes = self.schedule.calls.iter().any(CallPlan::mixes_streams) || server_is_odd(self.schedule);
        let is_shared = mixes && self.watches[watch].wire_ids.contains(&work.id);
        self.expect(work.call == plan || is_shared, || {
            format!("call {plan} got the answer to call {}", work.call)
        });
        if work.call != plan {
            return;
        }
        let seen = &self.watches[watch];
        let (warned, gaps) = (seen.warned, seen.gaps);
        let visible = self.must_see_gap(seen, work);
        self.expect(gaps > 0 || !visible, || format!("call {plan} has a certain gap, and was not told"));
        // What was taken out of its order can't be told from what is lost.
        let odd = work.crossed || work.reset || work.accepted || self.answered_elsewhere();
        for (place, event) in work.events.iter().enumerate().filter(|_| !odd) {
            let lost = event.texts.iter().any(|text| !self.handed.contains_key(text));
            let skipped = work.skipped.iter().any(|range| range.contains(&place));
            let reported = (event.broken_once && warned) || gaps > 0 || skipped;
            self.expect(!lost || reported, || {
                format!("call {plan} was answered, {:?} was lost, and nobody was told", event.texts)
            });
        }
    }

    /// Whether the ids of a call's stream can't tell its place: they were used twice.
    pub(super) fn is_odd(&self, watch: usize, server: &Server<'_>) -> bool {
        let plan = self.watches[watch].plan;
        let mut own = server.works.iter().filter(|work| Some(work.call) == plan);
        server.restarted || own.any(|work| work.reset || work.crossed) || server_is_odd(self.schedule)
    }

    /// Whether the response may have come on the stream of another call, before what this one's own still brings.
    fn answered_elsewhere(&self) -> bool {
        server_is_odd(self.schedule) && self.watches.iter().any(|seen| seen.gets > 0)
    }

    /// Whether events that a resume left out are missing for certain: three ids that rose by 1 came before them, more
    /// are missing than resumes could have spent, and an event came after them.
    fn must_see_gap(&self, seen: &Watch, work: &Work) -> bool {
        let came = |place: usize| work.events[place].texts.iter().all(|text| self.handed.contains_key(text));
        let regular = |place: &usize| {
            let event = &work.events[*place];
            event.id_use == IdUse::Cursor
                && event.id.as_ref().is_some_and(|id| id.starts_with('k'))
                && !event.broken_once
                && (event.has_data || *place == 0)
        };
        if work.crossed || work.reset || server_is_odd(self.schedule) {
            return false;
        }
        let [range] = work.skipped.as_slice() else { return false };
        let start = range.clone().find(|place| !came(*place));
        let Some(start) = start.filter(|_| self.schedule.server.ids == Ids::PerStream) else { return false };
        let series = start >= 3 && (start - 3..start).all(|place| work.events[place].has_data && came(place));
        let series = series && (0..start).all(|place| regular(&place));
        let gone = (start..range.end).all(|place| !came(place) && !work.events[place].broken_once);
        let missing = range.end - start;
        let after = (range.end..work.events.len()).find(|place| work.events[*place].has_data);
        let after = after.filter(|place| !work.events[*place].is_response && came(*place)).filter(regular);
        // Another stream, while it has shown no id, may be what spends the numbers.
        let others = self.watches.iter().filter(|other| other.call != seen.call || other.plan != seen.plan);
        let alone = !others.into_iter().any(|other| other.ended.is_none_or(|ended| ended >= seen.made));
        let first = seen.posts.len() == 1;
        first && alone && gone && series && missing > seen.gets && after == Some(range.end)
    }

    /// Events whose handler failed for good are reported before the outcome.
    fn check_skips(&mut self, watch: usize, server: &Server<'_>) {
        if self.is_odd(watch, server) {
            return;
        }
        let seen = &self.watches[watch];
        let expected = seen.trail.given_up + seen.trail.failed() + seen.orphans_failed;
        let told = seen.skips;
        // A broken event was reported by a warning; it may be told again here.
        let (call, warned) = (seen.plan, seen.warned);
        self.expect(told >= expected, || {
            format!("call {call:?}: {expected} events failed, {told} were reported")
        });
        let honest = told <= expected || warned;
        self.expect(honest, || format!("call {call:?}: no event failed, {told} were reported"));
    }

    /// The reason is true, and so is what is said of the execution.
    fn on_failure(&mut self, now: Time, watch: usize, failure: &Failure, server: &Server<'_>) {
        let (plan, odd) = (self.plan(watch), self.is_odd(watch, server));
        let seen = &self.watches[watch];
        let (call, reason, outcome) = (seen.plan, failure.reason, failure.outcome);
        let place = seen.trail.place(server);
        let due = seen.made + seen.bounds.deadline;
        let sent = !seen.posts.is_empty() || seen.adopts;
        let truthful = match reason {
            Reason::DeadlineExceeded => now == due || (seen.woke.is_some() && now > due),
            // What its handlers did since it was lost brings it back no more, and may lose it.
            Reason::StreamLost => {
                let may_resume = !self.schedule.client.page && self.schedule.client.max_retries != Some(0);
                let is_cursor = |place: &Place| matches!(place, Place::Cursor(_));
                !is_cursor(seen.left.as_ref().unwrap_or(&place))
                    || !is_cursor(&place)
                    || seen.posts.len() > 1
                    || seen.parted
                    || !may_resume
                    || odd
            }
            Reason::Cancelled => seen.cancelled,
            Reason::Closed => self.closing,
            Reason::Gap => seen.gaps > 0,
            Reason::ResumeRejected | Reason::RecoveryExhausted => sent,
            Reason::TaskLost => seen.task.is_some(),
            Reason::TaskCancelled => seen.task.is_some_and(|task| server.cancels(&server.works[task])),
            Reason::InternalError => false,
            _ => true,
        };
        self.expect(truthful, || format!("call {call:?} failed by {reason:?} at {now}, {place:?}"));
        let vouched = plan.is_none_or(|plan| !matches!(plan.tool, Tool::Once | Tool::Notify));
        let claims = failure.retry_safe && outcome == Outcome::Unknown;
        self.expect(vouched || !claims, || format!("call {call:?} is called safe to retry: {reason:?}"));
        self.expect(sent || outcome == Outcome::NotSent, || {
            format!("call {call:?} was never sent: {outcome:?}")
        });
        self.check_silence(now, watch, reason);
    }

    /// Without a message a call has `callMs` and `recoveryMs`, and the waits that no clock counts.
    fn check_silence(&mut self, now: Time, watch: usize, reason: Reason) {
        let seen = &self.watches[watch];
        let binding = self.schedule.client.max_concurrent < 32;
        // A task has its deadline.
        let unclocked = seen.unclocked || seen.task.is_some();
        let Some(heard) = seen.heard.filter(|_| !unclocked && !binding) else { return };
        // Sent again beside a silent body, it has `callMs` anew.
        let calls = if seen.beside { 2 } else { 1 };
        let (silent, most) = (
            (now - heard).saturating_sub(seen.rested + seen.slept),
            seen.bounds.call * calls + seen.bounds.recovery,
        );
        let call = seen.plan;
        self.expect(silent <= most + 1_000, || {
            format!("call {call:?} failed by {reason:?} after {silent} us of silence, {most} are allowed")
        });
    }

    /// What can be said only when all is known.
    pub(crate) fn at_the_end(&mut self, server: &Server<'_>) {
        for watch in 0..self.watches.len() {
            let seen = &self.watches[watch];
            let (Some(plan), answered) = (seen.plan, seen.answered) else { continue };
            let executed = server.executed[plan];
            let truthful = seen.outcome.is_none_or(|outcome| outcome == Outcome::Unknown) || executed == 0;
            self.expect(truthful, || format!("call {plan} was executed, and says that it was not"));
            if self.schedule.must_answer(plan) {
                self.happened(Happened::MustAnswer);
                self.expect(answered, || {
                    format!("call {plan} met nothing but what passes, and was not answered")
                });
            }
        }
        for (plan, executed) in server.executed.iter().enumerate() {
            let once = self.schedule.calls[plan].tool == Tool::Once;
            self.expect(!once || *executed <= 1, || format!("call {plan} was executed {executed} times"));
        }
    }
}

/// Whether ids say less than they do elsewhere.
fn server_is_odd(schedule: &Schedule) -> bool {
    schedule.server.replays != Replays::Own
        || schedule.incidents.iter().any(|(_, what)| *what == Incident::Restart)
}
