//! What must hold in every run. The judge sees what the client was given and what it did, and knows what the server
//! and the network really did.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;

use landfall::proto::{CallId, Client, Event, Method, Output, Outcome, Reason, Settlement};

use super::agenda::Time;
use super::clocks::Bounds;
use super::network::{Delivery, Link, LinkId, Mark, Network};
use super::schedule::{CallPlan, Schedule, Tool};
use super::server::Server;
use super::shares::{Happened, Shares};
use super::trail::{Place, Trail};
use super::work::Work;

/// What is known of one POST of a call.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Sent {
    /// It may have been executed.
    Unknown,
    /// It was not: the runtime's code, or the server's status, proves it.
    Unexecuted,
}

/// A call of the user's, watched.
pub(crate) struct Watch {
    plan: Option<usize>,
    call: CallId,
    made: Time,
    bounds: Bounds,
    pub(crate) ended: Option<Time>,
    cancelled: bool,
    /// What it claims of its execution.
    outcome: Option<Outcome>,
    posts: Vec<(LinkId, Sent)>,
    gets: usize,
    trail: Trail,
    /// When resumes were made since something new came.
    barren: Vec<Time>,
    /// The server's `retry` on this stream.
    retry: Option<u32>,
    /// When the server ended the last exchange; none if the client itself did.
    dropped: Option<Time>,
    /// No attempt before this: `Retry-After`.
    floor: Option<Time>,
    /// The last message on its stream, or its first POST.
    heard: Option<Time>,
    /// When a time began that no clock counts.
    resting: Option<Time>,
    rested: Time,
    asked: bool,
    warned: bool,
    gaps: u32,
}

pub(crate) struct Judge<'a> {
    schedule: &'a Schedule,
    pub(crate) broken: Option<String>,
    pub(crate) shares: Shares,
    pub(crate) endings: Vec<String>,
    watches: Vec<Watch>,
    /// The calls of the current client.
    known: BTreeMap<CallId, usize>,
    generation: u32,
    /// Texts that were handed over.
    handed: BTreeSet<String>,
    /// Texts that the server sent twice on one body: those are not judged.
    excused: BTreeSet<String>,
    /// Requests of the last second.
    recent: VecDeque<Time>,
    closing: bool,
    closed: bool,
    deletes: u32,
    /// The session that the client uses.
    session: Option<String>,
    /// Sessions that the client has reason to think dead.
    doubted: BTreeSet<String>,
    initializing: Option<LinkId>,
    initialized: Vec<Time>,
    told_cancelled: BTreeSet<String>,
    listed: bool,
}

const SECOND: Time = 1_000_000;

impl<'a> Judge<'a> {
    pub(crate) fn new(schedule: &'a Schedule) -> Self {
        Self {
            schedule,
            broken: None,
            shares: Shares::default(),
            endings: Vec::new(),
            watches: Vec::new(),
            known: BTreeMap::new(),
            generation: 0,
            handed: BTreeSet::new(),
            excused: BTreeSet::new(),
            recent: VecDeque::new(),
            closing: false,
            closed: false,
            deletes: 0,
            session: None,
            doubted: BTreeSet::new(),
            initializing: None,
            initialized: Vec::new(),
            told_cancelled: BTreeSet::new(),
            listed: false,
        }
    }

