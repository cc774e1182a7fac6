//! Questions of the server's, and answers that come where nobody expects them.

use serde_json::Value;

use super::network::{Mark, Stretch};
use super::schedule::{Last, Replays};
use super::server::{Effect, Server};
use super::shares::Happened;
use super::work::{Draft, Work};

impl Server<'_> {
    pub(super) fn ask(&mut self, number: usize) {
        self.works[number].asking = true;
        self.shares.happened(Happened::Question);
        let params = r#"{"message":"which?","requestedSchema":{"type":"object","properties":{}}}"#;
        let method = "elicitation/create";
        let data =
            format!(r#"{{"jsonrpc":"2.0","id":"ask-{number}","method":"{method}","params":{params}}}"#);
        self.emit(number, Draft { data: Some(data), ..Draft::default() });
    }

    /// Asks, and wants no answer any more.
    pub(super) fn unask(&mut self, number: usize) {
        let nth = self.works[number].events.len();
        let id = format!("unask-{number}-{nth}");
        let question = r#""method":"elicitation/create","params":{"message":"well?"}"#;
        let data = format!(r#"{{"jsonrpc":"2.0","id":"{id}",{question}}}"#);
        self.emit(number, Draft { data: Some(data), ..Draft::default() });
        let (_, text) = self.message(number);
        let params = format!(r#"{{"requestId":"{id}","reason":"{text}"}}"#);
        let data = format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#);
        self.emit(number, Draft { data: Some(data), texts: vec![text], ..Draft::default() });
    }

    /// The client answered a question.
    pub(crate) fn answered(&mut self, id: &Value) {
        let number = id.as_str().and_then(|id| id.strip_prefix("ask-")).and_then(|n| n.parse().ok());
        let Some(number) = number.filter(|n: &usize| *n < self.works.len()) else { return };
        if std::mem::take(&mut self.works[number].asking) {
            self.go_on(number, 0);
        }
    }

    pub(crate) fn cancelled(&mut self, id: &Value) {
        let id = id.to_string();
        let Some(number) = self.works.iter().rposition(|work| work.id == id) else { return };
        let heeds = self.schedule.server.heeds_cancel;
        let work = &mut self.works[number];
        work.cancelled = true;
        if heeds && !work.finished {
            work.stopped = true;
            self.end_body(number);
        }
    }

    pub(super) fn response(&self, number: usize, last: Last) -> String {
        let work = &self.works[number];
        // On the stream of another call it would be that one's.
        let alone = self.schedule.server.replays == Replays::Own && !self.restarted;
        let id = if last == Last::NullError && alone { "null" } else { &work.id };
        format!(r#"{{"jsonrpc":"2.0","id":{id},{}}}"#, self.outcome(number, last))
    }

    /// What it comes to: a member of its response.
    pub(super) fn outcome(&self, number: usize, last: Last) -> String {
        let Work { call, nth, .. } = self.works[number];
        match last {
            Last::Error | Last::NullError => {
                format!(r#""error":{{"code":-32603,"message":"~{call}~","data":{{"work":{number}}}}}"#)
            }
            _ => format!(r#""result":{{"content":"~{call}~","nth":{nth},"work":{number}}}"#),
        }
    }

    /// The response to a call that the client cancelled comes on the stream of another.
    pub(super) fn stray(&mut self, number: usize) {
        let session = self.works[number].session;
        let cancelled = |work: &Work| work.cancelled && work.session == session && !self.shares_id(work);
        let Some(other) = self.works.iter().rposition(cancelled) else { return };
        let data = self.response(other, Last::Result);
        // Whoever was cancelled under its id, it may be open.
        self.works[other].crossed = true;
        self.shares.happened(Happened::Stray);
        self.write_stray(number, &data);
    }

    /// Whether another request went by the same id: off its own stream a response to it says nothing.
    pub(super) fn shares_id(&self, work: &Work) -> bool {
        self.works.iter().any(|other| other.id == work.id && other.call != work.call)
    }

    /// The response to another call that is still open comes on this stream.
    pub(super) fn cross(&mut self, number: usize) {
        let Some(other) = self.take_other(number) else { return };
        self.write_stray(number, &other);
    }

    fn write_stray(&mut self, number: usize, json: &str) {
        let Some(link) = self.works[number].attached else { return };
        let mut stretch = Stretch::default();
        stretch.push(&format!("data: {json}\n\n"), Some(Mark::Stray));
        self.effects.push(Effect::Write(link, stretch));
    }

    /// The response to another open call of the session; its work is done.
    pub(super) fn take_other(&mut self, number: usize) -> Option<String> {
        let session = self.works[number].session;
        let is_open = |(other, work): &(usize, &Work)| {
            *other != number
                && work.session == session
                && !work.finished
                && !work.stopped
                && work.json.is_none()
                && !work.alone
                && !self.shares_id(work)
        };
        let (other, _) = self.works.iter().enumerate().find(is_open)?;
        self.shares.happened(Happened::Crossed);
        let work = &mut self.works[other];
        (work.finished, work.crossed) = (true, true);
        self.effects.extend(work.attached.take().map(Effect::End));
        Some(self.response(other, Last::Result))
    }
}
