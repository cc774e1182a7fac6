//! What is told of the session's state, and of what a resume brought.

use std::collections::BTreeSet;

use landfall::proto::{Method, SessionState};

use super::Judge;
use crate::sim::network::{Delivery, Link, LinkId, Mark};
use crate::sim::server::Server;

#[derive(Default)]
pub(super) struct States {
    /// The state that was told last.
    told: Option<SessionState>,
    /// Requests in a row that got no HTTP answer, and those that failed so.
    misses: u32,
    failures: u32,
    /// So many misses must be known when all is told.
    needs: u32,
    /// What is handed to the client just now, whose it is, and what it holds.
    delivered: Option<(LinkId, Option<usize>)>,
    chunk: Vec<Mark>,
    /// Resumes that were told, and those that may bring something.
    resumed: BTreeSet<LinkId>,
    resumes: BTreeSet<LinkId>,
    /// One was told just now, that brought something, and nothing of that.
    is_fresh: bool,
}

impl Judge<'_> {
    /// A state is told when it is another, and where it is so.
    pub(super) fn on_state(&mut self, state: SessionState) {
        let before = self.states.told.replace(state);
        if state != SessionState::Ready {
            self.excuse_tasks();
        }
        self.expect(before != Some(state), || format!("{state:?} is told twice in a row"));
        self.expect(before != Some(SessionState::Closed), || format!("{state:?} is told after the end"));
        let failures = self.states.failures;
        let right = match state {
            SessionState::Connecting => before.is_none(),
            SessionState::Ready => self.stands() && failures == 0,
            SessionState::Closed => self.closing,
            SessionState::Recovering | SessionState::Offline => true,
        };
        self.states.needs = match state {
            SessionState::Recovering if !self.sessions.is_replacing() => 1,
            SessionState::Offline => 2,
            _ => 0,
        };
        self.expect(right, || format!("{state:?} is told after {before:?} and {failures} failures"));
    }

    pub(super) fn is_told(&self, state: SessionState) -> bool {
        self.states.told == Some(state)
    }

    /// The end is told as a state before.
    pub(super) fn check_end_is_told(&mut self) {
        let told = self.states.told;
        self.expect(told == Some(SessionState::Closed), || {
            format!("the end comes, and the state is {told:?}")
        });
    }

    /// Something is handed to the client.
    pub(super) fn note_delivered(&mut self, id: LinkId, link: &Link, delivery: &Delivery) {
        // What comes on the body of an earlier request is no stream that is told of.
        self.states.delivered = (!link.earlier).then_some((id, link.call));
        match delivery {
            Delivery::Head(head) => {
                (self.states.misses, self.states.failures) = (0, 0);
                if link.request.method == Method::Get && link.call.is_some() && head.status == 200 {
                    self.states.resumes.insert(id);
                }
            }
            Delivery::Bytes(stretch) => {
                self.states.chunk = stretch.marks.iter().map(|(_, mark)| mark.clone()).collect();
            }
            Delivery::End | Delivery::Failed(_) if !link.headed => {
                self.states.misses += 1;
                self.states.failures += 1;
            }
            Delivery::End | Delivery::Failed(_) => {}
        }
    }

    pub(super) fn note_ended_unanswered(&mut self, link: &Link) {
        self.states.misses += u32::from(!link.headed);
    }

    /// All is told that this brought.
    pub(super) fn delivered(&mut self) {
        self.states.is_fresh = false;
        (self.states.delivered, self.states.chunk) = (None, Vec::new());
        let (needs, misses) = (std::mem::take(&mut self.states.needs), self.states.misses);
        let told = self.states.told;
        self.expect(misses >= needs, || format!("{told:?} is told after {misses} misses"));
    }

    /// A resume is told once, and counts the events of the first bytes that had some.
    pub(super) fn on_resumed(&mut self, watch: usize, counts: (u32, u32), server: &Server<'_>) {
        let (replayed, duplicates) = counts;
        let call = self.watches[watch].plan;
        if replayed == 0 {
            return; // It brought nothing: it may be the one that is given up.
        }
        let link = self.states.delivered.filter(|(_, owner)| *owner == Some(watch));
        self.states.is_fresh = true;
        let is_first = link.is_some_and(|(link, _)| self.states.resumed.insert(link));
        self.expect(is_first, || format!("call {call:?} was not resumed by {link:?}, or that was told"));
        let is_event = |mark: &&Mark| match mark {
            Mark::Block { work, place, .. } => server.works[*work].events[*place].has_data,
            Mark::Loose(_) | Mark::Stray => true,
            Mark::Retry(_) | Mark::Endpoint(_) | Mark::Tools | Mark::Wants { .. } => false,
        };
        let most = self.states.chunk.iter().filter(is_event).count();
        self.expect(replayed as usize <= most && duplicates <= replayed, || {
            format!("call {call:?} is told {replayed} and {duplicates} of {most} events of a resume")
        });
    }

    /// A resume that takes the place of another is told when that has ended.
    pub(super) fn check_ended_before(&mut self, watch: usize) {
        let (call, is_early) = (self.watches[watch].plan, self.states.is_fresh);
        self.expect(!is_early, || format!("call {call:?} is told a resume before the end of the one before"));
    }

    /// What a resume brings comes after it was told.
    pub(super) fn check_resumed(&mut self, watch: usize) {
        let Some((link, _)) = self.states.delivered.filter(|(link, _)| self.states.resumes.contains(link))
        else {
            return;
        };
        self.states.is_fresh = false;
        let (call, told) = (self.watches[watch].plan, self.states.resumed.contains(&link));
        self.expect(told, || format!("call {call:?} is told what a resume brought, and not of that"));
    }
}
