//! What the outside world does to a client: a script that libFuzzer makes, and the bytes that its steps stand for.

use landfall::proto::{CallSpec, EraOption, OnGap, Options, ReplayOption, SessionFacts, TimeoutOptions};
use libfuzzer_sys::arbitrary::{self, Arbitrary};

/// A client's life.
#[derive(Arbitrary, Debug)]
pub struct Script {
    pub setup: Setup,
    pub steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
pub struct Setup {
    pub seed: u8,
    /// Whether the handshake is done before the first step, and in a session.
    pub connected: bool,
    pub in_session: bool,
    pub clocks: Clocks,
    pub replay: u8,
    pub reissues: u8,
    pub concurrent: u8,
    pub queued: u8,
    pub small_limits: bool,
    pub fail_lost_session: bool,
    pub keep_session: bool,
    pub on_gap: u8,
    pub small_pending: bool,
    pub cross_origin: bool,
    /// Whether it goes on with a session that another client began.
    pub resume: bool,
    /// Whether it carries the messages of an SDK's Client.
    pub carry: bool,
    pub listen: bool,
    pub auth: bool,
    pub scheduler: bool,
    pub retries: u8,
    /// Whether silence follows until every call must have ended, before the client is closed.
    pub await_all: bool,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Clocks {
    Default,
    Quick,
    Deadline,
    Patient,
    Wrong,
}

#[derive(Arbitrary, Debug)]
pub enum Step {
    Call {
        method: u8,
        flags: u8,
        clocks: Clocks,
    },
    Notify,
    /// Answers one of the server's questions, known or not.
    Answer(u8),
    Cancel(u8),
    /// A handler is done with an event, or failed.
    Handled {
        which: u8,
        failed: bool,
    },
    /// The application finds events missing.
    Gap(u8),
    /// The server does to an exchange what a good one would.
    Serve(u8),
    /// An event stream, of a new call or of an exchange under way: opened, some of it, and its end or none.
    Stream {
        exchange: u8,
        is_new: bool,
        flags: u8,
        pieces: Vec<Piece>,
        end: u8,
    },
    Head {
        exchange: u8,
        status: u8,
        kind: u8,
        session: u8,
        wait: u8,
        redirect: u8,
    },
    Body {
        exchange: u8,
        pieces: Vec<Piece>,
        lost: u8,
    },
    End(u8),
    Failed {
        exchange: u8,
        code: u8,
    },
    /// Time passes, with a wake-up wherever one was asked for.
    Pass {
        amount: u8,
        unit: u8,
    },
    /// Time passes without one, as in a sleep.
    Sleep {
        amount: u8,
        unit: u8,
    },
    Spurious,
    /// The Client begins anew.
    Hello,
    /// There are other credentials, or none.
    Authorized(bool),
    /// The scheduler ends a wait, of a call that waits or not.
    Reconnect(u8),
    Terminate,
    Version(u8),
    Connect,
    Close,
}

#[derive(Arbitrary, Debug)]
pub enum Piece {
    Note { id: u8 },
    Answer { whose: u8, what: u8 },
    Progress { whose: u8, id: u8 },
    Question { id: u8, method: u8 },
    Id(u8),
    Retry(u8),
    Comment,
    Broken { id: u8 },
    ListChanged,
    Array { whose: u8 },
    Raw(Vec<u8>),
}

const METHODS: [&str; 8] = [
    "tools/call",
    "tools/call",
    "tools/list",
    "resources/subscribe",
    "resources/read",
    "logging/setLevel",
    "server/discover",
    "subscriptions/listen",
];
const STATUSES: [u16; 24] = [
    200, 200, 200, 200, 200, 200, 202, 204, 301, 303, 307, 308, 400, 401, 403, 404, 405, 408, 409, 410, 429,
    500, 503, 999,
];
const KINDS: [&str; 5] = ["text/event-stream", "text/event-stream", "application/json", "text/html", ""];
const WAITS: [&str; 6] = ["", "", "0", "7", "99999999999999999999", "Wed, 21 Oct 2026 07:28:00 GMT"];
const CODES: [&str; 4] = ["", "ECONNREFUSED", "ECONNRESET", "ENOTFOUND"];
const RETRIES: [&str; 6] = ["1", "700", "60000", "86400000", "99999999999999999999", "x"];
const UNITS: [u64; 5] = [1, 20, 500, 5_000, 60_000];

/// One of a few values.
fn pick<T: Copy>(values: &[T], choice: u8) -> T {
    values[usize::from(choice) % values.len()]
}

pub fn status(choice: u8) -> u16 {
    pick(&STATUSES, choice)
}

pub fn kind(choice: u8) -> &'static str {
    pick(&KINDS, choice)
}

pub fn retry_after(choice: u8) -> &'static str {
    pick(&WAITS, choice)
}

