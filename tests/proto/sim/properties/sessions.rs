//! Sessions: one at a time, replaced only for a reason, and tried only where their pings fail.

use std::collections::{BTreeMap, BTreeSet};

use landfall::proto::{Era, Method, ResponseHead};

use super::{Judge, SECOND};
use crate::sim::agenda::Time;
use crate::sim::network::{Delivery, Link, LinkId, Network};
use crate::sim::server::Session;
use crate::sim::shares::Happened;

/// So many pings in a row fail before a handshake is tried, and one more before its session is adopted.
const PINGS_TO_TRY: u32 = 2;

#[derive(Default)]
pub(super) struct Sessions {
    /// The session that the client uses.
    pub(super) used: Option<String>,
    /// The session that the server gave last.
    offered: Option<String>,
    /// The same, where it is a Client that asked for it.
    offered_to_client: Option<String>,
    /// Sessions that a server refused.
    refused: BTreeSet<String>,
    /// How many pings in a row failed in a session.
    failed_pings: BTreeMap<String, u32>,
    /// How many pings in a row the network cut.
    pub(super) cut_pings: u32,
    /// The statuses of pings whose answer is not whole.
    pings: BTreeMap<LinkId, u16>,
    initializing: Option<LinkId>,
    /// That of a Client itself.
    clients: Option<LinkId>,
    initialized: Vec<Time>,
    /// A session is being replaced; when sessions came to be that replaced others.
    replacing: bool,
    replaced: Vec<Time>,
    /// Those that the client ended.
    pub(super) ended: BTreeSet<String>,
    trial: Option<Trial>,
    tried: Option<Time>,
}

/// A handshake beside the session in use.
struct Trial {
    /// The session that it brought.
    id: Option<String>,
    /// A ping came back there.
    pinged: bool,
}

impl Sessions {
    /// One that is known, if any is.
    pub(super) fn known(used: Option<String>) -> Self {
        Self { offered: used, ..Self::default() }
    }

    /// Whether a session is dead, and the client was told so.
    pub(super) fn is_known_dead(&self, session: &Session) -> bool {
        !session.alive && self.refused.contains(&session.id)
    }

    /// One is in use.
    pub(super) fn stands(&self, without_id: bool) -> bool {
        (self.used.is_some() || without_id) && !self.replacing
    }

    pub(super) fn is_replacing(&self) -> bool {
        self.replacing
    }

    /// The session that is only tried.
    pub(super) fn tried(&self) -> Option<&str> {
        self.trial.as_ref()?.id.as_deref()
    }
}

pub(super) fn session(link: &Link) -> Option<&String> {
    let mut headers = link.request.headers.iter();
    headers.find(|(known, _)| known == "mcp-session-id").map(|(_, id)| id)
}

pub(super) fn is_ping(link: &Link) -> bool {
    let asks = |method| link.request.body.as_deref().is_some_and(|body| body.contains(method));
    asks("\"method\":\"ping\"") || (asks("\"method\":\"server/discover\"") && !link.greets)
}

/// Whether the session took a request: a resume is taken where a stream opens.
fn accepts(link: &Link, head: &ResponseHead) -> bool {
    let is_stream = head.content_type.as_deref() == Some("text/event-stream");
    (200..300).contains(&head.status) && (link.request.method != Method::Get || is_stream)
}

