//! What comes to the client, and what it hands on.

use landfall::proto::{CallId, Era, Event, Level, Method, OnGap, Redirect};

use super::{Judge, SECOND};
use crate::sim::agenda::Time;
use crate::sim::network::{Delivery, Fate, Link, LinkId, Mark, Network};
use crate::sim::schedule::{Ids, Replays, Resume};
use crate::sim::server::Server;
use crate::sim::shares::Happened;
use crate::sim::trail::Place;
use crate::sim::watch::Sent;
use crate::sim::work::IdUse;

impl Judge<'_> {
    /// Something comes to the client, on an exchange that it listens to.
    pub(crate) fn on_delivery(
        &mut self,
        now: Time,
        id: LinkId,
        delivery: &Delivery,
        network: &Network,
        server: &Server<'_>,
    ) {
        self.now = now;
        let link = &network.links[id];
        self.note_session(id, link, delivery);
        self.note_word(link, delivery);
        self.note_refused(link, delivery);
        self.note_health(now, id, link, delivery);
        self.note_delivered(id, link, delivery);
        let Some(watch) = link.call else {
            self.note_stream(id, delivery, server);
            let lists = link.request.body.as_deref().is_some_and(|body| body.contains("\"tools/list\""));
            if lists && matches!(delivery, Delivery::End) {
                self.on_listed();
            }
            return;
        };
        self.note_alone(now, watch, None, network);
        let seen = &mut self.watches[watch];
        let is_rival = network.is_rival(id);
        if link.request.method == Method::Get && !link.earlier {
            // Where a resume is open beside it, that takes its place.
            let goes_on = is_rival || network.has_rival(id);
            seen.vain += usize::from(is_vain(link, delivery, goes_on, seen.brought));
            let opens = matches!(delivery, Delivery::Head(head) if head.status == 200);
            seen.brought &= !opens || goes_on || link.fate == Fate::Get(Resume::WrongType);
        }
        if let Delivery::Bytes(stretch) = delivery {
            // A message on its own stream, whoever's it is. On a resumed one, without an id, it may be a repeat.
            let is_stray = |(_, mark): &(usize, Mark)| matches!(mark, Mark::Stray);
            if link.request.method == Method::Post && stretch.marks.iter().any(is_stray) {
                seen.heard(now);
                seen.is_new();
            }
            let is_event = |mark: &Mark| !matches!(mark, Mark::Retry(_));
            if link.request.method == Method::Post || stretch.marks.iter().any(|(_, mark)| is_event(mark)) {
                seen.believed.insert(id);
            }
        }
        match delivery {
            // What comes on the body of an earlier request is heard; it is not the stream that the call is in.
            _ if link.earlier => {}
            Delivery::Head(head) => {
                let passes = matches!(head.status, 408 | 409 | 425 | 429 | 500 | 502..=599);
                let after = head.retry_after.as_deref().filter(|_| passes);
                let seconds = after.and_then(|after| after.parse::<u64>().ok());
                seen.floor = seconds.map(|seconds| now + seconds * SECOND);
                if head.status != 200 {
                    seen.dropped = Some(now);
                }
                // What follows more of them is no part of this attempt, and judged by itself.
                seen.hop = matches!(head.redirect, Some(Redirect::To(_))) && seen.hops < MOST_HOPS;
                let ordered = head.retry_after.as_deref().and_then(|after| after.parse::<u64>().ok());
                seen.ordered = seen.ordered.max(now + ordered.unwrap_or_default() * SECOND);
                let refused =
                    matches!(head.status, 307 | 308 | 400 | 401 | 403 | 404 | 405 | 406 | 410 | 415 | 429);
                if let Some(post) = seen.posts.iter_mut().find(|(post, _)| refused && *post == id) {
                    post.1 = Sent::Unexecuted;
                }
            }
            Delivery::Bytes(stretch) if is_rival => {
                let (_, marks) = seen.rival.get_or_insert_with(|| (id, Vec::new()));
                marks.extend(stretch.marks.iter().map(|(_, mark)| mark.clone()));
            }
            Delivery::Bytes(stretch) => {
                if seen.believed.contains(&id) {
                    seen.bytes_at = now;
                }
                self.marks.extend(stretch.marks.iter().map(|(_, mark)| (watch, id, mark.clone())));
            }
            Delivery::End => seen.dropped = (!network.has_rival(id)).then_some(now),
            Delivery::Failed(code) => {
                seen.dropped = (!network.has_rival(id)).then_some(now);
                if let Some(post) = seen.posts.iter_mut().find(|(post, _)| !code.is_empty() && *post == id) {
                    post.1 = Sent::Unexecuted;
                }
            }
        }
    }

    /// The client ended an exchange itself. If it was a rival, what it brought is forgotten.
    pub(crate) fn on_abort(&mut self, now: Time, id: LinkId, network: &Network) {
        self.note_hung_ping(id, &network.links[id]);
        self.note_unheard(now, &network.links[id]);
        self.note_stream_over(id);
        self.note_waiting(now, id);
        self.note_ended_unanswered(&network.links[id]);
        if !network.links[id].headed || network.links[id].call.is_none() {
            self.unwell = now;
        }
        let Some(watch) = network.links[id].call else { return };
        let (link, is_race) = (&network.links[id], network.is_rival(id) || network.has_rival(id));
        self.note_ended(now, id, network, is_race);
        self.note_alone(now, watch, Some(id), network);
        let is_cut_off = self.sessions.cut_pings >= 2;
        let seen = &mut self.watches[watch];
        seen.vain +=
            usize::from(link.request.method == Method::Get && !link.headed && !link.ended && !is_race);
        let could_answer = link.reading && !link.ended && !link.earlier && !is_race && link.fate.is_stream();
        let could_answer = could_answer && !link.goes_again();
        // The network refused two pings in a row: what is silent is dead.
        seen.gave_up |= could_answer && !is_cut_off;
        if could_answer {
            seen.left = None;
        }
        seen.dropped = None;
        if seen.rival.as_ref().is_some_and(|(rival, _)| *rival == id) {
            seen.rival = None;
        }
    }

    /// The silent body is over, and its rival is read.
    fn on_rival_won(&mut self, watch: usize) {
        if let Some((rival, marks)) = self.watches[watch].rival.take() {
            self.marks.extend(marks.into_iter().map(|mark| (watch, rival, mark)));
        }
    }

    /// The client has read all it was given.
    pub(crate) fn on_read(&mut self, server: &Server<'_>) {
        while let Some((watch, link, mark)) = self.marks.pop_front() {
            self.on_mark(watch, link, &mark, server);
        }
    }

    /// The client has come to this text.
    fn read_to(&mut self, text: &str, server: &Server<'_>) {
        let holds = |mark: &Mark| match mark {
            Mark::Block { work, place, .. } => {
                server.works[*work].events[*place].texts.iter().any(|t| t == text)
            }
            Mark::Loose(known) => known == text,
            Mark::Stray | Mark::Retry(_) | Mark::Endpoint(_) | Mark::Tools | Mark::Wants { .. } => false,
        };
        let Some(place) = self.marks.iter().position(|(_, _, mark)| holds(mark)) else { return };
        // Whoever's it is, it re-arms the clocks of the call on whose stream it came.
        self.watches[self.marks[place].0].heard(self.now);
        for (watch, link, mark) in self.marks.drain(..=place).collect::<Vec<_>>() {
            self.on_mark(watch, link, &mark, server);
        }
    }

    /// The client has come to the event of this id, and has not read it. Whether it may stop there: an answer is read.
    fn read_before(&mut self, id: Option<&str>, server: &Server<'_>) -> bool {
        let id: Option<String> = id.map(|id| id.bytes().map(char::from).collect());
        let event = |mark: &Mark| match mark {
            Mark::Block { work, place, .. } => Some(&server.works[*work].events[*place]),
            _ => None,
        };
        let found = self.marks.iter().position(|(_, _, mark)| {
            event(mark).is_some_and(|event| id.as_deref().is_some_and(|id| event.is_named(id)))
        });
        let Some(place) = found else { return true };
        let stops = event(&self.marks[place].2).is_some_and(|event| !event.is_response);
        for (watch, link, mark) in self.marks.drain(..place).collect::<Vec<_>>() {
            self.on_mark(watch, link, &mark, server);
        }
        stops
    }

    /// A resume asks from this id: the client has read what bears it. Of what it passes over in silence it is not told
    /// otherwise; an event that is to be handed over is read where it is.
    pub(super) fn read_through(&mut self, watch: usize, id: &str, server: &Server<'_>) {
        let own = self.marks.iter().take_while(|(owner, ..)| *owner == watch);
        for (nth, (owner, _, mark)) in own.enumerate() {
            let (work, place, alias) = match mark {
                Mark::Block { work, place, alias, .. } => (*work, *place, alias.as_deref()),
                Mark::Retry(_) | Mark::Endpoint(_) | Mark::Tools | Mark::Wants { .. } => continue,
                Mark::Loose(_) | Mark::Stray => break,
            };
            let event = &server.works[work].events[place];
            let is_known = self.watches[*owner].trail.knows(work, place, alias);
            if !event.texts.is_empty() && !is_known {
                break;
            }
            if event.is_named(id) {
                for (watch, link, mark) in self.marks.drain(..=nth).collect::<Vec<_>>() {
                    self.on_mark(watch, link, &mark, server);
                }
                return;
            }
        }
    }

    fn on_mark(&mut self, watch: usize, link: LinkId, mark: &Mark, server: &Server<'_>) {
        let seen = &mut self.watches[watch];
        match mark {
            Mark::Retry(ms) => seen.retry = Some(*ms),
            Mark::Stray | Mark::Endpoint(_) | Mark::Tools => {}
            Mark::Wants { state, keys } => self.on_wanted(watch, link, state.as_ref(), keys),
            Mark::Loose(text) => seen.trail.brought_loose(text, link),
            Mark::Block { work, place, broken, alias } => {
                let event = &server.works[*work].events[*place];
                let texts = &event.texts;
                // Whatever a live stream brings after it was replayed on another, or under another name, is not known.
                let is_foreign = seen.plan != Some(server.works[*work].call);
                if is_foreign {
                    seen.is_new(); // To the client it is.
                }
                let is_new = texts.iter().any(|text| !self.handed.contains_key(text));
                if is_foreign && event.is_response && !seen.trail.knows(*work, *place, alias.as_deref()) {
                    seen.heard(self.now);
                }
                let is_renamed =
                    !event.aliases.is_empty() || seen.trail.has_forgotten(*work, *place, alias.as_deref());
                if is_renamed || server.restarted || (is_foreign && (is_new || seen.gets > MANY)) {
                    self.excused.extend(texts.iter().cloned());
                }
                // Without an id to know it by, a repeat is handed over again.
                if matches!(event.id_use, IdUse::TooLong | IdUse::Clears) {
                    self.excused.extend(texts.iter().cloned());
                }
                if event.id_use == IdUse::TooLong && !broken {
                    seen.trail.brought_too_long(*work, *place, texts, link);
                } else if seen.trail.brought(*work, *place, *broken, link, texts, alias.as_deref()) {
                    self.excused.extend(texts.iter().cloned());
                }
            }
        }
    }

    /// Events belong to live calls, are handed over once (twice, if the handler failed), and gaps are real.
    pub(crate) fn on_event(
        &mut self,
        now: Time,
        call: Option<CallId>,
        event: &Event,
        text: &str,
        server: &Server<'_>,
    ) {
        if text.contains("tools/list_changed") {
            self.listed = false;
        }
        let Some(call) = call else {
            let is_told = text.contains("~L.") || self.eras.spoken == Some(Era::Sse);
            if let (Event::Message { .. }, true) = (event, is_told) {
                self.on_listened(text);
            }
            if let Event::State { state } = event {
                self.on_state(*state);
            }
            return;
        };
        let Some(watch) = self.live(call) else {
            // A report that came while the outcome was drained and not told: see `Client::handled`.
            if matches!(event, Event::EventSkipped { .. }) && self.untold.contains(&call) {
                return;
            }
            return self.breaks(format!("an event of a call that is not live: {call:?} {event:?}"));
        };
        let odd = self.is_odd(watch, server);
        let follows_resumed = matches!(
            event,
            Event::Message { .. } | Event::Progress { .. } | Event::InputRequired { .. } | Event::Gap { .. }
        );
        if follows_resumed {
            self.check_resumed(watch);
        }
        let seen = &mut self.watches[watch];
        match event {
            Event::Message { key, .. } | Event::Progress { key, .. } => {
                seen.heard(now);
                seen.is_new();
                self.on_handed(watch, text, *key, server);
            }
            Event::Warning { code, .. } => {
                seen.warned |= *code == "malformed_event";
                // A response that answers nothing is a message nevertheless.
                seen.heard(now);
                seen.vain = 0;
            }
            Event::Polling { .. } => {
                seen.vain = seen.vain.saturating_sub(1);
                seen.rests(now);
            }
            Event::Queued => seen.rests(now),
            Event::Task { task_id, .. } => self.on_task(watch, task_id, server),
            Event::Disconnected { .. } => {
                self.on_rival_won(watch);
                self.check_ended_before(watch);
                let seen = &mut self.watches[watch];
                seen.left = Some(seen.trail.place(server));
            }
            Event::InputRequired { .. } => {
                seen.heard(now);
                seen.is_new();
                seen.unclocked = true;
            }
            Event::Reconnecting { level: Level::Reissue, .. } => seen.parted = true,
            Event::Resumed { replayed, duplicates, .. } => {
                self.happened(Happened::Resumed);
                self.on_resumed(watch, (*replayed, *duplicates), server);
            }
            Event::Reissued { .. } => self.happened(Happened::Reissued),
            Event::EventSkipped { .. } => {
                seen.skips += 1;
                self.happened(Happened::Skipped);
            }
            Event::Gap { certain, after, .. } => {
                seen.gaps += 1;
                let (plan, seen_reported) = (seen.plan, seen.reported);
                let stops = self.read_before(after.as_deref(), server);
                self.happened(Happened::Gap);
                let works = server.works.iter().filter(|work| Some(work.call) == plan);
                let works = works.into_iter().filter(|work| !work.skipped.is_empty() || work.reset);
                let real = seen_reported || server.restarted || works.count() > 0;
                // Where a counter may be another stream's too, a gap is likely, not certain.
                let likely = !certain && (odd || self.schedule.server.ids == Ids::Global);
                self.expect(real || likely, || format!("call {plan:?} has a gap that is none: {event:?}"));
                // There the client stops, in the middle of what it was given.
                let wants = plan.is_some_and(|plan| self.schedule.calls[plan].on_gap != OnGap::Continue);
                if *certain && wants && stops {
                    self.marks.clear();
                }
            }
            _ => {}
        }
    }

    fn on_handed(&mut self, watch: usize, message: &str, key: Option<u32>, server: &Server<'_>) {
        for text in texts(message) {
            self.read_to(text, server);
            let seen = &mut self.watches[watch];
            let again = seen.trail.handed(text, key);
            // What came on the body of an earlier request stands in no trail.
            seen.orphans.extend(key.filter(|key| !seen.trail.in_hand().any(|held| held == *key)));
            // What came on the body of an earlier request is not known to the streams that replay it.
            let beside =
                self.schedule.server.replays == Replays::All && self.watches.iter().any(|w| w.beside);
            let count = self.handed.entry(text.to_string()).or_default();
            *count += 1;
            let most = if again { 2 } else { 1 };
            let right = *count <= most || self.excused.contains(text) || is_nameless(text, server) || beside;
            self.expect(right, || format!("{text} was handed over twice"));
        }
    }

    /// An event that belongs to no call is handed over once.
    fn on_listened(&mut self, message: &str) {
        for text in texts(message) {
            let count = self.handed.entry(text.to_string()).or_default();
            *count += 1;
            let once = *count == 1;
            self.expect(once, || format!("{text} was handed over twice"));
        }
    }

    /// Which event of its call this is to the handler: from 1.
    pub(crate) fn next_key(&mut self, call: CallId) -> u32 {
        let Some(watch) = self.watched(call) else { return 0 };
        self.watches[watch].keys += 1;
        self.watches[watch].keys
    }

    /// The user's handler reports.
    pub(crate) fn on_handled(&mut self, call: CallId, key: u32, ok: bool) {
        let Some(watch) = self.live(call) else { return };
        let seen = &mut self.watches[watch];
        seen.trail.handled(key, ok);
        if seen.orphans.remove(&key) && !ok {
            seen.orphans_failed += 1;
        }
    }

    /// A token tells where the call is.
    pub(crate) fn on_token(&mut self, call: CallId, token: &str, server: &Server<'_>) {
        let wants = self.plan_of(call).is_some_and(|plan| plan.tokens);
        let Some(watch) = self.live(call).filter(|_| wants) else {
            return self.breaks(format!("a token that nobody wants: {call:?} {token}"));
        };
        let used = self.sessions.used.clone();
        let seen = &mut self.watches[watch];
        seen.told = Some((token.to_string(), used.clone()));
        let token: String = token.bytes().map(char::from).collect();
        let plan = seen.plan;
        let shared = self.schedule.server.replays == Replays::All || server.restarted;
        let works = server.works.iter().filter(|work| Some(work.call) == plan || shared);
        // Of a session that is dead it would name another event in the next.
        let works = works.filter(|work| Some(&server.sessions[work.session].id) == used.as_ref());
        let known = works.flat_map(|work| &work.events).any(|event| event.is_named(&token));
        seen.token = Some(token);
        self.expect(known, || format!("a token that no event had: {call:?}"));
    }

    /// The last token of a call is where it was, or the event that held its answer. Of a session that is dead nothing more
    /// is told.
    pub(super) fn check_token(&mut self, watch: usize, server: &Server<'_>) {
        let wants = self.plan(watch).is_some_and(|plan| plan.tokens) && !self.is_odd(watch, server);
        let seen = &self.watches[watch];
        let (Place::Cursor(place), true) = (seen.trail.told(server), wants && !seen.parted && !seen.adopts)
        else {
            return;
        };
        let (token, call) = (seen.token.clone(), seen.plan);
        let mut own = server.works.iter().filter(|work| Some(work.call) == call);
        if own.any(|work| self.sessions.is_known_dead(&server.sessions[work.session])) {
            return;
        }
        let answers = server.works.iter().filter(|work| seen.answered && Some(work.call) == call);
        let ended =
            answers.filter_map(|work| work.events.last()?.id.as_ref()).any(|id| token.as_ref() == Some(id));
        self.expect(ended || token.as_ref() == Some(&place), || {
            format!("call {call:?} is at {place:?}, and the last token was {token:?}")
        });
    }
}

/// Redirects that one attempt may follow.
const MOST_HOPS: u32 = 5;
/// After so many resumes that each bring all of a session, nobody remembers the first.
const MANY: usize = 30;

/// Whether a resume failed by this. One beside a silent body is told by a conflict or an empty end that the server still
/// holds that.
fn is_vain(link: &Link, delivery: &Delivery, goes_on: bool, brought: bool) -> bool {
    match delivery {
        Delivery::Head(head) => match head.status {
            200 | 300..=399 | 401 | 403 => false,
            408 | 425 | 429 | 500 | 502..=599 => true,
            _ => !goes_on,
        },
        Delivery::Bytes(_) => false,
        Delivery::End => !goes_on && !brought && link.fate != Fate::Get(Resume::WrongType),
        Delivery::Failed(_) => !brought || !link.headed,
    }
}

/// Whether an event has no name by which a repeat of it could be known.
fn is_nameless(text: &str, server: &Server<'_>) -> bool {
    let mut events = server.works.iter().flat_map(|work| &work.events);
    let event = events.find(|event| event.texts.iter().any(|known| known == text));
    event.is_some_and(|event| matches!(event.id_use, IdUse::TooLong | IdUse::Clears))
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