pub fn code(choice: u8) -> &'static str {
    pick(&CODES, choice)
}

pub fn span(amount: u8, unit: u8) -> u64 {
    u64::from(amount) * pick(&UNITS, unit)
}

impl Clocks {
    /// The options, and the deadline that they come to: of a call, over the client's own.
    pub fn options(self) -> TimeoutOptions {
        let none = TimeoutOptions::default();
        match self {
            Self::Default => none,
            Self::Quick => TimeoutOptions {
                connect: Some(50.0),
                idle: Some(200.0),
                call: Some(400.0),
                recovery: Some(1_000.0),
                deadline: Some(3_000.0),
                ..none
            },
            Self::Deadline => TimeoutOptions { deadline: Some(20_000.0), ..none },
            Self::Patient => TimeoutOptions {
                first_byte: Some(1e300),
                idle: Some(9e15),
                call: Some(9e15),
                recovery: Some(9e15),
                deadline: Some(1e7),
                ..none
            },
            Self::Wrong => TimeoutOptions { idle: Some(f64::NAN), ..none },
        }
    }
}

impl Setup {
    pub fn options(&self) -> Options {
        let small = |limit: f64| self.small_limits.then_some(limit);
        Options {
            era: pick(&[EraOption::Auto, EraOption::Legacy], self.seed),
            client_info: r#"{"name":"fuzz","version":"1"}"#.to_string(),
            capabilities: "{}".to_string(),
            timeouts: self.clocks.options(),
            replay: pick(&[ReplayOption::Hints, ReplayOption::Caller, ReplayOption::Never], self.replay),
            max_reissues: Some(f64::from(self.reissues % 4)),
            max_concurrent: Some(f64::from(2 + self.concurrent % 5)),
            max_queued: Some(f64::from(self.queued % 8)),
            max_event_bytes: small(300.0),
            max_body_bytes: small(300.0),
            max_id_bytes: small(12.0),
            max_questions: small(2.0),
            max_buffered_bytes: small(500.0),
            cross_origin: self.cross_origin,
            on_gap: pick(&[OnGap::Continue, OnGap::Reissue, OnGap::Fail], self.on_gap),
            max_pending_events: self.small_pending.then_some(2.0),
            resume: self.resume.then(|| SessionFacts {
                session_id: self.in_session.then(|| "s0".to_string()),
                protocol_version: Some("2025-11-25".to_string()),
                greeting: Some(answer("0", "initialize")),
                hello: (self.carry && self.in_session).then(|| "{}".to_string()),
                ..SessionFacts::default()
            }),
            carry: self.carry,
            listen: self.listen,
            auth: self.auth,
            max_step_ups: Some(f64::from(self.retries % 3)),
            max_retries: (self.retries >= 128).then(|| f64::from(self.retries % 4)),
            scheduler: self.scheduler,
            fail_lost_session: self.fail_lost_session,
            keep_session: self.keep_session,
            ..Options::default()
        }
    }
}

/// The `_meta` of a modern message.
pub const MODERN: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

