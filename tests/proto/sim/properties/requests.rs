//! What the client may ask of the world.

use landfall::proto::{Method, OnGap, ReplayOption};

use super::{Judge, SECOND};
use crate::sim::agenda::Time;
use crate::sim::network::{Link, LinkId, Network};
use crate::sim::schedule::{Replays, Scheduler, Tool};
use crate::sim::server::Server;
use crate::sim::shares::Happened;
use crate::sim::trail::Place;
use crate::sim::watch::Sent;

impl Judge<'_> {
    pub(crate) fn on_transmit(&mut self, now: Time, id: LinkId, network: &Network, server: &Server<'_>) {
        let link = &network.links[id];
        let request = &link.request;
        self.note_asked(now, id, link);
        self.note_question(link);
        self.check_words(link);
        self.check_task(now, id, network);
        let header = |name| request.headers.iter().find(|(known, _)| known == name).map(|(_, v)| v.as_str());
        let session = header("mcp-session-id");
        let is_trial = session.is_some() && session == self.sessions.tried();
        let body = request.body.as_deref().unwrap_or_default();
        self.greets |= link.greets || body.contains("notifications/initialized");
        if body.contains("\"method\":\"initialize\"") {
            let is_clients = request.call.is_some_and(|call| self.messages.contains(&call));
            return self.on_initialize(now, id, network, is_clients);
        }
        if let (Some(known), Some(session)) = (self.sessions.used.clone(), session) {
            // In a session that is only tried nothing is done for a call.
            let right = known == session || (is_trial && link.call.is_none());
            self.expect(right, || format!("the session in use is {known}: {request:?}"));
        }
        self.check_answer(body);
        if body.contains("notifications/cancelled") {
            let fresh = self.told_cancelled.insert(body.to_string()) || self.schedule.shares_ids();
            self.check_reason(body);
            self.expect(fresh, || format!("the server is told once that a call is cancelled: {body}"));
        }
        if request.method == Method::Delete {
            if is_trial {
                return self.on_given_back();
            }
            let once = session.is_none_or(|session| self.sessions.ended.insert(session.to_string()));
            self.expect(once, || "one DELETE".to_string());
            let is_used = session.is_some() && session == self.sessions.used.as_deref();
            let closing = self.closing;
            self.expect(!is_used || closing, || "the session in use is ended".to_string());
        }
        let Some(watch) = link.call else { return };
        self.check_alone(now, watch);
        let seen = &mut self.watches[watch];
        seen.hops = if seen.hop { seen.hops + 1 } else { 0 };
        match request.method {
            Method::Get => self.on_resume(now, watch, session, header("last-event-id"), server),
            _ => {
                self.check_round(watch, link, network, server);
                self.check_reissue(now, watch, network, server);
                self.check_names(watch, id, network);
                self.on_post(now, id, watch, network);
            }
        }
        self.check_connections(watch, network);
    }

    /// Nothing is sent again while an older request can still answer, but once: when its body was silent for `idleMs`, and
    /// `recoveryMs` is over. And no body that could answer is ended for it without a reason.
    fn check_reissue(&mut self, now: Time, watch: usize, network: &Network, server: &Server<'_>) {
        let plan = self.plan(watch);
        // The same request, with other credentials, is no other.
        let last = self.watches[watch].posts.last();
        if last.is_some_and(|(link, _)| network.links[*link].goes_again()) {
            return;
        }
        let crowded = self.schedule.client.max_concurrent < 32;
        let open =
            network.links.iter().filter(|link| link.call == Some(watch) && link.earlier && link.is_open());
        let open = open.count();
        let seen = &mut self.watches[watch];
        let bounds = seen.bounds;
        let silent = now - seen.bytes_at >= bounds.idle && now - seen.made >= bounds.idle + bounds.recovery;
        let (once, beside) = (!seen.beside, open > 0);
        seen.beside |= beside;
        let gap = seen.gaps > 0 && plan.is_some_and(|plan| plan.on_gap == OnGap::Reissue);
        let gave_up = std::mem::take(&mut seen.gave_up);
        let replaced = std::mem::take(&mut seen.replaced);
        // It was ended to be resumed, and what its handlers did since has lost its place.
        let is_cursor = |place: &Place| matches!(place, Place::Cursor(_));
        let lost_place = seen.left.as_ref().is_some_and(is_cursor) && !is_cursor(&seen.trail.place(server));
        // A user who wants so few resumes is sent again in their place.
        let ended = replaced || gap || crowded || lost_place || self.schedule.client.max_retries.is_some();
        let call = seen.plan;
        self.expect(!beside || (open == 1 && once && silent), || {
            format!("call {call:?} is sent again while {open} older requests of it can still answer")
        });
        self.expect(!gave_up || ended, || {
            format!("call {call:?} ended a body that could answer, to be sent again")
        });
        if beside {
            self.happened(Happened::Beside);
        }
    }

    /// A call that may have been executed is sent again only if it may be executed twice.
    fn on_post(&mut self, now: Time, id: LinkId, watch: usize, network: &Network) {
        let plan = self.plan(watch);
        let replay = self.schedule.client.replay;
        self.note_hinted(watch);
        let hinted = self.watches[watch].hinted && replay == ReplayOption::Hints;
        let safe = plan.is_none_or(|plan| match plan.tool {
            Tool::Once | Tool::Notify => false,
            Tool::Same | Tool::Pure => hinted,
            Tool::Vouched | Tool::Read => true,
        });
        let safe = safe && replay != ReplayOption::Never;
        let seen = &mut self.watches[watch];
        // What got no HTTP answer is not counted, nor is what is made once more with other credentials.
        let posts = seen.posts.iter().filter(|(_, sent)| *sent != Sent::Round);
        let posts = posts.map(|(post, _)| &network.links[*post]);
        let reissued = posts.filter(|post| !post.goes_again()).skip(1).filter(|post| post.headed).count();
        let may_be_executed = seen.adopts || seen.posts.iter().any(|(_, sent)| *sent == Sent::Unknown);
        let early = seen.floor.take().is_some_and(|floor| now < floor);
        seen.posts.push((id, Sent::Unknown));
        seen.hop = false;
        let trail = std::mem::take(&mut seen.trail);
        seen.orphans.extend(trail.in_hand());
        seen.orphans_failed += trail.failed() + trail.given_up;
        seen.is_new();
        (seen.retry, seen.token, seen.dropped) = (None, None, None);
        seen.rest_over(now);
        if seen.heard.is_none() {
            seen.heard(now);
        }
        let call = seen.plan;
        self.expect(safe || !may_be_executed, || format!("call {call:?} is not safe, and was sent twice"));
        self.expect(!early, || format!("call {call:?} was sent again before its Retry-After"));
        self.expect(reissued < 2, || {
            format!("call {call:?} is re-issued again after {reissued} that were answered")
        });
    }

    /// A call keeps what was known of its tool when its first request went out: that is a GET where it goes on with a
    /// stream of another client's.
    fn note_hinted(&mut self, watch: usize) {
        let listed = self.listed;
        let seen = &mut self.watches[watch];
        seen.hinted |= !seen.was_sent() && listed;
    }

    /// A resume asks from where the call is, in the session of its stream, and not before it may.
    fn on_resume(
        &mut self,
        now: Time,
        watch: usize,
        session: Option<&str>,
        cursor: Option<&str>,
        server: &Server<'_>,
    ) {
        // Nobody keeps thousands of events that failed.
        let many = self.watches[watch].trail.len() > 2_000;
        // What comes from before its token is new to a client that begins with it.
        let begins_late = self.watches[watch].adopts && self.schedule.server.overlap > 0;
        let plan = self.watches[watch].plan;
        let reset = server.works.iter().any(|work| Some(work.call) == plan && work.reset);
        let odd =
            self.is_odd(watch, server) && (many || reset || self.schedule.server.replays != Replays::Renamed);
        let odd = odd || begins_late;
        self.note_hinted(watch);
        self.read_through(watch, cursor.unwrap_or_default(), server);
        let seen = &mut self.watches[watch];
        let call = seen.plan;
        seen.gets += 1;
        seen.gave_up = false;
        seen.rest_over(now);
        seen.barren.push(now);
        // After the third attempt in vain, at most three a second; five, where the host ends the waits.
        let distance = if self.schedule.client.scheduler.is_some() { 600_000 } else { SECOND };
        let hop = std::mem::take(&mut seen.hop);
        if hop {
            seen.barren.pop(); // It is the same attempt.
        }
        let quick = match seen.barren.as_slice() {
            [_, _, _, .., first, _, _, last] => last - first < distance,
            _ => false,
        };
        let (most, vain) = (self.schedule.client.max_retries.map(usize::from), seen.vain);
        // To begin with a token is no retry.
        let most = most.filter(|_| !seen.adopts);
        if vain > 0 && most == Some(vain + 1) {
            self.shares.happened(Happened::Limited);
        }
        let pause = seen.dropped.take().map(|dropped| now - dropped);
        let hasty = pause.zip(seen.retry).is_some_and(|(pause, retry)| pause < u64::from(retry) * 1_000);
        let hasty = hasty
            && !hop
            && !self.stood_still
            && !matches!(self.schedule.client.scheduler, Some(Scheduler::Hurries));
        let early = seen.floor.take().is_some_and(|floor| now < floor);
        seen.trail.pass_broken(server);
        let place = seen.trail.place(server);
        let right = place == Place::Cursor(cursor.unwrap_or_default().to_string()) || odd;
        let retry = seen.retry;
        self.expect(right, || format!("call {call:?} resumes from {cursor:?}, and it is at {place:?}"));
        self.expect(most.is_none_or(|most| vain < most), || {
            format!("call {call:?} resumes again after {vain} in vain, of {most:?}")
        });
        let quick = quick && !self.stood_still;
        self.expect(!quick, || format!("call {call:?} polls in a storm"));
        self.expect(!hasty, || {
            format!("call {call:?} resumed after {pause:?} us, and retry is {retry:?} ms")
        });
        self.expect(!early, || format!("call {call:?} resumed before its Retry-After"));
        let session = server.sessions.iter().position(|known| Some(known.id.as_str()) == session);
        let known = session.is_some_and(|session| server.had(session, cursor.unwrap_or_default()));
        self.expect(known, || format!("call {call:?} polls a cursor of another session"));
    }

    fn check_connections(&mut self, watch: usize, network: &Network) {
        let generation = self.generation;
        let is_call = |watch| self.plan(watch).is_none_or(|plan| plan.tool != Tool::Notify);
        let open = |l: &&Link| l.generation == generation && l.is_open() && l.call.is_some_and(is_call);
        let open: Vec<_> = network.links.iter().filter(open).collect();
        // One is kept for control traffic.
        let most = usize::from(self.schedule.client.max_concurrent) - 1;
        let count = open.iter().filter(|link| !self.schedule.client.until_headers || !link.headed).count();
        self.expect(count <= most, || format!("{count} connections of {most}"));
        // A silent body may be raced by a resume; two at a time are never asked for.
        let gets =
            open.iter().filter(|l| l.call == Some(watch) && l.request.method == Method::Get && !l.earlier);
        let (all, asking) = (gets.clone().count(), gets.filter(|link| !link.headed && !link.kept).count());
        self.expect(all <= 2 && asking <= 1, || format!("{all} resumes of one stream at a time"));
    }

    /// The client pauses a body, or goes on. Its clocks rest meanwhile.
    pub(crate) fn on_pause(&mut self, link: &Link, reads: bool) {
        if let Some(watch) = link.call.filter(|_| !reads) {
            self.watches[watch].unclocked = true;
        }
    }
}
