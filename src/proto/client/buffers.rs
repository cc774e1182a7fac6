//! What is held of messages that are not whole yet, for all calls together, and its bound.

use super::Client;
use crate::proto::error::Reason;
use crate::proto::stream::Phase;
use crate::proto::time::Instant;
use crate::proto::{CallId, ExchangeId};

/// What a chunk leaves of its last event is not worth a look at all others.
const LITTLE: usize = 4 << 10;

impl Client {
    /// Bytes of a body came. Where too much is held then, the call that holds the most fails.
    pub(super) fn take_body(&mut self, now: Instant, exchange: ExchangeId, bytes: &[u8]) {
        let (owner, most) = (self.dispatch.owner_of(exchange), self.config.max_buffered_bytes);
        self.on_body(now, exchange, bytes);
        if owner.is_none_or(|call| self.held(call) <= LITTLE.min(most / 16)) {
            return;
        }
        let holders = self.ledger.calls().into_iter().map(|call| (self.held(call), call));
        let (all, largest) =
            holders.fold((0, None), |(all, largest), holder| (all + holder.0, largest.max(Some(holder))));
        if let Some((held, call)) = largest.filter(|_| all > most) {
            let text = format!(
                "{all} bytes of messages that are not whole yet are held, more than {most} (limits.maxBufferedBytes), \
                 and {held} of them, the most, are of this call"
            );
            self.fail(now, call, Reason::MessageTooLarge, &text);
        }
    }

    /// Bytes that are held for a call.
    fn held(&self, call: CallId) -> usize {
        let Some(lineage) = self.ledger.peek(call).map(|entry| &entry.lineage) else { return 0 };
        let stream = lineage.stream.as_ref().map_or(0, |stream| {
            let body = if let Phase::Reading(_, body) = &stream.phase { body.held() } else { 0 };
            body + stream.race.held()
        });
        stream + lineage.earlier.as_ref().map_or(0, |earlier| earlier.body.held())
    }
}
