//! The model server: sessions, what is posted to them, and resumes.

use landfall::proto::{Manner, Method, Redirect, ResponseHead, Target};
use serde_json::Value;

use super::agenda::{Rng, Time};
use super::eras::Speaks;
use super::listening::Listening;
use super::network::{Fate, Fault, Link, LinkId, Mark, Stretch};
use super::schedule::{Bodies, Incident, Lost, Ping, Reply, Resume, Schedule};
use super::shares::{Happened, Shares};
use super::work::Work;

/// What the server wants done.
pub(crate) enum Effect {
    Head(LinkId, ResponseHead),
    Write(LinkId, Stretch),
    End(LinkId),
    Fault(LinkId, Fault),
    /// A work goes on after so long.
    Step(Time, usize),
    /// A body was lost so; the server notices it after so long.
    Notice(Time, LinkId),
    /// The GET stream goes on after so long.
    Listen(Time, LinkId),
}

#[derive(Default)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) alive: bool,
    pub(super) touched: Time,
    /// Works begun in it.
    pub(crate) works: usize,
    /// Events numbered in it.
    pub(crate) events: u64,
    /// What brings all that belongs to it.
    pub(crate) stream: Option<LinkId>,
}

pub(crate) struct Server<'a> {
    pub(crate) schedule: &'a Schedule,
    pub(crate) rng: Rng,
    pub(crate) sessions: Vec<Session>,
    pub(crate) works: Vec<Work>,
    pub(crate) effects: Vec<Effect>,
    /// How often each call was executed.
    pub(crate) executed: Vec<u32>,
    /// Sessions that it forgot by itself.
    pub(crate) deaths: u32,
    /// Which credentials it takes, if any are wanted.
    pub(crate) wants: u32,
    /// No session begins before.
    pub(super) gateway: Time,
    /// It began anew, and its sessions went on.
    pub(crate) restarted: bool,
    /// What belongs to no call.
    pub(crate) listening: Listening,
    /// Events that were stored.
    pub(crate) stored: u64,
    /// How often it said that the tools have changed.
    lists: u32,
    pub(crate) shares: Shares,
}

pub(crate) fn head(status: u16, content_type: &str) -> ResponseHead {
    let content_type = (!content_type.is_empty()).then(|| content_type.to_string());
    ResponseHead { status, content_type, ..ResponseHead::default() }
}

pub(super) const SSE: &str = "text/event-stream";
fn target(same_origin: bool) -> Target {
    Target { url: "https://server.test/mcp/".to_string(), same_origin }
}

/// The redirect that the schedule has decided.
fn redirect_of(fate: Fate) -> Option<(u16, Redirect)> {
    match fate {
        Fate::Post(Reply::Redirect(status, stays)) | Fate::Get(Resume::Redirect(status, stays)) => {
            Some((status, Redirect::To(target(stays))))
        }
        Fate::Post(Reply::Hidden) => Some((0, Redirect::Hidden)),
        _ => None,
    }
}

pub(super) const JSON: &str = "application/json";
pub(super) const GREETING: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"model","version":"1"}}"#;
pub(super) const TOOLS: &str = r#"{"tools":[{"name":"once"},{"name":"vouched","annotations":{"destructiveHint":true}},{"name":"same","annotations":{"idempotentHint":true}},{"name":"pure","annotations":{"readOnlyHint":true}}]}"#;

impl Session {
    /// Whether it lives, and may end.
    fn ends(&self) -> bool {
        self.alive && !self.id.is_empty()
    }

    pub(super) fn touch(&mut self, now: Time) {
        self.touched = now;
    }
}

impl<'a> Server<'a> {
    pub(crate) fn new(schedule: &'a Schedule) -> Self {
        Self {
            schedule,
            rng: Rng::new(schedule.seed ^ 0x5E7E),
            // What has no id belongs to one that never ends.
            sessions: if schedule.era.speaks.has_sessions() && !schedule.era.speaks.is_modern() {
                Vec::new()
            } else {
                vec![Session::default()]
            },
            works: Vec::new(),
            effects: Vec::new(),
            executed: vec![0; schedule.calls.len()],
            deaths: 0,
            // Half of all clients begin with credentials that it does not take.
            wants: (schedule.seed % 2) as u32,
            gateway: 0,
            restarted: false,
            listening: Listening::default(),
            stored: 0,
            lists: 0,
            shares: Shares::default(),
        }
    }

