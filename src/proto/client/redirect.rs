//! Redirects stay in the origin and keep the method (design section 10).

use super::Client;
use crate::proto::error::Reason;
use crate::proto::http::ResponseHead;
use crate::proto::ledger::Refusal;
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
        let was_followed = !(300..400).contains(&head.status);
        if was_followed && redirect.same_origin {
            return false; // The runtime followed it; whether the answer fits is seen from the answer.
        }
        if !self.turns(call, head) {
            let text = format!("the server redirects to {}", redirect.shown());
            if let Some(entry) = self.ledger.get(call).filter(|_| !was_followed) {
                entry.refusal = Some(Refusal { status: head.status, body: String::new() });
            }
            self.fail(now, call, Reason::Redirected, &text);
            return true;
        }
        self.abort(exchange);
        match self.stream(call).map(|stream| &stream.phase) {
            Some(Phase::Posting(_)) => self.post(now, call),
            _ => self.resume(now, call),
        }
        true
    }

    /// Turns a call's requests to where the head says, if it is a redirect that may be followed. Whether it is.
    pub(super) fn turns(&mut self, call: CallId, head: &ResponseHead) -> bool {
        // Of the others a POST becomes a GET (WHATWG fetch, *HTTP-redirect fetch*): its server may have dealt with it.
        let posts = self.stream(call).is_some_and(|stream| matches!(stream.phase, Phase::Posting(_)));
        let keeps_method = matches!(head.status, 307 | 308) || (!posts && matches!(head.status, 301..=303));
        let redirect = head.redirect.as_ref().filter(|redirect| redirect.same_origin && keeps_method);
        let (Some(redirect), Some(entry)) = (redirect, self.ledger.get(call)) else { return false };
        if entry.redirects == MOST {
            return false;
        }
        entry.redirects += 1;
        entry.redirect = Some(redirect.url.clone());
        true
    }
}