impl Judge<'_> {
    /// One handshake at a time. Where a session is in use, it is a trial.
    pub(super) fn on_initialize(&mut self, now: Time, id: LinkId, network: &Network, is_clients: bool) {
        // A Client begins a session when it likes, beside one of ours, too.
        if is_clients {
            self.sessions.clients = Some(id);
            return;
        }
        let pending = self.sessions.initializing.is_some_and(|link| network.links[link].is_open());
        self.expect(!pending, || "one handshake at a time".to_string());
        let before = self.sessions.initializing.replace(id).map(|link| &network.links[link].request.body);
        if before == Some(&network.links[id].request.body) {
            return; // The same, with other credentials.
        }
        // What met an error that passes is made again, and each time later: no storm.
        self.sessions.initialized.push(now);
        let within = |span| self.sessions.initialized.iter().filter(|at| **at + span > now).count();
        let (two, minute) = (within(2 * SECOND), within(60 * SECOND));
        self.expect(two <= 5 && minute <= 30, || {
            format!("{two} handshakes in two seconds, {minute} in a minute")
        });
        let Some(session) = self.sessions.used.clone() else { return };
        self.happened(Happened::Tried);
        let failed = self.failed_pings(&session);
        self.expect(failed >= PINGS_TO_TRY && !self.schedule.client.fail_lost, || {
            format!("a handshake is tried beside session {session}, where {failed} pings failed")
        });
        let before = self.sessions.tried.replace(now);
        let spaced = before.is_none_or(|before| before + 60 * SECOND <= now);
        self.expect(spaced, || "two trials in a minute".to_string());
        self.sessions.trial = Some(Trial { id: None, pinged: false });
    }

    fn failed_pings(&self, session: &str) -> u32 {
        self.sessions.failed_pings.get(session).copied().unwrap_or_default()
    }

    /// A session is replaced: it was refused, or its pings failed while the server was well.
    pub(crate) fn on_replaced(&mut self) {
        self.happened(Happened::Replaced);
        self.sessions.replacing = true;
        self.eras.spoken = None;
        self.part_from_session();
        let trial = self.sessions.trial.take();
        let Some(session) = self.sessions.used.take() else { return };
        let refused = self.sessions.refused.contains(&session);
        let failed = self.failed_pings(&session);
        if trial.as_ref().is_some_and(|trial| trial.pinged) {
            self.happened(Happened::Adopted);
        }
        let tried = trial.is_some_and(|trial| trial.pinged) && failed > PINGS_TO_TRY;
        self.expect(refused || tried, || {
            format!("session {session} is replaced, where {failed} pings failed, and nobody refused it")
        });
    }

    pub(super) fn on_given_back(&mut self) {
        self.sessions.trial = None;
        self.happened(Happened::GivenBack);
    }

    /// What was begun beside a session that lives is given back.
    pub(super) fn check_trial(&mut self) {
        let kept = self.sessions.tried().map(str::to_string);
        self.expect(kept.is_none(), || format!("session {kept:?} was tried, and is kept"));
    }

    /// The handshake is done: the session is the one that the server gave last.
    pub(crate) fn on_ready(&mut self, now: Time, session: Option<String>) {
        let is_clients = session.is_some() && session == self.sessions.offered_to_client;
        // How often a Client begins one is its own doing.
        if std::mem::take(&mut self.sessions.replacing) && !is_clients {
            self.sessions.replaced.push(now);
        }
        let minute = self.sessions.replaced.iter().filter(|at| **at + 60 * SECOND > now).count();
        self.expect(minute <= 3, || format!("{minute} sessions came to replace others in a minute"));
        if is_clients {
            self.on_client_began();
        } else {
            let is_modern = matches!(self.eras.spoken, Some(Era::Modern | Era::Sse));
            let given = self.sessions.offered.clone().filter(|_| !is_modern);
            self.expect(session == given, || format!("the session is {given:?}, and not {session:?}"));
        }
        self.sessions.used = session;
    }

    /// A Client has a session of its own: what is left of the one before parts from that.
    fn on_client_began(&mut self) {
        self.sessions.offered_to_client = None;
        if self.sessions.used.is_some() {
            self.part_from_session();
        }
    }

    /// What a server asked of the old session's streams does not bind the new one.
    fn part_from_session(&mut self) {
        self.listed = false;
        for watch in &mut self.watches {
            (watch.parted, watch.replaced, watch.floor) = (true, true, None);
        }
    }

    /// What comes says something of the session.
    pub(super) fn note_session(&mut self, id: LinkId, link: &Link, delivery: &Delivery) {
        let sessions = &mut self.sessions;
        if let (true, Delivery::Head(head)) = (sessions.clients == Some(id), delivery) {
            sessions.offered_to_client.clone_from(&head.session_id);
        }
        if let (true, Delivery::Head(head)) = (sessions.initializing == Some(id), delivery) {
            if head.status == 200 {
                sessions.offered.clone_from(&head.session_id);
                if let Some(trial) = &mut sessions.trial {
                    trial.id.clone_from(&head.session_id);
                }
            }
        }
        let nameless = String::new();
        let session = session(link).or_else(|| is_ping(link).then_some(&nameless));
        let Some(session) = session else { return };
        let failed = sessions.failed_pings.entry(session.clone()).or_default();
        match delivery {
            Delivery::Head(head) => {
                if matches!(head.status, 400 | 401 | 404 | 410) {
                    sessions.refused.insert(session.clone());
                }
                if is_ping(link) {
                    sessions.cut_pings = 0;
                    sessions.pings.insert(id, head.status);
                } else if accepts(link, head) {
                    *failed = 0;
                }
            }
            Delivery::End | Delivery::Failed(_) => match sessions.pings.remove(&id) {
                None => sessions.cut_pings += u32::from(is_ping(link)),
                Some(409 | 429 | 503) => {}
                Some(200) if matches!(delivery, Delivery::Failed(_)) => {}
                Some(200) => {
                    *failed = 0;
                    if let Some(trial) = sessions.trial.as_mut().filter(|t| t.id.as_ref() == Some(session)) {
                        trial.pinged = true;
                    }
                }
                Some(_) => *failed += 1,
            },
            Delivery::Bytes(_) => {}
        }
    }

    /// The client waits for a ping no longer.
    pub(super) fn note_hung_ping(&mut self, id: LinkId, link: &Link) {
        let Some(session) = session(link).filter(|_| is_ping(link)) else { return };
        if !link.ended {
            self.sessions.pings.remove(&id);
            *self.sessions.failed_pings.entry(session.clone()).or_default() += 1;
        }
    }
}
