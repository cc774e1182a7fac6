//! Bodies that are ended before their time, and calls that are kept waiting though the server is well.

use landfall::proto::{Method, OnGap};

use super::sessions::is_ping;
use super::{Judge, SECOND};
use crate::sim::agenda::Time;
use crate::sim::clocks::Bounds;
use crate::sim::eras::Speaks;
use crate::sim::network::{Delivery, Link, LinkId, Network};
use crate::sim::schedule::Listened;

/// Our own longest wait, with its spreads; and a question of the session's, or another call's attempt, before it.
const MOST_ALONE: Time = 12 * SECOND;

impl Judge<'_> {
    /// Something failed, or a handshake is under way: the server is not well.
    pub(super) fn note_health(&mut self, now: Time, id: LinkId, link: &Link, delivery: &Delivery) {
        let body = link.request.body.as_deref().unwrap_or_default();
        let shakes = link.greets || body.contains("notifications/initialized");
        let is_well = match delivery {
            Delivery::Head(head) => (200..300).contains(&head.status),
            Delivery::Bytes(_) | Delivery::End => true,
            Delivery::Failed(_) => false,
        };
        self.greets &= !shakes;
        self.note_waiting(now, id);
        if !is_well || shakes {
            self.unwell = now;
        }
    }

    /// A resume or a ping is sent. A server that is well answers both at once.
    pub(super) fn note_asked(&mut self, now: Time, id: LinkId, link: &Link) {
        if is_ping(link) || (link.call.is_some() && link.request.method == Method::Get) {
            self.asked.insert(id, now);
        }
    }

    /// It is answered, or given up; where that took longer than one attempt speaks for all, the server was not well.
    pub(super) fn note_waiting(&mut self, now: Time, id: LinkId) {
        let connect = Bounds::of(self.schedule, None).connect;
        if self.asked.remove(&id).is_some_and(|asked| now - asked > connect) {
            self.unwell = now;
        }
    }

    /// Whether a request of this call is under way, but for one.
    pub(super) fn note_alone(&mut self, now: Time, watch: usize, but: Option<LinkId>, network: &Network) {
        let mut links = network.links.iter().enumerate();
        let is_alone = !links.any(|(id, link)| link.call == Some(watch) && link.is_open() && Some(id) != but);
        let seen = &mut self.watches[watch];
        seen.alone = is_alone.then(|| seen.alone.unwrap_or(now));
    }

    /// A call goes on, or ends: it was not kept waiting while the server was well.
    pub(super) fn check_alone(&mut self, now: Time, watch: usize) {
        let plan = &self.schedule.client;
        let connect = Bounds::of(self.schedule, None).connect;
        let is_silent = self.asked.values().any(|asked| now - asked > connect);
        let unwell = if is_silent { now } else { self.unwell };
        let seen = &mut self.watches[watch];
        let Some(since) = seen.alone.take() else { return };
        // Others wait for connections, for credentials, for their host, for the GET stream, or were asleep.
        let excused = plan.max_concurrent < 32
            || plan.scheduler.is_some()
            || plan.provider.is_some()
            || (plan.listens
                && self
                    .schedule
                    .server
                    .listened
                    .iter()
                    .any(|how| matches!(how, Listened::Served(_) | Listened::Cut(_) | Listened::Silent)))
            // A handshake that nothing comes to is waited for as long as handshakeMs says.
            || self.greets
            || seen.slept > 0
            // Its server waits for the host.
            || seen.rounds > 0
            // It is no request that it waits for.
            || seen.task.is_some()
            // Its answer comes on the stream of the session.
            || self.schedule.era.speaks == Speaks::Sse
            || self.stood_still;
        let retry = seen.retry.map_or(0, |ms| u64::from(ms) * 1_100);
        let from = since.max(unwell).max(seen.ordered);
        let (call, waited) = (seen.plan, now.saturating_sub(from));
        self.expect(excused || waited <= MOST_ALONE + retry, || {
            format!("call {call:?} was kept waiting for {waited} us though the server was well")
        });
    }

    /// A ping was answered: the resumes that count as open from now on, for their headers are late.
    pub(crate) fn kept_by(
        &self,
        now: Time,
        id: LinkId,
        delivery: &Delivery,
        network: &Network,
    ) -> Vec<LinkId> {
        let ping = &network.links[id];
        if !(is_ping(ping) && ping.status == 200 && matches!(delivery, Delivery::End)) {
            return Vec::new();
        }
        let links = network.links.iter().enumerate();
        links.filter(|(_, link)| self.is_late(now, link)).map(|(id, _)| id).collect()
    }

    /// Whether this is a resume that got no headers within `connectMs`.
    fn is_late(&self, now: Time, link: &Link) -> bool {
        let connect = link.call.map(|watch| self.watches[watch].bounds.connect);
        link.request.method == Method::Get
            && link.is_open()
            && !link.headed
            && connect.is_some_and(|connect| now >= link.made + connect)
    }

    /// The client ended a body of which bytes came within `idleMs`, and no other takes its place. Bytes that do not fill
    /// `idleMs` again are none: those of a resumed stream before its first event.
    pub(super) fn note_ended(&mut self, now: Time, id: LinkId, network: &Network, is_race: bool) {
        let link = &network.links[id];
        let Some(watch) = link.call else { return };
        let plan = self.plan(watch);
        let seen = &mut self.watches[watch];
        let is_body = link.reading && link.status == 200 && !link.ended && !is_race && !link.earlier;
        let is_fed = link.fed > 0 && seen.believed.contains(&id) && now - link.fed < seen.bounds.idle;
        // Where connections are few, a resume has that of the silent body.
        let crowded = self.schedule.client.max_concurrent < 32;
        let gap = seen.gaps > 0 && plan.is_some_and(|plan| plan.on_gap != OnGap::Continue);
        seen.ended_fed |= is_body && is_fed && !gap && !crowded && !seen.replaced;
    }

    /// All is told: whoever ended a body that was fed has ended.
    pub(super) fn check_ended(&mut self) {
        let mut call = None;
        for watch in &mut self.watches {
            let is_wrong = watch.ended.is_none() && !watch.replaced && watch.task.is_none();
            if std::mem::take(&mut watch.ended_fed) && is_wrong {
                call = Some(watch.plan);
            }
        }
        self.expect(call.is_none(), || {
            format!("call {call:?} ended a body of which bytes came within idleMs")
        });
    }
}
