//! Requests on their own (MCP 2026-07-28), as the server takes them: nothing of theirs outlives their body, and what it wants
//! before it goes on comes with the same request, made again.

use serde_json::Value;

use super::network::{Fate, LinkId, Mark, Stretch};
use super::schedule::Reply;
use super::server::{head, Effect, Server, JSON};
use super::shares::Happened;

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}"#;

impl Server<'_> {
    /// A POST that says itself what it speaks.
    pub(super) fn modern(&mut self, link: LinkId, body: &Value, fate: Fate) {
        let id = &body["id"];
        match (body["method"].as_str(), fate) {
            (Some("server/discover"), Fate::Post(reply)) => self.reply(link, reply, id, DISCOVERED, None),
            (Some("server/discover"), _) => self.ping(link, id, DISCOVERED),
            (Some("tools/list"), _) => self.list(link, id),
            (Some(_), Fate::Post(reply)) if id.is_null() => match reply {
                Reply::Stream => self.answer(link, head(202, ""), ""),
                reply => self.reply(link, reply, id, "{}", None),
            },
            (Some("tools/call" | "resources/read"), Fate::Post(reply)) => {
                self.shares.happened(Happened::Modern);
                self.execute(link, 0, body, reply);
            }
            (Some("tasks/get"), Fate::Post(reply)) => self.tell_task(link, body, reply),
            (Some("tasks/cancel"), _) => self.cancel_task(link, body),
            _ if id.is_null() => self.answer(link, head(202, ""), ""),
            _ => self.reply(link, Reply::Refusal(404, -32_601, true), id, "{}", None),
        }
    }

    /// The work of a request: a new one, or that which waits for what this one brings.
    pub(super) fn take_on(&mut self, call: usize, session: usize, body: &Value) -> usize {
        let (id, params) = (&body["id"], &body["params"]);
        let (token, state) = (&params["_meta"]["progressToken"], params["requestState"].as_str());
        if state.is_none() && params["inputResponses"].is_null() {
            return self.begin(call, session, id, token);
        }
        self.shares.happened(Happened::Round);
        let waits = self.works.iter().rposition(|work| {
            work.call == call && work.asking && state.is_none_or(|state| work.state() == state)
        });
        let Some(number) = waits else {
            // It came before: whoever had that was lost. It begins behind what was wanted.
            let behind = state.and_then(|state| state.rsplit('.').next()?.parse().ok());
            let number = self.begin(call, session, id, token);
            self.works[number].skip_to(behind.unwrap_or_default());
            return number;
        };
        self.works[number].comes_again(id, token);
        self.go_on(number, 0);
        number
    }

    /// The request is answered by what the server wants before it goes on, and comes again with that.
    pub(super) fn want(&mut self, number: usize) {
        let plan = &self.schedule.era;
        let work = &mut self.works[number];
        work.begin_round(plan.insatiable);
        let nothing = plan.keeps_state && number % 4 == 0;
        let keys = match nothing {
            true => Vec::new(),
            false => (0..=number % 2).map(|key| format!("r{}.{key}", work.rounds)).collect(),
        };
        let state = plan.keeps_state.then(|| work.state());
        let question = r#"{"method":"elicitation/create","params":{"message":"which?"}}"#;
        let wanted: Vec<_> = keys.iter().map(|key: &String| format!("\"{key}\":{question}")).collect();
        let requests = (!nothing).then(|| format!(",\"inputRequests\":{{{}}}", wanted.join(",")));
        let kept = state.as_ref().map(|state| format!(",\"requestState\":\"{state}\""));
        let members: String = requests.into_iter().chain(kept).collect();
        if work.attached.is_none() {
            return;
        }
        self.shares.happened(Happened::Question);
        let result = format!(r#"{{"resultType":"input_required"{members}}}"#);
        self.end_part(number, &result, Some(Mark::Wants { state, keys }));
    }

    /// The request is answered by what is no end of its work.
    pub(super) fn end_part(&mut self, number: usize, result: &str, mark: Option<Mark>) {
        let work = &mut self.works[number];
        let (id, json) = (work.id.clone(), work.json.take());
        let Some(link) = work.attached.take() else { return };
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let mut stretch = Stretch::default();
        match json {
            Some(Reply::CutJson) => return self.finish_json(link, Reply::CutJson, &text),
            Some(_) => {
                self.effects.push(Effect::Head(link, head(200, JSON)));
                stretch.push(&text, mark);
            }
            None => stretch.push(&format!("data: {text}\n\n"), mark),
        }
        self.effects.push(Effect::Write(link, stretch));
        self.effects.push(Effect::End(link));
    }
}
