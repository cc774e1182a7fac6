//! Redirects stay in the origin and keep the method (design section 10).

use super::Client;
use crate::proto::error::Reason;
use crate::proto::http::ResponseHead;
use crate::proto::stream::Phase;
use crate::proto::time::Instant;
use crate::proto::{CallId, ExchangeId};

/// So many redirects are followed for one call.
const MOST: u32 = 5;

impl Client {
    /// Deals with a redirect, where the head is one: follows it, or ends the call. Whether it was one.
    pub(super) fn redirected(
        &mut self,
        now: Instant,
        call: CallId,
        exchange: ExchangeId,
        head: &ResponseHead,
    ) -> bool {
        let Some(redirect) = &head.redirect else { return false };
        let keeps_method = matches!(head.status, 301 | 302 | 307 | 308);
        let was_followed = !(300..400).contains(&head.status);
        if was_followed && redirect.same_origin {
            return false; // The runtime followed it; whether the answer fits is seen from the answer.
        }
        let Some(entry) = self.ledger.get(call) else { return true };
        if !redirect.same_origin || !keeps_method || entry.redirects == MOST {
            let text = format!("the server redirects to {}", redirect.shown());
            self.fail(now, call, Reason::Redirected, &text);
            return true;
        }
        entry.redirects += 1;
        entry.redirect = Some(redirect.url.clone());
        self.abort(exchange);
        match self.stream(call).map(|stream| &stream.phase) {
            Some(Phase::Posting(_)) => self.post(now, call),
            _ => self.resume(now, call),
        }
        true
    }
}
