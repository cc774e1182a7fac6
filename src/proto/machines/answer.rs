//! Answer: what the result of a modern request is (MCP 2026-07-28, *Results*): its end, or what it goes on by.

use crate::proto::jsonrpc::{field, string};

/// What a result is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The end of its request.
    Complete,
    /// The server wants something, and the same request again with that.
    InputRequired,
    /// The server works on, and is asked for the rest.
    Task,
    /// Nothing that this method may be answered by.
    Unfit,
}

impl Answer {
    /// What this result of a request of this method is: JSON text.
    pub(crate) fn of(rpc: &str, result: &str) -> Self {
        let Some(named) = field(result, &["resultType"]) else { return Self::Complete };
        match (string(named).as_deref(), rpc) {
            (Some("complete"), _) => Self::Complete,
            (Some("input_required"), "tools/call" | "prompts/get" | "resources/read") => Self::InputRequired,
            (Some("task"), "tools/call") => Self::Task,
            // Some say it also of what became of one.
            (Some("task"), "tasks/get") => Self::Complete,
            _ => Self::Unfit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Answer::{Complete, InputRequired, Task, Unfit};

    #[test]
    fn a_result_says_what_it_is_and_not_every_request_may_be_answered_by_all() {
        for (rpc, result, answer) in [
            ("tools/call", "{}", Complete),
            ("tools/call", r#"{"resultType":"complete"}"#, Complete),
            ("tools/call", r#"{"resultType":"input_required"}"#, InputRequired),
            ("prompts/get", r#"{"resultType":"input_required"}"#, InputRequired),
            ("resources/read", r#"{"resultType":"input_\u0072equired"}"#, InputRequired),
            ("tools/list", r#"{"resultType":"input_required"}"#, Unfit),
            ("tools/call", r#"{"resultType":"task"}"#, Task),
            ("prompts/get", r#"{"resultType":"task"}"#, Unfit),
            ("tasks/get", r#"{"resultType":"task"}"#, Complete),
            ("tools/call", r#"{"resultType":"later"}"#, Unfit),
            ("tools/call", r#"{"resultType":null}"#, Unfit),
            ("tools/call", "5", Complete),
        ] {
            assert_eq!(Answer::of(rpc, result), answer, "{rpc} {result}");
        }
    }
}