    pub(crate) fn handle(&mut self, now: Time, link: LinkId, Link { request, fate, credentials, .. }: &Link) {
        let fate = *fate;
        if self.schedule.client.provider.is_some() && *credentials != self.wants {
            self.shares.happened(Happened::Expired);
            return self.refuse(link, 401, None);
        }
        let header = |name| request.headers.iter().find(|(known, _)| known == name).map(|(_, v)| v.as_str());
        let body: Value =
            request.body.as_deref().map_or(Value::Null, |b| serde_json::from_str(b).expect("our JSON"));
        if request.manner == Manner::Bare {
            let redirect = Some(Redirect::Followed(target(true)));
            return self.answer(link, ResponseHead { redirect, ..head(405, "") }, "");
        }
        if self.schedule.era.speaks == Speaks::Sse {
            return self.old(now, link, request, &body, fate);
        }
        if let Some((status, redirect)) = redirect_of(fate) {
            self.shares.happened(Happened::Redirect);
            return self.answer(link, ResponseHead { redirect: Some(redirect), ..head(status, "") }, "");
        }
        let speaks = self.schedule.era.speaks;
        if let Fate::Post(Reply::Status(status, after)) | Fate::Get(Resume::Status(status, after)) = fate {
            return self.refuse(link, status, after);
        }
        if header("mcp-method").is_some() && speaks.is_modern() {
            return self.modern(link, &body, fate);
        }
        let session = self.session(now, header("mcp-session-id"));
        if body["method"] == "initialize" {
            return self.initialize(now, link, &body["id"], fate);
        }
        if let (Method::Get, Fate::Post(reply)) = (request.method, fate) {
            return self.no_endpoint(link, reply);
        }
        let Some(session) = session else { return self.no_session(link) };
        match request.method {
            Method::Delete => self.delete(link, session),
            Method::Get => match header("last-event-id") {
                Some(cursor) if fate != Fate::Plain => self.resume(link, session, cursor, fate),
                cursor => self.listen(link, session, cursor),
            },
            Method::Post => self.post(link, session, &body, fate),
        }
    }

    /// The session of this id, if it lives.
    fn session(&mut self, now: Time, id: Option<&str>) -> Option<usize> {
        // Where sessions have ids, what has none is of no session.
        let id = id.or_else(|| (!self.schedule.era.speaks.has_sessions()).then_some(""));
        let place = self.sessions.iter().position(|session| Some(session.id.as_str()) == id)?;
        let attached = self.works.iter().any(|work| work.session == place && work.attached.is_some());
        let session = &mut self.sessions[place];
        let grace = self.schedule.server.grace.map(|ms| u64::from(ms) * 1_000);
        if session.ends() && !attached && grace.is_some_and(|grace| now - session.touched > grace) {
            self.kill(place, Bodies::Cut);
        }
        let session = &mut self.sessions[place];
        session.touched = now;
        (session.alive || session.id.is_empty()).then_some(place)
    }

    fn kill(&mut self, place: usize, bodies: Bodies) {
        self.sessions[place].alive = false;
        self.deaths += 1;
        if let Some(stream) = self.sessions[place].stream.filter(|_| bodies != Bodies::Stay) {
            self.sessions[place].stream = None;
            self.effects.push(match bodies {
                Bodies::Cut => Effect::Fault(stream, Fault::Cut),
                _ => Effect::End(stream),
            });
        }
        for work in self.works.iter_mut().filter(|work| work.session == place) {
            if bodies == Bodies::Stay {
                continue;
            }
            work.stopped = true;
            if let Some(link) = work.attached.take() {
                self.effects.push(match bodies {
                    Bodies::Cut => Effect::Fault(link, Fault::Cut),
                    _ => Effect::End(link),
                });
            }
        }
    }

