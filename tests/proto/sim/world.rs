//! One run: a client, its user, the network and the server, in virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use landfall::proto::{CallId, Client, Era, Event, ExchangeId, Input, Instant, Load, Output, SessionFacts};

use super::agenda::{Agenda, Rng, Time};
use super::carrier::Carrier;
use super::happening::Happening;
use super::network::{Fault, LinkId, Network};
use super::options::client;
use super::properties::Judge;
use super::schedule::{Broken, Incident, Schedule};
use super::server::Server;
use super::shares::{Happened, Shares};
use super::trace::Trace;

/// What became of a run.
pub(crate) struct Run {
    /// The first property that did not hold.
    pub(crate) broken: Option<String>,
    pub(crate) trace: u64,
    pub(crate) shares: Shares,
    pub(crate) endings: Vec<String>,
    pub(crate) inputs: u64,
    pub(crate) log: Vec<String>,
}

/// The epoch of every run.
const START: Time = 1_000_000_000;
/// More inputs than any schedule needs: a run that takes more does not come to rest.
const MOST_INPUTS: u64 = 200_000;

pub(super) struct World<'a> {
    pub(super) schedule: &'a Schedule,
    pub(super) now: Time,
    pub(super) agenda: Agenda<Happening>,
    pub(super) client: Client,
    /// As the client told it last.
    facts: Option<SessionFacts>,
    /// What the session speaks that the client began last.
    pub(super) era: Option<Era>,
    /// Counts the clients: a trap takes one away.
    pub(super) generation: u32,
    /// Sessions that this client has replaced.
    replaced: u64,
    /// It was looked whether what was done last began another.
    is_told_of: bool,
    pub(super) wake: Option<Time>,
    /// Requests that are about to be handed to fetch.
    unsent: VecDeque<ExchangeId>,
    pub(super) network: Network,
    /// The current client's exchanges.
    pub(super) exchanges: BTreeMap<ExchangeId, LinkId>,
    pub(super) server: Server<'a>,
    pub(super) judge: Judge<'a>,
    pub(super) rng: Rng,
    pub(super) outage: Option<(Time, Broken)>,
    pub(super) handshakes: usize,
    pub(super) polls: usize,
    /// The machine sleeps until then.
    asleep: Time,
    /// Calls and incidents that are still to come.
    to_come: usize,
    /// The credentials in use, and how often others were asked for.
    pub(super) credentials: u32,
    pub(super) provided: usize,
    /// The latest wait that the host is to end, by call; and how many there were.
    pub(super) scheduled: BTreeMap<CallId, u64>,
    pub(super) waits: u64,
    pub(super) closed: bool,
    /// The Client whose messages are carried.
    pub(super) carrier: Carrier,
    pub(super) shares: Shares,
    pub(super) trace: Trace,
    pub(super) inputs: u64,
}

/// Runs a schedule; with `logging`, what happened is told line by line.
pub(crate) fn run(schedule: &Schedule, logging: bool) -> Run {
    let mut world = World::new(schedule, logging);
    world.connect();
    world.until_rest();
    world.rest("all is done");
    if !world.closed && world.judge.broken.is_none() {
        world.close();
        world.until_rest();
        world.rest("the client was closed");
    }
    world.finish()
}

pub(super) fn instant(time: Time) -> Instant {
    Instant::from_micros(time)
}

impl<'a> World<'a> {
    fn new(schedule: &'a Schedule, logging: bool) -> Self {
        let mut agenda = Agenda::new();
        for (number, call) in schedule.calls.iter().enumerate() {
            let at = START + u64::from(call.at) * 1_000;
            agenda.plan(at, Happening::Make(number));
            if let Some(cancel) = call.cancel {
                agenda.plan(at + u64::from(cancel) * 1_000, Happening::Cancel(number));
            }
            if let Some(misses) = call.misses {
                agenda.plan(at + u64::from(misses) * 1_000, Happening::Missing(number));
            }
        }
        for (at, incident) in &schedule.incidents {
            agenda.plan(START + u64::from(*at) * 1_000, Happening::Incident(*incident));
        }
        Self {
            schedule,
            now: START,
            agenda,
            client: client(schedule, 0, None),
            generation: 0,
            replaced: 0,
            is_told_of: false,
            wake: None,
            unsent: VecDeque::new(),
            network: Network::new(schedule.seed),
            exchanges: BTreeMap::new(),
            server: Server::new(schedule),
            judge: Judge::new(schedule),
            rng: Rng::new(schedule.seed ^ 0x0047_0041),
            facts: None,
            era: None,
            outage: None,
            handshakes: 0,
            polls: 0,
            asleep: 0,
            to_come: schedule.calls.len() + schedule.incidents.len(),
            credentials: 0,
            provided: 0,
            scheduled: BTreeMap::new(),
            waits: 0,
            closed: false,
            carrier: Carrier::default(),
            shares: Shares::default(),
            trace: Trace::new(logging),
            inputs: 0,
        }
    }

