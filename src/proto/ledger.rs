//! The ledger: one entry per call that has not ended, one outcome per entry.

use super::jsonrpc::{field, inside, quote, with_field, Id, IdText};
pub(crate) use super::machines::call::{Call, Kind};
pub(crate) use super::machines::delivery::Refusal;
use super::sorted::SortedMap;
use super::CallId;

/// A request under this id.
pub(crate) fn request(id: &Id, members: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{members}}}", id.text())
}

/// A notification.
pub(crate) fn notification(method: &str, params: &str, meta: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",{}}}", members(method, params, meta, None))
}

/// The members `method` and `params`. `params` and `meta` are JSON texts of objects, or empty. A `_meta` that stands in
/// `params` keeps its place, and its members come after ours: of two of one name the last counts.
pub(crate) fn members(method: &str, params: &str, meta: &str, progress_token: Option<&Id>) -> String {
    let token = progress_token.map(|token| format!("\"progressToken\":{}", token.text()));
    let mut metas: Vec<String> = token.into_iter().chain(inside(meta).map(String::from)).collect();
    metas.retain(|members| !members.is_empty());
    let mut params = inside(params).map(|params| format!("{{{params}}}"));
    if !metas.is_empty() {
        let whole = params.unwrap_or_else(|| "{}".to_string());
        params = Some(match field(&whole, &["_meta"]) {
            Some(own) => {
                metas.extend(inside(own).filter(|own| !own.is_empty()).map(String::from));
                with_field(&whole, &["_meta"], &format!("{{{}}}", metas.join(",")))
            }
            None => {
                let rest = inside(&whole).filter(|rest| !rest.is_empty()).map(|rest| format!(",{rest}"));
                format!("{{\"_meta\":{{{}}}{}}}", metas.join(","), rest.unwrap_or_default())
            }
        });
    }
    let mut text = String::from("\"method\":");
    quote(method, &mut text);
    text.extend(params.map(|params| format!(",\"params\":{params}")));
    text
}

/// All calls that have not ended, and the ids they go by on the wire.
#[derive(Default)]
pub(crate) struct Ledger {
    entries: SortedMap<CallId, Box<Call>>,
    wire: SortedMap<Id, CallId>,
    /// By the text of a token as everybody writes it.
    tokens: SortedMap<String, CallId>,
}

impl Ledger {
    pub(crate) fn open(&mut self, call: CallId, entry: Call) {
        for id in entry.delivery.wire_ids.iter().filter(|_| entry.request.kind.wants_response()) {
            self.wire.insert(id.plain(), call);
        }
        if let Some(token) = &entry.request.token {
            self.tokens.insert(token.id.plain().text(), call);
        }
        self.entries.insert(call, Box::new(entry));
    }

    /// The ids that a call went by answer for nothing any more: its next request is another.
    pub(crate) fn forget_ids(&mut self, call: CallId) {
        let Some(entry) = self.entries.get_mut(&call) else { return };
        entry.delivery.wire_ids.iter().for_each(|id| Self::forget(&mut self.wire, id, call));
    }

    /// Gives a call a new id on the wire.
    pub(crate) fn rename(&mut self, call: CallId, id: Id) {
        if let Some(entry) = self.entries.get_mut(&call) {
            entry.delivery.wire_ids.push(id.clone());
            self.wire.insert(id, call);
        }
    }

    /// Nothing comes any more by the later ids of a call: it is known by its first.
    pub(crate) fn keep_first_id(&mut self, call: CallId) {
        let Some(entry) = self.entries.get_mut(&call) else { return };
        let first = entry.delivery.wire_ids.len().min(1);
        for id in entry.delivery.wire_ids.split_off(first) {
            Self::forget(&mut self.wire, &id, call);
        }
    }

    /// Removes the entry: from here on nothing of the call is known.
    pub(crate) fn close(&mut self, call: CallId) -> Option<Box<Call>> {
        let entry = self.entries.remove(&call)?;
        for id in &entry.delivery.wire_ids {
            Self::forget(&mut self.wire, id, call);
        }
        if let Some(token) = &entry.request.token {
            let text = token.id.plain().text();
            if self.tokens.get(&text) == Some(&call) {
                self.tokens.remove(&text);
            }
        }
        Some(entry)
    }

    /// A caller may use one id or token twice: elsewhere than on their own streams it is the later call's.
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

    /// The call that goes by this id on the wire. Of several, on the stream of one it is that one.
    pub(crate) fn by_wire_id(&self, id: &Id, on: CallId) -> Option<CallId> {
        let id = id.plain();
        let own = self.peek(on).filter(|entry| entry.request.kind.wants_response());
        let is_own = own.is_some_and(|entry| entry.delivery.wire_ids.iter().any(|known| known.plain() == id));
        is_own.then_some(on).or_else(|| self.wire.get(&id).copied())
    }

    /// The call whose progress goes by this token. Of several, on the stream of one it is that one.
    pub(crate) fn by_token(&self, token: IdText<'_>, on: CallId) -> Option<CallId> {
        let own = self.peek(on).and_then(|entry| entry.request.token.as_ref());
        if own.is_some_and(|own| own.is(token)) {
            return Some(on);
        }
        let as_written = || self.tokens.get(token.text()).copied();
        as_written().or_else(|| self.tokens.get(&token.id().plain().text()).copied())
    }

    pub(crate) fn calls(&self) -> Vec<CallId> {
        self.entries.keys().copied().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_to_meta_stands_in_the_place_that_it_has_and_its_own_members_count() {
        let token = Id::Number("7".to_string());
        let cases = [
            ("", "", None, ""),
            ("{}", "{}", None, "{}"),
            (r#"{"b":1,"a":2}"#, "{}", None, r#"{"b":1,"a":2}"#),
            (r#"{"b":1,"_meta":{"x":1},"a":2}"#, "{}", None, r#"{"b":1,"_meta":{"x":1},"a":2}"#),
            (
                r#"{"b":1,"_meta":{"x":1},"a":2}"#,
                r#"{"k":0}"#,
                Some(&token),
                r#"{"b":1,"_meta":{"progressToken":7,"k":0,"x":1},"a":2}"#,
            ),
            (r#"{"b":1,"_meta":{}}"#, r#"{"k":0}"#, None, r#"{"b":1,"_meta":{"k":0}}"#),
            (r#"{"b":1,"_meta":null}"#, r#"{"k":0}"#, None, r#"{"b":1,"_meta":{"k":0}}"#),
            (r#"{"b":1}"#, r#"{"k":0}"#, None, r#"{"_meta":{"k":0},"b":1}"#),
            ("{ }", r#"{"k":0}"#, None, r#"{"_meta":{"k":0}}"#),
            ("", "", Some(&token), r#"{"_meta":{"progressToken":7}}"#),
        ];
        for (params, meta, token, expected) in cases {
            let wanted = match expected {
                "" => r#""method":"m""#.to_string(),
                expected => format!(r#""method":"m","params":{expected}"#),
            };
            assert_eq!(members("m", params, meta, token), wanted, "{params} {meta}");
        }
    }
}
