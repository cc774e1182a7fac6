//! HTTP+SSE of 2024-11-05, as the server speaks it: a GET stream is the session, says where to POST, and brings every answer.

use landfall::proto::{HttpRequest, Method};
use serde_json::Value;

use super::agenda::Time;
use super::network::{Fate, Fault, LinkId, Mark, Stretch};
use super::schedule::{Ping, Reply};
use super::server::{head, Effect, Server, Session, GREETING, SSE, TOOLS};
use super::shares::Happened;

/// Where a session of this id takes what is POSTed.
fn endpoint(id: &str) -> String {
    format!("https://server.test/messages?id={id}")
}

impl Server<'_> {
    pub(super) fn old(&mut self, now: Time, link: LinkId, request: &HttpRequest, body: &Value, fate: Fate) {
        match (request.method, fate) {
            (Method::Get, Fate::Post(reply)) => return self.open_stream(now, link, reply),
            (Method::Post, Fate::Post(Reply::Status(status, after))) => {
                return self.refuse(link, status, after)
            }
            (Method::Post, _) => {}
            _ => return self.refuse(link, 405, None),
        }
        let Some(url) = &request.url else {
            let reply = if let Fate::Post(reply) = fate { reply } else { Reply::Json };
            return self.no_endpoint(link, reply);
        };
        let is_it = |session: &Session| session.alive && endpoint(&session.id) == *url;
        let Some(session) = self.sessions.iter().position(is_it) else {
            self.shares.happened(Happened::OldEndpoint);
            return self.no_session(link);
        };
        self.sessions[session].touch(now);
        self.post_old(link, session, body, fate);
    }

    fn open_stream(&mut self, now: Time, link: LinkId, reply: Reply) {
        if now < self.gateway {
            return self.refuse(link, 503, None);
        }
        match reply {
            Reply::Stream | Reply::Json | Reply::Redirect(..) | Reply::Hidden => {}
            Reply::Slow(ms) => self.effects.push(Effect::Fault(link, Fault::Stall(ms))),
            Reply::CutJson => {
                self.effects.push(Effect::Head(link, head(200, SSE)));
                return self.lose(link, Fault::Cut);
            }
            fault => return self.reply(link, fault, &Value::Null, "{}", None),
        }
        let id = format!("e{}", self.sessions.len() + 1);
        let place = endpoint(&id);
        self.sessions.push(Session { id, alive: true, stream: Some(link), ..Session::default() });
        self.shares.happened(Happened::Endpoint);
        self.effects.push(Effect::Head(link, head(200, SSE)));
        let mut stretch = Stretch::default();
        let reference = place.trim_start_matches("https://server.test").to_string();
        stretch.push(&format!("event: endpoint\ndata: {reference}\n\n"), Some(Mark::Endpoint(place)));
        self.effects.push(Effect::Write(link, stretch));
    }

    fn post_old(&mut self, link: LinkId, session: usize, body: &Value, fate: Fate) {
        let id = &body["id"];
        let reply = if let Fate::Post(reply) = fate { reply } else { Reply::Stream };
        match body["method"].as_str() {
            None => {
                self.answered(id);
                self.accept(link, reply);
            }
            Some("notifications/cancelled") => {
                self.cancelled(&body["params"]["requestId"]);
                self.accept(link, reply);
            }
            Some("ping") => match self.schedule.server.ping {
                Ping::Answered | Ping::Busy => self.say(link, session, reply, id, "{}"),
                Ping::Silent | Ping::HeadOnly => self.accept(link, reply),
                Ping::Broken => self.refuse(link, 500, None),
            },
            Some("tools/list") => self.say(link, session, reply, id, TOOLS),
            Some("initialize") => self.say(link, session, reply, id, GREETING),
            Some(_) if id.is_null() => self.accept(link, reply),
            Some(_) => {
                if self.accepts(link, reply, id) {
                    let params = &body["params"];
                    let k = params["arguments"]["k"].as_u64().or_else(|| params["k"].as_u64());
                    let call = k.expect("our argument") as usize;
                    let work = self.begin(call, session, id, &params["_meta"]["progressToken"]);
                    self.works[work].attached = self.sessions[session].stream;
                }
            }
        }
    }

    /// A response comes on the stream, if its request is taken.
    fn say(&mut self, link: LinkId, session: usize, reply: Reply, id: &Value, result: &str) {
        if self.accepts(link, reply, id) {
            let text = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n\n");
            let stream = self.sessions[session].stream;
            let mut stretch = Stretch::default();
            stretch.push(&text, (result == TOOLS).then_some(Mark::Tools));
            self.effects.extend(stream.map(|stream| Effect::Write(stream, stretch)));
        }
    }

    fn accept(&mut self, link: LinkId, reply: Reply) {
        self.accepts(link, reply, &Value::Null);
    }

    /// What becomes of a POST: whether it is taken.
    fn accepts(&mut self, link: LinkId, reply: Reply, id: &Value) -> bool {
        match reply {
            Reply::Slow(ms) => {
                self.effects.push(Effect::Fault(link, Fault::Stall(ms)));
                self.answer(link, head(202, ""), "");
            }
            Reply::CutBefore(_) => self.lose(link, Fault::Cut),
            Reply::NoHead(_) => {}
            Reply::Broken | Reply::WrongType => self.reply(link, reply, id, "{}", None),
            Reply::ErrorIn400 | Reply::Refusal(..) => {
                self.reply(link, reply, id, "{}", None);
                return false;
            }
            _ => self.answer(link, head(202, ""), ""),
        }
        true
    }

    /// A stream is over, as far as the server knows: its session is.
    pub(super) fn stream_over(&mut self, link: LinkId) {
        for session in self.sessions.iter_mut().filter(|session| session.stream == Some(link)) {
            (session.alive, session.stream) = (false, None);
        }
    }

    /// The work has said its last: its body ends, if it has one of its own.
    pub(super) fn end_body(&mut self, number: usize) {
        let Some(link) = self.works[number].attached.take() else { return };
        if self.sessions[self.works[number].session].stream != Some(link) {
            self.effects.push(Effect::End(link));
        }
    }
}
