//! Requests and heads, as they cross: numbers and texts.

use super::protocol::{Outbox, Record};
use crate::proto::{ExchangeId, HttpRequest, Manner, Method, Redirect, ResponseHead, Target};

/// What is known of a head beside its texts, as bits of one number.
mod mark {
    /// There is a `www-authenticate`.
    pub(super) const CHALLENGED: u32 = 1;
    /// It says `insufficient_scope`.
    pub(super) const SCOPE: u32 = 2;
    /// It is a redirect, which leads to the target.
    pub(super) const LEADS: u32 = 4;
    /// The runtime followed one to the target.
    pub(super) const FOLLOWED: u32 = 8;
    /// It is a redirect, of which the browser hides all.
    pub(super) const HIDDEN: u32 = 16;
    /// The target is of the origin that was asked.
    pub(super) const SAME_ORIGIN: u32 = 32;
}

impl Outbox {
    /// Adds a request: its numbers, of which the last count the headers, and the lengths of each name and value.
    pub(super) fn transmit(&mut self, exchange: ExchangeId, request: HttpRequest) {
        let HttpRequest { call, url, method, headers, body, manner } = request;
        let method = match method {
            Method::Get => 0,
            Method::Post => 1,
            Method::Delete => 2,
        };
        let manner = match manner {
            Manner::Guarded => 0,
            Manner::Following => 1,
            Manner::Bare => 2,
        };
        let url = url.map_or(0.0, |url| self.text(&url));
        let (body_at, body_length) = body.map_or((0.0, 0.0), |body| self.body(body));
        let call = call.map_or(-1.0, |call| f64::from(call.0));
        let fields = [f64::from(exchange.0), call, f64::from(method), f64::from(manner)];
        self.record(Record::Transmit, &fields);
        self.go_on(&[url, body_at, body_length, headers.len() as f64]);
        for (name, value) in headers {
            let lengths = [self.text(&name), self.text(&value)];
            self.go_on(&lengths);
        }
    }
}

/// A head of its parts. The target is that of a redirect.
pub(super) fn response_head(
    status: u16,
    marks: u32,
    [content_type, session_id, retry_after, target]: [Option<String>; 4],
) -> ResponseHead {
    let has = |mark| marks & mark != 0;
    let target = target.map(|url| Target { url, same_origin: has(mark::SAME_ORIGIN) });
    let redirect = match target {
        _ if has(mark::HIDDEN) => Some(Redirect::Hidden),
        Some(target) if has(mark::LEADS) => Some(Redirect::To(target)),
        Some(target) if has(mark::FOLLOWED) => Some(Redirect::Followed(target)),
        _ => None,
    };
    ResponseHead {
        status,
        content_type,
        session_id,
        retry_after,
        challenged: has(mark::CHALLENGED),
        insufficient_scope: has(mark::SCOPE),
        redirect,
    }
}
