//! The ids and tokens that a caller gave, on the wire.

use landfall::proto::CallId;

use super::sessions::session;
use super::Judge;
use crate::sim::network::{LinkId, Network};

impl Judge<'_> {
    /// The caller names a call himself.
    pub(crate) fn on_named(&mut self, call: CallId, id: Option<String>, token: Option<String>) {
        let Some(watch) = self.watched(call) else { return };
        let seen = &mut self.watches[watch];
        seen.wire_ids = id.into_iter().collect();
        seen.given_token = token;
    }

    /// A call goes out under the id and the token that its caller gave, and again under another id of the same type.
    /// What goes again as it was keeps its id, unless another session is in use by then.
    pub(super) fn check_names(&mut self, watch: usize, id: LinkId, network: &Network) {
        let link = &network.links[id];
        let body = link.request.body.as_deref().unwrap_or_default();
        let seen = &mut self.watches[watch];
        let Some(first) = seen.wire_ids.first().cloned() else { return };
        let named = between(body, "\"id\":", ",\"method\"").unwrap_or_default().to_string();
        let last = seen.posts.last();
        let last = last.map(|(last, _)| &network.links[*last]);
        let is_new = last.is_some_and(|last| !last.goes_again() || session(last) != session(link));
        let right = match is_new {
            true => !seen.wire_ids.contains(&named) && named.starts_with('"') == first.starts_with('"'),
            false => seen.wire_ids.last() == Some(&named),
        };
        let token = seen.given_token.as_ref().map(|token| format!("\"progressToken\":{token}"));
        let has_token = token.is_none_or(|token| body.contains(&token));
        let (call, known) = (seen.plan, seen.wire_ids.clone());
        if is_new {
            seen.wire_ids.push(named);
        }
        self.expect(right, || format!("call {call:?} goes out as {body}, and went by {known:?}"));
        self.expect(has_token, || format!("call {call:?} lost its progress token: {body}"));
    }

    /// The server is told why a call was cancelled, where its caller said so.
    pub(super) fn check_reason(&mut self, body: &str) {
        let id = between(body, "\"requestId\":", ",\"reason\"").unwrap_or_default();
        let mut named = self.watches.iter().filter(|seen| seen.wire_ids.iter().any(|known| known == id));
        let (Some(seen), None) = (named.next(), named.next()) else { return };
        let (call, because) = (seen.plan, seen.because.filter(|_| seen.cancelled));
        let right = because.is_none_or(|because| body.contains(because));
        self.expect(right, || format!("call {call:?} was cancelled because {because:?}: {body}"));
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &text[text.find(before)? + before.len()..];
    Some(&rest[..rest.find(after)?])
}
