//! What the client finds out of its server, and what it says then: requests on their own say so themselves, in their body
//! and in their headers.

use std::collections::BTreeSet;

use landfall::proto::{Era, Failure, HttpRequest, Manner, Method, Reason};
use serde_json::Value;

use super::Judge;
use crate::sim::agenda::Time;
use crate::sim::clocks::Bounds;
use crate::sim::eras::Speaks;
use crate::sim::network::{Delivery, Fate, Link, LinkId, Mark, Network};
use crate::sim::schedule::Reply;
use crate::sim::server::Server;
use crate::sim::shares::Happened;

const MODERN: &str = "2026-07-28";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// So often a request may come again with what its server wants.
const MOST_ROUNDS: u32 = 10;

#[derive(Default)]
pub(super) struct Eras {
    /// What the session speaks that came to be last.
    pub(super) spoken: Option<Era>,
    /// When the handshake of the current client began.
    began: Time,
    /// What it asked.
    asked: BTreeSet<&'static str>,
    /// Where it is POSTed, as the stream says that is open.
    endpoint: Option<(LinkId, String)>,
    /// A question met something else than the server's own word.
    hurt: bool,
}

/// What a question is called where it is told what became of it.
fn name(request: &HttpRequest) -> &'static str {
    let body = request.body.as_deref().unwrap_or_default();
    match request.method {
        Method::Get => "GET",
        _ if body.contains("server/discover") => "server/discover",
        _ => "initialize",
    }
}

