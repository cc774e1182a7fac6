//! What a call makes the server do: its steps, its events, and the store they are kept in.

use std::ops::Range;

use serde_json::Value;

use super::eras::Speaks;
use super::network::{Fault, LinkId, Mark, Stretch};
use super::schedule::{Handler, Ids, Last, OddId, Prime, Reply, Step};
use super::server::{Effect, Server};
use super::shares::Happened;

/// How an event's id can be used.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum IdUse {
    Cursor,
    Clears,
    /// No header can carry it.
    Unusable,
    /// Nobody keeps it.
    TooLong,
}

/// An event in the store.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    /// As a header value; what no header can carry is kept as it is.
    pub(crate) id: Option<String>,
    pub(crate) id_use: IdUse,
    pub(crate) block: String,
    /// Its place among all that were stored.
    pub(crate) seq: u64,
    /// Names under which it was replayed.
    pub(crate) aliases: Vec<String>,
    /// The texts of its notifications: unique in the run.
    pub(crate) texts: Vec<String>,
    /// Whether it has a data line that is not empty.
    pub(crate) has_data: bool,
    pub(crate) is_response: bool,
    /// It says itself whose it is.
    pub(crate) is_own: bool,
    /// Every copy is broken.
    pub(crate) broken: bool,
    /// Its copy on the body it was made for is broken.
    pub(crate) broken_once: bool,
    /// The body it was made for.
    pub(crate) first: Option<LinkId>,
}

impl Stored {
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.id.as_deref() == Some(name) || self.aliases.iter().any(|alias| alias == name)
    }
}

/// One execution of a call.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) call: usize,
    /// 0 for the first execution.
    pub(crate) nth: u32,
    /// The request's id, as JSON text.
    pub(crate) id: String,
    token: Value,
    pub(crate) session: usize,
    /// Its number in the session.
    number: usize,
    pub(crate) events: Vec<Stored>,
    /// What comes before was evicted.
    pub(crate) kept_from: usize,
    /// What a resume did not replay, and did not say so.
    pub(crate) skipped: Vec<Range<usize>>,
    /// The body that new events go to.
    pub(crate) attached: Option<LinkId>,
    pub(crate) json: Option<Reply>,
    /// Bodies that are open, and that nothing but comments goes to.
    pub(crate) ears: Vec<LinkId>,
    /// Its ids count from here.
    counts_from: usize,
    /// They began anew in the midst of it.
    pub(crate) reset: bool,
    /// Its request was taken with a 202.
    pub(crate) accepted: bool,
    /// A restart made it unknown.
    pub(crate) gone: bool,
    /// Its response came on the stream of another.
    pub(crate) crossed: bool,
    pub(super) next: usize,
    progress: u32,
    texts: u32,
    pub(super) asking: bool,
    /// Nothing of it outlives the body of its request.
    pub(crate) alone: bool,
    /// It goes on as a task, and was asked for so often.
    pub(super) task: Option<u32>,
    /// How often it was answered by what it wants.
    pub(super) rounds: u32,
    /// The client said that it no longer waits.
    pub(super) cancelled: bool,
    pub(crate) finished: bool,
    pub(crate) stopped: bool,
}

/// An event in the making.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) data: Option<String>,
    pub(super) texts: Vec<String>,
    pub(super) odd: Option<OddId>,
    pub(super) is_response: bool,
    pub(super) broken: bool,
    pub(super) broken_once: bool,
}

impl Work {
    /// What tells it from others, and where it goes on.
    pub(super) fn state(&self) -> String {
        format!("{}.{}.{}.{}", self.call, self.nth, self.rounds, self.next)
    }

    /// It waits for what it wants, and wants the same again afterwards, or goes on.
    pub(super) fn begin_round(&mut self, again: bool) {
        (self.asking, self.rounds) = (true, self.rounds + 1);
        self.next -= usize::from(again);
    }

    /// Its request came again, with what it wants.
    pub(super) fn comes_again(&mut self, id: &Value, token: &Value) {
        (self.id, self.token, self.asking) = (id.to_string(), token.clone(), false);
    }

    pub(super) fn skip_to(&mut self, step: usize) {
        self.next = step;
    }
}

