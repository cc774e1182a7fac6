//! Replay safety: which calls may be executed twice (ARCHITECTURE.md, "Replay safety"). Never guessed from
//! a name.

use std::time::Duration;

use super::error::ConfigError;
use super::jsonrpc::{elements, field, string};
use super::number::number;
use super::sorted::{SortedMap, SortedSet};
use super::time::Instant;

/// So many pages of tools are asked for.
const MOST_PAGES: usize = 8;

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
    tools: SortedMap<String, Hint>,
    /// The `tools/list` of ours that is under way.
    pub(crate) asking: Option<Listing>,
}

/// What it says of one.
#[derive(Copy, Clone, Debug)]
struct Hint {
    safe: bool,
    /// It holds until then.
    until: Option<Instant>,
}

/// The list of tools that we ask for, page after page: one for all calls.
#[derive(Debug)]
pub(crate) struct Listing {
    /// When it must be told, all pages together.
    pub(crate) by: Instant,
    /// The cursors that were given, as JSON texts.
    cursors: Vec<String>,
    seen: SortedSet<String>,
}

impl Listing {
    pub(crate) fn new(by: Instant) -> Self {
        Self { by, cursors: Vec::new(), seen: SortedSet::default() }
    }

    /// Reads a page: the cursor of the next, which is asked for while a tool that `wants` is not among those seen. A cursor
    /// that comes again, or no end of them, would be a loop.
    pub(crate) fn next(
        &mut self,
        response: &str,
        mut wants: impl FnMut(&SortedSet<String>) -> bool,
    ) -> Option<String> {
        for tool in elements(field(response, &["result", "tools"])?) {
            if let Some(name) = field(tool, &["name"]).and_then(string) {
                self.seen.insert(name.into_owned());
            }
        }
        let cursor = field(response, &["result", "nextCursor"]).filter(|cursor| string(cursor).is_some())?;
        let is_new = self.cursors.len() + 1 < MOST_PAGES && !self.cursors.iter().any(|given| given == cursor);
        self.cursors.push(cursor.to_string());
        (is_new && wants(&self.seen)).then(|| cursor.to_string())
    }
}

impl Hints {
    /// Reads the response to a `tools/list`. A `ttlMs` bounds how long its word holds.
    pub(crate) fn learn(&mut self, now: Instant, response: &str) {
        let Some(tools) = field(response, &["result", "tools"]) else { return };
        let ttl = field(response, &["result", "ttlMs"]).and_then(number);
        // 0 is what servers say that know nothing of caches: no word on how long their hints hold.
        let ttl = ttl.filter(|ttl| *ttl > 0.0);
        let until = ttl.map(|ttl| now + Duration::from_micros((ttl * 1_000.0) as u64));
        for tool in elements(tools) {
            let Some(name) = field(tool, &["name"]).and_then(string) else { continue };
            let says = |hint: &str| field(tool, &["annotations", hint]) == Some("true");
            let safe = says("idempotentHint") || (says("readOnlyHint") && !says("destructiveHint"));
            self.tools.insert(name.into_owned(), Hint { safe, until });
        }
    }

    /// The tools may have changed: no word holds any more.
    pub(crate) fn forget(&mut self) {
        self.tools.clear();
    }

    /// Whether the server says, now, that this tool may be executed twice. `None`: it says nothing.
    pub(crate) fn of(&self, now: Instant, tool: &str) -> Option<bool> {
        let hint = self.tools.get(tool).filter(|hint| hint.until.is_none_or(|until| now < until));
        hint.map(|hint| hint.safe)
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
