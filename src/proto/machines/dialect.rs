//! Dialect: which protocol a message speaks (ARCHITECTURE.md, "Sessions and eras"), and what follows from that: the
//! headers of its requests, whether its streams can be resumed, how the server learns that nobody waits any more, what asks whether the server
//! lives, and what a refusal says.

use super::subscription::LISTEN;
use crate::proto::era::{Era, OLD_VERSION};
use crate::proto::error::Reason;
use crate::proto::facts::Identity;
use crate::proto::header::field_value;
use crate::proto::http::{HeaderName, Method};
use crate::proto::jsonrpc::{field, quote, string, with_field, with_members};

/// The protocol of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// 2025-03-26 to 2025-11-25: a session, and streams that can be resumed.
    #[default]
    Legacy,
    /// 2026-07-28: requests on their own, whose bodies are their lives.
    Modern(Modern),
    /// 2024-11-05: one stream that brings all answers.
    Sse,
}

/// What the headers of a modern request repeat of its body (MCP 2026-07-28, *Streamable HTTP*).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Modern {
    /// The version that its `_meta` names.
    pub(crate) version: String,
    /// JSON text of its `_meta`.
    pub(crate) meta: String,
    /// `Mcp-Name`, as it goes into the header.
    pub(crate) name: Option<String>,
}

/// One request, as far as its headers go.
pub(crate) struct Asking<'a> {
    pub(crate) method: Method,
    /// The JSON-RPC method of its body.
    pub(crate) rpc: &'a str,
    pub(crate) session: Identity,
    /// Where it resumes, as a header can carry it.
    pub(crate) cursor: Option<String>,
}

/// How a server learns that nobody waits for a request any more.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum CancelBy {
    /// `notifications/cancelled`.
    Notice,
    /// The end of its body.
    Body,
}

/// The request that asks whether the server lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question<'a> {
    pub(crate) rpc: &'static str,
    pub(crate) meta: &'a str,
    pub(crate) dialect: Dialect,
}

/// A status that is no success, with what its body said.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    /// It names a challenge for credentials.
    pub(crate) challenged: bool,
    /// The request was of the session in use, which has an id.
    pub(crate) in_session: bool,
    /// It says that the session is unknown.
    pub(crate) marked: bool,
    /// Such a word was believed before.
    pub(crate) believed: bool,
    /// Whose error it is.
    pub(crate) error: Whose,
    /// It is of our own and made again where it meets what passes, as the handshake: whoever is on the way may have written it.
    pub(crate) is_repeated: bool,
    /// Whether an error may be the answer of the request, and not a stranger's on the way.
    pub(crate) may_answer: bool,
}

/// Which request a JSON-RPC error belongs to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// This one, by its id.
    Ours,
    /// It can only mean this one: no id, or the id as another type.
    Likely,
    /// Another's, or there is none.
    Nobodys,
}

/// What a refusal means.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The server does not know the session.
    SessionLost,
    /// The same, going by a word that is believed once.
    SessionLostByWord,
    /// Its error is the answer.
    Answer,
    /// It may be another time.
    Later(Reason),
    /// It is final.
    Final(Reason),
}

/// The member of `_meta` that makes a message modern.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What else a modern request says of its client.
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The extension by which a server may answer a call by a task (SEP-2663).
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// These capabilities of a client, with the extension of tasks among them: JSON texts of objects.
pub(crate) fn with_tasks(capabilities: &str) -> String {
    const NAME: &str = "extensions";
    let tasks = format!("\"{TASKS}\":{{}}");
    match field(capabilities, &[NAME]) {
        Some(_) if field(capabilities, &[NAME, TASKS]).is_some() => capabilities.to_string(),
        Some(own) => with_field(capabilities, &[NAME], &with_members(own, &tasks)),
        None => with_members(capabilities, &format!("\"{NAME}\":{{{tasks}}}")),
    }
}

/// The same of the `_meta` of a modern request.
pub(crate) fn meta_with_tasks(meta: &str) -> String {
    match field(meta, &[CAPABILITIES]) {
        Some(capabilities) => with_field(meta, &[CAPABILITIES], &with_tasks(capabilities)),
        None => meta.to_string(),
    }
}

