//! Outcomes that are drained and may not be told yet: what the host still reports of their calls.

use std::ops::RangeInclusive;

use super::{Client, Output};
use crate::proto::config::OnGap;
use crate::proto::cursor::Held;
use crate::proto::error::Reason;
use crate::proto::event::{Event, GapKind, Settlement};
use crate::proto::ledger::{Call, Kind};
use crate::proto::time::Instant;
use crate::proto::CallId;

/// A call that settled, until the next input: where the host tells events and the outcome in one go, it may report still.
pub(super) struct Untold {
    call: CallId,
    /// Its events that were in hand.
    held: Held,
    /// It was answered, and had been resumed.
    answered: Option<Box<Call>>,
}

impl Client {
    /// A call settles: what is in hand may be reported on until the next input.
    pub(super) fn keep_unreported(&mut self, call: CallId) {
        let Some(entry) = self.ledger.get(call).filter(|entry| entry.request.reports_handling) else {
            return;
        };
        let mut held = std::mem::take(&mut entry.lineage.orphans);
        held.extend(entry.lineage.stream.iter().flat_map(|stream| stream.cursor.held()));
        if !held.is_empty() {
            self.untold.push(Untold { call, held, answered: None });
        }
    }

    /// A call was answered: where a seam may have come in the same bytes, the application is about to judge it.
    pub(super) fn keep_answered(&mut self, call: CallId, entry: Box<Call>) {
        if entry.request.kind != Kind::Request || entry.diagnostics.attempts.is_empty() {
            return;
        }
        match self.untold.iter_mut().find(|untold| untold.call == call) {
            Some(untold) => untold.answered = Some(entry),
            None => self.untold.push(Untold { call, held: Held::new(), answered: Some(entry) }),
        }
    }

    /// Events of a call that has settled: what failed of them can't come again.
    pub(super) fn on_reported_late(
        &mut self,
        now: Instant,
        call: CallId,
        keys: &RangeInclusive<u32>,
        ok: bool,
    ) {
        let Some(Untold { held, .. }) = self.untold.iter_mut().find(|untold| untold.call == call) else {
            return;
        };
        let (reported, left): (Held, Held) =
            std::mem::take(held).into_iter().partition(|(key, _)| keys.contains(key));
        *held = left;
        for (_, id) in reported.into_iter().filter(|_| !ok) {
            let event = self.skipped(id);
            self.event(now, Some(call), event);
        }
    }

    /// The application found a gap before an answer that came in the same bytes. Nothing is sent again after an answer.
    pub(super) fn on_gap_late(&mut self, now: Instant, call: CallId) {
        let untold = self.untold.iter_mut().find(|untold| untold.call == call);
        let Some(mut entry) = untold.and_then(|untold| untold.answered.take()) else { return };
        self.stats.gaps += 1;
        entry.diagnostics.gaps += 1;
        let (kind, certain) = (GapKind::Missing, true);
        self.event(now, Some(call), Event::Gap { kind, certain, before: None, after: None });
        if entry.request.on_gap == OnGap::Continue {
            return self.keep_answered(call, entry);
        }
        self.stats.answered = self.stats.answered.saturating_sub(1);
        self.stats.on_failed(Reason::Gap, entry.outcome(), true);
        let failure = self.failure(now, *entry, Reason::Gap, "events are missing after a resume");
        self.outputs.push_back(Output::Settle(call, now, Settlement::Failed(Box::new(failure))));
    }
}
