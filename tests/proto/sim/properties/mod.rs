//! What must hold in every run. The judge sees what the client was given and what it did, and knows what the server
//! and the network really did.

mod eras;
mod events;
mod host;
mod names;
mod outcomes;
mod requests;
mod sessions;
mod states;
mod tasks;
mod waits;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use landfall::proto::{CallId, Event, HttpRequest, Load, Method, Output, Reason, Settlement};

use super::agenda::Time;
use super::clocks::Bounds;
use super::network::{LinkId, Mark};
use super::schedule::{CallPlan, Schedule, Scheduler};
use super::server::Server;
use super::shares::{Happened, Shares};
use super::tasks::is_poll;
use super::watch::Watch;
use eras::Eras;
use host::Host;
use sessions::Sessions;
use states::States;
use tasks::Tasks;

const SECOND: Time = 1_000_000;
const MINUTE: Time = 60 * SECOND;
/// A session with so many calls makes so many requests at most, whatever its server does.
const CALLS: usize = 10;
const PER_SECOND: usize = 20;
const PER_MINUTE: usize = 300;
/// Deadline, one of call and recovery, and one of first byte, connect, wait and idle; two of these in a race.
const TIMERS_PER_CALL: usize = 4;

pub(crate) struct Judge<'a> {
    schedule: &'a Schedule,
    /// The first property that did not hold.
    pub(crate) broken: Option<String>,
    pub(crate) shares: Shares,
    now: Time,
    /// The current client's handshake.
    handshake: Option<CallId>,
    /// What the current client carries besides the planned calls, and what has not settled of it.
    messages: Vec<CallId>,
    /// How calls ended.
    pub(crate) endings: Vec<String>,
    watches: Vec<Watch>,
    /// The calls of the current client.
    known: BTreeMap<CallId, usize>,
    generation: u32,
    /// What the bytes in hand mean, as far as the client has not come to it.
    marks: VecDeque<(usize, LinkId, Mark)>,
    /// Texts that were handed over, and how often.
    handed: BTreeMap<String, u32>,
    /// Texts that the server sent twice on one body: those are not judged.
    excused: BTreeSet<String>,
    /// Requests of the last minute.
    recent: VecDeque<Time>,
    closing: bool,
    closed: bool,
    sessions: Sessions,
    states: States,
    eras: Eras,
    tasks: Tasks,
    /// The machine slept.
    slept: bool,
    told_cancelled: BTreeSet<String>,
    host: Host,
    /// The clock stood still for a while: nothing is said of how much is made in a time.
    stood_still: bool,
    /// When something failed last.
    unwell: Time,
    /// Resumes and pings that were not answered yet, and when they were sent.
    asked: BTreeMap<LinkId, Time>,
    /// A message of a handshake is under way, and nothing came to it.
    greets: bool,
    /// The tools were listed, and nothing voided it since.
    listed: bool,
    /// Calls that settled since the last input: what a handler reports then is told before the outcome is.
    untold: BTreeSet<CallId>,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(schedule: &'a Schedule) -> Self {
        Self {
            schedule,
            broken: None,
            shares: Shares::default(),
            now: 0,
            handshake: None,
            messages: Vec::new(),
            endings: Vec::new(),
            watches: Vec::new(),
            known: BTreeMap::new(),
            generation: 0,
            marks: VecDeque::new(),
            handed: BTreeMap::new(),
            excused: BTreeSet::new(),
            recent: VecDeque::new(),
            closing: false,
            closed: false,
            sessions: Sessions::default(),
            states: States::default(),
            eras: Eras::default(),
            tasks: Tasks::default(),
            slept: false,
            told_cancelled: BTreeSet::new(),
            host: Host::default(),
            stood_still: false,
            unwell: 0,
            asked: BTreeMap::new(),
            greets: false,
            listed: false,
            untold: BTreeSet::new(),
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

    /// The watch of a call of the current client.
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

    fn live(&self, call: CallId) -> Option<usize> {
        self.watched(call).filter(|watch| self.watches[*watch].ended.is_none())
    }

    pub(crate) fn has_live_calls(&self) -> bool {
        self.watches.iter().any(|watch| watch.ended.is_none())
    }

    pub(crate) fn on_message(&mut self, message: CallId) {
        self.messages.push(message);
    }

    pub(crate) fn on_connecting(&mut self, now: Time, handshake: Option<CallId>) {
        self.eras_begin(now);
        self.handshake = handshake;
        self.messages.clear();
    }

    pub(crate) fn on_made(&mut self, now: Time, call: CallId, plan: Option<usize>) {
        let bounds = Bounds::of(self.schedule, plan.map(|plan| &self.schedule.calls[plan]));
        self.known.insert(call, self.watches.len());
        self.watches.push(Watch::new(now, call, plan, bounds));
    }

    /// The server said what its tools are: that holds for what was sent, whatever it says later.
    fn on_listed(&mut self) {
        self.listed = true;
        for watch in self.watches.iter_mut().filter(|watch| watch.was_sent()) {
            watch.hinted = true;
        }
    }

    pub(crate) fn on_cancel(&mut self, plan: usize, because: Option<&'static str>) {
        self.note_task_unwanted(plan);
        for watch in self.watches.iter_mut().filter(|watch| watch.plan == Some(plan)) {
            (watch.cancelled, watch.because) = (true, because);
        }
    }

    pub(crate) fn on_close(&mut self) {
        self.closing = true;
    }

    /// The wrapper settles what is live: each, with its plan and its last token where it can go on from there. A token
    /// says nothing of its session: whoever keeps one keeps that, too, and takes it up in no other.
    pub(crate) fn on_trap(&mut self, now: Time, session: Option<String>) -> Vec<Option<(usize, String)>> {
        let mut again = Vec::new();
        for watch in self.watches.iter_mut().filter(|watch| watch.ended.is_none()) {
            watch.ended = Some(now);
            self.endings.push("trap".to_string());
            let told = watch.told.take().filter(|(_, told_in)| *told_in == session && watch.posts.len() == 1);
            again.push(watch.plan.zip(told.map(|(token, _)| token)));
        }
        self.known.clear();
        self.untold.clear();
        self.recent.clear();
        self.asked.clear();
        if session.is_some() {
            // The next client has no memory of what came in the session.
            self.excused.extend(self.handed.keys().cloned());
        }
        self.sessions = Sessions::known(session);
        self.host = Host::default();
        self.states = States::default();
        self.tasks = Tasks::default();
        self.listed = false;
        self.generation += 1;
        again
    }

    /// A call goes on from this token. What came after it may come again.
    pub(crate) fn on_taken_up(&mut self, call: CallId, token: &str, server: &Server<'_>) {
        let Some(watch) = self.watched(call) else { return };
        let name: String = token.bytes().map(char::from).collect();
        let plan = self.watches[watch].plan;
        let works = server.works.iter().enumerate().filter(|(_, work)| Some(work.call) == plan);
        let found = works.rev().find_map(|(number, work)| {
            let place = work.events.iter().rposition(|event| event.is_named(&name))?;
            Some((number, place))
        });
        // What the user was told of this call before, he knows.
        let warned = self.watches.iter().any(|seen| seen.plan == plan && seen.warned);
        let seen = &mut self.watches[watch];
        (seen.adopts, seen.warned) = (true, warned);
        let Some((work, place)) = found else { return };
        let event = &server.works[work].events[place];
        seen.trail.begin_at(work, place, (event.id.as_ref() != Some(&name)).then_some(name));
        for event in server.works.iter().flat_map(|work| &work.events) {
            self.excused.extend(event.texts.iter().filter(|text| self.handed.contains_key(*text)).cloned());
        }
    }

    /// Something comes to the client: what it settled before was told by then.
    pub(crate) fn on_input(&mut self) {
        self.untold.clear();
    }

    /// Something came out of the client.
    pub(crate) fn on_output(&mut self, now: Time, output: &Output) {
        self.now = now;
        // A call made afterwards is told so.
        let told = match output {
            Output::Settle(_, _, Settlement::Failed(failure)) => failure.reason == Reason::Closed,
            Output::Event(Some(call), _, Event::EventSkipped { .. }) => self.untold.contains(call),
            _ => false,
        };
        let closed = self.closed && !told;
        self.expect(!closed, || format!("nothing moves after Closed: {output:?}"));
        if *output == Output::Closed {
            self.closed = true;
            self.check_end_is_told();
        }
        // How often a session is begun has bounds of its own.
        let begins = |request: &HttpRequest| {
            let body = request.body.as_deref().unwrap_or_default();
            let finds = self.eras.spoken.is_none() && body.contains("server/discover");
            finds || body.contains("\"initialize\"") || body.contains("notifications/initialized")
        };
        let hurries = self.schedule.client.scheduler == Some(Scheduler::Hurries);
        let bounded = !self.stood_still && !hurries;
        // That a call is made is the user's doing.
        let is_first = |request: &HttpRequest| {
            let watch = request.call.and_then(|call| self.watched(call));
            watch.is_some_and(|watch| self.watches[watch].posts.is_empty())
        };
        // Where a redirect leads to is part of the same attempt: five of them at most.
        let is_hop = |request: &HttpRequest| {
            let watch = request.call.and_then(|call| self.watched(call));
            watch.is_some_and(|watch| self.watches[watch].hop)
        };
        // How often a task is asked for has a bound of its own.
        let counts = |request: &&HttpRequest| {
            bounded && !begins(request) && !is_first(request) && !is_hop(request) && !is_poll(request)
        };
        if let Some(request) = transmitted(output).filter(counts) {
            self.recent.push_back(now);
            self.recent.retain(|at| *at + MINUTE > now);
            let second = self.recent.iter().rev().take_while(|at| **at + SECOND > now).count();
            let (minute, many) = (self.recent.len(), self.watches.len().saturating_sub(CALLS));
            self.expect(second <= PER_SECOND + 2 * many, || {
                format!("no storm: {second} requests in a second, {request:?}")
            });
            self.expect(minute <= PER_MINUTE + 30 * many, || {
                format!("no storm: {minute} requests in a minute, {request:?}")
            });
        }
    }

    /// Timers belong to what has not ended: a few per call, and two of the session (its next probe, and the DELETE).
    pub(crate) fn on_drained(&mut self, load: Load) {
        let most = 2 + load.calls * TIMERS_PER_CALL;
        self.check_ended();
        self.delivered();
        self.expect(load.timers <= most, || format!("timers outlive their calls: {load:?}"));
        let live = self.known.values().filter(|watch| self.watches[**watch].ended.is_none()).count();
        self.expect(load.calls >= live, || format!("{live} calls are live, and the client has {load:?}"));
    }

    /// All is quiet: every call has ended.
    pub(crate) fn at_rest(&mut self) {
        if let Some(watch) = self.watches.iter().find(|watch| watch.ended.is_none()) {
            self.breaks(format!("call {:?} never ended", watch.plan));
        }
        let carried = self.messages.first().copied();
        self.expect(carried.is_none(), || format!("a message of the Client's never ended: {carried:?}"));
        self.check_trial();
        self.check_tasks_told();
        let (closing, closed) = (self.closing, self.closed);
        self.expect(closed || !closing, || "close never ended".to_string());
    }

    fn happened(&mut self, what: Happened) {
        self.shares.happened(what);
    }
}

fn transmitted(output: &Output) -> Option<&HttpRequest> {
    match output {
        Output::Transmit(_, request) => Some(request),
        _ => None,
    }
}
