//! The ledger: one entry per call that has not ended, one outcome per entry.

use super::jsonrpc::{quote, Id};
pub(crate) use super::machines::call::{Call, Kind, Refusal};
use super::sorted::SortedMap;
use super::CallId;

/// A request under this id.
pub(crate) fn request(id: &Id, members: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{members}}}", id.text())
}

/// A notification.
pub(crate) fn notification(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",{}}}", members(method, params, "", None))
}

/// The members `method` and `params`. `params` and `meta` are JSON texts of objects, or empty.
pub(crate) fn members(method: &str, params: &str, meta: &str, progress_token: Option<&Id>) -> String {
    let inner =
        |object: &str| object.trim().strip_prefix('{').and_then(|o| o.strip_suffix('}')).map(str::to_string);
    let mut metas: Vec<String> = Vec::new();
    if let Some(token) = progress_token {
        metas.push(format!("\"progressToken\":{}", token.text()));
    }
    metas.extend(inner(meta).filter(|meta| !meta.trim().is_empty()));
    let mut members: Vec<String> = Vec::new();
    if !metas.is_empty() {
        members.push(format!("\"_meta\":{{{}}}", metas.join(",")));
    }
    let given = inner(params);
    let has_params = given.is_some() || !members.is_empty();
    members.extend(given.filter(|params| !params.trim().is_empty()));
    let mut text = String::from("\"method\":");
    quote(method, &mut text);
    if has_params {
        text.push_str(",\"params\":{");
        text.push_str(&members.join(","));
        text.push('}');
    }
    text
}

/// All calls that have not ended, and the ids they go by on the wire.
#[derive(Default)]
pub(crate) struct Ledger {
    entries: SortedMap<CallId, Box<Call>>,
    wire: SortedMap<Id, CallId>,
    tokens: SortedMap<Id, CallId>,
}

impl Ledger {
    pub(crate) fn open(&mut self, call: CallId, entry: Call) {
        for id in entry.delivery.wire_ids.iter().filter(|_| entry.request.kind.wants_response()) {
            self.wire.insert(id.plain(), call);
        }
        if let Some(token) = &entry.request.token {
            self.tokens.insert(token.plain(), call);
        }
        self.entries.insert(call, Box::new(entry));
    }

    /// Gives a call a new id on the wire.
    pub(crate) fn rename(&mut self, call: CallId, id: Id) {
        if let Some(entry) = self.entries.get_mut(&call) {
            entry.delivery.wire_ids.push(id.clone());
            self.wire.insert(id, call);
        }
    }

    /// Removes the entry: from here on nothing of the call is known.
    pub(crate) fn close(&mut self, call: CallId) -> Option<Box<Call>> {
        let entry = self.entries.remove(&call)?;
        for id in &entry.delivery.wire_ids {
            Self::forget(&mut self.wire, id, call);
        }
        if let Some(token) = &entry.request.token {
            Self::forget(&mut self.tokens, token, call);
        }
        Some(entry)
    }

    /// A caller may use one id or token twice: then it is the later call's.
    fn forget(names: &mut SortedMap<Id, CallId>, name: &Id, call: CallId) {
        if names.get(&name.plain()) == Some(&call) {
            names.remove(&name.plain());
        }
    }

    pub(crate) fn get(&mut self, call: CallId) -> Option<&mut Call> {
        self.entries.get_mut(&call).map(Box::as_mut)
    }

    pub(crate) fn peek(&self, call: CallId) -> Option<&Call> {
        self.entries.get(&call).map(Box::as_ref)
    }

    /// The call that goes by this id on the wire.
    pub(crate) fn by_wire_id(&self, id: &Id) -> Option<CallId> {
        self.wire.get(&id.plain()).copied()
    }

    /// The call whose progress goes by this token.
    pub(crate) fn by_token(&self, token: &Id) -> Option<CallId> {
        self.tokens.get(&token.plain()).copied()
    }

    pub(crate) fn calls(&self) -> Vec<CallId> {
        self.entries.keys().copied().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}
