//! Replay safety: which calls may be executed twice (ARCHITECTURE.md, "Replay safety"). Never guessed from
//! a name.

use std::time::Duration;

use super::error::ConfigError;
use super::jsonrpc::{elements, field, string};
use super::sorted::SortedMap;
use super::time::Instant;
use super::CallId;

/// The option `replay`, as far as it is the same for all calls.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum ReplayOption {
    /// The caller's word, or the tool's current hints.
    #[default]
    Hints,
    /// The caller's word alone.
    Caller,
    /// Nothing is sent twice unless it is known that it was not executed.
    Never,
}

impl ReplayOption {
    /// Reads the option.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn parse(name: &str) -> Result<Self, ConfigError> {
        match name {
            "hints" => Ok(Self::Hints),
            "caller" => Ok(Self::Caller),
            "never" => Ok(Self::Never),
            other => Err(ConfigError {
                option: "replay",
                message: format!("replay: \"{other}\" is none of \"hints\", \"caller\", \"never\""),
            }),
        }
    }
}

/// Whether a method only reads, or sets what setting twice does not change.
pub(crate) fn is_read(method: &str) -> bool {
    let named = matches!(
        method,
        "resources/read"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "prompts/get"
            | "ping"
            | "server/discover"
            | "completion/complete"
            | "logging/setLevel"
            | "tasks/get"
            | "tasks/update"
            | "tasks/cancel"
    );
    named || method.ends_with("/list")
}

/// What the server says of its tools, from every `tools/list` that passes.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    safe: SortedMap<String, bool>,
    until: Option<Instant>,
    /// The `tools/list` of ours that is under way: one for all calls.
    pub(crate) asking: Option<CallId>,
    /// When it must be told, all pages together.
    pub(crate) by: Instant,
    /// Pages that were asked for.
    pub(crate) pages: u32,
}

impl Hints {
    /// Reads the response to a `tools/list`. A `ttlMs` bounds how long its word holds.
    pub(crate) fn learn(&mut self, now: Instant, response: &str) {
        let Some(tools) = field(response, &["result", "tools"]) else { return };
        for tool in elements(tools) {
            let Some(name) = field(tool, &["name"]).and_then(string) else { continue };
            let says = |hint: &str| field(tool, &["annotations", hint]) == Some("true");
            let safe = says("idempotentHint") || (says("readOnlyHint") && !says("destructiveHint"));
            self.safe.insert(name.into_owned(), safe);
        }
        let ttl = field(response, &["result", "ttlMs"]).and_then(|ttl| ttl.parse::<f64>().ok());
        // 0 is what servers say that know nothing of caches: no word on how long their hints hold.
        let ttl = ttl.filter(|ttl| *ttl != 0.0);
        self.until = ttl.map(|ttl| now + Duration::from_micros((ttl * 1_000.0) as u64));
    }

    /// The tools may have changed: no word holds any more.
    pub(crate) fn forget(&mut self) {
        self.safe.clear();
    }

    /// Whether the server says, now, that this tool may be executed twice. `None`: it says nothing.
    pub(crate) fn of(&self, now: Instant, tool: &str) -> Option<bool> {
        self.safe.get(tool).copied().filter(|_| self.until.is_none_or(|until| now < until))
    }
}

#[cfg(test)]
mod tests {
    use super::is_read;

    #[test]
    fn these_methods_only_read_or_set_what_setting_twice_does_not_change() {
        for method in [
            "tools/list",
            "resources/templates/list",
            "resources/read",
            "resources/subscribe",
            "resources/unsubscribe",
            "prompts/get",
            "ping",
            "server/discover",
            "completion/complete",
            "logging/setLevel",
            "tasks/get",
            "tasks/update",
            "tasks/cancel",
        ] {
            assert!(is_read(method), "{method}");
        }
        for method in ["tools/call", "sampling/createMessage", "list", "resources/list/x"] {
            assert!(!is_read(method), "{method}");
        }
    }
}
