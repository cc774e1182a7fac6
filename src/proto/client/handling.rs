//! Events in hand: what is handed out, what comes back as handled, and what is missing.

use std::ops::RangeInclusive;

use super::{Client, Output};
use crate::proto::config::OnGap;
use crate::proto::cursor::{Came, Handed, Held, Report};
use crate::proto::error::Reason;
use crate::proto::event::{Event, GapKind, GapWord, ReissueCause};
use crate::proto::event_ids::Prefix;
use crate::proto::gap::{number, split};
use crate::proto::jsonrpc::{Heard, Payload};
use crate::proto::ledger::{Call, Kind};
use crate::proto::repeats::Print;
use crate::proto::stream::{Phase, Stream};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

/// Whether the numbers of a prefix are one stream's own.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Sharing {
    /// As far as is known.
    No,
    /// Another stream has not shown its ids yet.
    Possible,
    /// Another stream uses it: a jump means nothing.
    Proved,
}

impl Client {
    /// Keys for the messages of an event that the host will report on: of an array that comes again, those in these
    /// places.
    pub(super) fn hand_out(
        &mut self,
        call: CallId,
        payload: &Payload<Heard<'_>>,
        due: Option<&[u32]>,
    ) -> Handed {
        match payload {
            Payload::One(message) if self.is_to_handle(call, message) => {
                self.next_key(call).map_or(Handed::Nothing, Handed::One)
            }
            Payload::Many(messages) => {
                let mut handed = Vec::new();
                for (place, (_, message)) in (0..).zip(messages) {
                    let is_due = due.is_none_or(|due| due.contains(&place));
                    if is_due && message.as_ref().is_some_and(|message| self.is_to_handle(call, message)) {
                        handed.extend(self.next_key(call).map(|key| (key, place)));
                    }
                }
                if handed.is_empty() {
                    Handed::Nothing
                } else {
                    Handed::Several(handed)
                }
            }
            Payload::One(_) | Payload::Other => Handed::Nothing,
        }
    }

    /// What goes to another call is not for this stream to wait for.
    fn is_to_handle(&self, call: CallId, message: &Heard<'_>) -> bool {
        let Heard::Notification { method, token, .. } = message else { return false };
        if self.is_kept(call, method) {
            return false;
        }
        self.progresses(call, method, *token).is_none_or(|owner| owner == call)
    }

    fn next_key(&mut self, call: CallId) -> Option<u32> {
        let reports =
            |entry: &&mut Call| entry.request.kind == Kind::Request && entry.request.reports_handling;
        let lineage = &mut self.ledger.get(call).filter(reports)?.lineage;
        lineage.last_key = lineage.last_key.wrapping_add(1);
        Some(lineage.last_key)
    }

    /// What was handed out does not come again: its handlers are heard, and the cursor of no stream waits for them.
    pub(super) fn hand_out_once(&mut self, call: CallId, payload: &Payload<Heard<'_>>) -> Handed {
        let handed = self.hand_out(call, payload, None);
        if let Some(entry) = self.ledger.get(call) {
            entry.lineage.orphans.extend(handed.keys().map(|key| (key, None)));
        }
        handed
    }

    /// A block was handed out, or needs no handler.
    pub(super) fn arrive(
        &mut self,
        now: Instant,
        call: CallId,
        id: Option<&str>,
        print: Option<Print>,
        handed: Handed,
        bytes: usize,
    ) {
        let Some(stream) = self.stream(call) else { return };
        if let Some((prefix, _)) = id.and_then(split) {
            stream.counts_with(prefix, call);
        }
        let resumed = stream.events().is_some_and(|events| events.resumed);
        if resumed && bytes == 0 && id.is_some_and(|id| !id.is_empty() && stream.cursor.is_passed(id)) {
            return;
        }
        if bytes == 0 {
            id.inspect(|id| stream.gaps.passed(id));
        }
        let report = stream.cursor.arrive(Came { id, print, resumed }, handed, bytes);
        if let Some(events) = stream.events() {
            events.moved |= id.is_some();
        }
        self.heed_report(now, call, report);
    }