/// The call that a step makes; `id` is a Client's own.
pub fn call(method: u8, flags: u8, clocks: Clocks, id: Option<u32>) -> CallSpec {
    let name = pick(&METHODS, method);
    let tool = (name == "tools/call").then(|| pick(&["t", "u"], method / 8).to_string());
    let meta = match id.filter(|_| flags & 32 != 0) {
        Some(_) => MODERN,
        None => pick(&["", "{}", r#"{"k":[1]}"#], method / 16),
    };
    CallSpec {
        method: name.to_string(),
        params: r#"{"name":"t","uri":"u:1","level":"info"}"#.to_string(),
        meta: meta.to_string(),
        tool,
        progress: flags & 1 != 0,
        idempotent: flags & 2 != 0,
        reports_handling: flags & 4 != 0,
        wants_tokens: flags & 8 != 0,
        resumption_token: (flags >= 0xE0).then(|| format!("k/{}", flags % 8)),
        timeouts: clocks.options(),
        token: id.filter(|_| flags & 16 != 0).map(|id| id.to_string()),
        timed: id.is_some() && flags & 64 != 0,
        id: id.map(|id| id.to_string()),
        ..CallSpec::default()
    }
}

/// The response that a good server gives to a request.
pub fn answer(id: &str, method: &str) -> String {
    let result = match method {
        "initialize" => {
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}"#
        }
        "tools/list" => {
            r#"{"tools":[{"name":"t","annotations":{"readOnlyHint":true}},{"name":"u"}],"ttlMs":60000}"#
        }
        "server/discover" => r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#,
        _ => r#"{"ok":true}"#,
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

impl Piece {
    /// Its bytes, as an event or as the JSON alone. `ids` are the wire ids in use with their methods, as JSON texts.
    pub fn write(&self, ids: &[(String, String)], as_event: bool, out: &mut Vec<u8>) {
        let message = self.message(ids);
        match (self, message) {
            (Self::Raw(bytes), _) => out.extend_from_slice(bytes),
            (_, Some((id, json))) if as_event => {
                out.extend_from_slice(format!("{}data: {json}\n\n", id_line(id)).as_bytes());
            }
            (_, Some((_, json))) => out.extend_from_slice(json.as_bytes()),
            (Self::Id(id), None) => {
                out.extend_from_slice(format!("{}data:\n\n", id_line(Some(*id))).as_bytes())
            }
            (Self::Retry(choice), None) => {
                out.extend_from_slice(format!("retry: {}\n", pick(&RETRIES, *choice)).as_bytes());
            }
            (_, None) => out.extend_from_slice(b": hi\n\n"),
        }
    }

    /// The id of its event, and its JSON.
    fn message(&self, ids: &[(String, String)]) -> Option<(Option<u8>, String)> {
        let whose = |choice: u8| {
            let at = usize::from(choice) % ids.len().max(1);
            ids.get(at).map_or(("\"none\"", ""), |(id, method)| (id.as_str(), method.as_str()))
        };
        Some(match *self {
            Self::Note { id } => (
                Some(id),
                format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":{id}}}}}"#),
            ),
            Self::Answer { whose: choice, what } => (None, response(whose(choice), what)),
            Self::Progress { whose: choice, id } => {
                let params = format!(r#"{{"progressToken":{},"progress":{id}}}"#, whose(choice).0);
                (
                    Some(id),
                    format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#),
                )
            }
            Self::Question { id, method } => {
                let name = pick(&["ping", "sampling/createMessage", "elicitation/create"], method);
                (Some(id), format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{name}"}}"#, id % 4))
            }
            Self::Broken { id } => (Some(id), r#"{"jsonrpc":"2.0","id":7,"resu"#.to_string()),
            Self::ListChanged => {
                (None, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_string())
            }
            Self::Array { whose: choice } => {
                let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
                (None, format!("[{note},7,{},{note}]", response(whose(choice), 0)))
            }
            Self::Id(_) | Self::Retry(_) | Self::Comment | Self::Raw(_) => return None,
        })
    }
}

/// A response of a kind, right or odd.
fn response((id, method): (&str, &str), what: u8) -> String {
    match what % 6 {
        1 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"session"}}}}"#),
        2 => r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}"#.to_string(),
        3 => format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
        4 => format!(r#"{{"jsonrpc":"2.0","id":{},"result":1}}"#, id.trim_matches('"')),
        _ => answer(id, method),
    }
}

/// An `id` line: mostly numbers, some that clear the cursor or that no header carries.
fn id_line(id: Option<u8>) -> String {
    match id {
        None | Some(0) => String::new(),
        Some(1) => "id:\n".to_string(),
        Some(2) => "id: a\u{c}b\n".to_string(),
        Some(3) => format!("id: {}\n", "x".repeat(2_000)),
        Some(4) => "id: \u{2026}\n".to_string(),
        Some(id) => format!("id: k/{id}\n"),
    }
}
