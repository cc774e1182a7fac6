//! The GET stream for what belongs to no call, as the server serves it.

use super::agenda::Time;
use super::network::{Fault, LinkId, Stretch};
use super::schedule::Listened;
use super::server::{head, Effect, Server, SSE};
use super::shares::Happened;

/// Between two events of it.
const PACE: u64 = 700_000;

#[derive(Default)]
pub(crate) struct Listening {
    /// How often it was opened.
    opened: usize,
    /// The body that is open, how it ends, and how much it has still to bring.
    open: Option<(LinkId, Listened, u32)>,
    /// Events that it has brought.
    events: usize,
}

impl Server<'_> {
    pub(super) fn listen(&mut self, link: LinkId, session: usize, cursor: Option<&str>) {
        if !self.schedule.client.listens {
            return self.refuse(link, 405, None);
        }
        let plans = &self.schedule.server.listened;
        let plan = plans[self.listening.opened % plans.len()];
        self.listening.opened += 1;
        let life = match plan {
            Listened::Status(status, after) => return self.refuse(link, status, after),
            Listened::Served(ms) | Listened::Cut(ms) => u64::from(ms) * 1_000,
            Listened::Silent => 0,
        };
        self.shares.happened(Happened::Listened);
        self.effects.push(Effect::Head(link, head(200, SSE)));
        self.listening.open = Some((link, plan, (life / PACE) as u32));
        // What came before it was opened, after the cursor.
        let number = |cursor: &str| cursor.strip_prefix(&format!("g{session}/"))?.parse::<usize>().ok();
        if let Some(from) = cursor.and_then(number) {
            for event in from..self.listening.events {
                self.write_listened(link, session, event);
            }
        }
        if plan != Listened::Silent {
            self.effects.push(Effect::Listen(PACE.min(life), link));
        }
    }

    /// Something comes on it, or it ends.
    pub(crate) fn listen_on(&mut self, now: Time, link: LinkId) {
        let Some((open, plan, left)) = self.listening.open.filter(|(open, ..)| *open == link) else { return };
        let Some(session) = self.sessions.iter().rposition(|session| session.alive) else { return };
        self.sessions[session].touch(now);
        if left == 0 {
            self.listening.open = None;
            return self.effects.push(match plan {
                Listened::Cut(_) => Effect::Fault(link, Fault::Cut),
                _ => Effect::End(link),
            });
        }
        self.listening.open = Some((open, plan, left - 1));
        self.listening.events += 1;
        self.write_listened(link, session, self.listening.events - 1);
        self.effects.push(Effect::Listen(PACE, link));
    }

    fn write_listened(&mut self, link: LinkId, session: usize, event: usize) {
        let params = format!(r#"{{"level":"info","data":"~L.{event}~"}}"#);
        let json = format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}"#);
        let block = format!("id: g{session}/{}\ndata: {json}\n\n", event + 1);
        self.effects.push(Effect::Write(link, Stretch::text(&block)));
    }

    /// The response to a request that was taken with a 202 comes on it.
    pub(super) fn answer_listening(&mut self, work: usize, response: &str) {
        let is_elsewhere = self.works[work].accepted && !self.shares_id(&self.works[work]);
        let Some((link, ..)) = self.listening.open.filter(|_| is_elsewhere) else { return };
        self.shares.happened(Happened::AnsweredElsewhere);
        self.effects.push(Effect::Write(link, Stretch::text(&format!("data: {response}\n\n"))));
    }
}