    pub(crate) fn incident(&mut self, now: Time, incident: Incident) {
        match incident {
            Incident::Expire => self.wants += 1,
            Incident::Restart => self.restart(),
            Incident::Gateway(ms) => self.gateway = now + u64::from(ms) * 1_000,
            Incident::SessionDies(bodies) => {
                if let Some(place) = self.sessions.iter().rposition(Session::ends) {
                    self.kill(place, bodies);
                }
            }
            Incident::ListChanged => {
                let open = |work: &&Work| work.json.is_none();
                for link in self.works.iter().filter(open).filter_map(|work| work.attached) {
                    self.lists += 1;
                    let text = format!("~list.{}~", self.lists);
                    let params = format!(r#"{{"_meta":{{"text":"{text}"}}}}"#);
                    let method = "notifications/tools/list_changed";
                    let json = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
                    let mut stretch = Stretch::default();
                    stretch.push(&format!("data: {json}\n\n"), Some(Mark::Loose(text)));
                    self.effects.push(Effect::Write(link, stretch));
                }
            }
            _ => {}
        }
    }

    /// The server sees that nobody reads this body.
    pub(crate) fn noticed(&mut self, now: Time, link: LinkId) {
        self.stream_over(link);
        for work in self.works.iter_mut().filter(|work| work.attached == Some(link)) {
            work.attached = None;
            // Of a request on its own that is the cancel.
            work.stopped |= work.alone && self.schedule.server.heeds_cancel;
            self.sessions[work.session].touched = now;
        }
    }

    pub(crate) fn answer(&mut self, link: LinkId, head: ResponseHead, body: &str) {
        self.effects.push(Effect::Head(link, head));
        if !body.is_empty() {
            self.effects.push(Effect::Write(link, Stretch::text(body)));
        }
        self.effects.push(Effect::End(link));
    }

    pub(super) fn refuse(&mut self, link: LinkId, status: u16, after: Option<u8>) {
        let retry_after = after.map(|seconds| seconds.to_string());
        let challenged = self.schedule.client.provider.is_some() && matches!(status, 401 | 403);
        let insufficient_scope = challenged && status == 403 && link % 2 == 0;
        let plain = head(status, "text/plain");
        self.answer(link, ResponseHead { retry_after, challenged, insufficient_scope, ..plain }, "no");
    }

    pub(super) fn no_session(&mut self, link: LinkId) {
        let code = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}}"#;
        match self.schedule.server.lost {
            Lost::NotFound => self.answer(link, head(404, "text/plain"), "not found"),
            Lost::Gone => self.answer(link, head(410, ""), ""),
            Lost::MarkedCode => self.answer(link, head(400, JSON), code),
            Lost::MarkedWord => self.answer(link, head(400, "text/plain"), "unknown session"),
            Lost::Broken => self.refuse(link, 500, None),
            Lost::Silent => {}
        }
    }

    fn initialize(&mut self, now: Time, link: LinkId, id: &Value, fate: Fate) {
        let Fate::Post(reply) = fate else { return };
        if now < self.gateway {
            self.shares.happened(Happened::Gateway);
            return self.refuse(link, if link % 2 == 0 { 502 } else { 503 }, None);
        }
        let speaks = self.schedule.era.speaks;
        if !speaks.has_initialize() {
            let (status, code) = [(400, -32_022), (400, -32_020), (404, -32_601)][link % 3];
            let is_fault = !matches!(reply, Reply::Stream | Reply::Json | Reply::Slow(_));
            let reply = if is_fault { reply } else { Reply::Refusal(status, code, true) };
            return self.reply(link, reply, id, "{}", None);
        }
        if !speaks.has_sessions() {
            return self.reply(link, reply, id, GREETING, None);
        }
        let session_id = format!("s{}", self.sessions.len() + 1);
        self.sessions.push(Session { id: session_id, alive: true, touched: now, ..Session::default() });
        let session_id = self.sessions.last().map(|session| session.id.clone());
        self.reply(link, reply, id, GREETING, session_id);
    }

    /// A GET for an `endpoint` event: there is none here.
    pub(super) fn no_endpoint(&mut self, link: LinkId, reply: Reply) {
        match reply {
            Reply::Stream | Reply::Json | Reply::Slow(_) => self.refuse(link, 405, None),
            reply => self.reply(link, reply, &Value::Null, "{}", None),
        }
    }

    /// Answers a request that has no events.
    pub(super) fn reply(
        &mut self,
        link: LinkId,
        reply: Reply,
        id: &Value,
        result: &str,
        session_id: Option<String>,
    ) {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let event = format!("data: {text}\n\n");
        let error = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"no"}}}}"#);
        let with = |head: ResponseHead| ResponseHead { session_id, ..head };
        match reply {
            Reply::Slow(ms) => {
                self.effects.push(Effect::Fault(link, Fault::Stall(ms)));
                self.answer(link, with(head(200, JSON)), &text);
            }
            Reply::Stream => self.answer(link, with(head(200, SSE)), &event),
            Reply::Json => self.answer(link, with(head(200, JSON)), &text),
            Reply::CutJson => {
                self.effects.push(Effect::Head(link, with(head(200, JSON))));
                self.effects.push(Effect::Write(link, Stretch::text(&text[..text.len() / 2])));
                self.lose(link, Fault::Cut);
            }
            Reply::CutBefore(_) => self.lose(link, Fault::Cut),
            Reply::NoHead(_) | Reply::Refused | Reply::Redirect(..) | Reply::Hidden => {}
            Reply::Status(status, after) => self.refuse(link, status, after),
            Reply::Broken => self.answer(link, head(500, ""), ""),
            Reply::ErrorIn400 => self.answer(link, head(400, JSON), &error),
            Reply::Refusal(status, code, named) => {
                self.shares.happened(Happened::Refusal);
                let id = if named { id } else { &Value::Null };
                let error = format!(r#""error":{{"code":{code},"message":"no"}}"#);
                self.answer(link, head(status, JSON), &format!(r#"{{"jsonrpc":"2.0","id":{id},{error}}}"#));
            }
            Reply::WrongType => self.answer(link, head(200, "text/html"), "<p>hello</p>"),
            Reply::Accepted => self.answer(link, head(202, ""), ""),
            Reply::BadJson => self.answer(link, head(200, JSON), "{\"jsonrpc\":\"2.0\",\"id\":"),
        }
    }

    fn post(&mut self, link: LinkId, session: usize, body: &Value, fate: Fate) {
        let id = &body["id"];
        let accepted = |server: &mut Self| server.answer(link, head(202, ""), "");
        match body["method"].as_str() {
            None => {
                self.answered(id);
                accepted(self);
            }
            Some("notifications/cancelled") => {
                self.cancelled(&body["params"]["requestId"]);
                accepted(self);
            }
            Some("ping") => self.ping(link, id, "{}"),
            Some("tools/list") => self.list(link, id),
            Some("server/discover") => self.no_session(link),
            Some(_) if id.is_null() => match fate {
                Fate::Post(Reply::Stream) | Fate::Plain => accepted(self),
                Fate::Post(reply) => self.reply(link, reply, id, "{}", None),
                Fate::Get(_) => {}
            },
            Some(_) => {
                let Fate::Post(reply) = fate else { return };
                self.execute(link, session, body, reply);
            }
        }
    }

    /// The tools are told.
    pub(super) fn list(&mut self, link: LinkId, id: &Value) {
        let mut stretch = Stretch::default();
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{TOOLS}}}"#);
        stretch.push(&text, Some(Mark::Tools));
        self.effects.push(Effect::Head(link, head(200, JSON)));
        self.effects.push(Effect::Write(link, stretch));
        self.effects.push(Effect::End(link));
    }

    /// Whether it lives is asked: this is what it says.
    pub(super) fn ping(&mut self, link: LinkId, id: &Value, result: &str) {
        match self.schedule.server.ping {
            Ping::Busy if self.works.iter().any(|work| !work.finished && !work.stopped) => {
                self.shares.happened(Happened::BusyPing);
            }
            Ping::Answered | Ping::Busy => self.reply(link, Reply::Json, id, result, None),
            Ping::Silent => {}
            Ping::HeadOnly => {
                self.shares.happened(Happened::HeadOnly);
                self.effects.push(Effect::Head(link, head(200, JSON)));
            }
            Ping::Broken => self.refuse(link, 500, None),
        }
    }

    /// A call: its work begins, however the answer travels.
    pub(super) fn execute(&mut self, link: LinkId, session: usize, body: &Value, reply: Reply) {
        let id = &body["id"];
        if matches!(reply, Reply::ErrorIn400 | Reply::Refusal(..)) {
            return self.reply(link, reply, id, "{}", None);
        }
        let params = &body["params"];
        let call = params["arguments"]["k"].as_u64().or_else(|| params["k"].as_u64()).expect("our argument");
        let work = self.take_on(call as usize, session, body);
        self.works[work].alone = params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
        match reply {
            Reply::Stream | Reply::Slow(_) => {
                if let Reply::Slow(ms) = reply {
                    self.effects.push(Effect::Fault(link, Fault::Stall(ms)));
                }
                self.effects.push(Effect::Head(link, head(200, SSE)));
                self.works[work].attached = Some(link);
                if self.has_ids(work) {
                    self.prime(work);
                }
            }
            Reply::Json | Reply::CutJson => {
                self.works[work].attached = Some(link);
                self.works[work].json = Some(reply);
            }
            other => {
                self.works[work].accepted = other == Reply::Accepted;
                self.reply(link, other, id, "{}", None);
            }
        }
    }

    pub(crate) fn finish_json(&mut self, link: LinkId, reply: Reply, text: &str) {
        match reply {
            Reply::Json => self.answer(link, head(200, JSON), text),
            _ => {
                self.effects.push(Effect::Head(link, head(200, JSON)));
                self.effects.push(Effect::Write(link, Stretch::text(&text[..text.len() / 2])));
                self.lose(link, Fault::Cut);
            }
        }
    }

    /// The network takes a body away; the server notices later.
    pub(crate) fn lose(&mut self, link: LinkId, fault: Fault) {
        self.shares.happened(match fault {
            Fault::Silence | Fault::Stall(_) => Happened::HalfOpen,
            _ => Happened::Cut,
        });
        self.effects.push(Effect::Fault(link, fault));
        self.effects.push(Effect::Notice(u64::from(self.schedule.server.notice) * 1_000, link));
    }

    fn delete(&mut self, link: LinkId, session: usize) {
        self.sessions[session].alive = false;
        if let Some(status) = self.schedule.server.delete {
            self.answer(link, head(status, ""), "");
        }
    }
}