    fn finish(mut self) -> Run {
        self.judge.at_the_end(&self.server);
        let (mut shares, plan) = (self.shares, &self.schedule.client);
        for (is_so, what) in [(plan.page, Happened::Page), (plan.until_headers, Happened::UntilHeaders)] {
            if is_so {
                shares.happened(what);
            }
        }
        shares.join(self.server.shares);
        shares.join(self.judge.shares);
        Run {
            broken: self.judge.broken,
            trace: self.trace.hash(),
            shares,
            endings: self.judge.endings,
            inputs: self.inputs,
            log: self.trace.into_lines(),
        }
    }

    /// Lets time pass until nothing is planned any more.
    fn until_rest(&mut self) {
        while self.judge.broken.is_none() {
            let network_first = self.schedule.client.network_first;
            let listens = self.listens();
            if listens && self.to_come == 0 && !self.judge.has_live_calls() {
                return; // What is left may go on for ever.
            }
            let wakes = match (self.wake.map(|wake| wake.max(self.asleep)), self.agenda.next()) {
                (None, None) => return,
                (Some(wake), Some(next)) => wake < next || (wake == next && !network_first),
                (wake, _) => wake.is_some(),
            };
            self.inputs += 1;
            if self.inputs > MOST_INPUTS {
                return self.judge.breaks("the run does not come to rest".to_string());
            }
            if wakes {
                self.now = self.now.max(self.wake.unwrap_or_default()).max(self.asleep);
                self.input(Input::Timeout);
            } else if let Some(at) = self.agenda.next() {
                self.now = self.now.max(at);
                if self.now < self.asleep && self.agenda.peek().is_some_and(Happening::is_clients) {
                    self.agenda.postpone(self.asleep);
                    continue;
                }
                let happening = self.agenda.take().expect("it was just seen");
                if !matches!(happening, Happening::Deliver(..)) {
                    self.trace.line(self.now, "", |line| write!(line, "{happening:?}"));
                }
                self.happen(happening);
            }
            self.take_effects();
        }
    }

    /// Whether a stream is open for what belongs to no call.
    fn listens(&self) -> bool {
        (self.schedule.client.listens || self.era == Some(Era::Sse)) && !self.closed
    }

    /// Nothing is planned: nothing may be held either.
    fn rest(&mut self, when: &str) {
        let load = self.client.load();
        if self.listens() {
            return;
        }
        if self.judge.broken.is_none() && load != Load::default() {
            self.judge.breaks(format!("nothing is left when {when}: {load:?}"));
        }
        if self.judge.broken.is_none() {
            self.judge.at_rest();
        }
    }

    fn happen(&mut self, happening: Happening) {
        self.to_come -= usize::from(matches!(happening, Happening::Make(_) | Happening::Incident(_)));
        match happening {
            Happening::Make(number) => self.make(number),
            Happening::Cancel(number) => {
                let Some(call) = self.judge.live_call(number) else { return };
                self.shares.happened(Happened::Cancel);
                self.cancel(number, call);
                self.drain();
            }
            Happening::Answer(generation, body) if generation == self.generation => {
                let answer = self.client.answer(instant(self.now), &body);
                if let Some(answer) = answer {
                    self.shares.happened(Happened::CarriedAnswer);
                    self.judge.on_message(answer);
                }
                self.drain();
            }
            Happening::Handled(generation, call, key, ok) if generation == self.generation => {
                self.judge.on_handled(call, key, ok);
                self.client.handled(instant(self.now), call, key..=key, ok);
                self.drain();
            }
            Happening::Missing(number) => {
                let Some(call) = self.judge.live_call(number) else { return };
                self.shares.happened(Happened::Reported);
                self.judge.on_missing(number);
                self.client.report_gap(instant(self.now), call);
                self.drain();
            }
            Happening::Provided(generation, given) if generation == self.generation => self.provided(given),
            Happening::Reconnect(generation, call, wait)
                if generation == self.generation && self.scheduled.get(&call) == Some(&wait) =>
            {
                self.client.reconnect(instant(self.now), call);
                self.drain();
            }
            Happening::Says(generation, word) if generation == self.generation => self.say(word),
            Happening::Answer(..)
            | Happening::Says(..)
            | Happening::Handled(..)
            | Happening::Provided(..)
            | Happening::Reconnect(..) => {}
            Happening::Incident(incident) => self.incident(incident),
            Happening::Arrive(link) => self.arrive(link),
            Happening::Deliver(link, delivery) => self.deliver(link, delivery),
            Happening::Flush(link) => self.flush(link),
            Happening::Step(work) => self.server.step(work),
            Happening::Notice(link) => self.server.noticed(self.now, link),
            Happening::Listen(link) => self.server.listen_on(self.now, link),
        }
    }