    pub(super) fn on_handled(&mut self, now: Instant, call: CallId, keys: &RangeInclusive<u32>, ok: bool) {
        self.on_orphans_handled(now, call, keys, ok);
        self.on_reported_late(now, call, keys, ok);
        let each = self.ledger.peek(call).is_some_and(|entry| entry.request.wants_tokens);
        let Some(stream) = self.stream(call) else { return };
        if !each {
            let report = stream.cursor.handled(keys, ok);
            return self.heed_report(now, call, report);
        }
        // Who wants to know the cursors wants each of them.
        for key in stream.cursor.held_keys(keys) {
            let Some(stream) = self.stream(call) else { return };
            let report = stream.cursor.handled(&(key..=key), ok);
            self.heed_report(now, call, report);
        }
    }

    pub(super) fn heed_report(&mut self, now: Instant, call: CallId, report: Report) {
        for id in report.skipped {
            self.skip(now, call, id);
        }
        self.after_report(now, call, report.moved);
    }

    fn on_orphans_handled(&mut self, now: Instant, call: CallId, keys: &RangeInclusive<u32>, ok: bool) {
        let Some(lineage) = self.ledger.get(call).map(|entry| &mut entry.lineage) else { return };
        if lineage.orphans.is_empty() {
            return;
        }
        let orphans = std::mem::take(&mut lineage.orphans).into_iter();
        let (reported, held): (Held, Held) = orphans.partition(|(key, _)| keys.contains(key));
        lineage.orphans = held;
        for (_, id) in reported.into_iter().filter(|_| !ok) {
            self.skip(now, call, id);
        }
    }

    /// The event that holds the answer: its id is the last that the host is told, for the call ends with it.
    pub(super) fn tell_last_token(&mut self, call: CallId, id: Option<&str>) {
        if let Some(id) = id.filter(|id| self.tells_tokens(call) && !id.is_empty()) {
            self.outputs.push_back(Output::Token(call, id.to_string()));
        }
    }

    /// Whether the host is told where a call is. Where its session is dead there is no going on from there, and in the
    /// next one the same token may name another's event.
    fn tells_tokens(&self, call: CallId) -> bool {
        self.ledger.peek(call).is_some_and(|entry| entry.request.wants_tokens && !entry.delivery.stranded)
    }

    pub(super) fn after_report(&mut self, now: Instant, call: CallId, moved: bool) {
        if moved && self.tells_tokens(call) {
            let token = self.stream(call).and_then(|stream| stream.cursor.committed()).map(str::to_string);
            self.outputs.extend(token.map(|token| Output::Token(call, token)));
        }
        if self.ledger.peek(call).is_some_and(|entry| entry.request.reports_handling) {
            self.pace(now, call);
        }
    }

    /// A slow consumer's body is not read, and its clocks rest.
    pub(super) fn pace(&mut self, now: Instant, call: CallId) {
        let (most_events, most_bytes) = (self.config.max_pending_events, self.config.max_pending_bytes);
        let Some(stream) = self.stream(call) else { return };
        let Phase::Reading(exchange, _) = stream.phase else { return };
        if stream.is_quiet() {
            return; // There is no body yet.
        }
        let (events, bytes) = stream.cursor.in_hand();
        let full = events >= most_events || bytes >= most_bytes;
        if full == stream.paused {
            return;
        }
        stream.paused = full;
        self.outputs.push_back(Output::Read(exchange, !full));
        match full {
            true => self.timers.stop(Owner::Call(call), Clock::Idle),
            false => self.rearm_idle(now, call),
        }
        self.set_clocks(now, call);
    }

    fn skip(&mut self, now: Instant, call: CallId, id: Option<String>) {
        let event = self.skipped(id);
        self.call_event(now, call, event);
    }

    /// An event is given up whose handler failed: what is told of it.
    pub(super) fn skipped(&mut self, id: Option<String>) -> Event {
        self.stats.skipped += 1;
        Event::EventSkipped { event_id: id.map(|id| self.shown(&id)) }
    }

