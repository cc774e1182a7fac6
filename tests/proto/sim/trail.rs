//! Where a call is in its stream, by what really came to the client and what its user did with it.

use super::network::LinkId;
use super::server::Server;
use super::work::IdUse;

/// What a resume may ask with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// No id came, or it was cleared.
    Nowhere,
    /// After this id, as a header value.
    Cursor(String),
    /// An id came that no request can carry.
    Unusable,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    /// Only a broken copy came.
    Broken,
    /// A handler has it, under this key.
    InHand(u32),
    /// A handler failed: it may come again, once.
    Failed,
    Done,
}

/// An event that came; of one that holds several messages, one of these.
#[derive(Clone, Debug)]
struct Arrived {
    /// Its work and its place there; none for an event without an id.
    place: Option<(usize, usize)>,
    /// The name it came under, where that is another than in the store.
    alias: Option<String>,
    text: Option<String>,
    /// It is the last of its event: when it is done, and all before it, the event's id is passed.
    bears_id: bool,
    state: State,
    /// It came again, after its handler failed: it won't come once more.
    second: bool,
    /// The exchange on which it came last.
    link: LinkId,
}

/// The events of one lineage that came to the client, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    events: Vec<Arrived>,
    /// Events whose handler failed twice.
    pub(crate) given_up: usize,
}

impl Trail {
    /// An event came. Whether a whole copy came on this exchange before.
    pub(crate) fn brought(
        &mut self,
        work: usize,
        place: usize,
        broken: bool,
        link: LinkId,
        texts: &[String],
        alias: Option<&str>,
    ) -> bool {
        // Under another name it is another event; and what a client began behind is new to it.
        let is_it = |event: &&mut Arrived| {
            let is_its = event.place == Some((work, place)) && event.link != LinkId::MAX;
            is_its && event.alias.as_deref() == alias
        };
        let known: Vec<&mut Arrived> = self.events.iter_mut().filter(is_it).collect();
        if known.is_empty() {
            let state = if broken { State::Broken } else { State::Done };
            self.push((work, place), alias, state, link, texts);
            return false;
        }
        // While handlers have some of it, it is dropped.
        let is_in_hand = known.iter().any(|event| matches!(event.state, State::InHand(_)));
        let mut whole = false;
        for known in known {
            let before = std::mem::replace(&mut known.link, link);
            match known.state {
                State::Broken | State::Failed if broken => {}
                State::Broken => known.state = State::Done,
                State::Failed if is_in_hand => {}
                State::Failed => (known.state, known.second) = (State::Done, true),
                State::InHand(..) | State::Done => whole |= before == link,
            }
        }
        whole
    }

    /// Whether it came so long ago that nobody remembers its name.
    pub(crate) fn has_forgotten(&self, work: usize, place: usize, alias: Option<&str>) -> bool {
        const REMEMBERED: usize = 4_096;
        let is_it = |event: &Arrived| event.place == Some((work, place)) && event.alias.as_deref() == alias;
        let since = self.events.iter().rev().take_while(|event| !is_it(event));
        let named = since.filter(|event| event.bears_id && event.place.is_some()).count();
        named >= REMEMBERED && named < self.events.len()
    }

    /// Whether a whole copy of it came.
    pub(crate) fn knows(&self, work: usize, place: usize, alias: Option<&str>) -> bool {
        let is_it = |event: &Arrived| event.place == Some((work, place)) && event.alias.as_deref() == alias;
        self.events.iter().any(|event| is_it(event) && event.state != State::Broken)
    }

    fn push(
        &mut self,
        place: (usize, usize),
        alias: Option<&str>,
        state: State,
        link: LinkId,
        texts: &[String],
    ) {
        let one = |text: Option<&String>, bears_id| Arrived {
            place: Some(place),
            alias: alias.map(String::from),
            text: text.cloned(),
            bears_id,
            state,
            second: false,
            link,
        };
        match texts {
            [] => self.events.push(one(None, true)),
            [first @ .., last] => {
                self.events.extend(first.iter().map(|text| one(Some(text), false)));
                self.events.push(one(Some(last), true));
            }
        }
    }

    /// It begins behind this event, that another client had.
    pub(crate) fn begin_at(&mut self, work: usize, place: usize, alias: Option<String>) {
        self.push((work, place), alias.as_deref(), State::Done, LinkId::MAX, &[]);
    }

    /// An event came whose id is too long to keep: the place is cleared, and the event has no name.
    pub(crate) fn brought_too_long(&mut self, work: usize, place: usize, texts: &[String], link: LinkId) {
        self.push((work, place), None, State::Done, link, texts);
    }

    /// An event without an id came.
    pub(crate) fn brought_loose(&mut self, text: &str, link: LinkId) {
        self.events.push(Arrived {
            place: None,
            alias: None,
            text: Some(text.to_string()),
            bears_id: true,
            state: State::Done,
            second: false,
            link,
        });
    }