/// `Mcp-Name` of a modern request, where its method has one.
fn name_of(rpc: &str, params: &str) -> Option<String> {
    let member = match rpc {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    field(params, &[member]).and_then(string).map(|name| field_value(&name))
}

impl Modern {
    /// The words of a client of its own: its version, who it is and what it can do, the latter two as JSON texts.
    pub(crate) fn own(version: &str, client_info: &str, capabilities: &str) -> Self {
        let mut meta = format!("{{\"{VERSION}\":");
        quote(version, &mut meta);
        meta += &format!(",\"{CLIENT_INFO}\":{client_info},\"{CAPABILITIES}\":{capabilities}}}");
        Self { version: version.to_string(), meta, name: None }
    }
}

impl Dialect {
    /// What a message of a Client's speaks: its own `_meta` says so.
    pub(crate) fn of(rpc: &str, params: &str, meta: &str) -> Self {
        match field(meta, &[VERSION]).and_then(string) {
            None => Self::Legacy,
            Some(version) => Self::Modern(Modern {
                version: version.into_owned(),
                meta: meta.to_string(),
                name: name_of(rpc, params),
            }),
        }
    }

    /// What a request of this method speaks, in words like these.
    pub(crate) fn about(&self, rpc: &str, params: &str) -> Self {
        match self {
            Self::Legacy | Self::Sse => self.clone(),
            Self::Modern(modern) => Self::Modern(Modern { name: name_of(rpc, params), ..modern.clone() }),
        }
    }

    /// `_meta` of a request, where these words have to be in it and are not.
    pub(crate) fn missing_meta<'a>(&'a self, params: &str) -> Option<&'a str> {
        match self {
            Self::Modern(modern) if field(params, &["_meta", VERSION]).is_none() => Some(&modern.meta),
            Self::Modern(_) | Self::Legacy | Self::Sse => None,
        }
    }

    pub(crate) fn era(&self) -> Era {
        match self {
            Self::Legacy => Era::Legacy,
            Self::Modern(_) => Era::Modern,
            Self::Sse => Era::Sse,
        }
    }

    /// The headers of ours on a request.
    pub(crate) fn headers(&self, asking: Asking<'_>) -> Vec<(HeaderName, String)> {
        let mut headers = Vec::with_capacity(6);
        let mut put = |name, value: Option<String>| {
            headers.extend(value.map(|value| (HeaderName::Borrowed(name), value)));
        };
        match asking.method {
            Method::Get => put("accept", Some("text/event-stream".to_string())),
            Method::Post => {
                put("accept", Some("application/json, text/event-stream".to_string()));
                put("content-type", Some("application/json".to_string()));
            }
            Method::Delete => {}
        }
        match self {
            Self::Legacy => {
                put("mcp-session-id", asking.session.id);
                let version = asking.session.version.filter(|version| version != OLD_VERSION);
                put("mcp-protocol-version", version);
            }
            Self::Modern(Modern { version, name, .. }) => {
                put("mcp-protocol-version", Some(version.clone()));
                put("mcp-method", Some(asking.rpc.to_string()));
                put("mcp-name", name.clone());
            }
            // Its servers, and their lists of what a page may send, know none.
            Self::Sse => {}
        }
        put("last-event-id", asking.cursor);
        headers
    }

    /// Whether its messages live and die with a session.
    pub(crate) fn has_session(&self) -> bool {
        matches!(self, Self::Legacy | Self::Sse)
    }

    /// Whether a POST is answered elsewhere: on the stream of the session.
    pub(crate) fn answers_elsewhere(&self) -> bool {
        *self == Self::Sse
    }

    /// Whether an event id is a place in its stream.
    pub(crate) fn can_resume(&self) -> bool {
        *self == Self::Legacy
    }

    /// Whether the request is no call but a stream that stays open (MCP 2026-07-28, *Subscriptions*).
    pub(crate) fn is_endless(&self, rpc: &str) -> bool {
        matches!(self, Self::Modern(_)) && rpc == LISTEN
    }

    pub(crate) fn cancel_by(&self) -> CancelBy {
        match self {
            Self::Legacy | Self::Sse => CancelBy::Notice,
            Self::Modern(_) => CancelBy::Body,
        }
    }

    /// `_meta` of a request of our own in these words.
    pub(crate) fn own_meta(&self) -> &str {
        match self {
            Self::Legacy | Self::Sse => "",
            Self::Modern(modern) => &modern.meta,
        }
    }

    /// What asks whether the server lives: of a modern one, what it is.
    pub(crate) fn probe_with(&self) -> Question<'_> {
        match self {
            Self::Legacy | Self::Sse => Question { rpc: "ping", meta: "", dialect: self.clone() },
            Self::Modern(modern) => Question {
                rpc: "server/discover",
                meta: &modern.meta,
                dialect: Self::Modern(Modern { name: None, ..modern.clone() }),
            },
        }
    }

    /// What a refusal of a POST means.
    pub(crate) fn judge(&self, refused: Refused) -> Meaning {
        let Refused { status, in_session, marked, .. } = refused;
        if in_session && self.has_session() {
            match status {
                404 | 410 if marked || refused.error != Whose::Ours => return Meaning::SessionLost,
                400 if marked && !refused.believed => return Meaning::SessionLostByWord,
                401 if marked && !refused.believed && !refused.challenged => {
                    return Meaning::SessionLostByWord
                }
                _ => {}
            }
        }
        match status {
            401 => Meaning::Final(Reason::Unauthorized),
            403 => Meaning::Final(Reason::Forbidden),
            408 | 425 | 429 | 500 | 502..=599 if refused.is_repeated => Meaning::Later(Reason::HttpError),
            _ if refused.may_answer && refused.error != Whose::Nobodys => Meaning::Answer,
            300..=399 => Meaning::Final(Reason::Redirected),
            408 | 425 | 429 | 502 | 503 | 504 => Meaning::Later(Reason::HttpError),
            _ => Meaning::Final(Reason::HttpError),
        }
    }
}