impl Judge<'_> {
    pub(super) fn eras_begin(&mut self, now: Time) {
        self.eras = Eras { began: now, ..Eras::default() };
    }

    /// A question of the handshake goes out.
    pub(super) fn note_question(&mut self, link: &Link) {
        if link.greets {
            self.eras.asked.insert(name(&link.request));
            let says = matches!(link.fate, Fate::Post(Reply::Stream | Reply::Json));
            self.eras.hurt |= !says || !self.schedule.incidents.is_empty();
        }
    }

    /// A question of the handshake is answered, or lost.
    pub(super) fn note_word(&mut self, link: &Link, delivery: &Delivery) {
        self.eras.hurt |= link.greets && matches!(delivery, Delivery::Failed(_));
    }

    /// The client gives a question up.
    pub(super) fn note_unheard(&mut self, now: Time, link: &Link) {
        let is_late = now >= link.made + Bounds::of(self.schedule, None).connect;
        self.eras.hurt |= link.greets && !link.ended && (!link.headed || is_late);
    }

    /// A stream of many brings something: where to POST, or what says itself whose it is.
    pub(super) fn note_stream(&mut self, id: LinkId, delivery: &Delivery, server: &Server<'_>) {
        let Delivery::Bytes(stretch) = delivery else {
            if matches!(delivery, Delivery::End | Delivery::Failed(_)) {
                self.note_stream_over(id);
            }
            return;
        };
        for (_, mark) in &stretch.marks {
            match mark {
                Mark::Tools => self.on_listed(),
                Mark::Endpoint(place) => self.eras.endpoint = Some((id, place.clone())),
                Mark::Block { work, place, .. } if server.works[*work].events[*place].is_own => {
                    let plan = Some(server.works[*work].call);
                    let is_its = |watch: &&usize| self.watches[**watch].plan == plan;
                    let watch = self.known.values().rev().find(is_its).copied();
                    self.marks.extend(watch.map(|watch| (watch, id, mark.clone())));
                }
                _ => {}
            }
        }
    }

    pub(super) fn note_stream_over(&mut self, id: LinkId) {
        self.eras.endpoint.take_if(|(stream, _)| *stream == id);
    }

    /// Nothing is POSTed but to where the stream says that is open.
    fn check_endpoint(&mut self, request: &HttpRequest) {
        let old = self.schedule.era.speaks == Speaks::Sse && request.url.is_some();
        if request.method != Method::Post || !(old || self.eras.spoken == Some(Era::Sse)) {
            return;
        }
        let asks = request.body.as_deref().is_some_and(|body| {
            body.contains("\"method\":\"initialize\"") || body.contains("\"server/discover\"")
        });
        let known = self.eras.endpoint.as_ref().map(|(_, place)| place.clone());
        let right = request.url == known || (request.url.is_none() && asks);
        self.expect(right, || format!("the endpoint is {known:?}: {request:?}"));
    }

    fn is_hurt(&self) -> bool {
        let client = &self.schedule.client;
        self.eras.hurt || client.provider.is_some() || client.carries.is_some()
    }

    /// A session speaks what its server speaks: that in which a call survives most, if nothing kept the client from it.
    pub(crate) fn on_agreed(&mut self, era: Option<Era>) {
        let Some(era) = era.filter(|_| self.schedule.client.carries.is_none()) else { return };
        let plan = &self.schedule.era;
        let (speaks, agreed) = (plan.speaks, plan.agreed());
        self.eras.spoken = Some(era);
        self.happened(Happened::Found);
        if self.eras.asked.len() > 1 {
            self.happened(Happened::Turned);
        }
        self.expect(speaks.speaks(era), || format!("{era:?} is agreed with a server of {speaks:?}"));
        // What another client found out is taken as it is.
        let is_hurt = self.is_hurt() || self.eras.asked.is_empty();
        self.expect(is_hurt || agreed == Some(era), || {
            format!("{era:?} is agreed with a server of {speaks:?}, where {agreed:?} is better")
        });
    }

    /// The handshake failed: in time, not without a reason, and it is told what became of each question.
    pub(super) fn on_nothing_agreed(&mut self, now: Time, failure: &Failure) {
        if matches!(failure.reason, Reason::Closed | Reason::Cancelled) {
            return;
        }
        let clocks = self.schedule.client.clocks.options();
        let most = clocks.handshake.unwrap_or(30_000.0).min(clocks.deadline.unwrap_or(30_000.0));
        let took = now - self.eras.began;
        let sleeps = self.schedule.client.provider.is_some() || self.stood_still || self.slept;
        self.expect(sleeps || took <= (most * 1_000.0) as Time, || {
            format!("the handshake failed after {took} us: {}", failure.text)
        });
        if self.is_hurt() || failure.reason == Reason::ConnectTimeout {
            return;
        }
        self.happened(Happened::Unfit);
        let agreed = self.schedule.era.agreed();
        self.expect(agreed.is_none(), || {
            format!("nothing was agreed, and both speak {agreed:?}: {}", failure.text)
        });
        let untold =
            |asked: &&&str| self.eras.asked.len() > 1 && !failure.text.contains(&format!("{asked}: "));
        let untold = self.eras.asked.iter().find(untold).copied();
        self.expect(untold.is_none(), || format!("what became of {untold:?} is not told: {}", failure.text));
    }

    /// What goes out is said in the words of the session: of a modern one, body and headers say the same.
    pub(super) fn check_words(&mut self, link: &Link) {
        let request = &link.request;
        self.check_endpoint(request);
        let header = |name| request.headers.iter().find(|(known, _)| known == name).map(|(_, v)| v.as_str());
        let body: Value =
            request.body.as_deref().map_or(Value::Null, |b| serde_json::from_str(b).expect("JSON"));
        let (method, params) = (body["method"].as_str(), &body["params"]);
        let is_modern = header("mcp-method").is_some() || !params["_meta"][VERSION].is_null();
        let must = self.eras.spoken == Some(Era::Modern) && !link.greets && request.manner != Manner::Bare;
        self.expect(is_modern || !must, || format!("no request of a modern session: {request:?}"));
        if !is_modern {
            return;
        }
        let name = match method {
            Some("tools/call") => params["name"].as_str(),
            Some("resources/read") => params["uri"].as_str(),
            Some("tasks/get" | "tasks/cancel") => params["taskId"].as_str(),
            _ => None,
        };
        let right = request.method == Method::Post
            && header("mcp-protocol-version") == Some(MODERN)
            && params["_meta"][VERSION] == MODERN
            && params["_meta"][CAPABILITIES].is_object()
            && header("mcp-method") == method
            && header("mcp-name") == name
            && header("mcp-session-id").is_none()
            && header("last-event-id").is_none();
        self.expect(right, || format!("body and headers differ: {request:?}"));
    }

    /// A request on its own has an id of its own each time, and brings what was wanted last.
    pub(super) fn check_round(&mut self, watch: usize, link: &Link, network: &Network, server: &Server<'_>) {
        if !link.request.headers.iter().any(|(name, _)| name == "mcp-method") {
            return;
        }
        self.on_read(server);
        let body: Value = serde_json::from_str(link.request.body.as_deref().unwrap_or("null")).expect("JSON");
        let again =
            self.watches[watch].posts.last().is_some_and(|(last, _)| network.links[*last].goes_again());
        let seen = &mut self.watches[watch];
        let call = seen.plan;
        let is_new = seen.ids.insert(body["id"].to_string()) || body["id"].is_null();
        let state = body["params"]["requestState"].as_str().map(str::to_string);
        let brought = body["params"]["inputResponses"].as_object();
        let keys: Vec<String> = brought.map(|keys| keys.keys().cloned().collect()).unwrap_or_default();
        let right = (&state, &keys) == (&seen.wanted.0, &seen.wanted.1);
        let (wanted, rounds) = (seen.wanted.clone(), seen.rounds);
        self.expect(is_new || again, || format!("call {call:?} goes again under {}", body["id"]));
        self.expect(right, || format!("call {call:?} brings {state:?} {keys:?}, and {wanted:?} is wanted"));
        self.expect(rounds <= MOST_ROUNDS, || format!("call {call:?} goes into round {rounds}"));
    }

    /// A request was answered by what its server wants before it goes on: it ran, and is over.
    pub(super) fn on_wanted(&mut self, watch: usize, link: LinkId, state: Option<&String>, keys: &[String]) {
        let seen = &mut self.watches[watch];
        // What comes on the body of an earlier request is its answer, too.
        if !seen.posts.iter().any(|(post, _)| *post == link) {
            return;
        }
        // What it ended was over.
        (seen.gave_up, seen.ended_fed) = (false, false);
        seen.begins_round(state.cloned(), keys.to_vec());
        if seen.rounds > MOST_ROUNDS {
            self.happened(Happened::RoundsUsedUp);
        }
    }

    /// A session without an id is in use, too.
    pub(super) fn stands(&self) -> bool {
        self.sessions.stands(self.eras.spoken.is_some())
    }
}