    /// An event was handed to the user. Whether that was the second time, after its handler failed.
    pub(crate) fn handed(&mut self, text: &str, key: Option<u32>) -> bool {
        let has_text = |event: &Arrived| event.text.as_deref() == Some(text);
        let open = self.events.iter().rposition(|event| has_text(event) && event.state == State::Done);
        let Some(place) = open.or_else(|| self.events.iter().rposition(has_text)) else { return false };
        let event = &mut self.events[place];
        let second = event.second;
        match key {
            Some(key) if event.state == State::Done => event.state = State::InHand(key),
            // The server sent it twice on one body: the handler has it twice.
            Some(key) => {
                let again = Arrived { state: State::InHand(key), second: false, ..event.clone() };
                self.events.push(again);
            }
            None => {}
        }
        second
    }

    /// A handler reported. Reports that come too late count for nothing.
    pub(crate) fn handled(&mut self, key: u32, ok: bool) {
        let in_hand = |event: &&mut Arrived| matches!(event.state, State::InHand(held) if held == key);
        let Some(event) = self.events.iter_mut().find(in_hand) else { return };
        if ok {
            event.state = State::Done;
        } else {
            self.given_up += usize::from(event.second);
            event.state = if event.second { State::Done } else { State::Failed };
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// The keys of events in hand.
    pub(crate) fn in_hand(&self) -> impl Iterator<Item = u32> + '_ {
        self.events.iter().filter_map(|event| match event.state {
            State::InHand(key) => Some(key),
            _ => None,
        })
    }

    /// Events whose handler failed, and that did not come again.
    pub(crate) fn failed(&self) -> usize {
        self.events.iter().filter(|event| event.state == State::Failed).count()
    }

    /// The last id before the first event that was not handled.
    fn committed(&self, server: &Server<'_>) -> Place {
        let done = self.events.iter().take_while(|event| event.state == State::Done);
        done.filter_map(|event| self.id(event, server)).last().unwrap_or(Place::Nowhere)
    }

    /// The same, before the response: that one settles the call, and nobody is told of its id. Where an id was cleared,
    /// nothing is said.
    pub(crate) fn told(&self, server: &Server<'_>) -> Place {
        if self.events.iter().any(|event| self.id(event, server) == Some(Place::Nowhere)) {
            return Place::Nowhere;
        }
        let is_response = |event: &Arrived| {
            event.place.is_some_and(|(work, place)| server.works[work].events[place].is_response)
        };
        let done = self.events.iter().take_while(|event| event.state == State::Done && !is_response(event));
        done.filter_map(|event| self.id(event, server)).last().unwrap_or(Place::Nowhere)
    }

    /// The stream ended. Where the first event that holds the place came broken, it is given up: the place is behind it.
    pub(crate) fn pass_broken(&mut self, server: &Server<'_>) {
        if self.committed(server) != Place::Nowhere {
            return;
        }
        let waits = |event: &Arrived| event.state != State::Done && self.id(event, server).is_some();
        let first = self.events.iter().position(waits);
        let Some(first) = first.filter(|first| self.events[*first].state == State::Broken) else { return };
        if let Some(Place::Cursor(_)) = self.id(&self.events[first], server) {
            self.events[first].state = State::Done;
        }
    }

    /// Where a resume may go on: with nothing handled under an id that can be asked with, behind the first event that the
    /// client has.
    pub(crate) fn place(&self, server: &Server<'_>) -> Place {
        let committed = self.committed(server);
        let open: Vec<_> = self.events.iter().skip_while(|event| event.state == State::Done).collect();
        // What comes with an empty id can't be told from a repeat: it may not come again.
        let cleared = open.iter().rposition(|event| self.id(event, server) == Some(Place::Nowhere));
        let from = match (cleared, committed) {
            (None, Place::Cursor(id)) => return Place::Cursor(id),
            (None, _) => 0,
            (Some(place), _) => place + 1,
        };
        let whole = open.into_iter().take_while(|event| event.state != State::Broken).skip(from);
        let mut ids = whole.filter_map(|event| self.id(event, server));
        ids.find(|id| matches!(id, Place::Cursor(_))).unwrap_or(Place::Nowhere)
    }

    fn id(&self, event: &Arrived, server: &Server<'_>) -> Option<Place> {
        let (work, place) = event.place.filter(|_| event.bears_id)?;
        let stored = &server.works[work].events[place];
        let id = event.alias.as_ref().or(stored.id.as_ref())?;
        Some(match stored.id_use {
            IdUse::Cursor => Place::Cursor(id.clone()),
            IdUse::Clears | IdUse::TooLong => Place::Nowhere,
            IdUse::Unusable => Place::Unusable,
        })
    }
}
