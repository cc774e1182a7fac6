//! What goes over the wire: requests to the server, responses to the client, and what takes them away.

use std::fmt::Write as _;

use landfall::proto::{Era, ExchangeId, HttpRequest, Input, IoFailure, Manner, Method, ResponseHead};

use super::happening::Happening;
use super::network::{Delivery, Fate, LinkId};
use super::schedule::{Broken, CallPlan, Reply, Resume};
use super::server::Effect;
use super::shares::Happened;
use super::tasks::is_poll;
use super::world::World;

impl World<'_> {
    pub(super) fn read(&mut self, exchange: ExchangeId, reads: bool) {
        let Some(&id) = self.exchanges.get(&exchange) else { return };
        let link = &mut self.network.links[id];
        self.judge.on_pause(link, reads);
        link.reading = reads;
        if reads && !link.waiting.is_empty() {
            self.agenda.plan(self.now, Happening::Flush(id));
        }
    }

    pub(super) fn flush(&mut self, id: LinkId) {
        while let Some(delivery) = Some(&mut self.network.links[id])
            .filter(|link| link.reading && !link.waiting.is_empty())
            .map(|link| link.waiting.remove(0))
        {
            self.hand_in(id, delivery);
        }
    }

    pub(super) fn transmit(&mut self, exchange: ExchangeId, request: HttpRequest) {
        // What asks for a task is no request of the call's, though it is made for it.
        let of = request.call.filter(|_| !is_poll(&request));
        let watched = of.and_then(|call| self.judge.watched(call));
        let plan = watched.and_then(|watch| self.judge.plan(watch));
        let fate = self.fate(&request, watched, plan);
        // It is part of the handshake: its loss is planned with that.
        let is_confirmation =
            request.body.as_deref().is_some_and(|b| b.contains("notifications/initialized"));
        let link = self.network.open(self.generation, exchange, request, watched, fate, self.credentials);
        self.network.links[link].made = self.now;
        self.network.links[link].greets = self.is_question(&self.network.links[link].request);
        self.exchanges.insert(exchange, link);
        self.judge.on_transmit(self.now, link, &self.network, &self.server);
        let lost = match (self.outage_now(), fate) {
            (Some(Broken::Cut), _) => Some(if self.rng.one_in(2) { "" } else { "ENETUNREACH" }),
            (Some(Broken::Silent), _) => return,
            (None, Fate::Post(Reply::Refused)) => Some("ECONNREFUSED"),
            (None, Fate::Post(Reply::CutBefore(false)) | Fate::Get(Resume::CutBefore)) => {
                self.shares.happened(Happened::Cut);
                Some("")
            }
            (None, Fate::Post(Reply::NoHead(false)) | Fate::Get(Resume::NoHead)) => {
                return self.shares.happened(Happened::HalfOpen);
            }
            (None, Fate::Plain) if !is_confirmation && self.rng.one_in(30) => Some(""),
            _ => None,
        };
        match lost {
            Some(code) => self.network.send(&mut self.agenda, self.now, link, Delivery::Failed(code)),
            None => self.network.request(&mut self.agenda, self.now, link),
        }
    }

    /// Whether a request asks what the server speaks. A modern session is probed by the same that found it.
    fn is_question(&self, request: &HttpRequest) -> bool {
        let asks = |method: &str| {
            request.body.as_deref().is_some_and(|b| b.contains(&format!("\"method\":\"{method}\"")))
        };
        match request.method {
            Method::Get => {
                let resumes = request.headers.iter().any(|(name, _)| name == "last-event-id");
                !resumes && !self.schedule.client.listens && request.manner != Manner::Bare
            }
            _ => asks("initialize") || (asks("server/discover") && self.era != Some(Era::Modern)),
        }
    }

    fn outage_now(&self) -> Option<Broken> {
        self.outage.filter(|(until, _)| self.now < *until).map(|(_, broken)| broken)
    }

    /// What the schedule has decided for this request.
    fn fate(&mut self, request: &HttpRequest, watched: Option<usize>, plan: Option<&CallPlan>) -> Fate {
        if self.is_question(request) {
            self.handshakes += 1;
            let reply = self.schedule.client.handshake.get(self.handshakes - 1).copied();
            let plain = if self.rng.one_in(2) { Reply::Json } else { Reply::Stream };
            return Fate::Post(reply.unwrap_or(plain));
        }
        if let Some(tasks) = self.schedule.era.tasks.as_ref().filter(|_| is_poll(request)) {
            self.polls += 1;
            let plain = if self.rng.one_in(2) { Reply::Json } else { Reply::Stream };
            return Fate::Post(tasks.polls.get(self.polls - 1).copied().unwrap_or(plain));
        }
        let (Some(watched), Some(plan)) = (watched, plan) else { return Fate::Plain };
        let nth = self.judge.count(watched, request.method);
        match request.method {
            Method::Get => Fate::Get(nth_of(&plan.resumes, nth, plan.stubborn).unwrap_or(Resume::Served)),
            _ => Fate::Post(nth_of(&plan.replies, nth, plan.stubborn).unwrap_or(Reply::Stream)),
        }
    }

    pub(super) fn arrive(&mut self, link: LinkId) {
        match self.outage_now() {
            Some(Broken::Cut) => {
                return self.network.send(&mut self.agenda, self.now, link, Delivery::Failed(""));
            }
            Some(Broken::Silent) => return,
            None => {}
        }
        let before = self.server.deaths;
        self.server.handle(self.now, link, &self.network.links[link]);
        self.note_deaths(before);
    }

    pub(super) fn note_deaths(&mut self, before: u32) {
        if self.server.deaths > before && self.judge.has_live_calls() {
            self.shares.happened(Happened::SessionDeath);
        }
    }

    pub(super) fn deliver(&mut self, id: LinkId, delivery: Delivery) {
        let link = &mut self.network.links[id];
        let is_body = !matches!(delivery, Delivery::Head(_));
        if link.is_open() && is_body && link.headed && (!link.reading || !link.waiting.is_empty()) {
            return link.waiting.push(delivery);
        }
        self.hand_in(id, delivery);
    }

    fn hand_in(&mut self, id: LinkId, delivery: Delivery) {
        let link = &mut self.network.links[id];
        let exchange = link.exchange;
        let is_late = !link.is_open();
        if link.generation != self.generation || (is_late && !self.schedule.client.late_inputs) {
            return;
        }
        if is_late {
            self.trace.line(self.now, "late ", |line| write!(line, "{exchange:?}"));
        } else {
            link.ended = matches!(delivery, Delivery::End | Delivery::Failed(_));
            if matches!(delivery, Delivery::Bytes(_)) {
                link.fed = self.now;
            }
            if let Delivery::Head(head) = &delivery {
                (link.headed, link.status) = (true, head.status);
            }
            self.judge.on_delivery(self.now, id, &delivery, &self.network, &self.server);
            for quiet in self.judge.kept_by(self.now, id, &delivery, &self.network) {
                self.network.links[quiet].kept = true;
            }
            self.note_refusal(id, &delivery);
        }
        match delivery {
            Delivery::Head(head) => self.input(Input::Head(exchange, head)),
            Delivery::Bytes(stretch) => self.input(Input::Body(exchange, &stretch.bytes)),
            Delivery::End => self.input(Input::End(exchange)),
            Delivery::Failed(code) => {
                let failure = IoFailure { message: "terminated".to_string(), code: code.to_string() };
                self.input(Input::Failed(exchange, failure));
            }
        }
    }

    fn note_refusal(&mut self, id: LinkId, delivery: &Delivery) {
        let Delivery::Head(ResponseHead { status, .. }) = delivery else { return };
        if self.network.links[id].request.method == Method::Get {
            match status {
                409 => self.shares.happened(Happened::Conflict),
                408 | 425 | 429 | 500..=599 | 200 => {}
                _ => self.shares.happened(Happened::RefusedResume),
            }
        }
    }

    pub(super) fn take_effects(&mut self) {
        for effect in std::mem::take(&mut self.server.effects) {
            let now = self.now;
            match effect {
                Effect::Head(link, head) => {
                    self.network.send(&mut self.agenda, now, link, Delivery::Head(head));
                }
                Effect::Write(link, stretch) => {
                    if self.network.write(&mut self.agenda, now, link, stretch) {
                        self.shares.happened(Happened::Cut);
                        let notice = u64::from(self.schedule.server.notice) * 1_000;
                        self.agenda.plan(now + notice, Happening::Notice(link));
                    }
                }
                Effect::End(link) => self.network.send(&mut self.agenda, now, link, Delivery::End),
                Effect::Fault(link, fault) => self.network.fault(&mut self.agenda, now, link, fault),
                Effect::Step(wait, work) => self.agenda.plan(now + wait, Happening::Step(work)),
                Effect::Listen(wait, link) => self.agenda.plan(now + wait, Happening::Listen(link)),
                Effect::Notice(wait, link) => self.agenda.plan(now + wait, Happening::Notice(link)),
            }
        }
    }
}

fn nth_of<T: Copy>(list: &[T], nth: usize, stubborn: bool) -> Option<T> {
    list.get(nth).or_else(|| list.last().filter(|_| stubborn)).copied()
}
