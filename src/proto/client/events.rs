//! Events of a stream: which count, which come again, and what is kept of them.

use super::http_sse::ENDPOINT;
use super::messages::Handing;
use super::Client;
use crate::proto::cursor::{Came, Handed};
use crate::proto::event::Recent;
use crate::proto::gap::split;
use crate::proto::jsonrpc::{field, hear, Heard, Id, Payload};
use crate::proto::repeats::Print;
use crate::proto::time::{millis, Instant};
use crate::proto::CallId;

/// What an event is called that has no name, or that of a message.
pub(super) const MESSAGE: &str = "message";
/// So many events are kept in the diagnostics.
const MOST_RECENT: usize = 64;
/// What an id took is used again up to so many bytes.
const MOST_KEPT: usize = 256;

impl Client {
    /// One block with data. Its id is committed when it was handled, and all before it.
    pub(super) fn on_event(&mut self, now: Instant, call: CallId, kind: &str, data: &str, id: Option<&str>) {
        if data.is_empty() {
            return self.pass_over(now, call, id);
        }
        if kind == ENDPOINT && self.is_stream_of_session(call) {
            return self.on_endpoint(now, call, data);
        }
        let mut scanned = hear(data);
        if kind != MESSAGE {
            let answers = scanned.ok().and_then(|payload| self.answers_in(now, call, kind, payload));
            let Some(answers) = answers else { return self.pass_over(now, call, id) };
            scanned = Ok(answers);
        }
        self.note_event(now, call, data, id);
        let Ok(payload) = scanned else { return self.on_broken(now, call, id) };
        if matches!(payload, Payload::Other) && self.is_no_message(call, data) {
            return self.on_broken(now, call, id);
        }
        let is_response = self.is_response(call, &payload, |_| true);
        let named = id.filter(|id| !is_response && !id.is_empty());
        let print = named.map(|id| self.session.ids.print(id, data));
        let repeats = named.zip(print).and_then(|(id, print)| self.repeats(call, id, print));
        self.count_replayed(now, call, &payload, repeats.is_some());
        if let Some(place) = repeats {
            return self.drop_repeat(now, call, place);
        }
        if !self.check_gap(now, call, id, is_response) {
            return;
        }
        if let Some(id) = named {
            self.note_came(call, id, print);
        }
        if self.is_news(call, &payload) {
            self.note_fresh(now, call, id.is_some());
        }
        let due = self.due(call, id, print);
        let handed = self.hand_out(call, &payload, due.as_deref());
        let seam = self.events_of(call).is_some_and(|events| std::mem::take(&mut events.seam));
        if is_response && self.is_response(call, &payload, |owner| owner == call) {
            self.tell_last_token(call, id);
        }
        let handing = Handing { due: due.as_deref(), seam, ..Handing::under(&handed) };
        if let Handed::Several(_) = handed {
            // The answer may be among them: what is in hand is to be known before the call ends.
            self.arrive(now, call, id, print, handed.clone(), data.len());
            return self.deliver(now, call, payload, data, handing);
        }
        self.deliver(now, call, payload, data, handing);
        self.arrive(now, call, id, print, handed, data.len());
    }

    /// What of an event that comes again was not handled, where some of it was. A broken one was not handed out at all.
    fn due(&mut self, call: CallId, id: Option<&str>, print: Option<Print>) -> Option<Vec<u32>> {
        let stream = self.stream(call)?;
        let resumed = stream.is_resumed();
        stream.cursor.due(Came { id, print, resumed }).filter(|due| !due.is_empty()).map(<[u32]>::to_vec)
    }

    /// A block that nobody is to handle: its id moves the cursor.
    fn pass_over(&mut self, now: Instant, call: CallId, id: Option<&str>) {
        id.inspect(|id| self.note_came(call, id, None));
        self.arrive(now, call, id, None, Handed::Nothing, 0);
    }

