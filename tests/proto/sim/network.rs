//! A faulty network: every exchange is a link of its own, first in, first out, with seeded delays. Links do not wait
//! for each other, so what belongs to different ones is reordered.

use std::fmt;

use landfall::proto::{ExchangeId, HttpRequest, ResponseHead};

use super::agenda::{Agenda, Rng, Time};
use super::happening::Happening;
use super::schedule::{Reply, Resume};

/// One exchange, by its place in [`Network::links`].
pub(crate) type LinkId = usize;

/// What a stretch of a body means to whoever judges the client.
#[derive(Clone, Debug)]
pub(crate) enum Mark {
    /// An event of a work's store is whole; its JSON may be broken on this wire.
    /// It may come under another name than that which it was stored by.
    Block { work: usize, place: usize, broken: bool, alias: Option<String> },
    /// An event without an id, with this text.
    Loose(String),
    /// A response to another call, without an id.
    Stray,
    /// A `retry` field.
    Retry(u32),
    /// Where to POST.
    Endpoint(String),
    /// What the tools are.
    Tools,
    /// The answer to a request that is to come again, with this state and what is wanted under these keys.
    Wants { state: Option<String>, keys: Vec<String> },
}

/// A stretch of a body, and what ends at which of its bytes.
#[derive(Clone, Default)]
pub(crate) struct Stretch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) marks: Vec<(usize, Mark)>,
}

impl fmt::Debug for Stretch {
    /// The bytes are told when they are handed in.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, {:?}", self.bytes.len(), self.marks)
    }
}

impl Stretch {
    pub(crate) fn text(text: &str) -> Self {
        Self { bytes: text.as_bytes().to_vec(), marks: Vec::new() }
    }

    pub(crate) fn push(&mut self, text: &str, mark: Option<Mark>) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.marks.extend(mark.map(|mark| (self.bytes.len(), mark)));
    }

    /// Takes the first `at` bytes, with what ends in them.
    fn split_front(&mut self, at: usize) -> Self {
        let rest = self.bytes.split_off(at);
        let ending = self.marks.partition_point(|(end, _)| *end <= at);
        let front = Self {
            bytes: std::mem::replace(&mut self.bytes, rest),
            marks: self.marks.drain(..ending).collect(),
        };
        for (end, _) in &mut self.marks {
            *end -= at;
        }
        front
    }
}

/// What comes to the client.
#[derive(Clone, Debug)]
pub(crate) enum Delivery {
    Head(ResponseHead),
    Bytes(Stretch),
    End,
    /// With the runtime's code.
    Failed(&'static str),
}

/// What the schedule has decided for an exchange.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Plain,
    Post(Reply),
    Get(Resume),
}

impl Fate {
    /// Whether a body follows that may hold the answer.
    pub(crate) fn is_stream(self) -> bool {
        match self {
            Self::Plain => false,
            Self::Post(reply) => {
                matches!(reply, Reply::Stream | Reply::Slow(_) | Reply::Json | Reply::CutJson)
            }
            Self::Get(resume) => matches!(resume, Resume::Served | Resume::Slow(_)),
        }
    }
}

/// What the network does to a body.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Cut,
    CutInside,
    CleanCut,
    Silence,
    Stall(u32),
}

/// An exchange, as the network sees it.
pub(crate) struct Link {
    /// Which client made it, and under which number.
    pub(crate) generation: u32,
    pub(crate) exchange: ExchangeId,
    pub(crate) request: HttpRequest,
    /// The planned call it serves.
    pub(crate) call: Option<usize>,
    /// Which credentials it bears.
    pub(crate) credentials: u32,
    pub(crate) fate: Fate,
    /// The client does not listen any more.
    pub(crate) gone: bool,
    /// The end was sent: nothing comes after it.
    pub(crate) over: bool,
    /// The end came to the client.
    pub(crate) ended: bool,
    /// The head came to the client.
    pub(crate) headed: bool,
    /// Its status.
    pub(crate) status: u16,
    /// The client reads the body.
    pub(crate) reading: bool,
    /// When bytes of its body came last.
    pub(crate) fed: Time,
    /// What waits for the client to read.
    pub(crate) waiting: Vec<Delivery>,
    /// Half-open.
    pub(crate) silent: bool,
    /// When it was made.
    pub(crate) made: Time,
    /// A resume whose headers are late, while the session lives: it counts as open.
    pub(crate) kept: bool,
    /// Its call was sent again while it was open.
    pub(crate) earlier: bool,
    /// It is a question of the handshake.
    pub(crate) greets: bool,
    stalled_until: Time,
    cut_inside: bool,
    last: Time,
    rng: Rng,
}

