//! Resumes: what the server finds under a cursor, and what it replays from there.

use super::network::{Fate, Fault, LinkId, Mark, Stretch};
use super::schedule::{CallPlan, Held, Incident, Replays, Resume, Unknown};
use super::server::{head, Effect, Server, SSE};
use super::shares::Happened;
use super::work::{IdUse, Stored};

impl Server<'_> {
    pub(super) fn resume(&mut self, link: LinkId, session: usize, cursor: &str, fate: Fate) {
        match fate {
            Fate::Get(Resume::Slow(ms)) => self.effects.push(Effect::Fault(link, Fault::Stall(ms))),
            Fate::Get(Resume::Empty) => return self.answer(link, head(200, SSE), ""),
            Fate::Get(Resume::CutAtOnce) => {
                self.effects.push(Effect::Head(link, head(200, SSE)));
                self.shares.happened(Happened::Cut);
                return self.effects.push(Effect::Fault(link, Fault::Cut));
            }
            Fate::Get(Resume::WrongType) => return self.answer(link, head(200, "text/html"), "<p>hello</p>"),
            _ => {}
        }
        let Some((work, place)) = self.find(session, cursor) else { return self.refuse(link, 404, None) };
        self.serve(link, work, place);
    }

    /// The event a cursor names: its work and its place there. After a restart the same name may be another's.
    pub(crate) fn find(&self, session: usize, cursor: &str) -> Option<(usize, usize)> {
        self.find_among(session, cursor, false)
    }

    /// Whether a resume may bring what is another stream's.
    pub(crate) fn mixes_streams(&self) -> bool {
        self.schedule.server.replays == Replays::All
            || self.schedule.incidents.iter().any(|(_, what)| *what == Incident::Restart)
            || self.schedule.calls.iter().any(CallPlan::mixes_streams)
    }

    /// Whether the session ever had an event of this name.
    pub(crate) fn had(&self, session: usize, cursor: &str) -> bool {
        self.find_among(session, cursor, true).is_some()
    }

    fn find_among(&self, session: usize, cursor: &str, gone: bool) -> Option<(usize, usize)> {
        let works = self.works.iter().enumerate();
        let works = works.filter(|(_, work)| work.session == session && (gone || !work.gone));
        works.rev().find_map(|(number, work)| {
            let place = work.events.iter().rposition(|event| event.is_named(cursor));
            Some((number, place?))
        })
    }

    fn serve(&mut self, link: LinkId, work: usize, place: usize) {
        let plan = &self.schedule.server;
        let kept_from = self.works[work].kept_from;
        let mut from = place + 1;
        if place < kept_from {
            self.shares.happened(Happened::EvictedCursor);
            if let Unknown::Refuse(status) = plan.unknown {
                return self.refuse(link, status, None);
            }
            if kept_from > from {
                self.works[work].skipped.push(from..kept_from);
            }
            from = kept_from;
        }
        // What has no name of its own is not replayed to one that is past it.
        let nameless = |event: &Stored| matches!(event.id_use, IdUse::Clears | IdUse::TooLong);
        let named_from = self.works[work].events[..=place].iter().rposition(nameless).map_or(0, |at| at + 1);
        let from = from.saturating_sub(plan.overlap.into()).max(kept_from).max(named_from);
        let old = self.works[work].attached;
        match plan.held {
            Held::Conflict if old.is_some() => {
                return self.refuse(link, 409, None);
            }
            Held::Move => self.effects.extend(old.map(Effect::End)),
            Held::ReplayAndEnd | Held::Conflict => {}
        }
        self.effects.push(Effect::Head(link, head(200, SSE)));
        let stretch = self.replay(work, from, place, link);
        self.effects.push(Effect::Write(link, stretch));
        let elsewhere = plan.elsewhere;
        let work = &mut self.works[work];
        if (plan.held == Held::ReplayAndEnd && old.is_some()) || work.finished || work.stopped {
            self.effects.push(Effect::End(link));
        } else if elsewhere {
            self.shares.happened(Happened::Elsewhere);
            work.attached = None;
            work.ears.push(link);
        } else {
            work.attached = Some(link);
        }
    }

    /// What is replayed from this place on, to a client that is past `cursor`.
    fn replay(&mut self, number: usize, from: usize, cursor: usize, link: LinkId) -> Stretch {
        let mut stretch = Stretch::default();
        for (work, place) in self.due(number, from) {
            let alias = self.alias(work, place);
            let event = &mut self.works[work].events[place];
            if (work != number || place <= cursor) && !event.texts.is_empty() {
                self.shares.happened(Happened::Duplicate);
            }
            event.first.get_or_insert(link);
            let block = match (&event.id, &alias) {
                (Some(id), Some(alias)) => event.block.replacen(id.as_str(), alias, 1),
                _ => event.block.clone(),
            };
            stretch.push(&block, Some(Mark::Block { work, place, broken: event.broken, alias }));
        }
        stretch
    }

    /// The events that a resume brings, in the order in which they were stored.
    fn due(&mut self, number: usize, from: usize) -> Vec<(usize, usize)> {
        let own = (from..self.works[number].events.len()).map(|place| (number, place)).collect::<Vec<_>>();
        if self.schedule.server.replays != Replays::All {
            return own;
        }
        let (session, events) = (self.works[number].session, &self.works[number].events);
        let since = from.checked_sub(1).map_or(0, |before| events[before].seq);
        let others = self.works.iter().enumerate();
        let others = others.filter(|(other, work)| *other != number && work.session == session && !work.gone);
        let mut due = own;
        for (other, work) in others {
            let nameless =
                work.events.iter().rposition(|event| event.id_use != IdUse::Cursor).map_or(0, |at| at + 1);
            let kept = work.kept_from.max(nameless)..work.events.len();
            due.extend(kept.filter(|place| work.events[*place].seq > since).map(|place| (other, place)));
        }
        due.sort_by_key(|(work, place)| self.works[*work].events[*place].seq);
        if due.iter().any(|(work, _)| *work != number) {
            self.shares.happened(Happened::Foreign);
        }
        due
    }

    /// Another name for an event, where each replay gives one.
    fn alias(&mut self, number: usize, place: usize) -> Option<String> {
        let event = &self.works[number].events[place];
        let is_named = event.id.is_some()
            && event.id_use == IdUse::Cursor
            && event.id.as_ref().is_some_and(|id| id.is_ascii());
        if self.schedule.server.replays != Replays::Renamed || !is_named {
            return None;
        }
        self.shares.happened(Happened::Renamed);
        let alias = format!("r{:016x}", self.rng.next());
        self.works[number].events[place].aliases.push(alias.clone());
        Some(alias)
    }

    /// The server begins anew, and its sessions go on: their streams are over, and their events are numbered again.
    pub(crate) fn restart(&mut self) {
        self.restarted = true;
        self.shares.happened(Happened::Restarted);
        for work in &mut self.works {
            (work.gone, work.stopped) = (true, true);
            self.effects.extend(work.attached.take().map(|link| Effect::Fault(link, Fault::Cut)));
            self.effects.extend(work.ears.drain(..).map(|link| Effect::Fault(link, Fault::Cut)));
        }
        for session in &mut self.sessions {
            if let Some(stream) = session.stream.take() {
                session.alive = false;
                self.effects.push(Effect::Fault(stream, Fault::Cut));
            }
            (session.works, session.events) = (0, 0);
        }
    }
}