/// Whether a status says that the request was refused before it was executed.
pub(crate) fn is_unread(status: u16) -> bool {
    matches!(status, 401 | 403 | 405 | 406 | 410 | 415 | 429)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modern() -> Dialect {
        Dialect::Modern(Modern {
            version: "2026-07-28".to_string(),
            meta: "{\"v\":1}".to_string(),
            name: Some("t".to_string()),
        })
    }

    fn headers(dialect: &Dialect, method: Method, cursor: Option<&str>) -> String {
        let session = Identity { id: Some("s1".to_string()), version: Some("2025-11-25".to_string()) };
        let asking = Asking { method, rpc: "tools/call", session, cursor: cursor.map(String::from) };
        let lines = dialect.headers(asking).into_iter().map(|(name, value)| format!("{name}: {value}"));
        lines.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_legacy_request_names_its_session_and_a_modern_one_what_is_in_its_body() {
        let posts = "accept: application/json, text/event-stream; content-type: application/json; ";
        let session = "mcp-session-id: s1; mcp-protocol-version: 2025-11-25";
        let legacy = Dialect::Legacy;
        assert_eq!(headers(&legacy, Method::Post, None), format!("{posts}{session}"));
        let get = format!("accept: text/event-stream; {session}; last-event-id: e1");
        assert_eq!(headers(&legacy, Method::Get, Some("e1")), get);
        assert_eq!(headers(&legacy, Method::Delete, None), session);
        let body = "mcp-protocol-version: 2026-07-28; mcp-method: tools/call; mcp-name: t";
        assert_eq!(headers(&modern(), Method::Post, None), format!("{posts}{body}"));
        assert_eq!(headers(&Dialect::Sse, Method::Post, None), posts.trim_end_matches("; "));
    }

    #[test]
    fn a_message_says_itself_that_it_is_modern_and_what_it_is_about() {
        let meta = r#"{"progressToken":1,"io.modelcontextprotocol\/protocolVersion":"2026-07-28"}"#;
        let name = |rpc, params| match Dialect::of(rpc, params, meta) {
            Dialect::Modern(modern) => {
                assert_eq!((modern.version.as_str(), modern.meta.as_str()), ("2026-07-28", meta));
                modern.name
            }
            Dialect::Legacy | Dialect::Sse => panic!("it is modern: {rpc}"),
        };
        for (rpc, params, expected) in [
            ("tools/call", r#"{"arguments":{"name":"no"},"name":"t"}"#, Some("t")),
            ("prompts/get", r#"{"name":"\u00e9"}"#, Some("=?base64?w6k=?=")),
            ("resources/read", r#"{"name":"no","uri":"file:///a"}"#, Some("file:///a")),
            ("tasks/get", r#"{"taskId":"7"}"#, Some("7")),
            ("tasks/update", r#"{"taskId":7}"#, None),
            ("tasks/cancel", "", None),
            ("tools/list", r#"{"name":"t"}"#, None),
        ] {
            assert_eq!(name(rpc, params).as_deref(), expected, "{rpc} {params}");
        }
        for meta in ["", "{}", r#"{"io.modelcontextprotocol/protocolVersion":5}"#, r#"{"v":"2026-07-28"}"#] {
            assert_eq!(Dialect::of("tools/call", r#"{"name":"t"}"#, meta), Dialect::Legacy, "{meta}");
        }
    }

    #[test]
    fn tasks_are_declared_beside_whatever_else_is() {
        let tasks = r#""io.modelcontextprotocol/tasks":{}"#;
        for (capabilities, expected) in [
            ("{}", format!(r#"{{"extensions":{{{tasks}}}}}"#)),
            (r#"{"roots":{}}"#, format!(r#"{{"roots":{{}},"extensions":{{{tasks}}}}}"#)),
            (r#"{"extensions":{"a":{}}}"#, format!(r#"{{"extensions":{{"a":{{}},{tasks}}}}}"#)),
            (r#"{"extensions":5}"#, r#"{"extensions":5}"#.to_string()),
        ] {
            assert_eq!(with_tasks(capabilities), expected);
            assert_eq!(with_tasks(&expected), expected, "once");
            let meta = |capabilities: &str| format!("{{\"x\":1,\"{CAPABILITIES}\":{capabilities}}}");
            assert_eq!(meta_with_tasks(&meta(capabilities)), meta(&expected));
        }
        assert_eq!(meta_with_tasks("{}"), "{}", "no modern one");
    }

    #[test]
    fn what_each_can_do() {
        for (dialect, era, session, cancel) in [
            (Dialect::Legacy, Era::Legacy, true, CancelBy::Notice),
            (modern(), Era::Modern, false, CancelBy::Body),
            (Dialect::Sse, Era::Sse, true, CancelBy::Notice),
        ] {
            assert_eq!((dialect.era(), dialect.cancel_by()), (era, cancel));
            assert_eq!((dialect.has_session(), dialect.can_resume()), (session, era == Era::Legacy));
            assert_eq!(dialect.is_endless("subscriptions/listen"), !session);
            assert_eq!(dialect.answers_elsewhere(), era == Era::Sse);
            assert!(!dialect.is_endless("tools/call"));
        }
    }

    #[test]
    fn a_server_is_asked_in_its_own_words() {
        let legacy = Question { rpc: "ping", meta: "", dialect: Dialect::Legacy };
        assert_eq!(Dialect::Legacy.probe_with(), legacy);
        let asked = modern();
        let question = asked.probe_with();
        assert_eq!((question.rpc, question.meta), ("server/discover", "{\"v\":1}"));
        assert!(!headers(&question.dialect, Method::Post, None).contains("mcp-name"));
    }

    fn refused(status: u16) -> Refused {
        Refused {
            status,
            challenged: false,
            in_session: true,
            marked: false,
            believed: false,
            error: Whose::Nobodys,
            is_repeated: false,
            may_answer: true,
        }
    }

    #[test]
    fn a_session_is_lost_by_its_status_or_once_by_a_word() {
        use Meaning::{SessionLost, SessionLostByWord};
        let marked = |status| Refused { marked: true, ..refused(status) };
        let ours = |status| Refused { error: Whose::Ours, ..refused(status) };
        let believed = |status| Refused { believed: true, ..marked(status) };
        let rows = [
            (refused(404), Some(SessionLost)),
            (refused(410), Some(SessionLost)),
            (ours(404), None),
            (Refused { marked: true, ..ours(404) }, Some(SessionLost)),
            (Refused { error: Whose::Likely, ..refused(404) }, Some(SessionLost)),
            (refused(400), None),
            (marked(400), Some(SessionLostByWord)),
            (believed(400), None),
            (marked(401), Some(SessionLostByWord)),
            (Refused { challenged: true, ..marked(401) }, None),
            (believed(401), None),
            (marked(500), None),
            (Refused { in_session: false, ..refused(404) }, None),
        ];
        for (refused, lost) in rows {
            let meaning = Dialect::Legacy.judge(refused);
            let is_lost = matches!(meaning, SessionLost | SessionLostByWord);
            assert_eq!(is_lost.then_some(meaning), lost, "{refused:?}");
            assert!(!matches!(modern().judge(refused), SessionLost | SessionLostByWord), "{refused:?}");
        }
    }

    #[test]
    fn any_other_refusal_is_an_answer_or_ends_the_request_or_may_be_tried_later() {
        use Meaning::{Answer, Final, Later};
        let with = |status, error, may_answer| Refused { error, may_answer, ..refused(status) };
        let rows = [
            (refused(401), Final(Reason::Unauthorized)),
            (with(403, Whose::Ours, true), Final(Reason::Forbidden)),
            (with(500, Whose::Ours, true), Answer),
            (with(400, Whose::Likely, true), Answer),
            (with(503, Whose::Ours, false), Later(Reason::HttpError)),
            (refused(302), Final(Reason::Redirected)),
            (refused(408), Later(Reason::HttpError)),
            (refused(429), Later(Reason::HttpError)),
            (refused(500), Final(Reason::HttpError)),
            (refused(405), Final(Reason::HttpError)),
        ];
        for (refused, meaning) in rows {
            assert_eq!(Dialect::Legacy.judge(refused), meaning, "{refused:?}");
        }
        for (status, passes) in
            [(408, true), (425, true), (429, true), (500, true), (501, false), (503, true), (409, false)]
        {
            let greets = Refused { is_repeated: true, ..with(status, Whose::Ours, true) };
            let meaning = if passes { Later(Reason::HttpError) } else { Answer };
            assert_eq!(Dialect::Legacy.judge(greets), meaning, "{status} to our own handshake");
        }
        for (status, unread) in
            [(401, true), (405, true), (415, true), (404, false), (500, false), (503, false)]
        {
            assert_eq!(is_unread(status), unread, "{status}");
        }
    }
}