impl Link {
    /// It is to go out once more: with other credentials, or elsewhere.
    pub(crate) fn goes_again(&self) -> bool {
        matches!(self.status, 0 | 307 | 308 | 401 | 403) && self.headed
    }

    /// The client may still be given something of it.
    pub(crate) fn is_open(&self) -> bool {
        !self.gone && !self.ended
    }
}

pub(crate) struct Network {
    pub(crate) links: Vec<Link>,
    seed: u64,
}

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        Self { links: Vec::new(), seed }
    }

    pub(crate) fn open(
        &mut self,
        generation: u32,
        exchange: ExchangeId,
        request: HttpRequest,
        call: Option<usize>,
        fate: Fate,
        credentials: u32,
    ) -> LinkId {
        let id = self.links.len();
        let again = matches!(fate, Fate::Post(_)) && call.is_some();
        for older in self.links.iter_mut().filter(|older| again && older.call == call) {
            older.earlier |= older.is_open();
        }
        self.links.push(Link {
            generation,
            exchange,
            request,
            call,
            fate,
            credentials,
            gone: false,
            over: false,
            ended: false,
            headed: false,
            status: 0,
            reading: false,
            fed: 0,
            waiting: Vec::new(),
            silent: false,
            made: 0,
            kept: false,
            earlier: false,
            greets: false,
            stalled_until: 0,
            cut_inside: false,
            last: 0,
            rng: Rng::new(self.seed ^ (id as u64 + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93)),
        });
        id
    }

    /// Whether this is a resume beside a silent body of the same call.
    pub(crate) fn is_rival(&self, id: LinkId) -> bool {
        let call = self.links[id].call;
        let is_older =
            |link: &Link| link.call == call && link.is_open() && (link.headed || link.kept) && !link.earlier;
        call.is_some() && !self.links[id].earlier && self.links[..id].iter().any(is_older)
    }

    /// Whether a resume of the same call was opened beside this body.
    pub(crate) fn has_rival(&self, id: LinkId) -> bool {
        let call = self.links[id].call;
        call.is_some()
            && !self.links[id].earlier
            && self.links[id + 1..].iter().any(|link| link.call == call && link.is_open())
    }

    /// The request travels to the server.
    pub(crate) fn request(&mut self, agenda: &mut Agenda<Happening>, now: Time, id: LinkId) {
        let link = &mut self.links[id];
        link.last = now + link.rng.delay();
        agenda.plan(link.last, Happening::Arrive(id));
    }

    /// Something travels to the client. The end of a silent link never comes.
    pub(crate) fn send(&mut self, agenda: &mut Agenda<Happening>, now: Time, id: LinkId, delivery: Delivery) {
        let link = &mut self.links[id];
        if link.over || link.silent {
            return;
        }
        link.over = matches!(delivery, Delivery::End | Delivery::Failed(_));
        link.last = link.last.max(now + link.rng.delay()).max(link.stalled_until);
        agenda.plan(link.last, Happening::Deliver(id, delivery));
    }

    /// A stretch of a body travels to the client, in chunks of any size. Tells whether it was cut inside.
    pub(crate) fn write(
        &mut self,
        agenda: &mut Agenda<Happening>,
        now: Time,
        id: LinkId,
        mut stretch: Stretch,
    ) -> bool {
        let link = &mut self.links[id];
        if stretch.bytes.is_empty() {
            return false;
        }
        if std::mem::take(&mut link.cut_inside) {
            let at = link.rng.below(stretch.bytes.len() as u64) as usize;
            let front = stretch.split_front(at);
            self.send(agenda, now, id, Delivery::Bytes(front));
            self.send(agenda, now, id, Delivery::Failed(""));
            return true;
        }
        while link_splits(&mut self.links[id], &stretch) {
            let link = &mut self.links[id];
            let at = 1 + link.rng.below(stretch.bytes.len() as u64 - 1) as usize;
            let front = stretch.split_front(at);
            self.send(agenda, now, id, Delivery::Bytes(front));
        }
        self.send(agenda, now, id, Delivery::Bytes(stretch));
        false
    }

    pub(crate) fn fault(&mut self, agenda: &mut Agenda<Happening>, now: Time, id: LinkId, fault: Fault) {
        match fault {
            Fault::Cut => self.send(agenda, now, id, Delivery::Failed("")),
            Fault::CleanCut => self.send(agenda, now, id, Delivery::End),
            Fault::CutInside => self.links[id].cut_inside = true,
            Fault::Silence => self.links[id].silent = true,
            Fault::Stall(ms) => {
                let link = &mut self.links[id];
                link.stalled_until = link.stalled_until.max(now + u64::from(ms) * 1_000);
            }
        }
    }
}

fn link_splits(link: &mut Link, stretch: &Stretch) -> bool {
    stretch.bytes.len() > 1 && link.rng.one_in(3)
}