impl Server<'_> {
    /// Whether the events of a work have ids.
    pub(super) fn has_ids(&self, work: usize) -> bool {
        !self.sessions[self.works[work].session].id.is_empty() && self.schedule.era.speaks != Speaks::Sse
    }

    pub(crate) fn begin(&mut self, call: usize, session: usize, id: &Value, token: &Value) -> usize {
        let nth = self.executed[call];
        self.executed[call] += 1;
        let number = self.sessions[session].works;
        self.sessions[session].works += 1;
        self.works.push(Work {
            call,
            nth,
            id: id.to_string(),
            token: token.clone(),
            session,
            number,
            events: Vec::new(),
            kept_from: 0,
            skipped: Vec::new(),
            attached: None,
            json: None,
            ears: Vec::new(),
            counts_from: 0,
            reset: false,
            accepted: false,
            gone: false,
            crossed: false,
            next: 0,
            progress: 0,
            texts: 0,
            asking: false,
            alone: false,
            task: None,
            rounds: 0,
            cancelled: false,
            finished: false,
            stopped: false,
        });
        self.go_on(self.works.len() - 1, 0);
        self.works.len() - 1
    }

    pub(super) fn go_on(&mut self, work: usize, more_ms: u32) {
        let pace = u64::from(self.schedule.calls[self.works[work].call].pace);
        let wait = pace * (500 + self.rng.below(1_000)) + u64::from(more_ms) * 1_000;
        self.effects.push(Effect::Step(wait, work));
    }

    pub(crate) fn prime(&mut self, work: usize) {
        match self.schedule.server.prime {
            Prime::No => {}
            Prime::Data => self.emit(work, Draft { data: Some(String::new()), ..Draft::default() }),
            Prime::IdOnly => self.emit(work, Draft::default()),
        }
    }

    pub(crate) fn step(&mut self, number: usize) {
        let work = &mut self.works[number];
        if work.finished || work.stopped || work.asking {
            return;
        }
        for link in &work.ears {
            self.effects.push(Effect::Write(*link, Stretch::text(": still here\n\n")));
        }
        let plan = &self.schedule.calls[work.call];
        if self.schedule.is_task(work) {
            return self.begin_task(number);
        }
        let Some(&step) = plan.steps.get(work.next) else { return self.last(number, plan.last) };
        work.next += 1;
        let is_old = self.schedule.era.speaks == Speaks::Sse;
        let strikes = work.nth == 0 || plan.stubborn || !step.is_fault();
        let mut more = 0;
        match step {
            _ if !strikes => {}
            Step::Wait(ms) => more = ms,
            Step::Ask if work.alone => return self.want(number),
            Step::Ask if work.json.is_none() => return self.ask(number),
            Step::Cross | Step::Stray | Step::Unask | Step::IdOnly if work.alone => {}
            // Of what is nobody's on a stream of many nothing is known.
            Step::Cross | Step::Stray | Step::Loose | Step::BrokenOnce | Step::Repeat if is_old => {}
            step if work.json.is_none() => self.do_step(number, step),
            _ => {}
        }
        self.go_on(number, more);
    }

    fn do_step(&mut self, number: usize, step: Step) {
        match step {
            Step::Note => self.note(number, Draft::default(), 1),
            Step::Array => self.note(number, Draft::default(), 2),
            Step::Odd(odd) => self.note(number, Draft { odd: Some(odd), ..Draft::default() }, 1),
            Step::BrokenOnce => self.note(number, Draft { broken_once: true, ..Draft::default() }, 1),
            Step::Progress => self.progress(number),
            Step::Comment => self.write(number, ": still here\n\n"),
            Step::Noise => self.write(number, "\u{1}\u{fffd}garbage\0: ~~~\r\nidx: 9\nid\0\n\n"),
            Step::Loose => {
                let (json, text) = self.message(number);
                let mut stretch = Stretch::default();
                stretch.push(&format!("data: {json}\n\n"), Some(Mark::Loose(text)));
                let link = self.works[number].attached;
                self.effects.extend(link.map(|link| Effect::Write(link, stretch)));
            }
            Step::IdOnly => self.emit(number, Draft::default()),
            Step::Retry(ms) => self.write_retry(number, ms),
            Step::Close(retry) => self.close(number, retry),
            Step::Cut => self.fault(number, Fault::Cut),
            Step::CutInside => self.fault(number, Fault::CutInside),
            Step::CleanCut => self.fault(number, Fault::CleanCut),
            Step::Silence => self.fault(number, Fault::Silence),
            Step::Stall(ms) => self.fault(number, Fault::Stall(ms)),
            Step::Repeat => self.repeat(number),
            Step::Evict => {
                let work = &mut self.works[number];
                if work.kept_from < work.events.len() {
                    work.kept_from = work.events.len();
                    self.shares.happened(Happened::Eviction);
                }
            }
            Step::Stray => self.stray(number),
            Step::Unask => self.unask(number),
            Step::Cross => self.cross(number),
            Step::ResetIds => {
                let work = &mut self.works[number];
                (work.counts_from, work.reset) = (work.events.len(), true);
                self.shares.happened(Happened::ResetIds);
            }
            Step::Wait(_) | Step::Ask => {}
        }
    }

    fn fault(&mut self, number: usize, fault: Fault) {
        let Some(link) = self.works[number].attached else { return };
        match fault {
            // It comes through later, and the server never learns of it.
            Fault::Stall(_) => {
                self.shares.happened(Happened::HalfOpen);
                self.effects.push(Effect::Fault(link, fault));
            }
            // The cut comes with the next event.
            Fault::CutInside => self.effects.push(Effect::Fault(link, fault)),
            _ => self.lose(link, fault),
        }
    }

    /// A notification with a text of its own.
    pub(super) fn message(&mut self, number: usize) -> (String, String) {
        let work = &mut self.works[number];
        let text = format!("~{}.{}.{}~", work.call, work.nth, work.texts);
        work.texts += 1;
        let params = format!(r#"{{"level":"info","data":"{text}"}}"#);
        (format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}"#), text)
    }

    fn note(&mut self, number: usize, draft: Draft, messages: usize) {
        let (json, texts): (Vec<_>, Vec<_>) = (0..messages).map(|_| self.message(number)).unzip();
        let data = if messages == 1 { json[0].clone() } else { format!("[{}]", json.join(",")) };
        self.emit(number, Draft { data: Some(data), texts, ..draft });
    }

    fn progress(&mut self, number: usize) {
        let work = &mut self.works[number];
        if work.token.is_null() {
            return self.note(number, Draft::default(), 1);
        }
        let text = format!("~{}.{}.{}~", work.call, work.nth, work.texts);
        work.texts += 1;
        work.progress += 1;
        let params =
            format!(r#"{{"progressToken":{},"progress":{},"message":"{text}"}}"#, work.token, work.progress);
        let data = format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#);
        self.emit(number, Draft { data: Some(data), texts: vec![text], ..Draft::default() });
    }

    /// Stores an event, and sends it where a body is held.
    pub(super) fn emit(&mut self, number: usize, draft: Draft) {
        let (id, id_use) = self.event_id(number, &draft);
        let mut block = id.as_ref().map(|id| format!("id: {id}\n")).unwrap_or_default();
        if let Some(data) = &draft.data {
            block += &format!("data: {}\n", if draft.broken { broken(data) } else { data });
        }
        block.push('\n');
        self.stored += 1;
        let (work, seq) = (&mut self.works[number], self.stored);
        let place = work.events.len();
        work.events.push(Stored {
            seq,
            aliases: Vec::new(),
            // A header holds one byte per character.
            id: id.map(|id| id.bytes().map(char::from).collect()),
            id_use,
            has_data: draft.data.as_ref().is_some_and(|data| !data.is_empty()),
            texts: draft.texts,
            is_response: draft.is_response,
            is_own: draft.is_response
                || draft.data.as_ref().is_some_and(|data| data.contains("notifications/progress")),
            broken: draft.broken,
            broken_once: draft.broken_once,
            first: work.attached,
            block,
        });
        if let Some(link) = work.attached {
            let mut stretch = Stretch::default();
            let wire = match (&draft.data, draft.broken_once) {
                (Some(data), true) => work.events[place].block.replace(data.as_str(), broken(data)),
                _ => work.events[place].block.clone(),
            };
            let broken = draft.broken || draft.broken_once;
            stretch.push(&wire, Some(Mark::Block { work: number, place, broken, alias: None }));
            self.effects.push(Effect::Write(link, stretch));
        }
        self.keep(number);
    }

    fn keep(&mut self, number: usize) {
        let work = &mut self.works[number];
        let Some(most) = self.schedule.server.keep else { return };
        let from = work.events.len().saturating_sub(most.into());
        if from > work.kept_from {
            work.kept_from = from;
            self.shares.happened(Happened::Eviction);
        }
    }

    fn event_id(&mut self, number: usize, draft: &Draft) -> (Option<String>, IdUse) {
        let work = &self.works[number];
        let session = &mut self.sessions[work.session];
        let is_named = (!draft.is_response || self.schedule.server.result_ids)
            && !session.id.is_empty()
            && self.schedule.era.speaks != Speaks::Sse;
        session.events += u64::from(is_named);
        let id = match self.schedule.server.ids {
            Ids::PerStream => format!("k{}/{}", work.number, work.events.len() - work.counts_from + 1),
            Ids::Global => session.events.to_string(),
            Ids::Uuid => format!("{:016x}", self.rng.next()),
        };
        match draft.odd {
            _ if !is_named => (None, IdUse::Cursor),
            None => (Some(id), IdUse::Cursor),
            Some(OddId::Foreign) => (Some(format!("…{id}")), IdUse::Cursor),
            Some(OddId::Empty) => (Some(String::new()), IdUse::Clears),
            Some(OddId::Control) => (Some(format!("a\u{c}{id}")), IdUse::Unusable),
            Some(OddId::Long) => (Some(format!("{id}{}", "x".repeat(1_100))), IdUse::TooLong),
        }
    }

    fn repeat(&mut self, number: usize) {
        let work = &self.works[number];
        let (Some(link), Some(event)) = (work.attached, work.events.last()) else { return };
        // Twice on one body under one id is no repeat to the client; two handlers that fail at it judge nothing.
        // Nor is one that has no name of its own.
        let is_new = event.first == Some(link) || matches!(event.id_use, IdUse::Clears | IdUse::TooLong);
        let is_elsewhere = work.alone && event.first != Some(link);
        if (is_new && self.schedule.calls[work.call].handler != Handler::None) || is_elsewhere {
            return;
        }
        let mut stretch = Stretch::default();
        let mark =
            Mark::Block { work: number, place: work.events.len() - 1, broken: event.broken, alias: None };
        stretch.push(&event.block, Some(mark));
        self.shares.happened(Happened::Duplicate);
        self.effects.push(Effect::Write(link, stretch));
    }

    pub(super) fn write(&mut self, number: usize, text: &str) {
        let link = self.works[number].attached;
        self.effects.extend(link.map(|link| Effect::Write(link, Stretch::text(text))));
    }

    fn write_retry(&mut self, number: usize, ms: u32) {
        let Some(link) = self.works[number].attached else { return };
        let mut stretch = Stretch::default();
        stretch.push(&format!("retry: {ms}\n"), Some(Mark::Retry(ms)));
        self.effects.push(Effect::Write(link, stretch));
    }

    fn close(&mut self, number: usize, retry: Option<u32>) {
        if let Some(ms) = retry {
            self.write_retry(number, ms);
        }
        if let Some(link) = self.works[number].attached.take() {
            self.shares.happened(Happened::PoliteClose);
            self.stream_over(link);
            self.effects.push(Effect::End(link));
        }
    }

    fn last(&mut self, number: usize, last: Last) {
        let work = &mut self.works[number];
        let json = work.json.take();
        match last {
            Last::Never => return,
            Last::Heartbeats if json.is_some() => return,
            Last::Heartbeats => {
                let beats = &mut work.texts;
                *beats += 1;
                if *beats < 100 {
                    self.write(number, ": still here\n\n");
                    self.go_on(number, 10_000);
                }
                return;
            }
            _ => work.finished = true,
        }
        if let Some(reply) = json {
            let text = self.response(number, last);
            let link = self.works[number].attached.take();
            let Some(link) = link else { return };
            return self.finish_json(link, reply, if last == Last::NoAnswer { "{}" } else { &text });
        }
        if last != Last::NoAnswer {
            let data = self.response(number, last);
            let pairs =
                last == Last::Pair && !self.works[number].alone && self.schedule.era.speaks != Speaks::Sse;
            let other = if pairs { self.take_other(number) } else { None };
            if other.is_some() {
                self.shares.happened(Happened::Pair);
            }
            let data = other.map_or_else(|| data.clone(), |other| format!("[{other},{data}]"));
            self.answer_listening(number, &data);
            let broken = last == Last::Broken;
            self.emit(number, Draft { data: Some(data), is_response: true, broken, ..Draft::default() });
        }
        if last != Last::ResultAndStay {
            self.end_body(number);
        }
    }
}

/// The front half of a JSON text.
fn broken(data: &str) -> &str {
    &data[..data.len() / 2]
}
