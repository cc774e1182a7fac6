//! Sending a call again: only what is known not to have run, or may run twice (ARCHITECTURE.md,
//! "Replay safety").

use std::time::Duration;

use super::ladder::Loss;
use super::Client;
use crate::proto::backoff::Rng;
use crate::proto::error::Reason;
use crate::proto::event::{Level, ReissueCause};
use crate::proto::jsonrpc::Id;
use crate::proto::ledger::{Call, Kind};
use crate::proto::machines::recovery::Happened;
use crate::proto::replay::{is_read, ReplayOption};
use crate::proto::stream::Stream;
use crate::proto::time::Instant;
use crate::proto::CallId;

/// So many times `connectMs` a call waits for a server that nothing of it reaches.
const UNREACHED: u32 = 3;

impl Client {
    /// Whether executing the call twice does no harm: the caller's word, then the method, then the server's.
    pub(super) fn is_safe(&self, now: Instant, entry: &Call) -> bool {
        let replay = self.config.replay;
        if replay == ReplayOption::Never {
            return false;
        }
        if entry.request.idempotent {
            return true;
        }
        if let Some(decided) = entry.request.replay {
            return decided;
        }
        let hinted = || entry.delivery.hint(self.hint_of(now, entry)) == Some(true);
        is_read(&entry.request.method) || (replay == ReplayOption::Hints && hinted())
    }

    /// Whether the server would know the request again, and not execute it twice: by its key, in the session that had it.
    fn is_known_here(&self, entry: &Call) -> bool {
        let may_at_all = self.config.replay != ReplayOption::Never;
        may_at_all && entry.request.keyed && !entry.delivery.stranded && self.is_ready()
    }

    /// Whether the call may be sent again now.
    pub(super) fn may_reissue(&self, now: Instant, call: CallId) -> bool {
        self.may_reissue_if(now, call, |entry| self.is_known_here(entry) || self.is_safe(now, entry))
    }

    /// The same, where this says whether executing it twice does no harm.
    pub(super) fn may_reissue_if(
        &self,
        now: Instant,
        call: CallId,
        safe: impl FnOnce(&Call) -> bool,
    ) -> bool {
        let most = self.config.max_reissues;
        self.ledger.peek(call).filter(|entry| entry.request.kind == Kind::Request).is_some_and(|entry| {
            waits_for_server(now, entry).is_none_or(|left| !left.is_zero())
                && entry.delivery.may_reissue(most, || safe(entry))
        })
    }

    /// The call's stream is lost for good: it is sent again where that is allowed, else it fails. `floor` is a
    /// `Retry-After`.
    pub(super) fn lost(
        &mut self,
        now: Instant,
        call: CallId,
        reason: Reason,
        why: ReissueCause,
        text: &str,
        floor: Option<Duration>,
    ) {
        self.happens(now, call, Happened::Lost(reason), Loss { why, text, floor });
    }

    /// Sends the call again after a wait.
    pub(super) fn reissue(
        &mut self,
        now: Instant,
        call: CallId,
        reason: Reason,
        why: ReissueCause,
        floor: Option<Duration>,
    ) {
        let kept = self.floor(now, call);
        let floor = Some(floor.unwrap_or_default().max(kept)).filter(|floor| !floor.is_zero());
        self.detach(now, call, reason, why);
        let reissues = self.ledger.peek(call).map_or(0, |entry| entry.delivery.reissues());
        let attempt = u32::try_from(reissues).unwrap_or(u32::MAX);
        let wait = self.own_wait(call, attempt.saturating_sub(1)).max(floor.unwrap_or_default());
        let left = self.ledger.peek(call).and_then(|entry| waits_for_server(now, entry));
        let wait = left.map_or(wait, |left| wait.min(left));
        self.set_clocks(now, call);
        if let Some(asked) = floor.filter(|asked| self.passes_budget(now, call, *asked)) {
            return self.fail_over_budget(now, call, asked);
        }
        self.plan(now, call, Level::Reissue, wait);
        self.announce(now, call, Level::Reissue, attempt, wait);
    }

    /// Parts a call from its stream for good. The earlier request can't answer any more, but on another stream.
    pub(super) fn detach(&mut self, now: Instant, call: CallId, cause: Reason, why: ReissueCause) {
        let open = self.part(now, call, cause, why).and_then(|stream| stream.exchange());
        let earlier = self.ledger.get(call).and_then(|entry| entry.lineage.earlier.take());
        for exchange in open.into_iter().chain(earlier.map(|earlier| earlier.exchange)) {
            self.abort(exchange);
        }
    }

    /// The call's next POST is a re-issue, under a new id. The stream that it had is open if it was.
    pub(super) fn part(
        &mut self,
        now: Instant,
        call: CallId,
        cause: Reason,
        why: ReissueCause,
    ) -> Option<Stream> {
        let is_request = self.ledger.peek(call).is_some_and(|entry| entry.request.kind == Kind::Request);
        self.stats.reissues += u64::from(is_request);
        self.keep_hint(now, call);
        let stream = self.leave_stream(now, call);
        let entry = self.ledger.get(call)?;
        entry.lineage.adopts = false;
        entry.delivery.reissue(why, cause);
        entry.delivery.stranded = false;
        stream
    }

    /// Takes the call out of its stream: nothing that was planned for that happens any more.
    pub(super) fn leave_stream(&mut self, now: Instant, call: CallId) -> Option<Stream> {
        self.skip_failed(now, call);
        self.note_given_up(call);
        self.drop_plans(call);
        let entry = self.ledger.get(call)?;
        let stream = entry.lineage.stream.take();
        entry.lineage.orphans.extend(stream.iter().flat_map(|stream| stream.cursor.held()));
        stream
    }

    /// Nothing that was planned for the call's stream, or that it waits for, happens any more.
    pub(super) fn drop_plans(&mut self, call: CallId) {
        self.stop_race(call);
        self.dispatch.leave(call);
        self.session.outage.unpark(call);
        self.session.endpoint.gone(call);
        self.end_questions(call);
        self.credentials.leave(call);
        self.stop_timers_of_stream(call);
        if let Some(entry) = self.ledger.get(call) {
            entry.lineage.questions = 0;
            entry.lineage.planned = None;
        }
    }

    /// The call's message is sent again under another id.
    pub(super) fn renew_wire_id(&mut self, call: CallId) {
        let id = self.next_wire_id(call);
        self.ledger.rename(call, id);
    }

    /// Of the type of the first, for a server may know no other.
    fn next_wire_id(&mut self, call: CallId) -> Id {
        let number = self.next_call;
        self.next_call += 1;
        match self.ledger.peek(call).map(Call::wire_id) {
            // 48 bits of which no other client has the same, and room to count.
            Some(Id::Number(_)) => {
                let base = Rng::new(self.salt).next() >> 16;
                Id::Number((base + u64::from(number)).to_string())
            }
            _ => Id::String(self.request_id(CallId(number))),
        }
    }
}

/// How much longer a call may wait for a server that nothing of it has reached.
fn waits_for_server(now: Instant, entry: &Call) -> Option<Duration> {
    entry.delivery.waits_for_server(now, entry.request.timeouts.connect.saturating_mul(UNREACHED))
}