    fn connect(&mut self) {
        let handshake = self.client.connect(instant(self.now));
        self.judge.on_connecting(self.now, handshake);
        if self.schedule.client.carries.is_none() {
            self.drain();
            return self.list();
        }
        let session = self.facts.as_ref().and_then(|facts| facts.session_id.clone());
        self.carry(session.is_some());
        if session.is_some() {
            self.judge.on_ready(self.now, session);
        }
        self.drain();
    }

    fn incident(&mut self, incident: Incident) {
        match incident {
            Incident::SessionDies(_)
            | Incident::ListChanged
            | Incident::Expire
            | Incident::Restart
            | Incident::Gateway(_) => {
                let before = self.server.deaths;
                self.server.incident(self.now, incident);
                self.note_deaths(before);
            }
            // A machine that sleeps does neither.
            Incident::Trap | Incident::Close if self.now < self.asleep => {}
            Incident::Trap if !self.closed => self.trap(),
            Incident::Outage(ms, broken) => {
                self.shares.happened(Happened::Outage);
                self.outage = Some((self.now + u64::from(ms) * 1_000, broken));
                let open: Vec<_> =
                    self.network.links.iter().enumerate().filter(|(_, l)| l.is_open()).collect();
                for link in open.into_iter().map(|(id, _)| id).collect::<Vec<_>>() {
                    let fault = if broken == Broken::Cut { Fault::Cut } else { Fault::Silence };
                    self.server.lose(link, fault);
                }
            }
            Incident::Sleep(ms) => {
                self.shares.happened(Happened::Slept);
                self.asleep = self.asleep.max(self.now + u64::from(ms) * 1_000);
                self.judge.on_sleep(self.now, self.asleep);
            }
            Incident::ClockBack(ms) => {
                self.shares.happened(Happened::ClockBack);
                self.agenda.hasten(self.now, u64::from(ms) * 1_000);
                self.outage =
                    self.outage.map(|(until, how)| (until.saturating_sub(u64::from(ms) * 1_000), how));
                // Who wakes with the rest of the world wakes that much earlier, too: else what waited for it would be heard
                // behind what came later.
                if self.now < self.asleep {
                    self.asleep = self.asleep.saturating_sub(u64::from(ms) * 1_000).max(self.now);
                }
                self.judge.on_clock_back(self.now, self.asleep);
            }
            Incident::Wake if self.now >= self.asleep => self.input(Input::Timeout),
            Incident::Close if !self.closed => {
                self.shares.happened(Happened::Close);
                self.close();
            }
            Incident::Trap | Incident::Close | Incident::Wake => {}
        }
    }

    fn close(&mut self) {
        self.closed = true;
        self.judge.on_close();
        self.client.close(instant(self.now));
        self.drain();
    }

    /// What was done may have begun another session. That a ping hangs is said before.
    fn note_replaced(&mut self, output: &Output) {
        let link = |exchange| self.exchanges.get(exchange).map(|link| &self.network.links[*link]);
        let is_ping = matches!(output, Output::Abort(exchange) if link(exchange).is_some_and(|link| link.call.is_none()));
        if is_ping || std::mem::replace(&mut self.is_told_of, true) {
            return;
        }
        let replaced = self.client.metrics(false).levels.l2.tried;
        if std::mem::replace(&mut self.replaced, replaced) != replaced {
            self.era = None;
            self.judge.on_replaced();
        }
    }