    /// A property does not hold. The first one is kept.
    pub(crate) fn breaks(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }

    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.breaks(what());
        }
    }

    pub(crate) fn watched(&self, call: CallId) -> Option<usize> {
        self.known.get(&call).copied()
    }

    pub(crate) fn plan(&self, watch: usize) -> Option<&'a CallPlan> {
        self.schedule.calls.get(self.watches[watch].plan?)
    }

    pub(crate) fn plan_of(&self, call: CallId) -> Option<&'a CallPlan> {
        self.plan(self.watched(call)?)
    }

    /// How many requests of this method the call has made.
    pub(crate) fn count(&self, watch: usize, method: Method) -> usize {
        match method {
            Method::Get => self.watches[watch].gets,
            _ => self.watches[watch].posts.len(),
        }
    }

    /// The live call of this plan.
    pub(crate) fn live_call(&self, plan: usize) -> Option<CallId> {
        let watch = self.watches.iter().find(|watch| watch.plan == Some(plan) && watch.ended.is_none())?;
        Some(watch.call)
    }

    pub(crate) fn has_live_calls(&self) -> bool {
        self.watches.iter().any(|watch| watch.ended.is_none())
    }

    pub(crate) fn on_made(&mut self, now: Time, call: CallId, plan: Option<usize>) {
        let bounds = Bounds::of(self.schedule, plan.map(|plan| &self.schedule.calls[plan]));
        self.known.insert(call, self.watches.len());
        self.watches.push(Watch {
            plan,
            call,
            made: now,
            bounds,
            ended: None,
            cancelled: false,
            outcome: None,
            posts: Vec::new(),
            gets: 0,
            trail: Trail::default(),
            barren: Vec::new(),
            retry: None,
            dropped: None,
            floor: None,
            heard: None,
            resting: None,
            rested: 0,
            asked: false,
            warned: false,
            gaps: 0,
        });
    }

    pub(crate) fn on_cancel(&mut self, plan: usize) {
        for watch in self.watches.iter_mut().filter(|watch| watch.plan == Some(plan)) {
            watch.cancelled = true;
        }
    }

    pub(crate) fn on_close(&mut self) {
        self.closing = true;
    }

    /// The wrapper settles what is live. Whether anything was.
    pub(crate) fn on_trap(&mut self, now: Time) -> bool {
        let mut any = false;
        for watch in self.watches.iter_mut().filter(|watch| watch.ended.is_none()) {
            watch.ended = Some(now);
            self.endings.push("trap".to_string());
            any = true;
        }
        self.known.clear();
        self.recent.clear();
        self.initialized.clear();
        self.initializing = None;
        self.session = None;
        self.listed = false;
        self.generation += 1;
        any
    }

    pub(crate) fn on_ready(&mut self, session: Option<String>) {
        self.session = session;
    }

    /// Something came out of the client.
    pub(crate) fn on_output(&mut self, now: Time, output: &Output) {
        // A call made afterwards is told so.
        let told = matches!(output, Output::Settle(_, _, Settlement::Failed(f)) if f.reason == Reason::Closed);
        let closed = self.closed && !told;
        self.expect(!closed, || format!("nothing moves after Closed: {output:?}"));
        self.closed |= *output == Output::Closed;
        if let Output::Transmit(_, request) = output {
            self.recent.push_back(now);
            self.recent.retain(|at| *at + SECOND > now);
            let (made, most) = (self.recent.len(), 20 + self.watches.len());
            self.expect(made <= most, || format!("no storm: {made} requests in a second, {request:?}"));
        }
    }

    pub(crate) fn on_transmit(&mut self, now: Time, id: LinkId, network: &Network, server: &Server<'_>) {
        let link = &network.links[id];
        let request = &link.request;
        let header = |name| request.headers.iter().find(|(known, _)| *known == name).map(|(_, v)| v.as_str());
        let session = header("mcp-session-id");
        let body = request.body.as_deref().unwrap_or_default();
        if body.contains("\"method\":\"initialize\"") {
            return self.on_initialize(now, id, network);
        }
        let known = self.session.as_deref();
        if let (Some(known), Some(session)) = (known, session) {
            let (same, known) = (known == session, known.to_string());
            self.expect(same, || format!("requests go to the session in use, {known}: {request:?}"));
        }
        if body.contains("notifications/cancelled") {
            let fresh = self.told_cancelled.insert(body.to_string());
            self.expect(fresh, || format!("the server is told once that a call is cancelled: {body}"));
        }
        if request.method == Method::Delete {
            self.deletes += 1;
            let once = self.deletes == 1;
            self.expect(once, || "one DELETE".to_string());
        }
        let Some(watch) = link.call else { return };
        match request.method {
            Method::Get => self.on_resume(now, watch, session, header("last-event-id"), server),
            _ => self.on_post(now, id, watch),
        }
        self.check_connections(watch, network);
    }

    fn on_initialize(&mut self, now: Time, id: LinkId, network: &Network) {
        let pending = self.initializing.is_some_and(|link| network.links[link].is_open());
        self.expect(!pending, || "one handshake at a time".to_string());
        self.initializing = Some(id);
        self.initialized.push(now);
        let minute = self.initialized.iter().filter(|at| **at + 60 * SECOND > now).count();
        // Three replacements, and the first handshake of all.
        self.expect(minute <= 4, || format!("{minute} handshakes in a minute"));
        if let Some(session) = self.session.take() {
            let doubted = self.doubted.contains(&session);
            self.expect(doubted, || format!("session {session} is replaced, and nothing spoke against it"));
        }
    }

    fn on_post(&mut self, now: Time, id: LinkId, watch: usize) {
        let plan = self.plan(watch);
        let listed = self.listed;
        let seen = &mut self.watches[watch];
        let may_be_executed = seen.posts.iter().any(|(_, sent)| *sent == Sent::Unknown);
        let safe = plan.is_none_or(|plan| match plan.tool {
            Tool::Once | Tool::Notify => false,
            Tool::Same | Tool::Pure => listed,
            Tool::Vouched | Tool::Read => true,
        });
        let early = seen.floor.filter(|floor| now < *floor);
        seen.posts.push((id, Sent::Unknown));
        seen.trail = Trail::default();
        seen.retry = None;
        seen.rest_over(now);
        if seen.heard.is_none() {
            (seen.heard, seen.rested) = (Some(now), 0);
        }
        let call = seen.plan;
        self.expect(safe || !may_be_executed, || format!("call {call:?} is not safe, and was sent twice"));
        self.expect(early.is_none(), || format!("call {call:?} was sent again before its Retry-After"));
    }

    fn on_resume(
        &mut self,
        now: Time,
        watch: usize,
        session: Option<&str>,
        cursor: Option<&str>,
        server: &Server<'_>,
    ) {
        let seen = &mut self.watches[watch];
        let call = seen.plan;
        seen.gets += 1;
        seen.rest_over(now);
        seen.barren.push(now);
        // After the third attempt in vain, at most three a second.
        let quick = match seen.barren.as_slice() {
            [_, _, _, .., first, _, _, last] => last - first < SECOND,
            _ => false,
        };
        let pause = seen.dropped.take().map(|dropped| now - dropped);
        let hasty = pause.zip(seen.retry).is_some_and(|(pause, retry)| pause < u64::from(retry) * 1_000);
        let early = seen.floor.take().is_some_and(|floor| now < floor);
        let place = seen.trail.place(server);
        let (retry, right) = (seen.retry, seen.trail.allows(cursor.unwrap_or_default(), server));
        self.expect(right, || format!("call {call:?} resumes from {cursor:?}, and it is at {place:?}"));
        self.expect(!quick, || format!("call {call:?} polls in a storm"));
        self.expect(!hasty, || format!("call {call:?} resumed after {pause:?} us, and retry is {retry:?} ms"));
        self.expect(!early, || format!("call {call:?} resumed before its Retry-After"));
        let session = server.sessions.iter().position(|known| Some(known.id.as_str()) == session);
        let known = session.is_some_and(|session| server.find(session, cursor.unwrap_or_default()).is_some());
        self.expect(known, || format!("call {call:?} polls a cursor of another session"));
    }

    fn check_connections(&mut self, watch: usize, network: &Network) {
        let generation = self.generation;
        let open = |link: &&Link| link.generation == generation && link.is_open() && link.call.is_some();
        let open: Vec<_> = network.links.iter().filter(open).collect();
        let most = usize::from(self.schedule.client.max_concurrent);
        let count = open.len();
        self.expect(count <= most, || format!("{count} connections of {most}"));
        // A silent body may be raced by a resume; two at a time are never asked for.
        let gets = open.iter().filter(|l| l.call == Some(watch) && l.request.method == Method::Get);
        let (all, asking) = (gets.clone().count(), gets.filter(|link| !link.headed).count());
        self.expect(all <= 2 && asking <= 1, || format!("{all} resumes of one stream at a time"));
    }

    pub(crate) fn on_abort(&mut self, _: Time, link: &Link) {
        if let Some(watch) = link.call {
            self.watches[watch].dropped = None;
        }
    }

    /// Something comes to the client, on an exchange that it listens to.
    pub(crate) fn on_delivery(
        &mut self,
        now: Time,
        id: LinkId,
        delivery: &Delivery,
        network: &Network,
        server: &Server<'_>,
    ) {
        let link = &network.links[id];
        self.note_doubt(link, delivery);
        let Some(watch) = link.call else { return };
        let seen = &mut self.watches[watch];
        match delivery {
            Delivery::Head(head) => {
                let passes = matches!(head.status, 408 | 409 | 425 | 429 | 500..=599);
                let after = head.retry_after.as_deref().filter(|_| passes).and_then(|after| after.parse::<u64>().ok());
                seen.floor = after.map(|seconds| now + seconds * SECOND);
                if head.status != 200 {
                    seen.dropped = Some(now);
                }
                let refused = matches!(head.status, 400 | 401 | 403 | 404 | 405 | 406 | 410 | 415 | 429);
                if let Some(post) = seen.posts.iter_mut().find(|(post, _)| refused && *post == id) {
                    post.1 = Sent::Unexecuted;
                }
            }
            Delivery::Bytes(stretch) => {
                for (_, mark) in &stretch.marks {
                    self.on_mark(watch, id, mark, server);
                }
            }
            Delivery::End => seen.dropped = Some(now),
            Delivery::Failed(code) => {
                seen.dropped = Some(now);
                if let Some(post) = seen.posts.iter_mut().find(|(post, _)| !code.is_empty() && *post == id) {
                    post.1 = Sent::Unexecuted;
                }
            }
        }
    }

    /// What may make the client think that its session is dead.
    fn note_doubt(&mut self, link: &Link, delivery: &Delivery) {
        let header = link.request.headers.iter().find(|(known, _)| *known == "mcp-session-id");
        let Some((_, session)) = header else { return };
        let is_ping = link.request.body.as_deref().is_some_and(|body| body.contains("\"method\":\"ping\""));
        let doubtful = match delivery {
            Delivery::Head(head) => matches!(head.status, 400 | 401 | 404 | 410) || (is_ping && head.status >= 400),
            Delivery::Failed(_) => is_ping,
            _ => false,
        };
        if doubtful {
            self.doubted.insert(session.clone());
        }
    }

    fn on_mark(&mut self, watch: usize, link: LinkId, mark: &Mark, server: &Server<'_>) {
        let seen = &mut self.watches[watch];
        match *mark {
            Mark::Retry(ms) => seen.retry = Some(ms),
            Mark::Block { work, place, broken } => {
                let again = seen.trail.brought(work, place, broken, link);
                if again {
                    self.excused.extend(server.works[work].events[place].texts.iter().cloned());
                }
            }
        }
    }

    pub(crate) fn on_event(&mut self, now: Time, call: Option<CallId>, event: &Event, text: &str) {
        let Some(call) = call else { return };
        let live = self.watched(call).filter(|watch| self.watches[*watch].ended.is_none());
        let Some(watch) = live else {
            return self.breaks(format!("an event of a call that is not live: {call:?} {event:?}"));
        };
        let seen = &mut self.watches[watch];
        match event {
            Event::Message { .. } | Event::Progress { .. } => {
                seen.heard = Some(now);
                seen.rested = 0;
                seen.resting = None;
                seen.barren.clear();
                for text in texts(text) {
                    let is_new = self.handed.insert(text.to_string()) || self.excused.contains(text);
                    self.expect(is_new, || format!("{text} was handed over twice"));
                }
            }
            Event::Warning { code: "malformed_event", .. } => seen.warned = true,
            Event::Warning { .. } => {
                // A response that answers nothing is a message nevertheless.
                seen.heard = Some(now);
                seen.rested = 0;
            }
            Event::Polling { .. } | Event::Queued => seen.resting = Some(now),
            Event::InputRequired { .. } => seen.asked = true,
            Event::Resumed { .. } => self.shares.happened(Happened::Resumed),
            _ => {}
        }
    }

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
        if call == CallId(0) {
            return;
        }
        let live = self.watched(call).filter(|watch| self.watches[*watch].ended.is_none());
        let Some(watch) = live else {
            return self.breaks(format!("a settlement of a call that is not live: {call:?} {settlement:?}"));
        };
        let seen = &mut self.watches[watch];
        seen.rest_over(now);
        seen.ended = Some(now);
        let (plan, over) = (seen.plan, now.saturating_sub(seen.made + seen.bounds.deadline));
        self.expect(over == 0, || format!("call {plan:?} settled {over} us after its deadline"));
        match settlement {
            Settlement::Result { message, .. } => {
                self.shares.happened(Happened::Answered);
                self.endings.push("result".to_string());
                self.on_answer(watch, client.text(*message), server);
            }
            Settlement::Accepted => self.endings.push("accepted".to_string()),
            Settlement::Failed(failure) => {
                self.shares.happened(Happened::Failed);
                self.endings.push(format!("{:?}", failure.reason));
                self.watches[watch].outcome = Some(failure.outcome);
                self.on_failure(now, watch, failure.reason, failure.outcome, failure.retry_safe, server);
            }
        }
    }

    fn on_answer(&mut self, watch: usize, text: &str, server: &Server<'_>) {
        let Some(plan) = self.watches[watch].plan else {
            self.listed = true;
            return;
        };
        let answer: serde_json::Value = serde_json::from_str(text).expect("an answer is JSON");
        let work = answer["result"]["work"].as_u64().or(answer["error"]["data"]["work"].as_u64());
        let Some(work) = work.map(|work| &server.works[work as usize]) else {
            let refused = answer["error"]["code"] == -32_602;
            return self.expect(refused, || format!("call {plan} was answered by {text}"));
        };
        self.expect(work.call == plan, || format!("call {plan} got the answer to call {}", work.call));
        let seen = &self.watches[watch];
        let (warned, gaps) = (seen.warned, seen.gaps);
        for (place, event) in work.events.iter().enumerate() {
            let lost = event.texts.iter().any(|text| !self.handed.contains(text));
            let reported = (event.broken_once && warned) || gaps > 0 || was_skipped(work, place);
            self.expect(!lost || reported, || {
                format!("call {plan} was answered, {:?} was lost, and nobody was told", event.texts)
            });
        }
    }

    fn on_failure(
        &mut self,
        now: Time,
        watch: usize,
        reason: Reason,
        outcome: Outcome,
        retry_safe: bool,
        server: &Server<'_>,
    ) {
        let seen = &self.watches[watch];
        let call = seen.plan;
        let place = seen.trail.place(server);
        let due = seen.made + seen.bounds.deadline;
        let is_post_open = seen.posts.is_empty();
        let truthful = match reason {
            Reason::DeadlineExceeded => now == due,
            Reason::StreamLost => !matches!(place, Place::Cursor(_)),
            Reason::Cancelled => seen.cancelled,
            Reason::Closed => self.closing,
            Reason::ResumeRejected | Reason::RecoveryExhausted => seen.gets > 0 || !is_post_open,
            Reason::InternalError => false,
            _ => true,
        };
        self.expect(truthful, || format!("call {call:?} failed by {reason:?} at {now}, {place:?}"));
        let sent = !self.watches[watch].posts.is_empty();
        let plan = self.plan(watch);
        let vouched = plan.is_some_and(|plan| !matches!(plan.tool, Tool::Once | Tool::Notify));
        let unsafe_claim = retry_safe && outcome == Outcome::Unknown && plan.is_some() && !vouched;
        self.expect(!unsafe_claim, || format!("call {call:?} is called safe to retry after {reason:?}"));
        self.expect(sent || outcome == Outcome::NotSent, || format!("call {call:?} was never sent: {outcome:?}"));
        self.check_silence(now, watch, reason);
    }

    /// Without a message a call has `callMs` and `recoveryMs`, and the waits that no clock counts.
    fn check_silence(&mut self, now: Time, watch: usize, reason: Reason) {
        let seen = &self.watches[watch];
        let binding = self.schedule.client.max_concurrent < 32;
        let Some(heard) = seen.heard.filter(|_| !seen.asked && !binding) else { return };
        let (silent, most) = (now - heard - seen.rested, seen.bounds.call + seen.bounds.recovery);
        let call = seen.plan;
        self.expect(silent <= most + 1_000, || {
            format!("call {call:?} failed by {reason:?} after {silent} us of silence, {most} are allowed")
        });
    }

    /// All is quiet: every call has ended.
    pub(crate) fn at_rest(&mut self) {
        if let Some(watch) = self.watches.iter().find(|watch| watch.ended.is_none()) {
            self.breaks(format!("call {:?} never ended", watch.plan));
        }
        let (closing, closed) = (self.closing, self.closed);
        self.expect(closed || !closing, || "close never ended".to_string());
    }

    /// What can be said only when all is known.
    pub(crate) fn at_the_end(&mut self, server: &Server<'_>) {
        for watch in 0..self.watches.len() {
            let seen = &self.watches[watch];
            let (Some(plan), Some(outcome)) = (seen.plan, seen.outcome) else { continue };
            let executed = server.executed[plan];
            let truthful = outcome == Outcome::Unknown || executed == 0;
            self.expect(truthful, || format!("call {plan} is {outcome:?}, and was executed"));
        }
        for (plan, executed) in server.executed.iter().enumerate() {
            let once = self.schedule.calls[plan].tool == Tool::Once;
            self.expect(!once || *executed <= 1, || format!("call {plan} was executed {executed} times"));
        }
    }
}

impl Watch {
    fn rest_over(&mut self, now: Time) {
        if let Some(since) = self.resting.take() {
            self.rested += now - since;
        }
    }
}

fn was_skipped(work: &Work, place: usize) -> bool {
    work.skipped.iter().any(|range| range.contains(&place))
}

/// The unique texts in a message.
fn texts(message: &str) -> impl Iterator<Item = &str> {
    let mut rest = message;
    std::iter::from_fn(move || {
        let from = rest.find('~')?;
        let to = from + 1 + rest[from + 1..].find('~')?;
        let text = &rest[from..=to];
        rest = &rest[to + 1..];
        Some(text)
    })
}