    /// An event under another name than `message`: a response to a request of ours counts, and is warned of. What else it
    /// holds is ignored.
    pub(super) fn answers_in<'a>(
        &mut self,
        now: Instant,
        call: CallId,
        kind: &str,
        payload: Payload<Heard<'a>>,
    ) -> Option<Payload<Heard<'a>>> {
        let answers = match payload {
            Payload::One(_) if self.is_response(call, &payload, |_| true) => payload,
            Payload::Many(mut all) => {
                all.retain(|(_, message)| {
                    message.as_ref().is_some_and(|message| self.answers(call, message).is_some())
                });
                (!all.is_empty()).then_some(Payload::Many(all))?
            }
            Payload::One(_) | Payload::Other => return None,
        };
        let message = format!("a response came in an event named {}, not {MESSAGE}", self.fit(kind));
        self.warn(now, call, "odd_event_name", message);
        Some(answers)
    }

    /// The request of ours that it answers.
    fn answers(&self, call: CallId, message: &Heard<'_>) -> Option<CallId> {
        match message {
            Heard::Result { id } => self.answered_by(call, &id.id(), false),
            Heard::Error { id, .. } => self.answered_by(call, &id.id(), true),
            Heard::Request { .. } | Heard::Notification { .. } => None,
        }
    }

    /// Whether it holds a response to a request of ours: that is never a repeat.
    pub(super) fn is_response(
        &self,
        call: CallId,
        payload: &Payload<Heard<'_>>,
        of: impl Fn(CallId) -> bool,
    ) -> bool {
        let answers = |message: &Heard<'_>| self.answers(call, message).is_some_and(&of);
        match payload {
            Payload::One(message) => answers(message),
            Payload::Many(messages) => {
                messages.iter().any(|(_, message)| message.as_ref().is_some_and(answers))
            }
            Payload::Other => false,
        }
    }

    /// Whether it holds a message that is new: a question that is open is none, whatever its event is called.
    fn is_news(&self, call: CallId, payload: &Payload<Heard<'_>>) -> bool {
        let is_new = |message: &Heard<'_>| match message {
            Heard::Request { id, .. } => !self.server_requests.is_open(call, &id.id()),
            _ => true,
        };
        match payload {
            Payload::One(message) => is_new(message),
            Payload::Many(messages) => {
                messages.iter().any(|(_, message)| message.as_ref().is_none_or(is_new))
            }
            Payload::Other => false,
        }
    }

    /// JSON that is no message. With the id of our request it is a broken answer; else it may be a heartbeat.
    fn is_no_message(&mut self, call: CallId, data: &str) -> bool {
        let Some(entry) = self.ledger.get(call) else { return false };
        let id = field(data, &["id"]).and_then(Id::read);
        let is_answer = id.is_some_and(|id| id == *entry.wire_id());
        if is_answer {
            return true;
        }
        let said = self.said(data, 0);
        if let Some(stream) = self.stream(call) {
            stream.said = Some(said);
        }
        false
    }

    fn on_broken(&mut self, now: Instant, call: CallId, id: Option<&str>) {
        let Some(stream) = self.stream(call) else { return };
        if let Some((prefix, _)) = id.and_then(split) {
            stream.counts_with(prefix, call);
        }
        id.inspect(|id| stream.gaps.passed(id)); // It is told by a warning.
        let (again, report) = stream.cursor.broken(id);
        stream.broken = if again { stream.broken + 1 } else { stream.broken.max(1) };
        self.heed_report(now, call, report);
        self.warn_broken(now, call);
    }

    pub(super) fn warn_broken(&mut self, now: Instant, call: CallId) {
        self.warn(now, call, "malformed_event", "an event whose data is no JSON".to_string());
    }

    fn note_event(&mut self, now: Instant, call: CallId, data: &str, id: Option<&str>) {
        let Some(entry) = self.ledger.get(call) else { return };
        self.stats.events += 1;
        entry.diagnostics.events += 1;
        let recent = &mut entry.diagnostics.recent;
        // The oldest makes room, with what its id took.
        let oldest = if recent.len() == MOST_RECENT { recent.pop_front() } else { None };
        let room = oldest.and_then(|oldest| oldest.id).filter(|room| room.capacity() <= MOST_KEPT);
        let id = id.map(|id| {
            let mut kept = room.unwrap_or_default();
            kept.clear();
            kept.push_str(id);
            kept
        });
        recent.push_back(Recent { id, at: now.as_millis(), bytes: data.len() });
    }

    /// A message came on the call's own stream: its clocks are full again, and whatever failed before is over.
    /// (On a resumed stream only what bears an id is known to be new.)
    fn note_fresh(&mut self, now: Instant, call: CallId, has_id: bool) {
        let Some(entry) = self.ledger.get(call) else { return };
        let resumed =
            entry.lineage.stream.as_mut().and_then(|s| s.events()).is_some_and(|events| events.resumed);
        if resumed && !has_id {
            return;
        }
        let is_spent = entry.clocks.recovery.rearm(now);
        if let Some(stream) = entry.lineage.stream.as_mut() {
            stream.progressed();
            if let Some(lost_at) = stream.lost_at.take() {
                self.stats.histograms.recover_ms.record(millis(now.since(lost_at)));
                self.stats.levels.l1.won += 1;
            }
            if let Some(events) = stream.events() {
                events.fresh += 1;
            }
            if stream.race.exchange().is_some() {
                self.stop_race(call);
            }
        }
        self.rearm_call(now, call);
        if is_spent {
            self.set_clocks(now, call);
        }
    }
}