    /// The call's stream ends for good: what failed there can't come again.
    pub(super) fn skip_failed(&mut self, now: Instant, call: CallId) {
        let failed = self.stream(call).map(|stream| stream.cursor.failed()).unwrap_or_default();
        for id in failed {
            self.skip(now, call, id);
        }
    }

    /// Looks for a gap before an event that is new. Whether the call goes on with this stream.
    pub(super) fn check_gap(
        &mut self,
        now: Instant,
        call: CallId,
        id: Option<&str>,
        is_answer: bool,
    ) -> bool {
        let Some(id) = id else { return true };
        let Some(stream) = self.stream(call) else { return false };
        if stream.gaps.is_missing(id) {
            let before = stream.cursor.committed().map(str::to_string);
            let sharing = split(id).map_or(Sharing::Proved, |(prefix, _)| self.sharing(prefix, call));
            let certain = sharing == Sharing::No;
            if sharing != Sharing::Proved {
                self.tell_gap(now, call, GapKind::Missing, certain, before.as_deref(), Some(id));
            }
            // An answer ends the call whatever is missing before it.
            if certain && !is_answer {
                self.act_on_gap(now, call);
            }
        }
        self.stream(call).is_some_and(|stream| stream.is_open())
    }

    /// Whether other streams of its session count with this prefix too.
    fn sharing(&mut self, prefix: &str, call: CallId) -> Sharing {
        let Some(ids) = self.stream(call).map(|stream| stream.ids.clone()) else { return Sharing::Proved };
        if ids.shares(Prefix::new(prefix), call) {
            return Sharing::Proved;
        }
        let is_unseen = |stream: &Stream| !stream.gaps.has_prefix() && stream.ids.is(&ids);
        let unknown = |entry: &Call| {
            entry.request.kind == Kind::Request && entry.lineage.stream.as_ref().is_some_and(is_unseen)
        };
        let calls = self.ledger.calls();
        let unseen =
            calls.into_iter().any(|other| other != call && self.ledger.peek(other).is_some_and(unknown));
        match unseen || ids.gave_up_unseen() {
            true => Sharing::Possible,
            false => Sharing::No,
        }
    }

    /// Looks at the progress of a notification on the call's own stream.
    pub(super) fn check_progress(&mut self, now: Instant, call: CallId, progress: Option<&str>) {
        let progress = progress.and_then(number);
        let Some((stream, progress)) = self.stream(call).zip(progress) else { return };
        if stream.gaps.is_leap(progress) {
            self.on_gap(now, call, GapKind::Progress, false, None, None);
        }
    }

    pub(super) fn on_gap(
        &mut self,
        now: Instant,
        call: CallId,
        kind: GapKind,
        certain: bool,
        before: Option<&str>,
        after: Option<&str>,
    ) {
        self.tell_gap(now, call, kind, certain, before, after);
        if certain {
            self.act_on_gap(now, call);
        }
    }

    fn tell_gap(
        &mut self,
        now: Instant,
        call: CallId,
        kind: GapKind,
        certain: bool,
        before: Option<&str>,
        after: Option<&str>,
    ) {
        let (before, after) = (before.map(|id| self.shown(id)), after.map(|id| self.shown(id)));
        let Some(entry) = self.ledger.get(call).filter(may_miss) else { return };
        entry.diagnostics.gaps += 1;
        self.stats.gaps += 1;
        let event = Event::Gap { kind, certain, before, after };
        match self.session.listen == Some(call) {
            true => self.event(now, None, event),
            false => self.call_event(now, call, event),
        }
    }

    fn act_on_gap(&mut self, now: Instant, call: CallId) {
        let Some(entry) = self.ledger.get(call).filter(may_miss) else { return };
        let text = "events are missing after a resume";
        match entry.request.on_gap {
            OnGap::Continue => {}
            OnGap::Reissue => {
                self.lost(now, call, Reason::Gap, ReissueCause::Gap(GapWord::Gap), text, None);
            }
            OnGap::Fail => self.fail(now, call, Reason::Gap, text),
        }
    }
}

/// Whether something can be missing: of a request that was not answered by a stream nothing was received.
fn may_miss(entry: &&mut Call) -> bool {
    entry.lineage.stream.as_ref().is_some_and(Stream::has_opened)
}