    /// The module traps: what the wrapper does then.
    fn trap(&mut self) {
        let carries = self.schedule.client.carries.is_some();
        let goes_on =
            |known: &SessionFacts| self.schedule.client.goes_on && (!carries || known.session_id.is_some());
        let known = self.facts.take().filter(goes_on);
        let session = known.as_ref().and_then(|known| known.session_id.clone());
        let again = self.judge.on_trap(self.now, session);
        if !again.is_empty() {
            self.shares.happened(Happened::Trap);
        }
        for (_, link) in std::mem::take(&mut self.exchanges) {
            self.abort(link);
        }
        self.generation += 1;
        // Whatever response comes on the stream of a token is the call's: what is another's, by its stream or by an id
        // that a call of the Client before had, too, can't be told from it.
        let goes_on = known.is_some() && !self.server.mixes_streams() && !self.schedule.shares_ids();
        self.facts.clone_from(&known);
        self.era = None;
        self.client = client(self.schedule, self.generation, known);
        self.replaced = 0;
        self.connect();
        for (plan, token) in again.into_iter().filter(|_| goes_on).flatten() {
            self.take_up(plan, token);
        }
    }

    pub(super) fn abort(&mut self, link: LinkId) {
        self.network.links[link].gone = true;
        let notice = u64::from(self.schedule.server.notice) * 1_000;
        self.agenda.plan(self.now + self.rng.delay() + notice, Happening::Notice(link));
    }

    pub(super) fn input(&mut self, input: Input<'_>) {
        self.trace.input(self.now, &input);
        self.judge.on_input();
        self.client.handle_input(instant(self.now), input);
        self.drain();
    }

    /// Obeys the client until it has nothing more to say.
    pub(super) fn drain(&mut self) {
        self.is_told_of = false;
        loop {
            let output = self.client.poll_output();
            self.note_replaced(&output);
            if let Output::Timeout(next) = output {
                self.judge.on_read(&self.server);
                self.judge.on_drained(self.client.load());
                self.trace.wake(next.map(|(at, _)| at));
                self.wake = next.map(|(at, _)| micros(at));
                let Some(exchange) = self.unsent.pop_front() else { return };
                self.judge.on_input();
                self.client.handle_input(instant(self.now), Input::Sent(exchange));
                self.is_told_of = false;
                continue;
            }
            self.trace.output(self.now, &output, &self.client);
            if self.judge.broken.is_some() {
                continue;
            }
            self.judge.on_output(self.now, &output);
            self.obey(output);
        }
    }

    fn obey(&mut self, output: Output) {
        match output {
            Output::Transmit(exchange, request) => {
                self.unsent.push_back(exchange);
                self.transmit(exchange, request);
            }
            Output::Read(exchange, reads) => self.read(exchange, reads),
            Output::Abort(exchange) => {
                if let Some(&link) = self.exchanges.get(&exchange) {
                    self.judge.on_abort(self.now, link, &self.network);
                    self.abort(link);
                }
            }
            Output::Event(call, _, event) => {
                let (text, key) = match &event {
                    Event::Message { message, key, .. } | Event::Progress { message, key, .. } => {
                        (self.client.text(*message), *key)
                    }
                    _ => ("", None),
                };
                self.judge.on_event(self.now, call, &event, text, &self.server);
                if let Some((call, key)) = call.zip(key) {
                    self.handle(call, key);
                }
            }
            Output::Token(call, token) => self.judge.on_token(call, &token, &self.server),
            Output::Settle(call, at, settlement) => {
                let at = micros(at);
                self.judge.on_settle(self.now, at, call, &settlement, &self.client, &self.server);
                self.heed(call, &settlement);
            }
            Output::Request(call, _, message) => self.question(call, self.client.text(message).to_string()),
            Output::Persist(facts) => self.facts = Some(*facts),
            Output::Ready(_) => {
                let session = self.facts.as_ref().and_then(|facts| facts.session_id.clone());
                self.era = self.facts.as_ref().and_then(|facts| facts.era);
                self.judge.on_agreed(self.era);
                self.judge.on_ready(self.now, session);
            }
            Output::Authorize(call, challenge) => self.provide(call, challenge),
            Output::Schedule(call, wait, nth) => self.schedule(call, wait, nth),
            Output::RequestCancelled(id) => {
                self.shares.happened(Happened::Unasked);
                self.judge.on_request_cancelled(&id.text());
            }
            // No tool of its server declares anything.
            Output::Declare(call) => self.client.declare(instant(self.now), call, Vec::new()),
            Output::Tools(..) | Output::RequestOver(_) | Output::Closed | Output::Timeout(_) => {}
        }
    }
}

/// Microseconds of an instant of the core's.
pub(crate) fn micros(at: Instant) -> Time {
    u64::try_from(at.since(Instant::default()).as_micros()).unwrap_or(u64::MAX)
}
